//! PID 1 of a cabinet: starts templates, makes jars, sends workers into them, looks at them from outside, reaps.
//!
//! One thread and one loop. It never waits for a template or a worker: either may be hostile.

mod jars;
mod loops;
mod preloading;
mod strangers;
mod templates;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use belljar_linux::userns::{self, IdMap};
use belljar_linux::{descriptors, mount, privileges, process, signals};

use super::message::tell;
use super::{Spec, Told};
use crate::init::{Failure, Room, step};
use crate::plan::Namespace;

use loops::Keeper;

/// The whole life of a cabinet's keeper; the code it gives means nothing.
pub(super) fn keeper(room: &Room<'_>, engine: BorrowedFd<'_>, spec: &Spec, groups: &[OwnedFd]) -> i32 {
    let wanted: Vec<_> = std::iter::once(engine.as_raw_fd())
        .chain(groups.iter().map(AsRawFd::as_raw_fd))
        .collect();
    let Ok(mut kept) = descriptors::set_table(&[], &wanted) else {
        return 1;
    };
    let engine = kept.remove(0);
    let done = prepare(room, &engine).and_then(|()| {
        let keeper = step("start the keeper's loop", Keeper::new(room, spec, &engine, &kept))?;
        keeper.run()
    });
    match done {
        Ok(()) => 0,
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or_default();
            tell(engine.as_fd(), Told::Broken { step, errno });
            1
        }
    }
}

/// Takes on its ids and gives the cabinet a /proc of its own.
fn prepare(room: &Room<'_>, engine: &OwnedFd) -> Result<(), Failure> {
    signals::ignore_pipe();
    step(
        "start the keeper's session",
        rustix::process::setsid().map(drop).map_err(io::Error::from),
    )?;
    if let Some(ids) = room.plan.ids() {
        let map = IdMap {
            uid: ids.inside,
            gid: ids.inside,
            host_uid: ids.inside,
            host_gid: ids.inside,
        };
        // The files of a hidden process belong to root. Nothing but our own code runs here yet.
        step("show the keeper", privileges::show())?;
        step("map the keeper's ids", userns::map_self(map))?;
    }
    step("hide the keeper", privileges::hide())?;
    step("die with the builder", process::die_with_parent(engine.as_fd()))?;
    if room.plan.has_own(Namespace::Cgroup) {
        step("make a view of the cgroups", process::unshare_cgroup())?;
    }
    step("mount the cabinet's /proc", mount::proc(Path::new("/proc")))
}
