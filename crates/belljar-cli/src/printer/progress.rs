//! A bar on stderr while many scripts run; only on a terminal, and gone before anything else is printed.

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::table::cut;
use super::{ERROR, GOOD, Printer, escape};

/// Columns of the bar itself.
const BAR: usize = 24;
/// Least time between two drawings.
const STEADY: Duration = Duration::from_millis(40);

/// How far a command has come.
#[derive(Debug)]
pub struct Progress {
    on: bool,
    coloured: bool,
    total: usize,
    since: Instant,
    /// When it was last drawn, if it is there.
    drawn: Option<Instant>,
}

impl Progress {
    /// A bar for so many scripts, where someone sees it.
    pub fn new(printer: Printer, total: usize) -> Self {
        let able = std::env::var_os("TERM").is_some_and(|kind| !kind.is_empty() && kind != "dumb");
        // Traces come from other threads, and would fall into it.
        let traced =
            tracing::level_filters::LevelFilter::current() != tracing::level_filters::LevelFilter::OFF;
        Self {
            on: able && !printer.is_quiet() && !traced && std::io::stderr().is_terminal(),
            coloured: anstream::stderr().current_choice() != anstream::ColorChoice::Never,
            total,
            since: Instant::now(),
            drawn: None,
        }
    }

    /// Whether there is one at all.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Draws it.
    pub fn draw(&mut self, done: usize, failed: usize, slowest: &str) {
        if !self.on || self.drawn.is_some_and(|drawn| drawn.elapsed() < STEADY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let columns = rustix::termios::tcgetwinsize(std::io::stderr().as_fd())
            .map_or(0, |size| usize::from(size.ws_col));
        // A terminal that does not know its width says 0.
        let columns = if columns == 0 { 80 } else { columns.min(200) };
        put(&self.text(done, failed, slowest, columns));
    }

    fn text(&self, done: usize, failed: usize, slowest: &str, columns: usize) -> String {
        let paint = |style: anstyle::Style, text: String| match self.coloured && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text,
        };
        let full = BAR * done / self.total.max(1);
        let counts = format!(" {done}/{}", self.total);
        let failures = match failed {
            0 => String::new(),
            failed => format!(" {failed} not ok"),
        };
        let mut rest = format!(" {:.1} s", self.since.elapsed().as_secs_f64());
        // One column stays free: a terminal may go to the next line when the last one is written to.
        let taken = BAR + 3 + counts.len() + failures.len() + rest.len();
        let room = columns.saturating_sub(taken + 1);
        if room > 8 && !slowest.is_empty() {
            rest.push(' ');
            rest.push_str(&cut(&escape(slowest), room));
        }
        if columns < taken {
            return format!("\r{counts}{failures}\u{1b}[K");
        }
        let bar = paint(GOOD, "=".repeat(full));
        let failures = paint(ERROR, failures);
        format!(
            "\r[{bar}{}]{counts}{failures}{rest}\u{1b}[K",
            " ".repeat(BAR - full)
        )
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            put("\r\u{1b}[K");
        }
    }
}

fn put(text: &str) {
    // Nobody is left to tell if this fails.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
