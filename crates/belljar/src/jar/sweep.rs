//! Cgroups whose warden was killed before it could remove them. Their processes died with it; the folders did not.

use std::time::{Duration, Instant};

use belljar_linux::cgroup::{self, Hierarchy, Owner};

use crate::plan::Plan;

/// How long the kernel gets to empty a group after the kill.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where this plan's cgroups are made.
pub(crate) fn hierarchy(plan: &Plan) -> Option<&Hierarchy> {
    plan.cgroup().map(|group| group.hierarchy)
}

/// Removes what wardens that are gone have left. What cannot be removed now is left for the next run.
pub(crate) fn sweep(hierarchy: &Hierarchy) {
    if let Err(error) = cgroup::sweep(hierarchy, &Owner::is_alive) {
        tracing::debug!(%error, "cgroups are not swept");
    }
}

/// Removes what this warden, which was killed, has left.
pub(crate) fn sweep_after(hierarchy: &Hierarchy, warden: u32) {
    let since = Instant::now();
    loop {
        sweep(hierarchy);
        if !left(hierarchy, warden) || since.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn left(hierarchy: &Hierarchy, warden: u32) -> bool {
    let folders = match hierarchy {
        Hierarchy::None { .. } | Hierarchy::Scope { .. } => Vec::new(),
        Hierarchy::V1 {
            memory,
            pids,
            cpu,
            cpuset,
            ..
        } => [memory, pids, cpu, cpuset].into_iter().flatten().collect(),
        Hierarchy::V2 { base, .. } => vec![base],
    };
    let mut entries = folders
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    entries.any(|entry| {
        let owner = entry.file_name().to_str().and_then(Owner::parse);
        owner.is_some_and(|owner| owner.pid == warden && !Owner::is_alive(owner.pid, owner.start))
    })
}
