//! Exit codes. Everything that is belljar's own failure is 125, so that a script can tell it from the program's.

use belljar::outcome::{Outcome, Status};

/// belljar could not run it, or could not make sense of what was typed.
pub const OWN_FAILURE: i32 = 125;
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
