//! The operations that a plan is made of.

use std::path::{Path, PathBuf};

use belljar_linux::confine::Rules;
use serde::{Deserialize, Serialize};

use super::Rlimit;
use super::questions::{Source, SourceKind};
use crate::host::Cgroup;
use crate::policy::{Access, Layer};

/// One operation. They are carried out in the order of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// A cgroup of its own, with its limits set before anything enters it.
    Cgroup {
        /// Where it is made.
        hierarchy: Cgroup,
        /// Bytes, tmpfs included.
        memory: u64,
        /// Processes and threads, the jar's init included.
        pids: u64,
        /// Processors.
        cpus: f64,
    },
    /// New namespaces for the jar's init.
    Namespaces {
        /// Which.
        kinds: Vec<Namespace>,
    },
    /// One user and one group, and who they are on the host.
    Ids {
        /// User and group id inside.
        inside: u32,
        /// User id on the host; as root, the first of a range from which each jar gets its own.
        host_uid: u32,
        /// Group id on the host; likewise.
        host_gid: u32,
        /// Whether each jar gets an id of its own.
        own: bool,
    },
    /// A host name that says nothing.
    Hostname {
        /// The name.
        name: String,
    },
    /// The jar's own loopback, up.
    Loopback,
    /// An empty root on a small tmpfs.
    Root,
    /// A host file or folder, with everything mounted below it.
    Bind {
        /// Where it is on the host.
        source: PathBuf,
        /// Where the guest sees it.
        target: PathBuf,
        /// Whether the guest may write.
        access: Access,
        /// Started as root: whether the owner's files shall belong to the guest.
        own: bool,
        /// Whether the policy names it. Its path then has no links, and none that is put there since is followed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        named: bool,
    },
    /// What tools on the host obey by merely entering a writable folder (.git, .envrc …) is read-only in it, where it
    /// exists: a guest must not be able to plant what runs later outside.
    Protect {
        /// The writable folder on the host.
        source: PathBuf,
        /// Where the guest sees it.
        target: PathBuf,
    },
    /// What the plan shows read-only elsewhere is read-only here too, in a writable folder that holds it.
    Keep {
        /// Where the guest sees it.
        target: PathBuf,
    },
    /// Packages of an interpreter, out of sight: an empty folder in their place, with what the policy shows in it.
    Hide {
        /// Where the guest would see them.
        target: PathBuf,
    },
    /// An overlay over a host folder: the guest's changes stay in the jar.
    Overlay {
        /// The folder on the host.
        source: PathBuf,
        /// Where the guest sees it.
        target: PathBuf,
    },
    /// A folder in the root.
    Folder {
        /// Its path.
        path: PathBuf,
    },
    /// A link in the root.
    Symlink {
        /// Where it is.
        path: PathBuf,
        /// Where it points.
        target: PathBuf,
    },
    /// A file of our own making in the root.
    Text {
        /// Its path.
        path: PathBuf,
        /// Its content.
        content: String,
    },
    /// Source files of the caller's own, read-only.
    Tree {
        /// Where the guest sees them.
        target: PathBuf,
        /// Which files and contents they are.
        digest: String,
        /// How many.
        files: u64,
        /// How much memory they take.
        bytes: u64,
    },
    /// One harmless device.
    Device {
        /// Its path, the same on both sides.
        path: PathBuf,
    },
    /// A fresh /proc that shows only the jar's processes.
    Proc,
    /// What of /proc is hidden behind an empty file or folder.
    Mask {
        /// Paths that are hidden if they exist.
        paths: Vec<PathBuf>,
        /// Paths that are made read-only.
        read_only: Vec<PathBuf>,
    },
    /// One tmpfs for everything that the guest writes: one size for all of it together.
    Scratch {
        /// Bytes.
        size: u64,
        /// Files and folders.
        inodes: u64,
        /// Where its parts are seen.
        targets: Vec<PathBuf>,
    },
    /// The new root takes the place of the host's, which is detached; the root itself becomes read-only.
    Pivot,
    /// All five capability sets emptied, securebits locked, no_new_privs, no groups.
    Privileges,
    /// The second wall around files, ports, signals and abstract sockets.
    Landlock(Rules),
    /// Limits of each process.
    Rlimits {
        /// Name and value.
        limits: Vec<Rlimit>,
    },
    /// Processors by affinity, where no cgroup can count them.
    Affinity {
        /// How many.
        cpus: u32,
    },
    /// Nothing open but standard streams and, for Python, the control socket.
    Descriptors,
    /// The system-call filter.
    Seccomp {
        /// Whether internet sockets can be made.
        internet: bool,
        /// Whether a process may choose its processors.
        affinity: bool,
        /// How many file locks its processes may have; 0 refuses all.
        #[serde(default)]
        locks: u32,
    },
    /// The deadline, on a monotonic clock.
    Deadline {
        /// Seconds from delivery to the empty jar.
        seconds: f64,
    },
}

