//! How the caller ends or interrupts a run.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use belljar_linux::signals::SignalFd;

use crate::error::Error;

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGTERM: i32 = 15;
const SIGWINCH: i32 = 28;

/// Where the caller's wishes come from while a job runs.
#[derive(Debug)]
pub enum Steering {
    /// Nowhere: the deadline alone ends it.
    None,
    /// Signals to this process: the first SIGINT goes to the guest, the second ends it, as do TERM, HUP and QUIT.
    Signals,
    /// A socket: `i` interrupts, `m` lets one more item come, `k` or the end of the socket ends the run.
    Socket(OwnedFd),
}

/// What the caller wants now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Pass an interrupt to the guest.
    Interrupt,
    /// End the run.
    End,
    /// The terminal has another size.
    Resize,
    /// Let the guest send one more item.
    More,
}

/// A steering that can be polled.
#[derive(Debug)]
pub(crate) enum Steer {
    None,
    Signals(SignalFd),
    Socket(OwnedFd),
}

impl Steer {
    pub(crate) fn new(steering: Steering) -> Result<Self, Error> {
        Ok(match steering {
            Steering::None => Self::None,
            Steering::Socket(socket) => Self::Socket(socket),
            Steering::Signals => Self::Signals(
                SignalFd::new(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH])
                    .map_err(|error| Error::setup("take signals as messages", error))?,
            ),
        })
    }

    /// What to poll, if anything.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::None => None,
            Self::Signals(signals) => Some(signals.as_fd()),
            Self::Socket(socket) => Some(socket.as_fd()),
        }
    }

    /// What has been asked for since the last look.
    pub(super) fn next(&mut self) -> Option<Wish> {
        match self {
            Self::None => None,
            Self::Signals(signals) => match signals.next().ok()?? {
                SIGINT => Some(Wish::Interrupt),
                SIGWINCH => Some(Wish::Resize),
                _ => Some(Wish::End),
            },
            Self::Socket(socket) => {
                let mut byte = [0];
                match rustix::io::read(socket, &mut byte) {
                    Ok(1) if byte[0] == b'i' => Some(Wish::Interrupt),
                    Ok(1) if byte[0] == b'm' => Some(Wish::More),
                    Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
                    // The other end is gone, or said so.
                    _ => Some(Wish::End),
                }
            }
        }
    }
}
