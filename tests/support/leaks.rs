//! Nothing outlives the call: no process, cgroup, mount, temporary file, shared memory or descriptor.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::procfs;
use crate::{alone, ending};

/// How the host was before. The whole program is in a corner of its own where its user may make one; elsewhere mounts and
/// System V objects are anyone's, and not looked at.
#[derive(Debug)]
pub struct Baseline {
    mounts: Option<String>,
    shared_memory: BTreeSet<String>,
    system_v: Option<String>,
    namespaces: String,
    descriptors: usize,
}

impl Baseline {
    /// Looks at the host now. Orphans of every later run become children of this process, so that none can hide.
    pub fn take(is_alone: bool) -> Self {
        rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1)).expect("become a subreaper");
        Self::look(is_alone)
    }

    fn look(is_alone: bool) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        // Times and pids of segments that others use change; which there are does not.
        let keys = |text: String| -> Vec<String> {
            text.lines()
                .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
                .collect()
        };
        let system_v = ["shm", "sem", "msg"].map(|kind| keys(read(&format!("/proc/sysvipc/{kind}"))));
        Self {
            mounts: is_alone.then(|| read("/proc/self/mountinfo")),
            shared_memory: names(Path::new("/dev/shm")),
            system_v: is_alone.then(|| format!("{system_v:?}")),
            namespaces: format!("{:?}", procfs::namespaces(std::process::id()).ok()),
            descriptors: fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
        }
    }

    /// What is different now that no run is under way.
    pub fn compare(&self) -> Vec<String> {
        let now = Self::look(self.mounts.is_some());
        let mut found = Vec::new();
        let mut note = |same: bool, what: &str| {
            if !same {
                found.push(format!("the host's {what} changed"));
            }
        };
        let mounts = self.mounts.as_deref().map(alone::still_there);
        note(mounts == now.mounts, "mounts");
        note(self.system_v == now.system_v, "System V objects");
        note(self.namespaces == now.namespaces, "namespaces of this process");
        note(self.descriptors == now.descriptors, "descriptors of this process");
        let ours = now
            .shared_memory
            .difference(&self.shared_memory)
            .filter(|name| name.contains("belljar"));
        found.extend(ours.map(|name| format!("left in /dev/shm: {name}")));
        found
    }
}

/// Processes of ours that should be gone: children of this process beyond those that are `known` to run.
pub fn strays(known: &dyn Fn() -> BTreeSet<u32>) -> Vec<String> {
    ending::wait(|| {
        // Known ones are looked up first: one that is started in between is in neither list's way.
        let candidates = procfs::children(std::process::id());
        let known = known();
        let left = candidates
            .into_iter()
            .filter(|pid| !known.contains(pid) && procfs::alive(*pid));
        left.collect()
    })
}

/// Cgroups that this warden made and that are still there.
pub fn groups(warden: u32) -> Vec<String> {
    // The inode of the pid namespace comes first: another suite has a warden of that number, too.
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino());
    let mark = format!("belljar-{namespace}-{warden}-");
    let mut found = Vec::new();
    let mut open = vec![(Path::new("/sys/fs/cgroup").to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&mark) {
                found.push(entry.path().display().to_string());
            } else if depth < 3 {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
