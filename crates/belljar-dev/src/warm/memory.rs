//! What a parked worker takes, as the kernel counts it: its own pages, and its share of those that others have too.

use std::fs;

use belljar::{Pool, Sandbox};

use crate::family::family;

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
    family()[1..].iter().filter_map(|pid| share(*pid)).sum()
}

/// Proportional set size. Processes that hide from their user tell it to root alone.
fn share(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
