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
    /// Walking in.
    pub setns: f64,
    /// Sealing.
    pub seal: f64,
    /// The job of no effect.
    pub rehearse: f64,
    /// The look from outside.
    pub check: f64,
    /// The job, from delivery to its end or its value.
    pub job: f64,
    /// From the kill to the empty jar, where the job does not count that: of calls that gave their value, and of workers that
    /// had no job.
    pub kill: f64,
    /// Removing what is left of an empty jar.
    pub reap: f64,
}

/// Sums of which the means are made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    made: u64,
    making: [u64; 8],
    jobs: (u64, u64),
    killed: (u64, u64),
    reaped: (u64, u64),
}

impl Sums {
    pub(super) fn made(&mut self, group: u64, timings: Timings) {
        let Timings {
            jar,
            queue,
            fork,
            setns,
            seal,
            rehearse,
            check,
        } = timings;
        self.made += 1;
        self.making[0] += group;
        let all = [jar, queue, fork, setns, seal, rehearse, check];
        for (sum, time) in self.making[1..].iter_mut().zip(all) {
            *sum += u64::from(time);
        }
    }

    pub(super) fn job(&mut self, time: std::time::Duration) {
        self.jobs = (self.jobs.0 + 1, self.jobs.1 + time.as_micros() as u64);
    }

    pub(super) fn killed(&mut self, time: std::time::Duration) {
        self.killed = (self.killed.0 + 1, self.killed.1 + time.as_micros() as u64);
    }

    pub(super) fn reaped(&mut self, time: std::time::Duration) {
        self.reaped = (self.reaped.0 + 1, self.reaped.1 + time.as_micros() as u64);
    }

    pub(super) fn means(&self) -> Steps {
        let mean = |(count, sum): (u64, u64)| sum as f64 / count.max(1) as f64;
        let [group, jar, queue, fork, setns, seal, rehearse, check] =
            self.making.map(|sum| mean((self.made, sum)));
        Steps {
            group,
            jar,
            queue,
            fork,
            setns,
            seal,
            rehearse,
            check,
            job: mean(self.jobs),
            kill: mean(self.killed),
            reap: mean(self.reaped),
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
