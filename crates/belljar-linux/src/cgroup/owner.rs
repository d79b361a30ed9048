//! Names that tell who made a group, and the removal of groups whose maker is gone.

use std::path::Path;
use std::time::Duration;

use super::folder::{Folder, Kernel, Tree};
use super::{CgroupError, Hierarchy};

/// The process that makes groups. A pid alone comes back; with its start time and pid namespace it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Inode of its pid namespace.
    pub namespace: u64,
    /// Its pid there.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
}

impl Owner {
    /// This process.
    pub fn current() -> Result<Owner, CgroupError> {
        Owner::of(std::process::id())
    }

    /// A process of this pid namespace.
    pub fn of(pid: u32) -> Result<Owner, CgroupError> {
        let path = &Path::new("/proc").join(pid.to_string()).join("stat");
        let stat = std::fs::read_to_string(path).map_err(|error| CgroupError::io("name", path, error))?;
        let start = start_time(&stat).ok_or_else(|| {
            CgroupError::io(
                "name",
                path,
                std::io::Error::from(std::io::ErrorKind::InvalidData),
            )
        })?;
        Ok(Owner {
            namespace: pid_namespace()?,
            pid,
            start,
        })
    }

    /// A name for this owner's `n`th group.
    pub fn name(&self, n: u64) -> String {
        format!("belljar-{}-{}-{}-{n}", self.namespace, self.pid, self.start)
    }

    /// The owner that a name tells, if the name is one of ours.
    pub fn parse(name: &str) -> Option<Owner> {
        let mut fields = name.strip_prefix("belljar-")?.split('-');
        let owner = Owner {
            namespace: fields.next()?.parse().ok()?,
            pid: fields.next()?.parse().ok()?,
            start: fields.next()?.parse().ok()?,
        };
        let _: u64 = fields.next()?.parse().ok()?;
        fields.next().is_none().then_some(owner)
    }

    /// Whether a process with this pid and start time runs now; a zombie does not. For [`sweep`].
    pub fn is_alive(pid: u32, start: u64) -> bool {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            return false;
        };
        let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start());
        !state.starts_with(['Z', 'X']) && start_time(&stat) == Some(start)
    }
}

/// Field 22 of `/proc/PID/stat`. The name in field 2 may hold blanks and brackets, so count from its end.
fn start_time(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn pid_namespace() -> Result<u64, CgroupError> {
    let path = Path::new("/proc/self/ns/pid");
    let found = rustix::fs::stat(path).map_err(|errno| CgroupError::io("name", path, errno))?;
    Ok(found.st_ino)
}

/// Removes the empty groups of owners that `alive` (pid, start time) says are gone; tells how many.
///
/// Groups that still hold processes stay, and so do those made in another pid namespace, where pids mean others.
pub fn sweep(hierarchy: &Hierarchy, alive: &dyn Fn(u32, u64) -> bool) -> Result<usize, CgroupError> {
    sweep_in(&Kernel, pid_namespace()?, hierarchy, alive)
}

pub(super) fn sweep_in(
    tree: &dyn Tree,
    namespace: u64,
    hierarchy: &Hierarchy,
    alive: &dyn Fn(u32, u64) -> bool,
) -> Result<usize, CgroupError> {
    let mut bases: Vec<&Path> = match hierarchy {
        // A scope is removed by whoever made it, with all that is left in it.
        Hierarchy::None { .. } | Hierarchy::Scope { .. } => Vec::new(),
        Hierarchy::V1 {
            memory,
            pids,
            cpu,
            cpuacct,
            cpuset,
        } => [memory, pids, cpu, cpuacct, cpuset]
            .into_iter()
            .flatten()
            .map(|path| path.as_path())
            .collect(),
        Hierarchy::V2 { base, .. } => vec![base],
    };
    bases.sort_unstable();
    bases.dedup();
    let mut removed = 0;
    for path in bases {
        let base = Folder::open(tree, path)?;
        let entries = std::fs::read_dir(path).map_err(|error| CgroupError::io("list", path, error))?;
        for entry in entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let stale = Owner::parse(name)
                .is_some_and(|owner| owner.namespace == namespace && !alive(owner.pid, owner.start));
            // The kernel refuses to remove a group with processes: only empty ones go.
            if stale && base.remove(tree, name, Duration::ZERO).is_ok() {
                removed += 1;
            }
        }
    }
    Ok(removed)
}
