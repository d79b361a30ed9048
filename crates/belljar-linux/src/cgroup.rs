//! Limits on memory, processes and CPU through control groups, version 1 and 2, by hand.
//!
//! What it stops: a guest that eats the machine's memory, forks without end, or takes every processor. Limits are
//! written before anyone enters, so no page is ever charged to nobody.

mod cpuset;
mod detect;
mod event;
mod folder;
mod kill;
mod leave;
mod owner;
mod scope;
mod v1;
mod v2;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use cpuset::outer as outer_cpuset;
pub use detect::{detect, detect_in};
pub use event::OomEvent;
pub use owner::{Owner, sweep};
pub use scope::{ScopeError, is_askable, obtain, of_process};

use folder::{Folder, Kernel, Tree};

/// The cgroups that this process may make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hierarchy {
    /// None is writable; the reason is for people.
    None {
        /// Why, and what would help.
        reason: String,
    },
    /// Version 1: one folder for each controller that is writable.
    V1 {
        /// Folder below which a group for the memory controller can be made.
        memory: Option<PathBuf>,
        /// The same for pids.
        pids: Option<PathBuf>,
        /// The same for cpu.
        cpu: Option<PathBuf>,
        /// The same for cpuacct.
        cpuacct: Option<PathBuf>,
        /// The same for cpuset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpuset: Option<PathBuf>,
    },
    /// Version 2: one folder that is delegated to us.
    V2 {
        /// Folder below which groups can be made.
        base: PathBuf,
        /// Controllers that can be switched on there.
        controllers: Vec<String>,
    },
    /// Version 2, once somebody asks: the process that makes groups obtains a folder first ([`obtain`]).
    Scope {
        /// Controllers that can be switched on there.
        controllers: Vec<String>,
    },
}

/// What a group may use; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Bytes of memory, page cache and tmpfs included.
    pub memory: Option<u64>,
    /// Whether memory may be moved to swap, on top of `memory`.
    pub swap: bool,
    /// Tasks at once: processes and threads.
    pub pids: Option<u64>,
    /// Processors, such as 0.5.
    pub cpus: Option<f64>,
    /// Whether its processes, and those of groups beside it, can be kept on some processors below it: [`Group::keep_on`].
    /// Version 1 needs a folder for that which they are in from the beginning; version 2 does not.
    pub cpusets: bool,
}

/// Which limits hold. A limit that was not asked for is `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The memory limit.
    pub memory: bool,
    /// That nothing is moved to swap; only with a memory limit.
    pub no_swap: bool,
    /// The limit on tasks.
    pub pids: bool,
    /// The limit on processors.
    pub cpu: bool,
}

/// What a group used. `None` where the kernel does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Most bytes at any time.
    pub memory_peak: Option<u64>,
    /// CPU time in microseconds, of the dead too.
    pub cpu_usec: Option<u64>,
    /// Time that the group waited because its CPU limit was used up, in microseconds.
    pub throttled_usec: Option<u64>,
    /// Most tasks at any time.
    pub pids_peak: Option<u64>,
    /// Processes that were killed because memory ran out.
    pub oom_kills: u64,
    /// Forks that were denied by the limit on tasks.
    pub pids_denied: u64,
}

