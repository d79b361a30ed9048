//! Version 2: one tree, in which controllers are switched on from above and only leaves hold processes.

use std::path::Path;

use super::detect::{CPUSET, SUPERVISOR};
use super::folder::{Folder, Tree};
use super::{CgroupError, Group, Limits, PERIOD_USEC, Part, Stats, quota_usec};

/// How often the processes of the base are moved again: one may fork while it is being moved.
const MOVES: usize = 8;

impl Group {
    /// Makes the one part below the base and writes its limits.
    pub(super) fn create_v2(
        &mut self,
        path: &Path,
        controllers: &[String],
        limits: &Limits,
    ) -> Result<(), CgroupError> {
        let tree = &*self.tree;
        let base = Folder::open(tree, path)?;
        let has = |name: &str| controllers.iter().any(|controller| controller == name);
        let (memory, pids, cpu) = (has("memory"), has("pids"), has("cpu"));
        switch_on(tree, &base, &[("memory", memory), ("pids", pids), ("cpu", cpu)])?;
        // It limits nothing by itself: a host that does not let us have it is none the worse.
        let cpuset = has(CPUSET) && switch_on(tree, &base, &[(CPUSET, true)]).is_ok();
        let folder = base.make(tree, &self.name)?;
        self.parts.push(Part {
            base,
            folder,
            memory,
            pids,
            cpu,
            cpuacct: true,
            cpuset,
            name: self.name.clone(),
        });
        let folder = &self.parts[0].folder;
        if let Some(bytes) = limits.memory.filter(|_| memory) {
            limit(tree, folder, "memory.max", bytes)?;
            // Both files are younger than the controller; the first also needs swap accounting.
            if !limits.swap {
                self.enforced.no_swap = folder.write_if_there(tree, "memory.swap.max", "0")?;
            }
            folder.write_if_there(tree, "memory.oom.group", "1")?;
            self.enforced.memory = true;
        }
        if let Some(tasks) = limits.pids.filter(|_| pids) {
            limit(tree, folder, "pids.max", tasks)?;
            self.enforced.pids = true;
        }
        if let Some(cpus) = limits.cpus.filter(|_| cpu) {
            folder.write(tree, "cpu.max", &format!("{} {PERIOD_USEC}", quota_usec(cpus)))?;
            self.enforced.cpu = true;
        }
        Ok(())
    }
}

/// Writes a limit and looks whether it holds. The kernel rounds memory down to whole pages.
fn limit(tree: &dyn Tree, folder: &Folder, file: &str, value: u64) -> Result<(), CgroupError> {
    folder.write(tree, file, &value.to_string())?;
    match folder.number(file) {
        Some(holds) if holds <= value => Ok(()),
        _ => Err(CgroupError::io(
            "limit",
            &folder.path.join(file),
            std::io::Error::from(std::io::ErrorKind::InvalidData),
        )),
    }
}

/// Switches controllers on for the groups below the base. Of the base's files only `cgroup.subtree_control` is ours.
fn switch_on(tree: &dyn Tree, base: &Folder, wanted: &[(&str, bool)]) -> Result<(), CgroupError> {
    const FILE: &str = "cgroup.subtree_control";
    let on = base
        .read(FILE)
        .map_err(|error| CgroupError::io("read", &base.path.join(FILE), error))?;
    let mut missing = String::new();
    for (name, _) in wanted
        .iter()
        .filter(|(name, want)| *want && !on.split_whitespace().any(|word| word == *name))
    {
        if !missing.is_empty() {
            missing.push(' ');
        }
        missing.push('+');
        missing.push_str(name);
    }
    if missing.is_empty() {
        return Ok(());
    }
    for _ in 0..MOVES {
        // The root of the tree may hold processes and have controllers on, so try before anything is moved.
        match base.write(tree, FILE, &missing) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => clear_out(tree, base)?,
            other => return other,
        }
    }
    Err(CgroupError::Occupied {
        path: base.path.clone(),
    })
}

/// Moves every process of the base to the leaf `supervisor`.
fn clear_out(tree: &dyn Tree, base: &Folder) -> Result<(), CgroupError> {
    let leaf = match base.make(tree, SUPERVISOR) {
        Err(CgroupError::Exists { path }) => Folder::open(tree, &path)?,
        other => other?,
    };
    let procs = base
        .read("cgroup.procs")
        .map_err(|error| CgroupError::io("list", &base.path, error))?;
    // 0 is a process of another pid namespace, and would move us instead.
    for pid in procs.split_whitespace().filter(|pid| *pid != "0") {
        match leaf.write(tree, "cgroup.procs", pid) {
            // It ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Adds what the group tells.
pub(super) fn cpu_usec(part: &Part) -> Option<u64> {
    part.folder.keyed("cpu.stat", "usage_usec")
}

pub(super) fn stats(part: &Part, stats: &mut Stats) {
    let folder = &part.folder;
    stats.cpu_usec = cpu_usec(part);
    if part.cpu {
        stats.throttled_usec = folder.keyed("cpu.stat", "throttled_usec");
    }
    if part.memory {
        stats.memory_peak = folder.number("memory.peak");
        stats.oom_kills = folder.keyed("memory.events", "oom_kill").unwrap_or(0);
    }
    if part.pids {
        stats.pids_peak = folder.number("pids.peak");
        stats.pids_denied = folder.keyed("pids.events", "max").unwrap_or(0);
    }
}
