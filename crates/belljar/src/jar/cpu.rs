//! What a whole jar has used where no cgroup counts it: the living, and the dead that they have waited for.

use std::fs;

/// Most processes that are looked at; a jar's limit is far below.
const MOST: usize = 1 << 16;

/// Microseconds used by these processes and everything below them. Orphans of a jar belong to its init.
pub(super) fn tree(roots: &[u32]) -> u64 {
    // One that has just ended is counted by whoever reaps it, at the next look.
    let used = |pid| Stat::of(pid).map_or(0, |stat| stat.own + stat.waited);
    microseconds(family(roots).into_iter().map(used).sum())
}

pub(crate) fn microseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second()
}

/// What the kernel tells of a process, or of a thread; times are in clock ticks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub runs: bool,
    pub own: u64,
    /// Of children that it waited for.
    pub waited: u64,
    pub threads: u64,
    pub start: u64,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The fields after its name, which may hold blanks and brackets; the state is the third of all.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            runs: fields.first() == Some(&"R"),
            own: number(14)? + number(15)?,
            waited: number(16)? + number(17)?,
            threads: number(20)?,
            start: number(22)?,
        })
    }
}

/// Bytes of the largest resident set that any living process of a jar has had.
pub(super) fn largest(roots: &[u32]) -> u64 {
    let peak = |pid| fs::read_to_string(format!("/proc/{pid}/status")).map_or(0, |status| peak(&status));
    family(roots).into_iter().map(peak).max().unwrap_or(0)
}

pub(super) fn family(roots: &[u32]) -> Vec<u32> {
    let mut all = roots.to_vec();
    let mut next = 0;
    while let Some(pid) = all.get(next).filter(|_| next < MOST) {
        let children = children(*pid);
        all.extend(children);
        next += 1;
    }
    all
}

fn peak(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Children of every thread: each is its own parent's.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_a_name_that_is_hostile() {
        let stat = "7 (a) 9 (b 1 2) R 1 7 7 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5 6 7";
        let wanted = Stat {
            runs: true,
            own: 33,
            waited: 77,
            threads: 1,
            start: 5,
        };
        assert_eq!(Stat::parse(stat), Some(wanted));
        assert_eq!(Stat::parse(""), None);
        assert_eq!(Stat::parse("7 (x) Z"), None);
    }

    #[test]
    fn children_count_for_the_whole() {
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let before = tree(&[std::process::id()]);
        let status = std::process::Command::new("sh").args(["-c", spin]).status();
        assert!(status.is_ok_and(|status| status.success()));
        assert!(tree(&[std::process::id()]) > before);
        assert_eq!(tree(&[u32::MAX]), 0);
        assert!(largest(&[std::process::id()]) > 1 << 20);
        assert_eq!(largest(&[u32::MAX]), 0);
    }
}
