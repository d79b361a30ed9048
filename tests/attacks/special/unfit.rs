//! Jobs that no parked worker may have.

use super::solo;
use crate::runner;
use crate::skips::Skips;
use crate::stage::{Stage, Who};

const JOB: &str = "print('{\"probe\": \"job\", \"saw\": \"ran\"}')";

/// Each line of the list is tried on a pool.
pub fn play(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let skips =
        std::fs::read_to_string(runner::folder().join("skips.toml")).map_err(|error| error.to_string())?;
    let skips = Skips::load(&skips)?;
    let mut wrong = Vec::new();
    // Of an attack only the control is meant.
    for entry in skips.cold_only().iter().filter(|entry| !entry.what.contains('/')) {
        let found = run(stage, who, &entry.what)?;
        if !found
            .as_ref()
            .is_some_and(|reason| reason.contains(&entry.reason))
        {
            wrong.push(format!("{}: {found:?}, not `{}`", entry.what, entry.reason));
        }
    }
    // The control: what is not on the list is no reason.
    wrong.extend(run(stage, who, "loopback")?.map(|reason| format!("loopback: {reason}")));
    Ok(wrong)
}

/// Why a job that is given this ran cold, if it did.
fn run(stage: &Stage, who: Who, what: &str) -> Result<Option<String>, String> {
    let given = ["workdir", "draft", "host network", "loopback"].contains(&what);
    let knob = format!("without {what}");
    let mut items = vec![if given { what } else { &knob }];
    // There must be something that can be made writable.
    items.extend((what == "read-only").then_some("canary shown read-only"));
    items.sort_unstable();
    let run = solo(stage, who, JOB, (&items, &[]), &[], |_, request| {
        request.warm = true;
        Ok(())
    })?;
    match (run.want("job", "ran"), run.report.outcome) {
        (None, Some(outcome)) => Ok(outcome.cold),
        (wrong, _) => Err(format!("{what}: {wrong:?} {:?}", run.report.error)),
    }
}
