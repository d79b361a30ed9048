//! Empty network namespaces. Making one is about half of what a jar costs, and for a jar without a network it holds nothing:
//! the filter allows no socket but AF_UNIX, and those end with the jar. So an empty one serves the next jar, once it is seen
//! to be empty.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use belljar_linux::namespaces::{self, Kind};
use belljar_linux::process;
use rustix::fs::{Mode, OFlags};

use crate::plan::Plan;

/// Most that are kept for later.
const KEPT: usize = 64;
/// Sockets of the namespace that one is in; the first line is a heading.
const SOCKETS: &str = "/proc/self/net/unix";

/// The keeper's own namespace, and those that nobody is in.
pub(super) struct Networks {
    home: OwnedFd,
    empty: Vec<OwnedFd>,
    /// Whether jars have no network at all; others get a new one each.
    used_again: bool,
}

impl Networks {
    pub(super) fn new(plan: &Plan) -> io::Result<Self> {
        Ok(Self {
            home: own()?,
            empty: Vec::new(),
            used_again: plan.leaves_network_empty(),
        })
    }

    /// Runs `start` in an empty network namespace, which comes back with what it gives; without one if each jar makes its
    /// own.
    pub(super) fn within<T>(
        &mut self,
        start: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Option<OwnedFd>)> {
        if !self.used_again {
            return Ok((start()?, None));
        }
        let network = self.enter()?;
        let started = start();
        // A keeper that cannot come back would make its next sockets in somebody's jar.
        namespaces::join(self.home.as_fd(), Kind::Net)?;
        Ok((started?, Some(network)))
    }

    fn enter(&mut self) -> io::Result<OwnedFd> {
        while let Some(network) = self.empty.pop() {
            namespaces::join(network.as_fd(), Kind::Net)?;
            // A descriptor on its way through a socket of the host's can keep a guest's socket for a moment.
            if is_empty()? {
                return Ok(network);
            }
        }
        process::unshare_network()?;
        own()
    }

    /// The jar is empty.
    pub(super) fn give_back(&mut self, network: OwnedFd) {
        if self.empty.len() < KEPT {
            self.empty.push(network);
        }
    }
}

/// Whether the network namespace that one is in has no socket.
fn is_empty() -> io::Result<bool> {
    let file = rustix::fs::open(SOCKETS, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // The first socket would be here, right after the heading.
    let mut bytes = [0; 1024];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut bytes))?;
    Ok(bytes[..length].iter().filter(|byte| **byte == b'\n').count() == 1)
}

fn own() -> io::Result<OwnedFd> {
    let mut all = namespaces::open(&[Kind::Net])?;
    all.pop().ok_or_else(|| io::ErrorKind::NotFound.into())
}
