//! Nothing outlives the call: no process, mount, cgroup or descriptor.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use belljar::host::{Cgroup, Host};
use belljar_linux::cgroup::Owner;

use crate::twice::is_alone;
use crate::{alone, ending};

/// When a group that is still there stays.
const PATIENCE: Duration = Duration::from_secs(20);

/// How things were before a test.
#[derive(Debug, PartialEq)]
pub struct Before {
    mounts: Option<String>,
    descriptors: usize,
    namespaces: BTreeSet<String>,
}

impl Before {
    /// Looks at this process.
    pub fn look() -> Self {
        Self {
            mounts: is_alone().then(|| fs::read_to_string("/proc/self/mountinfo").expect("mountinfo")),
            descriptors: fs::read_dir("/proc/self/fd").expect("descriptors").count(),
            namespaces: namespaces(),
        }
    }

    /// Fails if anything is left.
    pub fn compare(&self) {
        assert_eq!(ending::wait(family), Vec::<String>::new(), "left behind");
        let since = Instant::now();
        while !groups().is_empty() {
            assert!(since.elapsed() < PATIENCE, "left behind: {:?}", groups());
            std::thread::sleep(Duration::from_millis(2));
        }
        let before = Self {
            mounts: self.mounts.as_deref().map(alone::still_there),
            namespaces: self.namespaces.clone(),
            descriptors: self.descriptors,
        };
        // A pool closes some of its own behind a job's back.
        let since = Instant::now();
        let mut after = Self::look();
        while after.descriptors > before.descriptors && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
            after = Self::look();
        }
        assert_eq!(before, after, "changed by the test");
    }
}

fn namespaces() -> BTreeSet<String> {
    let links = fs::read_dir("/proc/self/ns").expect("namespaces").flatten();
    links
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|link| link.to_string_lossy().into_owned())
        .collect()
}

/// Every process below this one, by name.
pub fn descendants() -> Vec<String> {
    let name = |pid: u32| stat(&Path::new("/proc").join(pid.to_string())).map(|(_, _, name)| name);
    let found = family().into_iter();
    found
        .map(|pid| format!("{} ({pid})", name(pid).unwrap_or_default()))
        .collect()
}

/// Every process below this one. A zombie of ours that nobody waited for counts, once it cannot be reaped here.
pub fn family() -> Vec<u32> {
    // Orphans that were handed to us as their subreaper.
    while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
    let ours = std::process::id();
    let parents: Vec<(u32, u32, String)> = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| stat(&entry.path()))
        .collect();
    let mut family = BTreeSet::from([ours]);
    let mut found = Vec::new();
    loop {
        let before = family.len();
        for (pid, parent, _) in &parents {
            if family.contains(parent) && family.insert(*pid) {
                found.push(*pid);
            }
        }
        if family.len() == before {
            return found;
        }
    }
}

fn stat(process: &Path) -> Option<(u32, u32, String)> {
    let pid = process.file_name()?.to_str()?.parse().ok()?;
    let text = fs::read_to_string(process.join("stat")).ok()?;
    let (head, tail) = text.rsplit_once(')')?;
    let parent = tail.split_whitespace().nth(1)?.parse().ok()?;
    Some((pid, parent, head.split_once('(')?.1.to_owned()))
}

/// Groups that a process of this pid namespace made that is gone: a test that is alone sees those of its own jars.
fn groups() -> Vec<String> {
    let folders = match Host::probe().cgroup {
        Cgroup::None { .. } | Cgroup::Scope { .. } => Vec::new(),
        Cgroup::V1 {
            memory,
            pids,
            cpu,
            cpuacct,
            cpuset,
        } => [memory, pids, cpu, cpuacct, cpuset]
            .into_iter()
            .flatten()
            .collect(),
        Cgroup::V2 { base, .. } => vec![base],
    };
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    let ours = Owner::current().expect("our own name").namespace;
    let is_stale = |owner: Owner| owner.namespace == ours && !Owner::is_alive(owner.pid, owner.start);
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| Owner::parse(name).is_some_and(is_stale))
        .collect()
}
