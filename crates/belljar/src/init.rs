//! PID 1 of a jar. Everything in this module runs in init, a copy of the warden in new namespaces, until the guest is
//! started; then init only reaps and reports.
//!
//! It must never run anything of the guest's before the last step is done, and never speak to anyone but the warden.

mod clerk;
mod guest;
mod handed;
mod ids;
mod life;
mod places;
mod report;
mod root;
mod sources;

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::files::Obeyed;
use crate::job::Job;
use crate::plan::Plan;
use crate::runtime::RuntimeFile;

pub(crate) use clerk::Clerk;
pub(crate) use guest::{choose, filter, set_limits, worker_filter};
pub(crate) use handed::{Handed, Name};
pub(crate) use ids::{Ids, ids, namespaces};
pub(crate) use life::{Failure, enter, groups, init, prepare, set_up, step};
pub(crate) use report::{Report, receive, send};
pub(crate) use root::{
    Cover, DRAFT_MODE, folder, mask_sources, open_folder, place, read_only, scratch_part, show,
};
pub(crate) use sources::{Sources, open_sources};

/// What init needs, all of it prepared by the warden before the copy is made.
pub(crate) struct Room<'a> {
    /// What to build.
    pub plan: &'a Plan,
    /// What to run.
    pub job: &'a Job,
    /// The guest runtime: file names and contents for its folder.
    pub runtime: &'a [RuntimeFile<'a>],
    /// Host trees that only root could open; empty otherwise.
    pub sources: Sources,
    /// What tools on the host obey in folders that the guest writes.
    pub obeyed: &'a Obeyed,
    /// The way to the warden.
    pub report: OwnedFd,
    /// The warden's end of it, which the copy must not keep.
    pub warden: BorrowedFd<'a>,
    /// The guest's standard streams, unless it has a terminal.
    pub streams: [OwnedFd; 3],
    /// Whether the warden sends descriptors of a cgroup to enter.
    pub enters_group: bool,
    /// The guest's control socket.
    pub control: Option<OwnedFd>,
}
