//! Exit codes. Everything that is belljar's own failure is 125, so that a script can tell it from the program's.

use belljar::outcome::{Outcome, Status};

use crate::commands::each::{Ended, Report};

/// belljar could not run it, or could not make sense of what was typed.
pub const OWN_FAILURE: i32 = 125;
/// One of several scripts did not end well.
const NOT_ALL: i32 = 1;
const TIMED_OUT: i32 = 124;
const OUT_OF_MEMORY: i32 = 137;
const CANCELLED: i32 = 130;

/// The exit code that tells of an outcome.
pub fn code(outcome: &Outcome) -> i32 {
    match outcome.status {
        Status::Returned => outcome.exit_code.unwrap_or(0),
        Status::Raised | Status::Exited => outcome.exit_code.unwrap_or(1),
        Status::Signalled => 128 + outcome.signal.unwrap_or(0),
        Status::TimedOut => TIMED_OUT,
        Status::OutOfMemory => OUT_OF_MEMORY,
        Status::Cancelled => CANCELLED,
    }
}

/// The exit code that tells of many scripts: the gravest thing that happened.
pub fn of_all(report: &Report) -> i32 {
    let any = |what: fn(&Ended) -> bool| report.scripts.iter().any(|(_, ended)| what(ended));
    if report.cancelled {
        CANCELLED
    } else if any(|ended| matches!(ended, Ended::Failed(_))) {
        OWN_FAILURE
    } else if any(|ended| !ended.is_clean()) {
        NOT_ALL
    } else {
        0
    }
}
