//! The guest's standard input, and the bytes between the caller's terminal and the jar's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;

use super::outlet::Outlet;
use crate::error::Error;
use crate::job::Stdin;

/// A pipe that polls as writable takes this much without blocking.
const PIECE: usize = 4096;

/// The guest's standard input on its way. The guest never holds the caller's own descriptor.
pub(crate) struct Input {
    source: Option<OwnedFd>,
    pending: Vec<u8>,
    sent: usize,
    to_guest: Option<OwnedFd>,
}

impl Input {
    /// To a descriptor that does not block.
    pub(crate) fn new(stdin: Stdin, to_guest: OwnedFd) -> Self {
        let (source, pending) = match stdin {
            Stdin::Null => (None, Vec::new()),
            Stdin::Bytes(bytes) => (None, bytes),
            Stdin::Copy(fd) => (Some(fd), Vec::new()),
        };
        let mut input = Self {
            source,
            pending,
            sent: 0,
            to_guest: Some(to_guest),
        };
        input.close_if_done();
        input
    }

    /// The caller's input as it was, when no guest has had any of it; nothing if it cannot be had again.
    pub(crate) fn give_back(self) -> Option<Stdin> {
        match (self.source, self.pending) {
            (Some(_), _) => None,
            (None, pending) if pending.is_empty() => Some(Stdin::Null),
            (None, pending) => Some(Stdin::Bytes(pending)),
        }
    }

    /// What to wait for next.
    pub(super) fn interest(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let to_guest = self.to_guest.as_ref()?;
        if self.sent < self.pending.len() {
            return Some((to_guest.as_fd(), PollFlags::OUT));
        }
        self.source.as_ref().map(|source| (source.as_fd(), PollFlags::IN))
    }

    /// Moves what can be moved without blocking.
    pub(super) fn advance(&mut self) {
        if self.sent < self.pending.len() {
            self.write();
        } else if let Some(source) = &self.source {
            self.pending.resize(PIECE, 0);
            self.sent = 0;
            match rustix::io::read(source, &mut self.pending[..]) {
                Ok(length) => {
                    self.pending.truncate(length);
                    if length == 0 {
                        self.source = None;
                    }
                }
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => self.pending.clear(),
                Err(_) => {
                    self.pending.clear();
                    self.source = None;
                }
            }
        }
        self.close_if_done();
    }

    fn write(&mut self) {
        let Some(to_guest) = &self.to_guest else { return };
        let end = self.pending.len().min(self.sent + PIECE);
        match rustix::io::write(to_guest, &self.pending[self.sent..end]) {
            Ok(length) => self.sent += length,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            // The guest does not want it.
            Err(_) => self.to_guest = None,
        }
    }

    fn close_if_done(&mut self) {
        if self.source.is_none() && self.sent >= self.pending.len() {
            self.to_guest = None;
        }
    }
}

/// Both directions of an interactive run: the caller's terminal and the jar's.
pub(super) struct Relay {
    tty: OwnedFd,
    /// The same terminal, for writing.
    outlet: Outlet,
    master: OwnedFd,
    to_guest: Vec<u8>,
    to_caller: Vec<u8>,
    over: bool,
}

impl Relay {
    pub(super) fn new(tty: OwnedFd, master: OwnedFd) -> Result<Self, Error> {
        rustix::io::ioctl_fionbio(&master, true)
            .map_err(|error| Error::setup("prepare the terminal", error))?;
        let outlet = tty
            .try_clone()
            .map_err(|error| Error::setup("prepare the terminal", error))?;
        let relay = Self {
            tty,
            outlet: Outlet::new(outlet),
            master,
            to_guest: Vec::new(),
            to_caller: Vec::new(),
            over: false,
        };
        relay.resize();
        Ok(relay)
    }

    /// Gives the jar's terminal the size of the caller's.
    pub(super) fn resize(&self) {
        if let Ok(size) = rustix::termios::tcgetwinsize(&self.tty) {
            let _ = rustix::termios::tcsetwinsize(&self.master, size);
        }
    }

    /// What to wait for next: the caller's terminal, and the jar's.
    pub(super) fn interest(&self) -> [(BorrowedFd<'_>, PollFlags); 2] {
        let mut caller = PollFlags::empty();
        caller.set(PollFlags::IN, self.to_guest.is_empty());
        caller.set(PollFlags::OUT, !self.to_caller.is_empty());
        let mut guest = PollFlags::empty();
        guest.set(PollFlags::IN, self.to_caller.is_empty() && !self.over);
        guest.set(PollFlags::OUT, !self.to_guest.is_empty());
        [(self.tty.as_fd(), caller), (self.master.as_fd(), guest)]
    }

    /// Moves what can be moved without blocking.
    pub(super) fn advance(&mut self, caller: PollFlags, guest: PollFlags) {
        let mut piece = [0; PIECE];
        if caller.contains(PollFlags::IN)
            && let Ok(length) = rustix::io::read(&self.tty, &mut piece)
        {
            self.to_guest.extend_from_slice(&piece[..length]);
        }
        if guest.intersects(PollFlags::IN | PollFlags::HUP) && self.to_caller.is_empty() {
            match rustix::io::read(&self.master, &mut piece) {
                Ok(length) if length > 0 => self.to_caller.extend_from_slice(&piece[..length]),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                // EIO: nobody holds the other end any more.
                _ => self.over = true,
            }
        }
        if caller.contains(PollFlags::OUT)
            && let Ok(length) = self.outlet.write(&self.to_caller)
        {
            self.to_caller.drain(..length);
        }
        if guest.contains(PollFlags::OUT)
            && let Ok(length) = rustix::io::write(&self.master, &self.to_guest)
        {
            self.to_guest.drain(..length);
        }
    }

    /// Whether the caller's terminal has not taken everything yet.
    pub(super) fn waits(&self) -> bool {
        !self.to_caller.is_empty()
    }

    /// Whether nothing more comes from the jar.
    pub(super) fn is_over(&self) -> bool {
        self.over && self.to_caller.is_empty()
    }
}
