//! Descriptors of a guest's choice. To close one may take as long as the guest likes, because a TCP socket can be made to
//! linger; so that is never done by a thread that has a deadline to keep.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::FileType;

/// One that a guest has sent.
#[derive(Debug)]
pub(crate) struct Foreign(Option<OwnedFd>);

impl Foreign {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self(Some(fd))
    }

    /// The descriptor, if it is a plain file: those are closed at once.
    pub(crate) fn into_file(mut self) -> Option<OwnedFd> {
        let is_file = |fd: &OwnedFd| {
            rustix::fs::fstat(fd)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
        };
        self.0.take_if(|fd| is_file(fd))
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(fd) = self.0.take() {
            close_aside(fd);
        }
    }
}

/// Our end of a guest's control socket. Descriptors that were sent and not read are closed with it.
#[derive(Debug)]
pub(crate) struct Control(Option<OwnedFd>);

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(Some(socket))
    }

    /// The socket.
    pub(crate) fn get(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Some(socket) = self.0.take()
            && rustix::io::ioctl_fionread(&socket) != Ok(0)
        {
            close_aside(socket);
        }
    }
}

/// Closes on a thread of its own; where there can be none, not before this process ends.
fn close_aside(fd: OwnedFd) {
    let fd = ManuallyDrop::new(fd);
    let closing = std::thread::Builder::new().stack_size(64 << 10);
    let _ = closing.spawn(move || drop(ManuallyDrop::into_inner(fd)));
}
