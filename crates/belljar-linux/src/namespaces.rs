//! Namespaces as descriptors: those of this process, to hand to whoever shall walk in, and walking in.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::PidfdFlags;
use serde::{Deserialize, Serialize};

/// A kind of namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Process ids; a process that joins one stays where it is, its children are born there.
    Pid,
    /// Ids and capabilities.
    User,
    /// Mounts.
    Mnt,
    /// Network.
    Net,
    /// System V IPC and POSIX message queues.
    Ipc,
    /// Host name.
    Uts,
    /// View of the cgroup tree.
    Cgroup,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 7] = [
        Kind::Pid,
        Kind::User,
        Kind::Mnt,
        Kind::Net,
        Kind::Ipc,
        Kind::Uts,
        Kind::Cgroup,
    ];

    /// Its name in `/proc/PID/ns`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Pid => "pid",
            Kind::User => "user",
            Kind::Mnt => "mnt",
            Kind::Net => "net",
            Kind::Ipc => "ipc",
            Kind::Uts => "uts",
            Kind::Cgroup => "cgroup",
        }
    }

    /// The request that opens it through a pidfd: `PIDFD_GET_..._NAMESPACE`.
    const fn request(self) -> u32 {
        0xff00
            | match self {
                Kind::Cgroup => 1,
                Kind::Ipc => 2,
                Kind::Mnt => 3,
                Kind::Net => 4,
                Kind::Pid => 5,
                Kind::User => 9,
                Kind::Uts => 10,
            }
    }

    /// Its clone flag, which `setns` takes as the expected kind.
    pub const fn flag(self) -> i32 {
        match self {
            Kind::Pid => libc::CLONE_NEWPID,
            Kind::User => libc::CLONE_NEWUSER,
            Kind::Mnt => libc::CLONE_NEWNS,
            Kind::Net => libc::CLONE_NEWNET,
            Kind::Ipc => libc::CLONE_NEWIPC,
            Kind::Uts => libc::CLONE_NEWUTS,
            Kind::Cgroup => libc::CLONE_NEWCGROUP,
        }
    }
}

/// The namespaces of this process, in the order asked for. A process that is hidden must show itself first.
pub fn open(kinds: &[Kind]) -> io::Result<Vec<OwnedFd>> {
    // Through a pidfd where the kernel can (6.11): in a fresh procfs every step of a path is made first.
    if let Some(found) = open_by_pidfd(kinds) {
        return Ok(found);
    }
    let one = |kind: &Kind| Ok(File::open(format!("/proc/self/ns/{}", kind.name()))?.into());
    kinds.iter().map(one).collect()
}

fn open_by_pidfd(kinds: &[Kind]) -> Option<Vec<OwnedFd>> {
    let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok()?;
    let one = |kind: &Kind| {
        // SAFETY: the request takes no argument and gives a new descriptor, or a negative number.
        let fd = unsafe { libc::ioctl(own.as_raw_fd(), kind.request() as _, 0) };
        // SAFETY: the kernel has just made this descriptor for us.
        (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
    };
    kinds.iter().map(one).collect()
}

/// Takes this process into a namespace; fails with `EINVAL` when it is of another kind.
pub fn join(namespace: BorrowedFd<'_>, kind: Kind) -> io::Result<()> {
    // SAFETY: a descriptor and a flag; no memory of this process changes.
    if unsafe { libc::setns(namespace.as_raw_fd(), kind.flag()) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
