//! Processor time of a whole jar where no cgroup counts it: the living, and the dead that they have waited for.

use std::fs;

/// Most processes that are looked at; a jar's limit is far below.
const MOST: usize = 1 << 16;

/// Microseconds used by a process and everything below it. Orphans of a jar belong to its init, so all are below it.
pub(super) fn tree(init: u32) -> u64 {
    let mut ticks = 0;
    let mut todo = vec![init];
    let mut seen = 0;
    while let Some(pid) = todo.pop() {
        seen += 1;
        // One that has just ended is counted by whoever reaps it, at the next look.
        ticks += fs::read_to_string(format!("/proc/{pid}/stat")).map_or(0, |stat| used(&stat));
        if seen < MOST {
            todo.extend(children(pid));
        }
    }
    ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second()
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

/// Clock ticks in user and kernel mode, its own and those of children that it waited for: fields 14 to 17.
fn used(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = after_name.split_whitespace().skip(11).take(4);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_a_name_that_is_hostile() {
        let stat = "7 (a) 9 (b 1 2) R 1 7 7 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5 6 7";
        assert_eq!(used(stat), 110);
        assert_eq!(used(""), 0);
        assert_eq!(used("7 (x) Z"), 0);
    }

    #[test]
    fn children_count_for_the_whole() {
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let before = tree(std::process::id());
        let status = std::process::Command::new("sh").args(["-c", spin]).status();
        assert!(status.is_ok_and(|status| status.success()));
        assert!(tree(std::process::id()) > before);
        assert_eq!(tree(u32::MAX), 0);
    }
}
