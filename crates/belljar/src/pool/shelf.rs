//! What a pool has for one sandbox: its cabinet, its parked workers, its waiting jobs.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use belljar_linux::cgroup::Group;

use super::first::First;
use super::processors::{Processors, distance};
use super::ready::Ready;
use super::settings::{Keep, Settings};
use super::stats::Module;
use super::waiter::{Grant, Waiter};
use crate::cabinet::Cabinet;
use crate::sandbox::Sandbox;

/// How often the number of parked workers is fitted to what is used of them.
const FIT: Duration = Duration::from_secs(10);
/// How many parked workers are looked at for one on a processor where nobody is.
const NEAR: usize = 8;
/// Failures in a row after which jobs run cold for a while.
const FAILURES: u32 = 3;
/// How long, for the first time and at most; each time twice as long as the last.
const REST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(300);

/// Everything of one sandbox.
pub(super) struct Shelf {
    pub sandbox: Sandbox,
    pub cabinet: Option<Open>,
    pub parked: VecDeque<Ready>,
    /// Workers that were asked for, by number.
    pub making: HashMap<u64, Making>,
    pub waiters: VecDeque<Arc<Waiter>>,
    /// Jobs that run on its workers.
    pub busy: usize,
    /// How many shall be parked.
    pub target: usize,
    /// Never fewer than this.
    pub floor: usize,
    /// Fewest that were parked since the last fitting: so many were not needed.
    low: usize,
    fitted: Instant,
    /// When its workers were last looked at.
    pub looked: Instant,
    /// When it was last used.
    pub used: Instant,
    /// Counts templates.
    pub generation: u64,
    /// How the last template's imports went.
    pub modules: Option<Vec<Module>>,
    /// Bytes that one worker takes, by estimate.
    pub weight: u64,
    /// Whether one was looked at.
    pub weight_known: bool,
    /// Workers that are there but not yet parked.
    pub arriving: usize,
    /// Workers that someone asked to have parked, job or not; until the shelf is idle.
    pub wanted: usize,
    /// What was asked for it alone.
    pub ceiling: Option<usize>,
    pub idle: Option<Duration>,
    /// Nobody needs it any more; a job that comes after all changes that.
    pub released: bool,
    /// Jobs that come before the template is ready.
    pub first: First,
    failures: u32,
    /// Why jobs run cold, and until when.
    cold: Option<(String, Instant)>,
    rest: Duration,
}

/// A cabinet, and the thread that hears from it.
pub(super) struct Open {
    pub cabinet: Arc<Cabinet>,
    pub reader: JoinHandle<()>,
    pub number: u64,
    /// Below which jobs are kept on some processors, where cpusets are a tree of their own.
    pub outer: Option<PathBuf>,
}

/// A worker on its way.
pub(super) struct Making {
    pub group: Option<Group>,
    pub since: Instant,
    pub group_usec: u64,
    /// Processors that it keeps to, where its plan says how many.
    pub cpus: Vec<usize>,
}

impl Shelf {
    pub(super) fn new(sandbox: Sandbox, floor: usize) -> Self {
        let now = Instant::now();
        Self {
            sandbox,
            cabinet: None,
            parked: VecDeque::new(),
            making: HashMap::new(),
            waiters: VecDeque::new(),
            busy: 0,
            target: floor.max(1),
            floor,
            low: 0,
            fitted: now,
            looked: now,
            used: now,
            generation: 0,
            modules: None,
            weight: 4 << 20,
            weight_known: false,
            arriving: 0,
            wanted: 0,
            ceiling: None,
            idle: None,
            released: false,
            first: First::default(),
            failures: 0,
            cold: None,
            rest: REST,
        }
    }

    /// Sets what is kept for it.
    pub(super) fn keep(&mut self, keep: Keep, settings: &Settings) {
        self.ceiling = keep.ceiling.map(|ceiling| ceiling.clamp(1, settings.max_workers));
        self.idle = keep.idle;
        let most = self.ceiling.unwrap_or(settings.ceiling.max(1));
        self.floor = keep.floor.unwrap_or(settings.floor).min(most);
        self.target = self
            .target
            .max(self.floor)
            .min(self.ceiling.unwrap_or(usize::MAX));
    }

    /// Whether this is its cabinet, and not an earlier one.
    pub(super) fn is_of(&self, cabinet: u64) -> bool {
        self.cabinet.as_ref().is_some_and(|open| open.number == cabinet)
    }

    /// Takes a parked worker: those of a template that has been replaced first, then the one that was parked last. Of some
    /// next to it, the one on whose processors the fewest jobs are kept, and of those one that was parked where the caller
    /// is: on another processor it may have to wait for a job that runs there, and the caller's will be free.
    pub(super) fn take(&mut self, processors: &Processors) -> Option<Ready> {
        let old = self
            .parked
            .front()
            .is_some_and(|worker| worker.generation != self.generation);
        let count = self.parked.len();
        let near = (0..count.min(NEAR)).map(|at| if old { at } else { count - 1 - at });
        let here = rustix::thread::sched_getcpu();
        let best = near.min_by_key(|at| {
            let worker = &self.parked[*at];
            (processors.load(&worker.cpus), distance(worker.at, here))
        })?;
        let worker = self.parked.remove(best);
        self.low = self.low.min(self.parked.len());
        worker
    }

