//! What is said on stderr after a run: how it ended when that was not its own choice, a hint, dropped output, changed
//! files.

use std::collections::BTreeMap;
use std::path::Path;

use belljar::Outcome;
use belljar::files::{self, TrustClass};
use belljar::outcome::{Limit, Status};
use belljar::policy::Limits;
use belljar::policy::readable_size as bytes;

use super::Weight;

/// More names than this are counted, not listed.
const LISTED: usize = 20;

/// What became of the files that a run left.
#[derive(Debug, Clone, Copy)]
pub enum Kept<'a> {
    /// They are where they were made, or gone with the jar.
    Nothing,
    /// A draft, listed and dropped.
    Drafted,
    /// A draft, listed and written to this folder if the run ended well.
    Applied(&'a Path),
    /// Copied to this folder.
    Collected(&'a Path),
}

type Line = (Weight, &'static str, String);

/// The lines, in order.
pub fn lines(outcome: &Outcome, limits: &Limits, kept: Kept<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(text) = ending(outcome, limits) {
        lines.push((Weight::Error, "belljar:", text));
    } else if let Some(text) = outcome.limit.and_then(|limit| survived(limit, limits)) {
        lines.push((Weight::Warning, "belljar:", text));
    }
    for (stream, captured) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        if captured.dropped > 0 {
            let text = format!(
                "{} bytes of {stream} dropped, limit {} (--output)",
                captured.dropped,
                bytes(limits.output)
            );
            lines.push((Weight::Warning, "belljar:", text));
        }
    }
    if let Some(hint) = outcome
        .exception
        .as_ref()
        .and_then(|exception| exception.hint.as_ref())
    {
        lines.push((Weight::Note, "hint:", hint.in_flags()));
    }
    changes(outcome, kept, &mut lines);
    lines
}

/// How it ended, when that was not its own choice.
fn ending(outcome: &Outcome, limits: &Limits) -> Option<String> {
    Some(match outcome.status {
        Status::Returned | Status::Raised | Status::Exited => return None,
        Status::TimedOut => match limits.timeout {
            Some(timeout) => format!("timed out after {} s (--timeout)", timeout.as_secs_f64()),
            None => "timed out".to_owned(),
        },
        Status::OutOfMemory => format!("out of memory, limit {} (--memory)", bytes(limits.memory)),
        Status::Cancelled => "cancelled".to_owned(),
        Status::Signalled if outcome.limit == Some(Limit::Cpu) => survived(Limit::Cpu, limits)?,
        Status::Signalled => match outcome.signal {
            Some(number) => format!("killed by signal {number}{}", signal_name(number)),
            None => "killed by a signal".to_owned(),
        },
    })
}

/// A limit that was hit, whether or not the guest lived on.
fn survived(limit: Limit, limits: &Limits) -> Option<String> {
    Some(match limit {
        Limit::Memory => format!("hit the memory limit of {} (--memory)", bytes(limits.memory)),
        Limit::Cpu => match limits.cpu_seconds {
            Some(seconds) => format!("used up its {seconds} s of processor time (--cpu-seconds)"),
            None => "used up its processor time".to_owned(),
        },
        Limit::Processes => format!("hit the limit of {} processes and threads (--pids)", limits.pids),
        Limit::Disk => match limits.file_size {
            Some(size) => {
                format!(
                    "hit the limit of {} on disk (--disk) or {} a file (--file-size)",
                    bytes(limits.disk),
                    bytes(size)
                )
            }
            None => format!("hit the limit of {} on disk (--disk)", bytes(limits.disk)),
        },
        Limit::Files => {
            format!(
                "hit the limit of {} files (--inodes) or {} open ones (--open-files)",
                limits.inodes, limits.open_files
            )
        }
        // Dropped output has lines of its own; time is an ending.
        Limit::Output | Limit::Time => return None,
    })
}

fn changes(outcome: &Outcome, kept: Kept<'_>, lines: &mut Vec<Line>) {
    let changes = &outcome.changes;
    let copied = changes.applied || matches!(kept, Kept::Collected(_));
    let marked: Vec<String> = [
        ("+", &changes.created),
        ("~", &changes.modified),
        ("-", &changes.deleted),
    ]
    .into_iter()
    .flat_map(|(mark, names)| names.iter().map(move |name| (mark, name)))
    // What was left out is told as that, below: it is not in the folder.
    .filter(|(_, name)| !(copied && changes.skipped.contains_key(*name)))
    .map(|(mark, name)| format!("{mark} {name}"))
    .collect();
    let more = if changes.truncated { " or more" } else { "" };
    let count = |thing: &str| {
        let many = if marked.len() == 1 { "" } else { "s" };
        format!("{}{more} {thing}{many}", marked.len())
    };
    let text = match kept {
        // What the guest wrote to the folder itself is its owner's to see; what other tools will run is told.
        Kept::Nothing => return care(&changes.notable, lines),
        Kept::Drafted => format!("{}, not applied (--apply writes them)", count("change")),
        Kept::Applied(folder) if changes.applied => {
            format!("{}, written to {}", count("change"), folder.display())
        }
        Kept::Applied(_) if marked.is_empty() => "0 changes".to_owned(),
        Kept::Applied(_) => format!(
            "{}, not applied because the run did not end well",
            count("change")
        ),
        Kept::Collected(folder) => format!("{} collected in {}", count("path"), folder.display()),
    };
    lines.push((Weight::Note, "belljar:", text));
    let hidden = marked.len().saturating_sub(LISTED);
    lines.extend(
        marked
            .into_iter()
            .take(LISTED)
            .map(|text| (Weight::Note, " ", text)),
    );
    if hidden > 0 {
        lines.push((
            Weight::Note,
            " ",
            format!("and {hidden} more (--json lists them)"),
        ));
    }
    named("left out", changes.skipped.iter().collect(), lines);
    care(&changes.notable, lines);
}

/// What acts by itself comes first, then what is near the top: a flood of others must not hide it.
fn care(notable: &BTreeMap<String, String>, lines: &mut Vec<Line>) {
    let mut names: Vec<(&String, &String)> = notable.iter().collect();
    names.sort_by_key(|(name, _)| {
        let class = files::parse(name).map(|path| files::trust_class(&path));
        let waits = matches!(class, Some(TrustClass::Notable(_)));
        (waits, name.matches('/').count())
    });
    named("take care with", names, lines);
}

/// Names with a reason each, as many as one reads.
fn named(what: &str, names: Vec<(&String, &String)>, lines: &mut Vec<Line>) {
    let shown = names.iter().take(LISTED);
    lines.extend(shown.map(|(name, why)| (Weight::Warning, "belljar:", format!("{what} {name}: {why}"))));
    if names.len() > LISTED {
        let text = format!("{what} {} more (--json lists them)", names.len() - LISTED);
        lines.push((Weight::Warning, "belljar:", text));
    }
}

/// The usual name of a signal, in brackets.
pub fn signal_name(number: i32) -> String {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let found = names.iter().find(|(signal, _)| signal.as_raw() == number);
    found.map(|(_, name)| format!(" ({name})")).unwrap_or_default()
}
