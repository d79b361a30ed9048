//! The first process of a jar, as the one who watches it holds it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use belljar_linux::process::{self, Child, Ended};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

/// A jar's init. When it has ended, nothing is left in the jar.
#[derive(Debug)]
pub(crate) enum Init {
    /// Our own child.
    Child(Child),
    /// A keeper's child: it is reaped there, and all that can be seen here is that it has ended.
    Kept(OwnedFd),
}

impl Init {
    /// Sends SIGKILL. An init that is gone already is not an error.
    pub(crate) fn kill(&self) -> io::Result<()> {
        process::signal(self.as_fd(), Signal::KILL)
    }

    /// Its pid here; 0 when it is gone.
    pub(crate) fn pid(&self) -> u32 {
        match self {
            Self::Child(child) => child.pid(),
            Self::Kept(pidfd) => pid_of(pidfd.as_fd()),
        }
    }

    /// How it ended, if it has; what a keeper's child used is not known here.
    pub(crate) fn try_wait(&self) -> io::Result<Option<Ended>> {
        match self {
            Self::Child(child) => child.try_wait(),
            Self::Kept(pidfd) => {
                let now = Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                let mut list = [PollFd::new(pidfd, PollFlags::IN)];
                let ready = rustix::io::retry_on_intr(|| rustix::event::poll(&mut list, Some(&now)))?;
                Ok((ready > 0).then(Ended::default))
            }
        }
    }
}

impl AsFd for Init {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Child(child) => child.as_fd(),
            Self::Kept(pidfd) => pidfd.as_fd(),
        }
    }
}

/// The pid behind a pidfd, in this process's pid namespace; 0 when there is none any more.
pub(crate) fn pid_of(pidfd: BorrowedFd<'_>) -> u32 {
    if let Some(pid) = belljar_linux::pidfd::number(pidfd) {
        return pid;
    }
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("Pid:"));
    // -1 is a process that has been reaped.
    line.and_then(|pid| pid.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;

    fn kept(child: &std::process::Child) -> Init {
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        Init::Kept(pidfd_open(pid, PidfdFlags::empty()).unwrap())
    }

    #[test]
    fn a_process_of_another_is_seen_to_end() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let init = kept(&child);
        assert_eq!(init.pid(), child.id());
        assert_eq!(init.try_wait().unwrap(), None);
        init.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(init.try_wait().unwrap(), Some(Ended::default()));
        assert_eq!(init.pid(), 0);
        init.kill().unwrap();
    }
}
