//! Answering calls that a filter asks about.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// `SECCOMP_IOCTL_NOTIF_RECV`, `_SEND` and `_SET_FLAGS`.
const RECEIVE: u32 = 0xc050_2100;
const SEND: u32 = 0xc018_2101;
const SET_FLAGS: u32 = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: whoever asks and whoever answers take turns on one processor.
const SYNC_WAKE_UP: u64 = 1;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`.
const CONTINUE: u32 = 1;

/// The kernel's `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
struct Notice {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    pointer: u64,
    args: [u64; 6],
}

/// The kernel's `struct seccomp_notif_resp`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const _: () = assert!(size_of::<Notice>() == 80 && size_of::<Answer>() == 24);

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    id: u64,
    /// The thread, in the pid namespace of whoever listens.
    pub thread: i32,
    /// The call's number.
    pub number: u32,
    /// Its arguments, as they were in the registers.
    pub args: [u64; 6],
}

/// The end of a filter at which calls are answered. While nobody holds one, they fail with ENOSYS.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Takes a descriptor that [`super::install_listening`] has made, maybe in another process.
    pub fn new(fd: OwnedFd) -> Self {
        // SAFETY: a descriptor and plain integers. A wish: older kernels wake up whoever asks somewhere else.
        unsafe { libc::ioctl(fd.as_raw_fd(), SET_FLAGS as _, SYNC_WAKE_UP) };
        Self(fd)
    }

    /// The next call; `None` when whoever made it is gone. Only for a listener that is readable: it waits otherwise.
    pub fn next(&self) -> io::Result<Option<Asked>> {
        let mut notice = Notice::default();
        // SAFETY: the kernel writes a notice of this size; it wants it zeroed.
        let got = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut notice) };
        if got == 0 {
            return Ok(Some(Asked {
                id: notice.id,
                thread: notice.pid as i32,
                number: notice.number as u32,
                args: notice.args,
            }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(None),
            _ => Err(error),
        }
    }

    /// Lets the call run; what its pointers lead to may be something else by then.
    pub fn allow(&self, asked: &Asked) -> io::Result<()> {
        self.answer(asked, 0, CONTINUE)
    }

    /// Has the call fail.
    pub fn refuse(&self, asked: &Asked, errno: i32) -> io::Result<()> {
        self.answer(asked, -errno, 0)
    }

    fn answer(&self, asked: &Asked, error: i32, flags: u32) -> io::Result<()> {
        let answer = Answer {
            id: asked.id,
            value: 0,
            error,
            flags,
        };
        // SAFETY: the kernel reads an answer of this size.
        let sent = unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, &raw const answer) };
        if sent == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // Whoever asked has been killed meanwhile.
            Some(libc::ENOENT) => Ok(()),
            _ => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
