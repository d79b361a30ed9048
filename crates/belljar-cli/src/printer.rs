//! The only place that prints. Names and messages that a guest can choose are escaped: a file name must not be able to
//! move the cursor, set a title or forge a line of ours.

mod environments;
mod escape;
mod progress;
mod screen;
mod sections;
mod summary;
mod table;

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use belljar::Outcome;
use belljar::outcome::{Captured, Isolation, State};
use belljar::policy::{Layer, Limits};
use serde::Serialize;

use crate::args::Printing;
use crate::commands::each::Report;
use crate::failure::Failure;
use crate::values::plain;

pub use environments::{Several, Steps};
pub use escape::escape;
pub use progress::Progress;
pub use sections::Sections;
pub use summary::Kept;

/// How help looks.
pub const HELP: clap::builder::Styles = clap::builder::Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default();
const GOOD: Style = AnsiColor::Green.on_default();

/// How much is said, and in which form.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    json: bool,
    quiet: bool,
}

/// How a line weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Weaker than it could be, or ended early.
    Warning,
    /// It failed.
    Error,
}

impl Weight {
    fn style(self) -> Style {
        match self {
            Self::Good => GOOD,
            Self::Note => NOTE,
            Self::Warning => WARNING,
            Self::Error => ERROR,
        }
    }
}

#[derive(Serialize)]
struct ErrorView<'a> {
    error: FailureView<'a>,
}

#[derive(Serialize)]
struct FailureView<'a> {
    message: &'a str,
    hint: Option<&'a str>,
}

impl<'a> FailureView<'a> {
    fn new(failure: &'a Failure) -> Self {
        Self {
            message: &failure.message,
            hint: failure.hint.as_deref(),
        }
    }
}

impl Printer {
    /// A printer for what was asked on the command line.
    pub fn new(printing: Printing) -> Self {
        Self {
            json: printing.json,
            quiet: printing.quiet,
        }
    }

    /// Whether one JSON object is asked for.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether belljar's own lines are silenced.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// One line of belljar's own on stderr.
    pub fn say(self, weight: Weight, text: &str) {
        if !self.quiet {
            line(weight, "belljar:", text);
        }
    }

    /// That memory is not limited as a whole: to people, once a command. Programs find it in the outcome.
    pub fn memory(self, isolation: &Isolation) {
        let cgroup = isolation.layers.get(&Layer::Cgroup);
        let absent = cgroup.is_some_and(|cgroup| cgroup.state == State::Absent);
        if absent && !self.json && std::io::stderr().is_terminal() {
            let text = "memory is limited for each process, not for all of them together: there is no cgroup to use (`belljar doctor` says why)";
            self.say(Weight::Note, text);
        }
    }

    /// belljar's own failure: never silenced, and on stdout when JSON is asked for.
    pub fn failure(self, failure: &Failure) {
        if self.json {
            self.json(&ErrorView {
                error: FailureView::new(failure),
            });
        } else {
            line(Weight::Error, "belljar:", &failure.to_string());
        }
    }

    /// What a run ended with.
    pub fn outcome(self, outcome: &Outcome, limits: &Limits, kept: Kept<'_>) -> Result<(), Failure> {
        if self.json {
            return self.object(&outcome.json());
        }
        if self.quiet {
            return Ok(());
        }
        let lines = summary::lines(outcome, limits, kept);
        if !lines.is_empty() && was_cut_within_a_line(outcome) {
            let _ = anstream::stderr().lock().write_all(b"\n");
        }
        for (weight, word, text) in lines {
            line(weight, word, &text);
        }
        Ok(())
    }

    /// What many scripts ended with.
    pub fn report(self, report: &Report, timings: bool) -> Result<(), Failure> {
        if self.json {
            return self.object(&table::EachView::new(report));
        }
        if !self.quiet {
            self.table(report);
        }
        if timings {
            for text in table::timings(&report.pool) {
                line(Weight::Note, "timings:", &text);
            }
        }
        Ok(())
    }

    fn table(self, report: &Report) {
        let rows = table::rows(report);
        let [name, ended] = table::widths(&rows);
        let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(table::width(text)));
        let mut text = String::from("\n");
        for table::Row { weight, cells } in &rows {
            let style = weight.map_or(Style::new(), Weight::style);
            let [script, how, time, memory] = cells;
            let gaps = (pad(script, name), pad(how, ended));
            text.push_str(&format!(
                "{script}{}  {style}{how}{style:#}{}  {time:>9}  {memory:>10}\n",
                gaps.0, gaps.1
            ));
        }
        // In one piece, so that lines of other processes do not fall between.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
        let (weight, text) = table::total(report);
        self.say(weight, &text);
        for (reason, count) in &report.pool.reasons {
            self.say(Weight::Note, &format!("{count} ran cold: {reason}"));
        }
    }

    /// One JSON object on stdout; a failure is told on stderr.
    pub fn json(self, value: &impl Serialize) {
        if let Err(failure) = self.object(value) {
            line(Weight::Error, "belljar:", &failure.to_string());
        }
    }

    fn object(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
        let text = escape::in_json(&text);
        let mut out = anstream::stdout().lock();
        match out
            .write_all(format!("{text}\n").as_bytes())
            .and_then(|()| out.flush())
        {
            // A reader that has gone away is not an error.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("cannot write to stdout: {}", plain(&error))))
            }
            _ => Ok(()),
        }
    }

    /// Text that was asked for, on stdout. A reader that has gone away is not an error.
    pub fn text(self, text: &str) {
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Text of several lines on stdout, each made harmless.
    pub fn tree(self, text: &str) {
        for line in text.lines() {
            self.text(&format!("{}\n", escape(line)));
        }
    }

    /// A line of a report on stdout: a mark, a name, the rest.
    pub fn row(self, weight: Weight, mark: &str, name: &str, detail: &str) {
        let style = weight.style();
        self.text(&format!("{style}{mark}{style:#} {name}: {}\n", escape(detail)));
    }
}

/// Whether output that was too long ends in the middle of a line of the screen, so that ours would be glued to it.
fn was_cut_within_a_line(outcome: &Outcome) -> bool {
    let open = |captured: &Captured| captured.tail.last().is_some_and(|last| *last != b'\n');
    open(&outcome.stderr) || open(&outcome.stdout) && std::io::stdout().is_terminal()
}

/// Help and version go to stdout as clap lays them out; a mistake becomes one line.
pub fn clap(error: &clap::Error, failure: Option<&Failure>, json: bool) {
    match failure {
        Some(failure) => Printer { json, quiet: false }.failure(failure),
        // A reader that has gone away is not an error.
        None => drop(error.print()),
    }
}

fn line(weight: Weight, word: &str, text: &str) {
    let style = weight.style();
    // In one piece, so that lines of other processes do not fall between.
    let text = format!("{style}{word}{style:#} {}\n", escape(text));
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
