//! What a jar's init tells the warden, or the keeper of its cabinet.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use belljar_linux::descriptors;
use serde::{Deserialize, Serialize};

use super::handed::Name;

/// Largest message; a path may be in it.
const MAX_MESSAGE: usize = 8192;

/// One message. Init is our own code, but it is read as carefully as the guest.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// A step failed; nothing of the guest's has run.
    Failed {
        /// The step and its object.
        step: String,
        /// The error number.
        errno: i32,
    },
    /// The guest's program could not be executed.
    NoProgram {
        /// The error number.
        errno: i32,
    },
    /// The guest is started. A descriptor comes with it for each name.
    Started {
        /// What is handed over.
        handed: Vec<Name>,
    },
    /// A warm jar is built and empty; the worker is yet to walk in. A descriptor comes with it for each name.
    Built {
        /// What is handed over.
        handed: Vec<Name>,
    },
    /// The guest's first process has ended.
    Ended {
        /// Its raw wait status.
        status: i32,
        /// Largest resident set of any one process.
        max_rss: u64,
        /// Processor time of every process that has been waited for.
        #[serde(default)]
        cpu_usec: u64,
        /// Whether init is the only process that is left in the jar, and about to end.
        #[serde(default)]
        alone: bool,
    },
}

/// Sends a report. The warden is gone if this fails, and then so are we.
pub(crate) fn send(socket: BorrowedFd<'_>, report: &Report, fds: &[BorrowedFd<'_>]) {
    let Ok(bytes) = serde_json::to_vec(report) else {
        return;
    };
    let _ = descriptors::send(socket, &bytes[..bytes.len().min(MAX_MESSAGE)], fds);
}

/// Receives a report; `None` when init is gone.
pub(crate) fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
    let mut bytes = [0; MAX_MESSAGE];
    let (length, fds) = descriptors::receive(socket, &mut bytes)?;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&bytes[..length])?, fds)))
}
