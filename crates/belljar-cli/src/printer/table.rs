//! How many scripts ended, as a table and as an object.

use std::borrow::Cow;

use belljar::Outcome;
use belljar::outcome::{Json, Status};
use belljar::pool::{PoolStats, Steps};
use serde::Serialize;

use super::summary::signal_name;
use super::{FailureView, Weight, escape};
use crate::commands::each::{Ended, Report};
use belljar::policy::readable_size as bytes;

/// Names longer than this do not widen the table for all others.
const NAME: usize = 48;
/// Longest text of how a script ended.
const ENDING: usize = 60;

/// One line: how it weighs, unless it is the first, and its columns.
pub struct Row {
    pub weight: Option<Weight>,
    pub cells: [String; 4],
}

/// The rows, the first one with the names of the columns.
pub fn rows(report: &Report) -> Vec<Row> {
    let head = Row {
        weight: None,
        cells: ["script", "ended", "time", "memory"].map(str::to_owned),
    };
    let row = |(script, ended): &(crate::commands::each::Script, Ended)| {
        let (weight, how) = ending(ended);
        let usage = match ended {
            Ended::Ran(outcome) if outcome.usage.wall_seconds > 0.0 => Some(&outcome.usage),
            _ => None,
        };
        let memory = usage.and_then(|usage| usage.memory_peak).map(bytes);
        Row {
            weight: Some(weight),
            cells: [
                escape(&script.name).into_owned(),
                cut(&escape(&how), ENDING).into_owned(),
                usage.map_or_else(|| "-".to_owned(), |usage| time(usage.wall_seconds)),
                memory.unwrap_or_else(|| "-".to_owned()),
            ],
        }
    };
    std::iter::once(head)
        .chain(report.scripts.iter().map(row))
        .collect()
}

/// The widths that the first two columns have.
pub fn widths(rows: &[Row]) -> [usize; 2] {
    let widest = |column: usize, most: usize| {
        let widths = rows.iter().map(|row| width(&row.cells[column]));
        widths.filter(|width| *width <= most).max().unwrap_or(0)
    };
    [widest(0, NAME), widest(1, ENDING)]
}

fn ending(ended: &Ended) -> (Weight, String) {
    match ended {
        Ended::Ran(outcome) => of_outcome(outcome),
        Ended::Failed(_) => (Weight::Error, "failed in belljar".to_owned()),
        Ended::NotBegun => (Weight::Warning, "not begun".to_owned()),
    }
}

fn of_outcome(outcome: &Outcome) -> (Weight, String) {
    let mut text = match outcome.status {
        _ if outcome.success() => "ok".to_owned(),
        Status::Raised => match &outcome.exception {
            Some(exception) => format!("raised {}", exception.type_name),
            None => "raised an exception".to_owned(),
        },
        Status::Returned | Status::Exited => format!("exit code {}", outcome.exit_code.unwrap_or(1)),
        Status::Signalled => {
            let number = outcome.signal.unwrap_or(0);
            format!("killed by signal {number}{}", signal_name(number))
        }
        Status::TimedOut => "timed out".to_owned(),
        Status::OutOfMemory => "out of memory".to_owned(),
        Status::Cancelled => "cancelled".to_owned(),
    };
    let told = matches!(outcome.status, Status::TimedOut | Status::OutOfMemory);
    if let Some(limit) = outcome.limit.filter(|_| !told) {
        // The name of a limit is a plain word in JSON.
        let name = serde_json::to_value(limit).unwrap_or_default();
        text.push_str(&format!(", limit {}", name.as_str().unwrap_or("hit")));
    }
    let weight = match outcome.status {
        _ if outcome.success() && outcome.limit.is_none() => Weight::Good,
        _ if outcome.success() => Weight::Warning,
        Status::Cancelled => Weight::Warning,
        _ => Weight::Error,
    };
    (weight, text)
}

