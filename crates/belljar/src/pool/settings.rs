//! How large a pool may be, and for how long.

use std::time::Duration;

use super::Pool;
use crate::error::Error;

/// Descriptors that one worker takes up here: nine of its own, and those of its cgroup.
const DESCRIPTORS: u64 = 20;
/// Descriptors that are left to the rest of this process.
const RESERVED: u64 = 256;

/// What a pool keeps to.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub floor: usize,
    pub ceiling: usize,
    pub max_workers: usize,
    pub max_memory: u64,
    pub max_cabinets: usize,
    pub queue: usize,
    pub idle: Duration,
    pub rotate_jobs: u32,
    pub rotate_after: Duration,
    pub cold_first: bool,
    /// Processors of this machine: so many workers are made at once.
    pub cores: usize,
}

/// What a pool keeps for one sandbox; what is not told is as the pool has it for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    /// Workers that are parked from now on, whether there are jobs or not.
    pub floor: Option<usize>,
    /// Most workers that are parked.
    pub ceiling: Option<usize>,
    /// Time without a job after which everything is given up.
    pub idle: Option<Duration>,
}

/// Puts a [`Pool`] together. Every method changes one setting.
#[derive(Debug, Clone)]
pub struct PoolBuilder {
    settings: Settings,
}

impl Default for PoolBuilder {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let memory = rustix::system::sysinfo();
        let memory = (memory.totalram as u64).saturating_mul(u64::from(memory.mem_unit));
        Self {
            settings: Settings {
                floor: 0,
                ceiling: (2 * cores).max(4),
                max_workers: 256,
                max_memory: memory / 4,
                max_cabinets: 16,
                queue: 1024,
                idle: Duration::from_secs(300),
                rotate_jobs: 100,
                rotate_after: Duration::from_secs(3600),
                cold_first: false,
                cores,
            },
        }
    }
}

impl PoolBuilder {
    /// Workers that are parked for a sandbox as long as its cabinet is there; 0 unless told. With a floor, a cabinet is
    /// not given up for being idle.
    pub fn floor(mut self, workers: usize) -> Self {
        self.settings.floor = workers;
        self
    }

    /// Most workers that are parked for one sandbox.
    pub fn ceiling(mut self, workers: usize) -> Self {
        self.settings.ceiling = workers;
        self
    }

    /// Most workers at once: parked, being made, with a job.
    pub fn max_workers(mut self, workers: usize) -> Self {
        self.settings.max_workers = workers;
        self
    }

    /// Bytes that parked workers and templates may take together, by estimate; a quarter of the machine's unless told.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.settings.max_memory = bytes;
        self
    }

    /// Most cabinets at once; the least recently used one is given up for another.
    pub fn max_cabinets(mut self, cabinets: usize) -> Self {
        self.settings.max_cabinets = cabinets;
        self
    }

    /// Most jobs that wait because `max_workers` jobs run already; one more is refused.
    pub fn queue(mut self, jobs: usize) -> Self {
        self.settings.queue = jobs;
        self
    }

    /// Time after which a cabinet that nobody uses is given up; five minutes unless told.
    pub fn idle(mut self, time: Duration) -> Self {
        self.settings.idle = time;
        self
    }

    /// Workers after which a template is replaced by a fresh one.
    pub fn rotate_jobs(mut self, workers: u32) -> Self {
        self.settings.rotate_jobs = workers;
        self
    }

    /// Time after which a template is replaced by a fresh one.
    pub fn rotate_after(mut self, time: Duration) -> Self {
        self.settings.rotate_after = time;
        self
    }

    /// Whether a sandbox's first job runs cold while its first worker is made, and others until then where they are done sooner
    /// that way; not unless told.
    pub fn cold_first(mut self, cold: bool) -> Self {
        self.settings.cold_first = cold;
        self
    }

    /// Starts the pool. Raises this process's soft limit on open files: each worker takes about twenty.
    pub fn build(mut self) -> Result<Pool, Error> {
        belljar_linux::rlimits::most_files().map_err(|error| Error::setup("allow descriptors", error))?;
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(u64::MAX);
        let fit = (most.saturating_sub(RESERVED) / DESCRIPTORS).max(1);
        let settings = &mut self.settings;
        if settings.max_workers as u64 > fit {
            tracing::warn!(
                fit,
                "the limit on open files lets the pool have fewer workers than it was told"
            );
        }
        settings.max_workers = settings
            .max_workers
            .clamp(1, usize::try_from(fit).unwrap_or(usize::MAX));
        settings.max_cabinets = settings.max_cabinets.max(1);
        settings.ceiling = settings.ceiling.clamp(1, settings.max_workers);
        settings.floor = settings.floor.min(settings.ceiling);
        settings.rotate_jobs = settings.rotate_jobs.max(1);
        Pool::start(self.settings)
    }
}