/// Why a group could not be made, entered, killed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CgroupError {
    /// The host has no writable cgroup.
    #[error("no cgroup can be made: {reason}")]
    Unavailable {
        /// Why, and what would help.
        reason: String,
    },
    /// The name is not one of a single plain folder.
    #[error("cgroup name {name:?} is not a plain name that starts with `belljar-`")]
    Name {
        /// The name as given.
        name: String,
    },
    /// The CPU limit is not a positive number.
    #[error("cgroup limit of {cpus} processors is not a positive number")]
    Cpus {
        /// The limit as given.
        cpus: f64,
    },
    /// Someone else has a group of that name.
    #[error("cgroup {path} exists already", path = path.display())]
    Exists {
        /// The group.
        path: PathBuf,
    },
    /// The path is not on a cgroup file system, so nothing is written to it.
    #[error("{path} is not on a cgroup file system", path = path.display())]
    NotCgroupfs {
        /// The path.
        path: PathBuf,
    },
    /// Controllers cannot be switched on because processes that we cannot move sit in the folder.
    #[error("cannot switch on controllers in cgroup {path}: processes in it cannot be moved to a leaf", path = path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// Processes of the group are still there after SIGKILL.
    #[error("cgroup {path} still has {left} processes after SIGKILL", path = path.display())]
    Unkillable {
        /// The group.
        path: PathBuf,
        /// How many are left.
        left: usize,
    },
    /// A system call failed.
    #[error("cannot {operation} cgroup {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl CgroupError {
    fn io(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        CgroupError::Io {
            operation,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    fn raw_os_error(&self) -> Option<i32> {
        match self {
            CgroupError::Io { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// How long [`Group::remove`] waits for the last process to be gone.
const PATIENCE: Duration = Duration::from_millis(200);

/// Length of a CPU accounting period, the kernel's default.
const PERIOD_USEC: u64 = 100_000;

/// The part of a group that lies in one hierarchy: the whole of it on version 2, one controller or more on version 1.
#[derive(Debug)]
struct Part {
    base: Folder,
    folder: Folder,
    name: String,
    memory: bool,
    pids: bool,
    cpu: bool,
    cpuacct: bool,
    cpuset: bool,
}

/// The group of one jar: one folder on version 2, one for each limited controller on version 1. Removed on drop.
pub struct Group {
    name: String,
    parts: Vec<Part>,
    enforced: Enforced,
    v2: bool,
    tree: Box<dyn Tree + Send + Sync>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group")
            .field("parts", &self.parts)
            .field("enforced", &self.enforced)
            .finish_non_exhaustive()
    }
}

impl Group {
    /// Makes a group and writes its limits; removes what it made when a step fails.
    ///
    /// A controller that the host lacks is no error: see [`Group::enforced`]. On version 1 only the controllers with a
    /// limit get a folder, and `cpuacct`: rusage does not tell the time of children that nobody waited for.
    pub fn create(hierarchy: &Hierarchy, name: &str, limits: &Limits) -> Result<Group, CgroupError> {
        Group::create_in(Box::new(Kernel), hierarchy, name, limits)
    }

    fn create_in(
        tree: Box<dyn Tree + Send + Sync>,
        hierarchy: &Hierarchy,
        name: &str,
        limits: &Limits,
    ) -> Result<Group, CgroupError> {
        // The prefix keeps names apart from the kernel's own files; a slash or dots would leave the folder.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !name.starts_with("belljar-") || name.len() > 200 || !name.bytes().all(plain) {
            return Err(CgroupError::Name {
                name: name.to_owned(),
            });
        }
        if let Some(cpus) = limits.cpus.filter(|cpus| !(cpus.is_finite() && *cpus > 0.0)) {
            return Err(CgroupError::Cpus { cpus });
        }
        let v2 = matches!(hierarchy, Hierarchy::V2 { .. });
        // Drop removes the parts made so far when a later step fails.
        let mut group = Group {
            name: name.to_owned(),
            parts: Vec::with_capacity(3),
            enforced: Enforced::default(),
            v2,
            tree,
        };
        match hierarchy {
            Hierarchy::None { reason } => {
                return Err(CgroupError::Unavailable {
                    reason: reason.clone(),
                });
            }
            Hierarchy::V1 {
                memory,
                pids,
                cpu,
                cpuacct,
                cpuset,
            } => {
                group.create_v1(
                    [
                        memory.as_deref(),
                        pids.as_deref(),
                        cpu.as_deref(),
                        cpuacct.as_deref(),
                    ],
                    limits,
                )?;
                if let Some(base) = cpuset.as_deref().filter(|_| limits.cpusets) {
                    group.create_cpuset(base);
                }
            }
            Hierarchy::V2 { base, controllers } => group.create_v2(base, controllers, limits)?,
            Hierarchy::Scope { .. } => {
                return Err(CgroupError::Unavailable {
                    reason: "nobody has asked for the folder yet".to_owned(),
                });
            }
        }
        Ok(group)
    }

    /// Moves a process, with all its threads, into the group.
    ///
    /// The kernel waits for an RCU grace period (7 ms measured) unless another move was just made. Where that counts,
    /// let a child enter by itself through [`Group::procs_fds`], or be born inside through [`Group::clone_fd`].
    pub fn enter(&self, pid: u32) -> Result<(), CgroupError> {
        let pid = pid.to_string();
        self.parts
            .iter()
            .try_for_each(|part| part.folder.write(&*self.tree, "cgroup.procs", &pid))
    }

    /// Descriptors open for writing: a child **with one thread** that writes `0` to each has entered the group.
    ///
    /// On version 1 they are of `tasks`, which moves the calling thread alone and, from 5.16 on, does so without the
    /// grace period of [`Group::enter`] (0.03 ms each). On version 2 they are of `cgroup.procs`, which waits.
    pub fn procs_fds(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        let file = if self.v2 { "cgroup.procs" } else { "tasks" };
        self.parts
            .iter()
            .map(|part| part.folder.writer(&*self.tree, file))
            .collect()
    }

    /// The folder for clone3 with CLONE_INTO_CGROUP (5.7), so that a child is born in the group; version 2 only.
    pub fn clone_fd(&self) -> Option<BorrowedFd<'_>> {
        self.parts
            .first()
            .filter(|_| self.v2)
            .map(|part| part.folder.as_fd())
    }

    /// Lowers limits that hold already; what the host does not enforce stays so. Memory that is in use is not taken back,
    /// so a limit below it is the kernel's to meet: it reclaims, or kills.
    pub fn tighten(&self, limits: &Limits) -> Result<(), CgroupError> {
        for part in &self.parts {
            let memory = limits.memory.filter(|_| part.memory && self.enforced.memory);
            if let Some(bytes) = memory {
                if self.v2 {
                    part.folder.write(&*self.tree, "memory.max", &bytes.to_string())?;
                } else {
                    v1::limit_memory(&*self.tree, &part.folder, bytes, limits.swap)?;
                }
            }
            if let Some(tasks) = limits.pids.filter(|_| part.pids && self.enforced.pids) {
                part.folder.write(&*self.tree, "pids.max", &tasks.to_string())?;
            }
        }
        Ok(())
    }

    /// Which limits hold.
    pub fn enforced(&self) -> Enforced {
        self.enforced
    }

    /// The folders of the group, for reports and for checks from outside.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| part.folder.path.as_path())
    }

    /// A descriptor that tells when memory ran out; `None` where no memory limit is enforced.
    pub fn oom_event(&self) -> Result<Option<OomEvent>, CgroupError> {
        let Some(part) = self.parts.iter().find(|part| part.memory) else {
            return Ok(None);
        };
        OomEvent::new(&*self.tree, &part.folder, self.v2).map(Some)
    }

    /// What the group used so far.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for part in &self.parts {
            if self.v2 {
                v2::stats(part, &mut stats)
            } else {
                v1::stats(part, &mut stats)
            }
        }
        stats
    }

    /// Processor time that the group used so far, in microseconds; `None` where no controller counts it.
    pub fn cpu_usec(&self) -> Option<u64> {
        let part = |part: &Part| {
            if self.v2 {
                v2::cpu_usec(part)
            } else {
                v1::cpu_usec(part)
            }
        };
        self.parts.iter().find_map(part)
    }

    /// How often the group had to wait because its CPU limit was used up; `None` where no such limit is enforced.
    pub fn throttled(&self) -> Option<u64> {
        let part = self.parts.iter().find(|part| part.cpu)?;
        part.folder.keyed("cpu.stat", "nr_throttled")
    }

    /// How many threads are in the group; `None` where no controller counts them.
    pub fn tasks(&self) -> Option<u64> {
        let part = self.parts.iter().find(|part| part.pids)?;
        part.folder.number("pids.current")
    }

    /// Sends SIGKILL to every process of the group.
    ///
    /// `cgroup.kill` (5.14) is atomic against forks and returns at once. Without it the list is gone through until it
    /// is empty, for at most 200 ms: a fork bomb may outrun that, so the jar's init is killed as well.
    pub fn kill(&self) -> Result<(), CgroupError> {
        let Some(part) = self.parts.first() else {
            return Ok(());
        };
        if self.v2 && part.folder.write_if_there(&*self.tree, "cgroup.kill", "1")? {
            return Ok(());
        }
        kill::all(&part.folder, PATIENCE)
    }

    /// Removes the group, waiting for at most 200 ms while its last process is on its way out.
    pub fn remove(mut self) -> Result<(), CgroupError> {
        self.clear(PATIENCE)
    }

    /// Removes every part that can be; the first error is told.
    fn clear(&mut self, patience: Duration) -> Result<(), CgroupError> {
        let mut result = Ok(());
        self.parts
            .retain(|part| match part.base.remove(&*self.tree, &part.name, patience) {
                Ok(()) => false,
                Err(error) => {
                    result = std::mem::replace(&mut result, Ok(())).and(Err(error));
                    true
                }
            });
        result
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that is still busy is left for `sweep`.
        let _ = self.clear(Duration::ZERO);
    }
}

/// CPU time for each period, at least the millisecond that the kernel asks for.
fn quota_usec(cpus: f64) -> u64 {
    ((cpus * PERIOD_USEC as f64).round() as u64).max(1_000)
}
