//! Many jobs in a row through one pool: what this process and its cabinet have must not grow.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use belljar::{Job, Pool, Sandbox};

use crate::family::family;

/// Jobs after which everything has been made that is made once: templates, buffers, prepared namespaces.
const SETTLED: usize = 500;
/// Bytes that may come and go: allocators keep a little of what they are given back.
const SLACK: u64 = 8 << 20;

/// What a long-lived engine has.
#[derive(Debug, Clone, Copy)]
struct Size {
    memory: u64,
    cabinet: u64,
    descriptors: usize,
    keeper_descriptors: usize,
    processes: usize,
    mounts: usize,
}

/// Runs so many jobs, four callers at once, and fails if anything grew since the first ones.
pub fn run(belljar: &Path, jobs: usize) -> anyhow::Result<()> {
    let sandbox = Sandbox::builder().binary(belljar).build()?;
    let pool = Pool::new()?;
    let settled = SETTLED.min(jobs / 2);
    batch(&pool, &sandbox, settled)?;
    let before = Size::look(&pool, &sandbox)?;
    batch(&pool, &sandbox, jobs - settled)?;
    let after = Size::look(&pool, &sandbox)?;
    let stats = pool.stats();
    println!(
        "{jobs} jobs through one pool, {} templates\nbefore {before:?}\nafter  {after:?}",
        stats.rotations + 1
    );
    ensure!(stats.cold == 0, "jobs ran cold: {:?}", stats.reasons);
    ensure!(
        after.memory <= before.memory + SLACK && after.cabinet <= before.cabinet + SLACK,
        "memory grew"
    );
    ensure!(
        after.descriptors <= before.descriptors && after.keeper_descriptors <= before.keeper_descriptors + 64,
        "descriptors grew"
    );
    ensure!(after.processes <= before.processes, "processes grew");
    ensure!(after.mounts == before.mounts, "mounts grew");
    Ok(())
}

fn batch(pool: &Pool, sandbox: &Sandbox, jobs: usize) -> anyhow::Result<()> {
    let threads: Vec<_> = (0..4)
        .map(|caller| {
            let (pool, sandbox) = (pool.clone(), sandbox.clone());
            std::thread::spawn(move || -> anyhow::Result<()> {
                for number in (caller..jobs).step_by(4) {
                    let code = format!("open('x', 'w').write('x'); print({number})");
                    let outcome = pool.run(&sandbox, Job::code(code))?;
                    let printed = outcome.stdout.text();
                    ensure!(
                        outcome.success() && printed.trim() == number.to_string(),
                        "job {number} ended as {:?} and printed {printed}",
                        outcome.status
                    );
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread
            .join()
            .map_err(|_| anyhow::anyhow!("a caller panicked"))??;
    }
    Ok(())
}

impl Size {
    /// With exactly four workers parked.
    fn look(pool: &Pool, sandbox: &Sandbox) -> anyhow::Result<Self> {
        pool.warm(sandbox, 4)?;
        // Workers beyond those are given up after a while; what was emptied is closed behind our back.
        for _ in 0..300 {
            let stats = pool.stats();
            if stats.ready == 4 && stats.making == 0 && stats.emptying == 0 && stats.busy == 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let family = family();
        let cabinet: Vec<u32> = family.iter().copied().skip(1).collect();
        Ok(Self {
            memory: resident(std::process::id()),
            cabinet: cabinet.iter().map(|pid| resident(*pid)).sum(),
            descriptors: fs::read_dir("/proc/self/fd")?.count(),
            keeper_descriptors: cabinet
                .iter()
                .map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count))
                .max()
                .unwrap_or(0),
            processes: family.len(),
            mounts: fs::read_to_string("/proc/self/mountinfo")?.lines().count(),
        })
    }
}

fn resident(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
