//! Guests that do anything at all, and crowds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::solo;
use crate::stage::{Stage, Who};

/// Thousands of calls with numbers and arguments by chance. Whatever becomes of the guest, the host has an outcome, and its
/// files are as they were.
pub fn random(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let chance = now.map_or(0, |now| now.subsec_nanos());
    for number in 0..4_u32 {
        let seed = chance + number;
        let mut given = vec!["canary shown read-only", "loopback"];
        given.extend((number % 2 == 1).then_some("parked worker"));
        let source = include_str!("storm.py");
        let run = solo(stage, who, source, (&given, &[]), &[], |_, request| {
            request.facts.insert("seed".into(), seed.into());
            request.policy.limits.timeout = Some(Duration::from_secs(10));
            Ok(())
        })?;
        if run.report.outcome.is_none() {
            wrong.push(format!("seed {seed}: no outcome: {:?}", run.report.error));
        }
    }
    Ok(wrong)
}

/// A crowd of busy processes that made init slow: even without the filter that forbids it, the deadline holds.
pub fn crowd(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = run_crowd(stage, who, &[])?;
    wrong.extend(run_crowd(stage, who, &["parked worker"])?);
    Ok(wrong)
}

fn run_crowd(stage: &Stage, who: Who, given: &[&str]) -> Result<Vec<String>, String> {
    let run = solo(
        stage,
        who,
        include_str!("crowd.py"),
        (given, &["seccomp"]),
        &[],
        |_, request| {
            request.policy.limits.timeout = Some(Duration::from_secs(1));
            Ok(())
        },
    )?;
    let mut wrong = Vec::new();
    wrong.extend(run.want("make init slow", "ok"));
    match &run.report.outcome {
        Some(outcome) if outcome.usage.wall_seconds < 20.0 => {}
        Some(outcome) => wrong.push(format!(
            "ended {:.1} s after its start, not 1 s",
            outcome.usage.wall_seconds
        )),
        None => wrong.push(format!("no outcome: {:?}", run.report.error)),
    }
    Ok(wrong)
}
