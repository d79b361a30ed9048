//! The process in a jar that runs jobs.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::foreign::Control;
use super::init::pid_of;

/// A worker, and the way to it. A jar may have another after it.
pub(crate) struct Worker {
    /// The process; that of a cold jar is there once its init has started it.
    pub process: Option<OwnedFd>,
    /// The way to its runtime. Nothing for a program that is not Python, and once nothing more is to be said.
    pub control: Option<Control>,
    /// Whose child it is.
    pub parent: Parent,
}

/// Who started a worker, and so who can say how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The jar's init: it reports, and the jar ends with its worker.
    Init,
    /// A template: its keeper reports, or the kernel where that is silent. The jar is there until somebody ends it.
    Template,
}

impl Worker {
    /// The way to its runtime.
    pub(crate) fn voice(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().and_then(Control::get)
    }

    /// One whose end is to be watched for, because no init waits for it.
    pub(crate) fn stranger(&self) -> Option<BorrowedFd<'_>> {
        let process = self.process.as_ref().map(AsFd::as_fd);
        process.filter(|_| self.parent == Parent::Template)
    }

    /// Its pid here; 0 when it is gone.
    pub(crate) fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| pid_of(process.as_fd()))
    }
}