/// The last line: how many ended how, in which time.
pub fn total(report: &Report) -> (Weight, String) {
    let Counts {
        clean,
        failed,
        cancelled,
        not_begun,
        errors,
    } = count(report);
    let all = report.scripts.len();
    let mut text = format!("{all} script{}: {clean} ok", if all == 1 { "" } else { "s" });
    for (count, what) in [
        (failed, "failed"),
        (errors, "failed in belljar"),
        (cancelled, "cancelled"),
        (not_begun, "not begun"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text.push_str(&format!(
        "; {}, {} at once",
        time(report.wall.as_secs_f64()),
        report.jobs
    ));
    let weight = if clean == all { Weight::Good } else { Weight::Error };
    (weight, text)
}

#[derive(Default, Serialize)]
struct Counts {
    clean: usize,
    failed: usize,
    errors: usize,
    cancelled: usize,
    not_begun: usize,
}

fn count(report: &Report) -> Counts {
    let mut counts = Counts::default();
    for (_, ended) in &report.scripts {
        let one = match ended {
            _ if ended.is_clean() => &mut counts.clean,
            Ended::Ran(outcome) if outcome.status == Status::Cancelled => &mut counts.cancelled,
            Ended::Ran(_) => &mut counts.failed,
            Ended::Failed(_) => &mut counts.errors,
            Ended::NotBegun => &mut counts.not_begun,
        };
        *one += 1;
    }
    counts
}

/// Where the time of the workers went.
pub fn timings(stats: &PoolStats) -> Vec<String> {
    let PoolStats {
        forks, jobs, cold, ..
    } = stats;
    let steps = &stats.steps;
    let mut lines = vec![format!(
        "{forks} workers made, {jobs} had a script, {cold} scripts ran cold"
    )];
    let parts = [
        ("group", steps.group, "making its cgroup"),
        ("jar", steps.jar, "making the jar: init, namespaces, mounts"),
        ("queue", steps.queue, "waiting for the template"),
        ("fork", steps.fork, "the fork"),
        ("setns", steps.setns, "walking in"),
        ("seal", steps.seal, "sealing"),
        ("rehearse", steps.rehearse, "a job of no effect"),
        ("check", steps.check, "the look from outside"),
        ("job", steps.job, "the script, to its empty jar"),
        ("kill", steps.kill, "ending jars that were not used"),
        ("reap", steps.reap, "removing what is left of a jar"),
    ];
    let line = |(name, micros, what): (&str, f64, &str)| format!("{name:<9}{:>9.3} ms  {what}", micros / 1e3);
    lines.extend(parts.map(line));
    lines
}

/// The documented object (docs/reference/outcome.md).
#[derive(Serialize)]
pub struct EachView<'a> {
    scripts: Vec<ScriptView<'a>>,
    summary: SummaryView,
    pool: PoolView<'a>,
}

#[derive(Serialize)]
struct ScriptView<'a> {
    script: &'a str,
    outcome: Option<Json<'a>>,
    error: Option<FailureView<'a>>,
    cold: Option<&'a str>,
    collected: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct SummaryView {
    scripts: usize,
    #[serde(flatten)]
    counts: Counts,
    jobs: usize,
    wall: f64,
}

#[derive(Serialize)]
struct PoolView<'a> {
    workers: u64,
    jobs: u64,
    cold: u64,
    steps: &'a Steps,
}

impl<'a> EachView<'a> {
    pub fn new(report: &'a Report) -> Self {
        let script = |(script, ended): &'a (crate::commands::each::Script, Ended)| {
            let (outcome, error) = match ended {
                Ended::Ran(outcome) => (Some(&**outcome), None),
                Ended::Failed(failure) => (None, Some(FailureView::new(failure))),
                Ended::NotBegun => (None, None),
            };
            ScriptView {
                script: &script.name,
                cold: outcome.and_then(|outcome| outcome.cold.as_deref()),
                outcome: outcome.map(Outcome::json),
                error,
                collected: script.collect.as_ref().map(|folder| folder.to_string_lossy()),
            }
        };
        let stats = &report.pool;
        Self {
            scripts: report.scripts.iter().map(script).collect(),
            summary: SummaryView {
                scripts: report.scripts.len(),
                counts: count(report),
                jobs: report.jobs,
                wall: report.wall.as_secs_f64(),
            },
            pool: PoolView {
                workers: stats.forks,
                jobs: stats.jobs,
                cold: stats.cold,
                steps: &stats.steps,
            },
        }
    }
}

/// A time for people.
fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// Columns that a text takes on a screen: letters of East Asia and pictures take two.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(character: char) -> usize {
    1 + usize::from(
        matches!(character, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..),
    )
}

/// A text of at most so many columns.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if width(text) <= most {
        return Cow::Borrowed(text);
    }
    let mut left = most.saturating_sub(1);
    let fits = |character: &char| match left.checked_sub(columns(*character)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('…');
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_what_it_takes_on_a_screen() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("数据数据", 5), "数据…");
        assert_eq!(width("数a"), 3);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            (time(0.0124), time(1.5)),
            ("12 ms".to_owned(), "1.50 s".to_owned())
        );
    }
}
