//! A descriptor of the caller's that is written to without ever waiting. Whoever watches a jar is one thread: while it waits for
//! a reader, no deadline would end the guest.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;

/// A pipe that polls as writable takes this much at once, if nobody else writes to it.
const PIECE: usize = 4096;

/// Where bytes go that a guest has written.
pub(super) struct Outlet {
    given: OwnedFd,
    how: How,
}

enum How {
    /// The same pipe or terminal, opened again: that it does not wait is set for us and not for everyone who has it.
    Own(OwnedFd),
    Socket,
    /// A file, which makes nobody wait.
    File,
    /// One that cannot be opened again. It is asked first, which is enough where nobody else writes to it.
    Asked,
}

impl Outlet {
    pub(super) fn new(given: OwnedFd) -> Self {
        let kind = rustix::fs::fstat(&given).map(|found| FileType::from_raw_mode(found.st_mode));
        let how = match kind {
            Ok(FileType::Fifo | FileType::CharacterDevice) => {
                let path = format!("/proc/self/fd/{}", given.as_raw_fd());
                let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                rustix::fs::open(path, flags, Mode::empty()).map_or(How::Asked, How::Own)
            }
            Ok(FileType::Socket) => How::Socket,
            Ok(FileType::RegularFile) => How::File,
            _ => How::Asked,
        };
        Self { given, how }
    }

    /// Writes what is taken at once; `AGAIN` if nothing is.
    pub(super) fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        match &self.how {
            How::Own(fd) => rustix::io::write(fd, piece),
            How::Socket => rustix::net::send(&self.given, piece, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            How::File => rustix::io::write(&self.given, piece),
            How::Asked => {
                let mut poll = [PollFd::new(&self.given, PollFlags::OUT)];
                match rustix::event::poll(&mut poll, Some(&Timespec::default()))? {
                    0 => Err(Errno::AGAIN),
                    _ => rustix::io::write(&self.given, piece),
                }
            }
        }
    }

    /// As the caller gave it.
    pub(super) fn give_back(self) -> OwnedFd {
        self.given
    }
}

impl AsFd for Outlet {
    /// What is to be waited for.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.how {
            How::Own(fd) => fd.as_fd(),
            _ => self.given.as_fd(),
        }
    }
}
