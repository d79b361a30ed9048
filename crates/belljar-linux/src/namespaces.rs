//! Namespaces as descriptors: those of this process, to hand to whoever shall walk in, and walking in.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

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
    let one = |kind: &Kind| Ok(File::open(format!("/proc/self/ns/{}", kind.name()))?.into());
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
