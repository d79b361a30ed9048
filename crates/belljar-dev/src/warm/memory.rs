//! What a parked worker takes, as the kernel counts it: its own pages, and its share of those that others have too.

use std::fs;

use belljar::{Pool, Sandbox};

/// Workers in one step of the staircase.
const STEP: usize = 20;

/// Bytes that one more parked worker adds to everything that this process has started: worker, init and keeper.
pub fn of_a_worker(sandbox: &Sandbox) -> anyhow::Result<u64> {
    let pool = Pool::builder().ceiling(3 * STEP).max_workers(4 * STEP).build()?;
    super::warm(&pool, sandbox, STEP)?;
    let before = of_descendants();
    super::warm(&pool, sandbox, 3 * STEP)?;
    let after = of_descendants();
    Ok(after.saturating_sub(before) / (2 * STEP) as u64)
}

fn of_descendants() -> u64 {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| Some((pid, parent(pid)?)))
        .collect();
    let mut family = vec![std::process::id()];
    let mut next = 0;
    while next < family.len() {
        let head = family[next];
        family.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == head)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    family[1..].iter().filter_map(|pid| share(*pid)).sum()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Proportional set size. Processes that hide from their user tell it to root alone.
fn share(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
