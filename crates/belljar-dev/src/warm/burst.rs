//! Many callers at once, and as many workers as a machine takes.

use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use anyhow::ensure;
use belljar::{Job, Pool, Sandbox};

use super::{Callers, Times};
use crate::bench::Sample;

/// So many callers, each with one call after the other: what a call takes, and calls each second.
pub fn callers(sandbox: &Sandbox, count: usize, time: Duration) -> anyhow::Result<Callers> {
    let pool = Pool::builder().ceiling(count.max(8)).build()?;
    super::warm(&pool, sandbox, count.min(8))?;
    let sample = Arc::new(Mutex::new(Sample::default()));
    let (cpu, start) = (processor_time(), Instant::now());
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let (pool, sandbox, sample) = (pool.clone(), sandbox.clone(), sample.clone());
            std::thread::spawn(move || -> anyhow::Result<()> {
                let mut times = Vec::new();
                while start.elapsed() < time {
                    times.push(super::call(&pool, &sandbox, times.len())?);
                }
                let mut sample = sample.lock().map_err(|_| anyhow::anyhow!("a caller panicked"))?;
                times.into_iter().for_each(|time| sample.add(time));
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread
            .join()
            .map_err(|_| anyhow::anyhow!("a caller panicked"))??;
    }
    let took = start.elapsed().as_secs_f64();
    let cpu = processor_time() - cpu;
    let stats = pool.stats();
    ensure!(stats.cold == 0, "jobs ran cold: {:?}", stats.reasons);
    let sample = sample
        .lock()
        .map_err(|_| anyhow::anyhow!("a caller panicked"))?
        .clone();
    Ok(Callers {
        count,
        times: Times::from(&sample),
        rate: sample.len() as f64 / took,
        cpu: cpu * 1e3 / sample.len() as f64,
    })
}

/// Seconds that all processors were busy, with whatever: the kernel's own threads clean up after a jar too.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let numbers = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
    // Idle and waiting for disks are the fourth and the fifth.
    let busy: u64 = numbers.iter().take(3).chain(numbers.iter().skip(5).take(2)).sum();
    busy as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Parks workers, then runs jobs beside them that all wait for each other; how many there were of each.
pub fn crowd(sandbox: &Sandbox, parked: usize, running: usize) -> anyhow::Result<(usize, usize)> {
    let pool = Pool::builder()
        .ceiling(parked + running)
        .max_workers(parked + running + 8)
        .max_memory(u64::MAX)
        .build()?;
    super::warm(&pool, sandbox, parked + running)?;
    let barrier = Arc::new(Barrier::new(running + 1));
    let threads: Vec<_> = (0..running)
        .map(|_| {
            let (pool, sandbox, barrier) = (pool.clone(), sandbox.clone(), barrier.clone());
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || -> anyhow::Result<bool> {
                    barrier.wait();
                    let outcome = pool.run(&sandbox, Job::code("import time; time.sleep(5)"))?;
                    Ok(outcome.success())
                })
        })
        .collect::<Result<_, _>>()?;
    barrier.wait();
    let mut seen = (0, 0);
    let end = Instant::now() + Duration::from_secs(4);
    while Instant::now() < end {
        let stats = pool.stats();
        if stats.busy >= seen.1 {
            seen = (stats.ready, stats.busy);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for thread in threads {
        let done = thread
            .join()
            .map_err(|_| anyhow::anyhow!("a caller panicked"))??;
        ensure!(done, "a job of the crowd failed");
    }
    Ok(seen)
}
