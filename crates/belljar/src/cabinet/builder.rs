//! The outer room of a cabinet: its root is built here, and copied, locked, into the keeper's namespaces.
//!
//! Two levels, because mounts that are copied into a mount namespace of a less privileged user namespace are locked. With
//! one level a template could clear the read-only flag of a bind and write the host's files.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use belljar_linux::process::{self, Namespaces};
use belljar_linux::{descriptors, privileges, seccomp};

use super::keeper::keeper;
use super::message::tell;
use super::{Spec, Told};
use crate::init::{Failure, Room, enter, groups, mask_sources, prepare, set_up, step};
use crate::plan::{Hand, Step};

/// The life of the cabinet's outer PID 1; the code it gives means nothing.
pub(super) fn builder(mut room: Room<'_>, engine: BorrowedFd<'_>, spec: &Spec) -> i32 {
    match build(&mut room).and_then(|groups| start_keeper(&room, engine, spec, &groups)) {
        Ok(keeper) => wait(&room, &keeper),
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or_default();
            tell(engine, Told::Broken { step, errno });
            1
        }
    }
}

/// The root of the plan. What is the jar's own comes later, in each jar: masks of /proc, the Landlock rules, the limits.
/// Gives the way into the templates' cgroup.
fn build(room: &mut Room<'_>) -> Result<Vec<OwnedFd>, Failure> {
    let mut root = prepare(room)?;
    for (position, operation) in room.plan.steps().iter().enumerate() {
        let done = match operation {
            step if !step.is_for(Hand::Builder) => Ok(()),
            Step::Hostname { name } => {
                rustix::system::sethostname(name.as_bytes()).map_err(std::io::Error::from)
            }
            // A jar could not mount a /proc of its own where only a masked one is visible.
            Step::Mask { .. } => mask_sources(),
            // Before or after this list.
            Step::Cgroup { .. }
            | Step::Namespaces { .. }
            | Step::Ids { .. }
            | Step::Privileges
            | Step::Descriptors
            | Step::Seccomp { .. } => Ok(()),
            _ => root.step(position, operation, room),
        };
        done.map_err(|error| (set_up(operation), error))?;
    }
    if !room.enters_group {
        return Ok(Vec::new());
    }
    let own = step("hear of the cgroup", groups(room.report.as_fd()))?;
    step("enter the cgroup", enter(room, &own))?;
    step("hear of the templates' cgroup", groups(room.report.as_fd()))
}

fn start_keeper(
    room: &Room<'_>,
    engine: BorrowedFd<'_>,
    spec: &Spec,
    groups: &[OwnedFd],
) -> Result<process::Child, Failure> {
    // All of them: joining a pid or network namespace again needs capabilities over the user namespace that owns it.
    let inner = Namespaces::USER
        .and(Namespaces::MOUNT)
        .and(Namespaces::PID)
        .and(Namespaces::NETWORK)
        .and(Namespaces::IPC)
        .and(Namespaces::UTS);
    step(
        "start the keeper",
        process::start(inner, || keeper(room, engine, spec, groups)),
    )
}

/// Nothing is left to do but to be there: when the keeper ends this ends, and with it everything in the namespace.
fn wait(room: &Room<'_>, keeper: &process::Child) -> i32 {
    let sealed = privileges::drop_all()
        .and_then(|()| descriptors::set_table(&[], &[room.report.as_raw_fd()]))
        .and_then(|kept| {
            std::mem::forget(kept);
            seccomp::install(&seccomp::init_program(seccomp::Arch::native()))
        });
    if sealed.is_err() {
        return 1;
    }
    let _ = process::reap_until(keeper);
    0
}
