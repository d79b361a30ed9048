//! The cgroup of a jar.

use std::io;
use std::sync::{Mutex, PoisonError};

use belljar_linux::cgroup::{self, CgroupError, Group, Hierarchy, Owner};

use super::scope;
use crate::error::Error;
use crate::plan::Plan;

/// Whether the plan has a cgroup, of version 2 or of version 1.
pub(crate) fn has_group(plan: &Plan, v2: bool) -> bool {
    plan.cgroup()
        .is_some_and(|group| v2 == matches!(group.hierarchy, Hierarchy::V2 { .. }))
}

/// Fails where a test wants this step to.
pub(crate) fn fault(plan: &Plan, step: &str) -> Result<(), Error> {
    match plan.fault(step) {
        Some(errno) => Err(Error::setup(
            format!("set up {step}"),
            io::Error::from_raw_os_error(errno),
        )),
        None => Ok(()),
    }
}

/// Makes the cgroup of a plan, with so much more memory than it has, where this process is the jar's warden.
pub(crate) fn make_group(plan: &Plan, more_memory: u64) -> Result<Option<Group>, Error> {
    make_group_of(plan, more_memory, std::process::id())
}

/// The same for a jar of another warden.
pub(crate) fn make_group_of(plan: &Plan, more_memory: u64, warden: u32) -> Result<Option<Group>, Error> {
    let Some(wanted) = plan.cgroup() else {
        return Ok(None);
    };
    fault(plan, "cgroup")?;
    let limits = cgroup::Limits {
        memory: Some(wanted.memory.saturating_add(more_memory)),
        swap: false,
        pids: Some(wanted.pids),
        cpus: Some(wanted.cpus),
        cpusets: false,
    };
    let name = owner().map(|owner| owner.name(next_number()));
    let group = name.and_then(|name| Group::create(&scope::of(wanted.hierarchy, warden), &name, &limits));
    group
        .map(Some)
        .map_err(|error| Error::setup("make a cgroup", io::Error::other(error)))
}

/// This process, looked at once unless it has been forked since.
fn owner() -> Result<Owner, CgroupError> {
    static LAST: Mutex<Option<Owner>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some(owner) if owner.pid == std::process::id() => Ok(owner),
        _ => Ok(*last.insert(Owner::current()?)),
    }
}

/// A number that no other jar of this process has.
fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
