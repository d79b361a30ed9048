//! What a pool has and has done, for people and monitors.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cabinet::{Preloaded, Timings};

/// Figures of a pool: what there is now, and what was counted since its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PoolStats {
    /// Cabinets that are open.
    pub cabinets: usize,
    /// Workers that are parked.
    pub ready: usize,
    /// Workers that are being made.
    pub making: usize,
    /// Jobs that run on workers.
    pub busy: usize,
    /// Jars that are being emptied.
    pub emptying: usize,
    /// Jobs that wait for a worker.
    pub queued: usize,
    /// Bytes that workers and templates take, by estimate.
    pub memory: u64,
    /// Jobs that were given to workers.
    pub jobs: u64,
    /// Workers that were made.
    pub forks: u64,
    /// Templates that gave way to fresh ones.
    pub rotations: u64,
    /// Jobs that found no parked worker and waited.
    pub waits: u64,
    /// Jobs that ran cold.
    pub cold: u64,
    /// Jobs that were refused because too many waited.
    pub refused: u64,
    /// Workers that were gone before they had a job.
    pub lost: u64,
    /// Workers that could not be made.
    pub failed: u64,
    /// Cabinets that were given up: idle, or least recently used.
    pub retired: u64,
    /// Why jobs ran cold, and how many.
    pub reasons: BTreeMap<String, u64>,
    /// Where the time of a worker goes.
    pub steps: Steps,
}

/// Mean microseconds of each step of a worker's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Steps {
    /// Making its cgroup.
    pub group: f64,
    /// Making the jar: init, namespaces, mounts.
    pub jar: f64,
    /// Waiting for the template.
    pub queue: f64,
    /// The fork.
    pub fork: f64,
    /// Walking in, sealing, rehearsing.
    pub seal: f64,
    /// The look from outside.
    pub check: f64,
    /// The job, from delivery to its end or its value.
    pub job: f64,
    /// From there to the empty jar.
    pub empty: f64,
}

/// Sums of which the means are made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    made: u64,
    making: [u64; 6],
    jobs: (u64, u64),
    emptied: (u64, u64),
}

impl Sums {
    pub(super) fn made(&mut self, group: u64, timings: Timings) {
        let Timings {
            jar,
            queue,
            fork,
            seal,
            check,
            ..
        } = timings;
        self.made += 1;
        let all = [
            group,
            jar.into(),
            queue.into(),
            fork.into(),
            seal.into(),
            check.into(),
        ];
        for (sum, time) in self.making.iter_mut().zip(all) {
            *sum += time;
        }
    }

    pub(super) fn job(&mut self, time: std::time::Duration) {
        self.jobs = (self.jobs.0 + 1, self.jobs.1 + time.as_micros() as u64);
    }

    pub(super) fn emptied(&mut self, time: std::time::Duration) {
        self.emptied = (self.emptied.0 + 1, self.emptied.1 + time.as_micros() as u64);
    }

    pub(super) fn means(&self) -> Steps {
        let mean = |count: u64, sum: u64| sum as f64 / count.max(1) as f64;
        let [group, jar, queue, fork, seal, check] = self.making.map(|sum| mean(self.made, sum));
        Steps {
            group,
            jar,
            queue,
            fork,
            seal,
            check,
            job: mean(self.jobs.0, self.jobs.1),
            empty: mean(self.emptied.0, self.emptied.1),
        }
    }
}

/// How warming up went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Warmed {
    /// Workers that are parked now.
    pub ready: usize,
    /// Why jobs run cold instead, if they do.
    pub cold: Option<String>,
    /// How each import went.
    pub modules: Vec<Module>,
}

/// How one import of a template went. A failed one is no error of the pool's: jobs find out for themselves.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Why it could not be imported.
    pub error: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

impl From<Preloaded> for Module {
    fn from(preloaded: Preloaded) -> Self {
        let Preloaded {
            name, error, seconds, ..
        } = preloaded;
        Self { name, error, seconds }
    }
}
