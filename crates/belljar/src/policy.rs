//! What the guest may see, use and reach. Pure data: it knows nothing of the host it will run on.

mod builtin;
mod check;
mod document;
mod environment;
mod error;
mod keys;
mod limit;
mod network;
mod paths;
mod quantity;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::named::names;

pub use check::check_env;
pub use document::PolicyDocument;
pub use error::{EnvProblem, PathProblem, PlaceProblem, PolicyError};
pub use keys::{KEYS, Key, Takes, profiles, reference};
pub use limit::{Amount, LimitKey, Unit};
pub use network::{Network, Resolver};
pub(crate) use paths::can_be_shown;
pub use quantity::{format_duration, format_size, parse_duration, parse_size, readable_size};

/// Everything a guest is allowed. [`Policy::default`] is the policy of a bare `belljar run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The interpreter: a version such as `3.12`, or a path. `None` takes the virtualenv's or the first `python3` on PATH.
    pub python: Option<String>,
    /// A virtualenv, shown read-only with exactly what it needs.
    pub venv: Option<PathBuf>,
    /// Whether /usr is part of the base; without it only what the interpreter needs is there.
    pub system: bool,
    /// Whether the guest sees packages that are installed in its interpreter itself, or in one of /usr.
    pub site_packages: bool,
    /// Whether the guest may lock files.
    pub locks: bool,
    /// What the guest can reach.
    pub network: Network,
    /// Host files and folders the guest sees.
    pub mounts: Vec<Mount>,
    /// A host folder that takes the place of the fresh /jar.
    pub workdir: Option<Workdir>,
    /// The guest's environment, beyond what belljar itself sets. Nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// What the guest may use up.
    pub limits: Limits,
    /// What must be enforced, or the run is refused.
    pub require: Require,
}

/// One host file or folder in the jar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Absolute path on the host.
    pub source: PathBuf,
    /// Absolute path in the jar.
    pub target: PathBuf,
    /// Whether the guest may write.
    pub access: Access,
}

/// Whether a guest may change what it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Read only, with everything mounted below.
    #[serde(rename = "ro")]
    ReadOnly,
    /// Read and write: changes are made on the host.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// A host folder as the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workdir {
    /// Absolute path on the host.
    pub source: PathBuf,
    /// Where the guest sees it; /jar unless told.
    pub target: PathBuf,
    /// What becomes of the guest's changes.
    pub mode: WorkdirMode,
}

/// What becomes of changes to a [`Workdir`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkdirMode {
    /// The folder cannot be changed.
    Read,
    /// Changes are made in the folder as they happen.
    Write,
    /// Changes go to an overlay, are listed, and are gone with the jar.
    Draft,
    /// As a draft, and written to the folder after a clean exit.
    Apply,
}

/// What a guest may use up. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of all its processes together.
    pub memory: u64,
    /// Processors, also as a fraction.
    pub cpus: f64,
    /// Processor time of all its processes together.
    pub cpu_seconds: Option<f64>,
    /// Processes and threads.
    pub pids: u64,
    /// Bytes in /jar, /tmp and /dev/shm together.
    pub disk: u64,
    /// Files and folders in /jar, /tmp and /dev/shm together.
    pub inodes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Size of one file.
    pub file_size: Option<u64>,
    /// Bytes of standard output, and as many of standard error.
    pub output: u64,
    /// Wall time, from delivery to the empty jar; `None` is no limit.
    pub timeout: Option<Duration>,
}

/// What must be enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Require {
    /// The least tier that is acceptable.
    pub tier: Tier,
    /// Layers that must be enforced in full.
    pub layers: Vec<Layer>,
}

/// How strong a jar is as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Tier {
    /// No user namespaces to be had: Landlock, the system-call filter and rlimits alone.
    Screened,
    /// Every layer.
    Sealed,
}

/// One wall of the jar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layer {
    /// User, mount, pid, network, IPC, UTS and cgroup namespaces.
    Namespaces,
    /// A private root made of explicit read-only binds.
    Root,
    /// No capabilities, no new privileges, a session of its own.
    Privileges,
    /// The system-call filter.
    Seccomp,
    /// File and network rules that repeat the root's as a second wall.
    Landlock,
    /// Memory, process and CPU limits of the whole jar.
    Cgroup,
    /// Limits of each process.
    Rlimits,
    /// Nothing open but an exact list.
    Descriptors,
    /// The deadline.
    Clock,
}

names!(Layer {
    Namespaces = "namespaces",
    Root = "root",
    Privileges = "privileges",
    Seccomp = "seccomp",
    Landlock = "landlock",
    Cgroup = "cgroup",
    Rlimits = "rlimits",
    Descriptors = "descriptors",
    Clock = "clock",
});

names!(Tier {
    Sealed = "sealed",
    Screened = "screened",
});

names!(Access {
    ReadOnly = "ro",
    ReadWrite = "rw",
});

names!(WorkdirMode {
    Read = "read",
    Write = "write",
    Draft = "draft",
    Apply = "apply",
});

impl Default for Policy {
    fn default() -> Self {
        Self {
            python: None,
            venv: None,
            system: true,
            site_packages: false,
            locks: true,
            network: Network::None,
            mounts: Vec::new(),
            workdir: None,
            env: BTreeMap::new(),
            limits: Limits::default(),
            require: Require {
                tier: Tier::Sealed,
                layers: Vec::new(),
            },
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            cpus: 1.0,
            cpu_seconds: None,
            pids: 128,
            disk: 256 << 20,
            inodes: 65_536,
            open_files: 1_024,
            file_size: None,
            output: 1 << 20,
            timeout: Some(Duration::from_secs(30)),
        }
    }
}