    /// Processors for one more worker, where the plan says how many it keeps to.
    pub(super) fn processors(&self, processors: &Processors) -> Vec<usize> {
        let wanted = self.sandbox.plan().affinity();
        let Some(wanted) = wanted.filter(|wanted| *wanted < processors.count()) else {
            return Vec::new();
        };
        let parked = self.parked.iter().map(|worker| &worker.cpus);
        let all: Vec<&Vec<usize>> = parked
            .chain(self.making.values().map(|making| &making.cpus))
            .collect();
        processors.for_worker(wanted, |cpu| {
            all.iter().filter(|cpus| cpus.contains(&cpu)).count() as u32
        })
    }

    /// A job found no worker: twice as many would have been better.
    pub(super) fn missed(&mut self, ceiling: usize) {
        self.low = 0;
        if self.modules.is_some() {
            self.target = (self.target * 2).clamp(1, ceiling.max(self.least()));
        }
    }

    /// Fits the number of parked workers to their use; gives those that are too many.
    pub(super) fn fit(&mut self, now: Instant) -> Vec<Ready> {
        if now.duration_since(self.fitted) >= FIT {
            self.fitted = now;
            self.target = self
                .target
                .saturating_sub(self.low.div_ceil(2))
                .max(self.least().max(1));
            self.low = self.parked.len().min(self.target);
        }
        let over = self.parked.len().saturating_sub(self.target);
        self.parked.drain(..over).collect()
    }

    /// Workers that are too few, beyond those that are on their way for waiting jobs.
    pub(super) fn missing(&self) -> usize {
        let for_jobs = self.waiters.len();
        let there = self.parked.len() + self.making.len() + self.arriving;
        (self.target + for_jobs).saturating_sub(there)
    }

    /// Workers that are parked whatever the demand.
    pub(super) fn least(&self) -> usize {
        self.floor.max(self.wanted)
    }

    /// Why jobs run cold now, if they do.
    pub(super) fn cold(&mut self, now: Instant) -> Option<String> {
        if self.cold.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.cold = None;
            self.failures = 0;
        }
        self.cold.as_ref().map(|(reason, _)| reason.clone())
    }

    /// No worker can be made. It is tried again later: a template may have died of something that is over.
    pub(super) fn goes_cold(&mut self, reason: String) {
        if self.cold.is_none() {
            self.cold = Some((reason, Instant::now() + self.rest));
            self.rest = (self.rest * 2).min(LONGEST);
        }
    }

    /// A worker could not be made. After some of these in a row jobs run cold for a while.
    pub(super) fn failed(&mut self, reason: String) {
        self.failures += 1;
        if self.failures >= FAILURES {
            self.goes_cold(reason);
        }
    }

    /// A worker was made.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.rest = REST;
    }

    /// Bytes that it takes now, its template counted as eight workers.
    pub(super) fn memory(&self) -> u64 {
        let workers = self.parked.len() + self.making.len() + self.busy;
        let template = usize::from(self.cabinet.is_some()) * 8;
        self.weight.saturating_mul((workers + template) as u64)
    }

    /// Whether it leaves the processors to its first jobs for now: nobody waits, and they end soon or take their time.
    pub(super) fn holds(&self, now: Instant, cores: usize) -> bool {
        self.waiters.is_empty() && self.first.hold(cores).is_some_and(|until| now < until)
    }

    /// Lets jobs run cold, a few at once, that wait for a template which is overdue.
    pub(super) fn give_up_waiting(&mut self, now: Instant, cores: usize) {
        while self.first.running < cores && self.due().is_some_and(|due| now >= due) {
            let Some(at) = self.waiters.iter().position(|waiter| waiter.may_be_first) else {
                return;
            };
            // One that was cancelled wants nothing.
            if self
                .waiters
                .remove(at)
                .is_some_and(|waiter| waiter.give(Grant::First).is_ok())
            {
                self.first.begins(now);
            }
        }
    }

    /// When the first worker should be there, if it is not.
    fn due(&self) -> Option<Instant> {
        self.first.due().filter(|_| self.modules.is_none())
    }

    /// When something is to be done for its first jobs.
    pub(super) fn next(&self, cores: usize) -> Option<Instant> {
        if self.waiters.is_empty() {
            self.first.hold(cores)
        } else {
            self.due()
        }
    }

    /// Whether nothing goes on in it.
    pub(super) fn is_idle(&self) -> bool {
        self.first.running == 0
            && self.busy == 0
            && self.arriving == 0
            && self.waiters.is_empty()
            && self.making.is_empty()
    }
}