/// A namespace of the jar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Namespace {
    /// Users and capabilities.
    User,
    /// Mounts.
    Mount,
    /// Processes.
    Pid,
    /// Network.
    Network,
    /// System V IPC and message queues.
    Ipc,
    /// Host name.
    Uts,
    /// The view of the cgroup tree.
    Cgroup,
}

impl Step {
    /// The step's name, as in its JSON form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cgroup { .. } => "cgroup",
            Self::Namespaces { .. } => "namespaces",
            Self::Ids { .. } => "ids",
            Self::Hostname { .. } => "hostname",
            Self::Loopback => "loopback",
            Self::Root => "root",
            Self::Bind { .. } => "bind",
            Self::Protect { .. } => "protect",
            Self::Keep { .. } => "keep",
            Self::Hide { .. } => "hide",
            Self::Overlay { .. } => "overlay",
            Self::Folder { .. } => "folder",
            Self::Symlink { .. } => "symlink",
            Self::Text { .. } => "text",
            Self::Tree { .. } => "tree",
            Self::Device { .. } => "device",
            Self::Proc => "proc",
            Self::Mask { .. } => "mask",
            Self::Scratch { .. } => "scratch",
            Self::Pivot => "pivot",
            Self::Privileges => "privileges",
            Self::Landlock(_) => "landlock",
            Self::Rlimits { .. } => "rlimits",
            Self::Affinity { .. } => "affinity",
            Self::Descriptors => "descriptors",
            Self::Seccomp { .. } => "seccomp",
            Self::Deadline { .. } => "deadline",
        }
    }

    /// The layer that this step belongs to.
    pub fn layer(&self) -> Layer {
        match self {
            Self::Cgroup { .. } | Self::Affinity { .. } => Layer::Cgroup,
            Self::Namespaces { .. } | Self::Hostname { .. } | Self::Loopback => Layer::Namespaces,
            Self::Ids { .. } | Self::Privileges => Layer::Privileges,
            Self::Landlock(_) => Layer::Landlock,
            Self::Rlimits { .. } => Layer::Rlimits,
            Self::Descriptors => Layer::Descriptors,
            Self::Seccomp { .. } => Layer::Seccomp,
            Self::Deadline { .. } => Layer::Clock,
            Self::Root
            | Self::Bind { .. }
            | Self::Protect { .. }
            | Self::Keep { .. }
            | Self::Hide { .. }
            | Self::Overlay { .. }
            | Self::Folder { .. }
            | Self::Symlink { .. }
            | Self::Text { .. }
            | Self::Tree { .. }
            | Self::Device { .. }
            | Self::Proc
            | Self::Mask { .. }
            | Self::Scratch { .. }
            | Self::Pivot => Layer::Root,
        }
    }

    /// Where the guest sees what of the host this step shows, keeps or hides.
    pub(super) fn target(&self) -> Option<&Path> {
        match self {
            Self::Bind { target, .. }
            | Self::Overlay { target, .. }
            | Self::Protect { target, .. }
            | Self::Keep { target }
            | Self::Hide { target } => Some(target),
            _ => None,
        }
    }

    /// What it takes from the host.
    pub(super) fn source(&self) -> Option<Source<'_>> {
        let (path, kind, own, named) = match self {
            Self::Bind {
                source,
                access: Access::ReadOnly,
                own,
                named,
                ..
            } => (source, SourceKind::Read, *own, *named),
            Self::Bind {
                source,
                access: Access::ReadWrite,
                own,
                named,
                ..
            } => (source, SourceKind::Write, *own, *named),
            Self::Overlay { source, .. } => (source, SourceKind::Read, true, true),
            Self::Device { path } => (path, SourceKind::Device, false, false),
            _ => return None,
        };
        Some(Source {
            path,
            kind,
            own,
            named,
        })
    }
}
