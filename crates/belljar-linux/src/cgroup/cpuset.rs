//! Keeps a group on some processors, so that a crowd that may have one of them does not have all for half of the time.
//!
//! On version 2 that is a file of the group itself. On version 1 cpusets are a tree of their own: the groups that are kept
//! somewhere lie below one that everybody else is in, so that what a guest reads of its place there is a number.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::folder::{Folder, Tree};
use super::{CgroupError, Group, Hierarchy, Owner, Part};

/// How often the processes are gone through: each look finds those that were born of one which was not moved yet.
const LOOKS: usize = 32;
/// Looks in a row that must find nobody elsewhere: a child whose fork was under way while its parent was moved is born where the parent was,
/// and is in no list until then. Only `cgroup.procs` would wait for it, and hold up every fork of the machine for milliseconds.
const CLEAN: usize = 3;
/// What a cpuset of version 1 needs before anything can enter it.
const BOTH: [&str; 2] = ["cpuset.cpus", "cpuset.mems"];

/// Where the first group of another process, made with `cpusets`, has others below it: for [`Group::keep_on`]. `None` where
/// that needs no such place, or cannot be done.
pub fn outer(hierarchy: &Hierarchy, owner: u32) -> Option<PathBuf> {
    match hierarchy {
        Hierarchy::V1 {
            cpuset: Some(base), ..
        } => Some(base.join(Owner::of(owner).ok()?.name(0))),
        _ => None,
    }
}

impl Group {
    /// Version 1: the folder that others are kept below. It limits nothing by itself: a host that does not let us have it is
    /// none the worse.
    pub(super) fn create_cpuset(&mut self, path: &Path) {
        let tree = &*self.tree;
        let make = || -> Result<(Folder, Folder), CgroupError> {
            let base = Folder::open(tree, path)?;
            let folder = base.make(tree, &self.name)?;
            match BOTH
                .iter()
                .try_for_each(|file| inherit(tree, &base, &folder, file))
            {
                Ok(()) => Ok((base, folder)),
                Err(error) => base.remove(tree, &self.name, Duration::ZERO).and(Err(error)),
            }
        };
        if let Ok((base, folder)) = make() {
            let part = Part::of_cpuset(base, folder, self.name.clone());
            self.parts.push(part);
        }
    }

    /// Keeps all processes of the group on these processors, from now on and wherever they want to be; tells whether the
    /// host can do so. On version 1 this is below `outer`, a group that was made with `cpusets` and that they are in.
    pub fn keep_on(&mut self, cpus: &[usize], outer: Option<&Path>) -> Result<bool, CgroupError> {
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        let list = list.join(",");
        if self.v2 {
            let part = self.parts.first().filter(|part| part.cpuset);
            return part.map_or(Ok(false), |part| {
                part.folder.write_if_there(&*self.tree, "cpuset.cpus", &list)
            });
        }
        if let Some(part) = self.parts.iter().find(|part| part.cpuset) {
            part.folder.write(&*self.tree, "cpuset.cpus", &list)?;
            return Ok(true);
        }
        let Some(outer) = outer else { return Ok(false) };
        let base = Folder::open(&*self.tree, outer)?;
        let number = self.name.rsplit('-').next().unwrap_or_default().to_owned();
        let folder = base.make(&*self.tree, &number)?;
        self.parts.push(Part::of_cpuset(base, folder, number));
        let (Some(members), Some(Part { base, folder, .. })) = (self.parts.first(), self.parts.last()) else {
            return Ok(false);
        };
        inherit(&*self.tree, base, folder, "cpuset.mems")?;
        folder.write(&*self.tree, "cpuset.cpus", &list)?;
        gather(&*self.tree, &members.folder, folder)?;
        Ok(true)
    }
}

impl Part {
    fn of_cpuset(base: Folder, folder: Folder, name: String) -> Self {
        Part {
            base,
            folder,
            name,
            memory: false,
            pids: false,
            cpu: false,
            cpuacct: false,
            cpuset: true,
        }
    }
}

/// Gives a cpuset what the one above it has.
fn inherit(tree: &dyn Tree, base: &Folder, folder: &Folder, file: &str) -> Result<(), CgroupError> {
    let above = base
        .read(file)
        .map_err(|error| CgroupError::io("read", &base.path.join(file), error))?;
    folder.write(tree, file, above.trim())
}

/// Moves every thread of one folder's group into another, until looks find none that is elsewhere. A pid is written at
/// once after it was listed: for it to be a stranger's by then, all other pids would have to be given out in between.
fn gather(tree: &dyn Tree, from: &Folder, to: &Folder) -> Result<(), CgroupError> {
    const FILE: &str = "tasks";
    let list = |folder: &Folder| {
        folder
            .read(FILE)
            .map_err(|error| CgroupError::io("list", &folder.path, error))
    };
    let writer = to.writer(tree, FILE)?;
    let path = to.path.join(FILE);
    let mut clean = 0;
    for _ in 0..LOOKS {
        let (all, here) = (list(from)?, list(to)?);
        let here: HashSet<&str> = here.split_whitespace().collect();
        let mut missing = all
            .split_whitespace()
            .filter(|pid| *pid != "0" && !here.contains(pid))
            .peekable();
        clean = if missing.peek().is_none() { clean + 1 } else { 0 };
        if clean == CLEAN {
            return Ok(());
        }
        for pid in missing {
            match tree.write(std::os::fd::AsFd::as_fd(&writer), &path, pid) {
                // It has ended, or is about to.
                Ok(()) | Err(Errno::SRCH | Errno::INVAL) => {}
                Err(errno) => return Err(CgroupError::io("enter", &to.path, errno)),
            }
        }
    }
    Ok(())
}
