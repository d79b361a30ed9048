//! How the caller ends or interrupts a run.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use belljar_linux::signals::SignalFd;

use crate::error::Error;
use crate::talk::{Inbox, Order};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGTERM: i32 = 15;
const SIGWINCH: i32 = 28;

/// Where the caller's orders come from while a job runs.
#[derive(Debug)]
pub enum Steering {
    /// Nowhere: the deadline alone ends it.
    None,
    /// Signals to this process: the first SIGINT goes to the guest, the second ends it, as do TERM, HUP and QUIT.
    Signals,
    /// A socket, whose end ends the run: whoever has the other end speaks to it in `talk`'s words.
    Socket(UnixStream),
}

/// A steering that can be polled.
#[derive(Debug)]
pub(crate) enum Steer {
    None,
    Signals(SignalFd),
    Socket(Inbox),
}

impl Steer {
    pub(crate) fn new(steering: Steering) -> Result<Self, Error> {
        Ok(match steering {
            Steering::None => Self::None,
            Steering::Socket(socket) => Self::Socket(Inbox::new(socket)),
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
            Self::Socket(inbox) => Some(inbox.socket().as_fd()),
        }
    }

    /// What has been asked for since the last look.
    pub(super) fn next(&mut self) -> Option<Order> {
        match self {
            Self::None => None,
            Self::Signals(signals) => match signals.next().ok()?? {
                SIGINT => Some(Order::Interrupt),
                SIGWINCH => Some(Order::Resize),
                _ => Some(Order::End),
            },
            Self::Socket(inbox) => match inbox.now() {
                Ok(order) => order.map(|(order, ..)| order),
                // The other end is gone, or talks nonsense.
                Err(_) => Some(Order::End),
            },
        }
    }
}
