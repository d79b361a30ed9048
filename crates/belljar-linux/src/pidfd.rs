//! A process that is somebody else's child, held by its pidfd: ending it, seeing that it has ended, and how.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

use crate::process;

/// A process, whoever's child it is. Dropping it does not end the process.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    pidfd: OwnedFd,
}

/// How a process ended, as its pidfd tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitInfo {
    /// The raw wait status.
    pub status: i32,
}

/// The kernel's `struct pidfd_info` in its first size, which every kernel with the request takes.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    pids: [u32; 3],
    ids: [u32; 8],
    exit_code: i32,
}

const _: () = assert!(size_of::<PidfdInfo>() == 64);

/// `PIDFD_GET_INFO` with that size.
const GET_INFO: u32 = 0xc040_ff0b;
/// `PIDFD_INFO_PID`.
const INFO_PID: u64 = 1;
/// `PIDFD_INFO_EXIT`.
const INFO_EXIT: u64 = 1 << 3;

impl Process {
    /// Holds the process behind `pidfd`, which the caller knows as `pid`.
    pub fn adopt(pidfd: OwnedFd, pid: i32) -> Self {
        Self { pid, pidfd }
    }

    /// Holds a process by its number. Safe from reuse of the number only where the caller knows that it has not been
    /// reaped.
    pub fn open(pid: i32) -> io::Result<Self> {
        Ok(Self::adopt(open(pid)?, pid))
    }

    /// The pid that it was adopted with.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends SIGKILL. A process that is gone already is not an error.
    pub fn kill(&self) -> io::Result<()> {
        process::signal(self.as_fd(), Signal::KILL)
    }

    /// Whether it has ended; it may still wait for its parent to reap it.
    pub fn is_ended(&self) -> io::Result<bool> {
        is_ended(self.as_fd())
    }

    /// How it ended: see [`exit_info`].
    pub fn exit_info(&self) -> io::Result<Option<ExitInfo>> {
        exit_info(self.as_fd())
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl From<Process> for OwnedFd {
    fn from(process: Process) -> OwnedFd {
        process.pidfd
    }
}

/// A pidfd, close-on-exec, of a process in this process's pid namespace.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain integers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Whether the process behind a pidfd has ended.
pub fn is_ended(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut poll = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut poll, Some(&now))?;
    Ok(poll[0].revents().contains(PollFlags::IN))
}

/// How the process behind a pidfd ended, from the kernel itself. `None` while it runs, while its parent has not reaped it,
/// and always before Linux 6.15.
pub fn exit_info(pidfd: BorrowedFd<'_>) -> io::Result<Option<ExitInfo>> {
    match info(pidfd, INFO_EXIT) {
        Ok(info) => Ok(info.map(|info| ExitInfo {
            status: info.exit_code,
        })),
        // No such request, or (6.13, 6.14) nothing to tell about a process that is gone.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::ENOTTY | libc::EINVAL | libc::ESRCH)
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The number of a process in this one's pid namespace. `None` where the kernel does not tell (before 6.13), or when the
/// process has been reaped.
pub fn number(pidfd: BorrowedFd<'_>) -> Option<u32> {
    let info = info(pidfd, INFO_PID).ok()??;
    Some(info.pids[0]).filter(|pid| *pid != 0)
}

/// What the kernel tells, if it is what was asked for.
fn info(pidfd: BorrowedFd<'_>, mask: u64) -> io::Result<Option<PidfdInfo>> {
    let mut info = PidfdInfo {
        mask,
        ..PidfdInfo::default()
    };
    // SAFETY: the request carries the size of the struct, which is valid for reads and writes.
    if unsafe { libc::ioctl(pidfd.as_raw_fd(), GET_INFO as _, &raw mut info) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((info.mask & mask != 0).then_some(info))
}
