//! Why uv could not do it, in a line and a next step. uv writes for people too, but at length, and of flags that nobody
//! gave here.

use super::room::Ran;
use super::settings::without_secrets;
use super::{EnvironmentError, Wish};
use crate::outcome::{Limit, Status};

/// Longest reason.
const LONGEST: usize = 400;

/// What its end means.
pub(super) fn of(ran: &Ran, wish: &Wish) -> EnvironmentError {
    if ran.full {
        return ended(
            "it nearly filled the disk",
            "free some space with `belljar env prune`, or set BELLJAR_CACHE_DIR",
        );
    }
    let next = "ask for fewer or smaller packages";
    match (ran.outcome.status, ran.outcome.limit) {
        (Status::TimedOut, _) => {
            return ended(
                "it took longer than half an hour",
                "try again, or name versions to make it easier",
            );
        }
        (Status::OutOfMemory, _) | (_, Some(Limit::Memory)) => {
            return ended("it needed more than 2 GiB of memory", next);
        }
        (Status::Signalled, _) if ran.outcome.exit_code == Some(128 + 25) => {
            return ended("a file of a package is larger than 4 GiB", next);
        }
        (Status::Cancelled, _) => return ended("it was cancelled", "try again"),
        _ => {}
    }
    let said = said(&ran.stderr);
    let (what, next) = KNOWN
        .iter()
        .find_map(|known| known.explain(&said, wish))
        .unwrap_or_else(|| {
            (
                format!("uv could not build the environment: {}", shorten(&said)),
                "the reason is uv's own; change the requirements, or the index settings".to_owned(),
            )
        });
    EnvironmentError::Refused { what, next }
}

fn ended(what: &str, next: &'static str) -> EnvironmentError {
    EnvironmentError::Ended {
        what: what.to_owned(),
        next,
    }
}

/// A reason of uv's that we know.
struct Known {
    /// All of these are in it.
    signs: &'static [&'static str],
    next: &'static str,
}

const fn known(signs: &'static [&'static str], next: &'static str) -> Known {
    Known { signs, next }
}

const KNOWN: [Known; 13] = [
    known(
        &["marked as `--no-build`"],
        "it has no wheel for this Python; allow it to be built, in the jar, with --allow-builds",
    ),
    known(
        &["no usable wheels"],
        "it has no wheel for this Python; allow it to be built, in the jar, with --allow-builds",
    ),
    known(
        &["no wheels with a matching"],
        "another Python may have wheels: name one with --python",
    ),
    known(
        &["was not found in the package registry"],
        "check the spelling, or the index settings",
    ),
    known(
        &["was not found in the provided package locations"],
        "check the spelling, or the folders of find-links",
    ),
    known(&["yanked"], "ask for another version"),
    known(
        &["Hash mismatch"],
        "the index gave another file than the lock names; try --refresh, and do not trust that index if it happens again",
    ),
    known(
        &["Failed to fetch"],
        "check the network and the index settings (UV_DEFAULT_INDEX, pip.conf), then try again",
    ),
    known(&["dns error"], "check the network, then try again"),
    known(
        &["No space left"],
        "free some space with `belljar env prune`, or set BELLJAR_CACHE_DIR",
    ),
    known(
        &["requirements are unsatisfiable", "Python"],
        "loosen the requirements, or name another interpreter with --python",
    ),
    known(&["requirements are unsatisfiable"], "loosen the requirements"),
    known(&["No solution found"], "loosen the requirements"),
];

impl Known {
    fn explain(&self, said: &str, _wish: &Wish) -> Option<(String, String)> {
        let all = self.signs.iter().all(|sign| said.contains(sign));
        all.then(|| (shorten(said), self.next.to_owned()))
    }
}

/// uv's words in one line, without its drawing, its hints on flags, and passwords.
fn said(stderr: &str) -> String {
    let lines = stderr.lines().map(|line| {
        line.trim_matches([
            ' ', '\u{d7}', '\u{2502}', '\u{251c}', '\u{2570}', '\u{2500}', '\u{25b6}', '\u{2514}',
            '\u{256d}', '\u{2560}',
        ])
    });
    let mut text = String::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let noise = [
            "Using Python",
            "Resolved ",
            "Prepared ",
            "Downloading ",
            "Downloaded ",
            "Building ",
            "Built ",
            "warning:",
        ];
        if noise.iter().any(|noise| line.starts_with(noise)) {
            continue;
        }
        if line.starts_with("hint:") {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line.strip_prefix("error: ").unwrap_or(line));
    }
    let plain: String = text.chars().filter(|character| !character.is_control()).collect();
    without_secrets(&plain)
}

fn shorten(said: &str) -> String {
    let said = said.trim_end_matches('.');
    let said = said
        .strip_prefix("No solution found when resolving dependencies: ")
        .unwrap_or(said);
    if said.is_empty() {
        return "it gave no reason".to_owned();
    }
    if said.len() <= LONGEST {
        return said.to_owned();
    }
    let end = (0..=LONGEST)
        .rev()
        .find(|end| said.is_char_boundary(*end))
        .unwrap_or(0);
    format!("{} \u{2026}", &said[..end])
}
