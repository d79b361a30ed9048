//! The one outcome, decided from facts of the host. The guest's own frame counts among returned, raised and exited.

use belljar_linux::cgroup::Stats;

use super::watch::{Kill, Seen};
use crate::outcome::{Limit, Status};
use crate::plan::Plan;
use crate::pyerror::PythonError;
use crate::wire::Kind;

const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EMFILE: i32 = 24;
const EFBIG: i32 = 27;
const ENOSPC: i32 = 28;

/// How it ended, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub status: Status,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub limit: Option<Limit>,
}

/// What the guest's disk looked like when the jar was empty.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Disk {
    pub full: bool,
    pub no_inodes: bool,
}

pub(super) fn verdict(
    plan: &Plan,
    seen: &Seen,
    stats: Option<&Stats>,
    error: Option<&PythonError>,
    errno: Option<i32>,
    disk: Disk,
    peak: u64,
) -> Verdict {
    let out_of_memory = seen.kill == Some(Kill::Memory) || stats.is_some_and(|stats| stats.oom_kills > 0);
    let code = seen
        .status
        .filter(|status| status & 0x7f == 0)
        .map(|status| status >> 8 & 0xff);
    // A jar that the warden ended died by SIGKILL, whatever its first process was about to do.
    let signal = match seen.status {
        Some(status) if status & 0x7f != 0 => Some(status & 0x7f),
        None => Some(SIGKILL),
        _ => None,
    };
    let status = match seen.kill {
        _ if out_of_memory => Status::OutOfMemory,
        Some(Kill::Deadline) => Status::TimedOut,
        Some(Kill::Caller) => Status::Cancelled,
        _ if seen.interrupted && signal == Some(2) => Status::Cancelled,
        _ if signal.is_some() => Status::Signalled,
        _ => own_word(seen, code),
    };
    let limit = limit(plan, seen, stats, error, errno, disk, peak, out_of_memory, signal);
    Verdict {
        status,
        exit_code: code,
        signal,
        limit,
    }
}

/// Among returned, raised and exited the guest's frame decides, as far as its exit code does not belie it.
fn own_word(seen: &Seen, code: Option<i32>) -> Status {
    match (seen.frame.as_ref().map(|frame| frame.kind), code) {
        (Some(Kind::Returned), Some(0)) => Status::Returned,
        (Some(Kind::Raised), Some(code)) if code != 0 => Status::Raised,
        _ => Status::Exited,
    }
}

#[allow(clippy::too_many_arguments)] // Each is a different fact, and all are read here only.
fn limit(
    plan: &Plan,
    seen: &Seen,
    stats: Option<&Stats>,
    error: Option<&PythonError>,
    errno: Option<i32>,
    disk: Disk,
    peak: u64,
    out_of_memory: bool,
    signal: Option<i32>,
) -> Option<Limit> {
    let raised = |name: &str| error.is_some_and(|error| error.type_name.rsplit('.').next() == Some(name));
    let no_thread = |error: &PythonError| error.message == "can't start new thread";
    let processes = match stats.and_then(|stats| Some((stats, stats.pids_peak?))) {
        // Nobody counts what an rlimit denies, which comes first; but then as many were there as there may be, and init.
        Some((stats, peak)) => stats.pids_denied > 0 || peak > plan.limits().pids,
        // The exception has to tell.
        None => errno == Some(EAGAIN) && raised("BlockingIOError") || error.is_some_and(no_thread),
    };
    // Neither a cgroup nor an rlimit counts requests that are denied, so the exception has to tell. One that a `raise` made
    // says nothing of the limit, unless as much was used: libraries raise it anew.
    let memory = raised("MemoryError") || raised("_ArrayMemoryError") || errno == Some(ENOMEM);
    let near = peak >= plan.limits().memory / 4 * 3;
    let denied = memory && (near || !error.is_some_and(PythonError::is_own));
    let full_disk = disk.full || errno == Some(ENOSPC) && !disk.no_inodes || errno == Some(EFBIG);
    [
        (out_of_memory || denied, Limit::Memory),
        (seen.kill == Some(Kill::Deadline), Limit::Time),
        (
            seen.kill == Some(Kill::Cpu) || signal == Some(SIGXCPU) && plan.limits().cpu_seconds.is_some(),
            Limit::Cpu,
        ),
        (processes, Limit::Processes),
        (disk.no_inodes || errno == Some(EMFILE), Limit::Files),
        (full_disk || signal == Some(SIGXFSZ), Limit::Disk),
        (seen.overflowed, Limit::Output),
    ]
    .into_iter()
    .find_map(|(hit, limit)| hit.then_some(limit))
}
