//! Limits that the kernel keeps for each process.

use rustix::process::Resource as Kernel;
use serde::{Deserialize, Serialize};

use crate::named::names;

/// A limit of each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// Of what.
    #[serde(rename = "name")]
    pub resource: Resource,
    /// Soft limit.
    pub soft: u64,
    /// Hard limit.
    pub hard: u64,
}

/// What a process can be limited in: the kernel's name without RLIMIT_.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // getrlimit(2) explains each.
#[non_exhaustive]
pub enum Resource {
    Core,
    Nofile,
    Stack,
    Memlock,
    Sigpending,
    Msgqueue,
    Rtprio,
    Nice,
    Fsize,
    Cpu,
    Data,
    Nproc,
}

names!(Resource {
    Core = "core",
    Nofile = "nofile",
    Stack = "stack",
    Memlock = "memlock",
    Sigpending = "sigpending",
    Msgqueue = "msgqueue",
    Rtprio = "rtprio",
    Nice = "nice",
    Fsize = "fsize",
    Cpu = "cpu",
    Data = "data",
    Nproc = "nproc",
});

/// One line of the table below.
struct Facts {
    kernel: Kernel,
    /// Whether its unit is bytes.
    bytes: bool,
    /// Whether it counts what a template has used, or all workers of one together: only a worker itself can have it.
    workers_own: bool,
    /// Whether a job may lower it for a worker that is parked already.
    a_jobs: bool,
}

impl Resource {
    const fn facts(self) -> Facts {
        let (kernel, bytes, workers_own, a_jobs) = match self {
            Self::Core => (Kernel::Core, false, false, false),
            Self::Nofile => (Kernel::Nofile, false, false, false),
            Self::Stack => (Kernel::Stack, true, false, false),
            Self::Memlock => (Kernel::Memlock, true, false, false),
            Self::Sigpending => (Kernel::Sigpending, false, false, false),
            Self::Msgqueue => (Kernel::Msgqueue, true, false, false),
            Self::Rtprio => (Kernel::Rtprio, false, false, false),
            Self::Nice => (Kernel::Nice, false, false, false),
            Self::Fsize => (Kernel::Fsize, true, false, false),
            Self::Cpu => (Kernel::Cpu, false, true, false),
            Self::Data => (Kernel::Data, true, false, true),
            Self::Nproc => (Kernel::Nproc, false, true, true),
        };
        Facts {
            kernel,
            bytes,
            workers_own,
            a_jobs,
        }
    }

    pub(crate) const fn kernel(self) -> Kernel {
        self.facts().kernel
    }

    pub(super) const fn is_bytes(self) -> bool {
        self.facts().bytes
    }

    pub(crate) const fn is_workers_own(self) -> bool {
        self.facts().workers_own
    }

    pub(crate) const fn is_a_jobs(self) -> bool {
        self.facts().a_jobs
    }
}
