//! Warm: the outer room that holds one template and the jars of its workers.
//!
//! A template needs capabilities over its own user namespace, to let children walk into jars, and it runs the import code
//! of packages, which may be hostile. In a cabinet those capabilities are worth nothing: the root is built and locked and
//! the host's view is gone before any Python starts, and whoever runs there reaches only jobs that import it anyway.
//!
//! This file is the engine's side of it. The others run in the cabinet's own processes: `serve` in its warden, `builder`
//! in the outer namespaces, `keeper` as PID 1 of the inner ones, `room` as PID 1 of each jar.

mod builder;
mod check;
mod keeper;
mod message;
mod networks;
mod room;
mod serve;
mod template;
#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::client;
use crate::error::Error;
use crate::init::Handed;
use crate::plan::{Namespace, Plan};
use crate::talk::{self, Asked, Opening, Spec};
use crate::tree::Tree;

pub(crate) use message::{Preloaded, Timings};
pub(crate) use serve::hold;

use message::{FromKeeper, ToKeeper};

/// A cabinet that has been opened. Dropping it ends everything in it.
#[derive(Debug)]
pub(crate) struct Cabinet {
    /// The way to the keeper.
    keeper: OwnedFd,
    /// The way to the warden, which ends with it.
    warden: UnixStream,
    process: Child,
}

/// What comes from a cabinet.
#[derive(Debug)]
pub(crate) enum Event {
    /// A worker is sealed, checked and waits for its job.
    Parked(Box<Parked>),
    /// Anything that brings no worker.
    Told(Told),
}

/// What a cabinet has to tell.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Told {
    /// A template has done its imports; workers can be made.
    Ready {
        /// The interpreter's version.
        python: Vec<u32>,
        /// How each import went.
        modules: Vec<Preloaded>,
    },
    /// A worker could not be made.
    Failed {
        /// The number that it was asked for with.
        number: u64,
        /// What was being done.
        step: String,
        /// The error number.
        errno: i32,
    },
    /// No workers can be made from this template, and why; jobs run cold.
    Cold {
        /// Why.
        reason: String,
    },
    /// A template died; another one is on its way.
    Lost {
        /// What happened.
        what: String,
    },
    /// A template gave way to a fresh one.
    Rotated,
    /// The cabinet could not be built, and is gone.
    Broken {
        /// What was being done.
        step: String,
        /// The error number.
        errno: i32,
    },
}

/// A worker that waits for its one job, and everything that belongs to it.
#[derive(Debug)]
pub(crate) struct Parked {
    /// The number that it was asked for with.
    pub number: u64,
    /// Its pid in the cabinet.
    pub worker_pid: i32,
    /// The jar's PID 1: killing it ends the jar, and when it is gone the jar is empty.
    pub init: OwnedFd,
    /// The worker.
    pub worker: OwnedFd,
    /// The job goes in and frames come out here.
    pub control: OwnedFd,
    /// Standard input, to be written; like the next two it does not block.
    pub stdin: OwnedFd,
    /// Standard output, to be read.
    pub stdout: OwnedFd,
    /// Standard error, to be read.
    pub stderr: OwnedFd,
    /// Tells how the worker ended, as a jar's init does in a cold run.
    pub report: OwnedFd,
    /// What the jar's init has handed over.
    pub handed: Handed,
    /// Where the time went.
    pub timings: Timings,
}

/// Why jobs of a plan cannot run warm, if they cannot.
pub(crate) fn unfit(plan: &Plan) -> Option<&'static str> {
    let needed = [
        Namespace::User,
        Namespace::Mount,
        Namespace::Pid,
        Namespace::Network,
        Namespace::Ipc,
        Namespace::Uts,
    ];
    if let Some(reason) = plan.is_cold_only() {
        return Some(reason);
    }
    let own = needed.iter().all(|kind| plan.has_own(*kind));
    (!own).then_some("a template shares no namespace with the host")
}

impl Cabinet {
    /// Starts a cabinet's warden; that the template is ready comes as an event.
    pub(crate) fn open(binary: &Path, plan: &Plan, tree: Option<&Tree>, spec: &Spec) -> Result<Self, Error> {
        let (keeper, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|error| Error::setup("make a socket pair", error))?;
        let (warden, process) = client::start_binary(binary)?;
        let cabinet = Self {
            keeper,
            warden,
            process,
        };
        let (mut blobs, mut fds) = (Vec::new(), vec![theirs]);
        let tree = match tree {
            Some(tree) => Some(talk::carried(tree, &mut blobs, &mut fds)?),
            None => None,
        };
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let asked = Asked::Cabinet(Box::new(Opening::new(plan, tree, spec)));
        talk::send(&cabinet.warden, &asked, &blobs, &fds)
            .map_err(|error| Error::setup("hand the plan to the cabinet's warden", error))?;
        Ok(cabinet)
    }

    /// Asks for one parked worker, which enters the given cgroups. In a hurry it does not rehearse: somebody waits for it.
    /// Where the plan keeps it to some processors, they are told.
    pub(crate) fn make(
        &self,
        number: u64,
        hurry: bool,
        cpus: Vec<usize>,
        groups: &[BorrowedFd<'_>],
    ) -> Result<(), Error> {
        let make = ToKeeper::Make { number, hurry, cpus };
        message::send(self.keeper.as_fd(), &make, groups)
            .map_err(|error| Error::setup("ask for a worker", error))
    }

    /// Waits for the next event; `None` when the cabinet is gone.
    pub(crate) fn receive(&self) -> Result<Option<Event>, Error> {
        match message::receive::<FromKeeper>(self.keeper.as_fd()) {
            Ok(Some((said, fds))) => said.into_event(fds).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(Error::setup("hear from the cabinet", error)),
        }
    }

    /// The way to the keeper, for poll.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.keeper.as_fd()
    }

    /// The warden's pid.
    pub(crate) fn warden_pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Cabinet {
    fn drop(&mut self) {
        // The end of its socket ends the warden, and everything in the cabinet with it.
        let _ = self.warden.shutdown(std::net::Shutdown::Both);
        let _ = self.process.wait();
    }
}
