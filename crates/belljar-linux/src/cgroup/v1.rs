//! Version 1: one tree for each controller, or for several that are mounted together.

use std::path::Path;

use super::folder::{Folder, Tree};
use super::{CgroupError, Group, Limits, Part, Stats, quota_usec};

impl Group {
    /// Makes the parts in the folders of memory, pids, cpu and cpuacct, and writes their limits.
    pub(super) fn create_v1(
        &mut self,
        bases: [Option<&Path>; 4],
        limits: &Limits,
    ) -> Result<(), CgroupError> {
        let [memory, pids, cpu, cpuacct] = bases;
        let limited = [
            memory.filter(|_| limits.memory.is_some()),
            pids.filter(|_| limits.pids.is_some()),
            cpu.filter(|_| limits.cpus.is_some()),
        ];
        // Without any limit the group still is what `kill` works on.
        let any = limited
            .iter()
            .all(Option::is_none)
            .then(|| pids.or(memory).or(cpu))
            .flatten();
        for path in limited.into_iter().chain([any, cpuacct]).flatten() {
            let base = Folder::open(&*self.tree, path)?;
            if self.parts.iter().any(|part| part.base.path == base.path) {
                continue;
            }
            let folder = base.make(&*self.tree, &self.name)?;
            let here = |other: Option<&Path>| other == Some(path);
            self.parts.push(Part {
                memory: here(memory),
                pids: here(pids),
                cpu: here(cpu),
                cpuacct: here(cpuacct),
                cpuset: false,
                name: self.name.clone(),
                base,
                folder,
            });
        }
        for part in &self.parts {
            if let Some(bytes) = limits.memory.filter(|_| part.memory) {
                self.enforced.no_swap = limit_memory(&*self.tree, &part.folder, bytes, limits.swap)?;
                self.enforced.memory = true;
            }
            if let Some(tasks) = limits.pids.filter(|_| part.pids) {
                part.folder.write(&*self.tree, "pids.max", &tasks.to_string())?;
                self.enforced.pids = true;
            }
            if let Some(cpus) = limits.cpus.filter(|_| part.cpu) {
                self.enforced.cpu = limit_cpu(&*self.tree, &part.folder, cpus)?;
            }
        }
        Ok(())
    }
}

/// Writes the memory limit; tells whether swap is ruled out.
pub(super) fn limit_memory(
    tree: &dyn Tree,
    folder: &Folder,
    bytes: u64,
    swap: bool,
) -> Result<bool, CgroupError> {
    let bytes = bytes.to_string();
    // memory.use_hierarchy is left alone: it is for groups below this one, and nobody makes any.
    folder.write(tree, "memory.limit_in_bytes", &bytes)?;
    if swap {
        return Ok(false);
    }
    let unswappable = folder.write_if_there(tree, "memory.swappiness", "0")?;
    // Memory plus swap may never be below memory, so it is lowered second. The file needs swap accounting.
    let counted = folder.write_if_there(tree, "memory.memsw.limit_in_bytes", &bytes)?;
    Ok(unswappable || counted)
}

/// Writes the CPU limit. The period is left at its default of 100 ms.
fn limit_cpu(tree: &dyn Tree, folder: &Folder, cpus: f64) -> Result<bool, CgroupError> {
    match folder.write_if_there(tree, "cpu.cfs_quota_us", &quota_usec(cpus).to_string()) {
        // A group above has less than this already, so it is the one that holds the group back.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(true),
        other => other,
    }
}

/// Adds what one part tells.
pub(super) fn stats(part: &Part, stats: &mut Stats) {
    let folder = &part.folder;
    if part.memory {
        stats.memory_peak = folder.number("memory.max_usage_in_bytes");
        stats.oom_kills = folder.keyed("memory.oom_control", "oom_kill").unwrap_or(0);
    }
    if part.pids {
        stats.pids_peak = folder.number("pids.peak");
        stats.pids_denied = folder.keyed("pids.events", "max").unwrap_or(0);
    }
    if part.cpu {
        stats.throttled_usec = folder
            .keyed("cpu.stat", "throttled_time")
            .map(|nanoseconds| nanoseconds / 1000);
    }
    stats.cpu_usec = cpu_usec(part).or(stats.cpu_usec);
}

pub(super) fn cpu_usec(part: &Part) -> Option<u64> {
    let nanoseconds = part.cpuacct.then(|| part.folder.number("cpuacct.usage"))??;
    Some(nanoseconds / 1000)
}
