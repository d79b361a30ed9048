//! The state that callers, the refill thread, readers and the reaper share. Callers come here twice for each job, so
//! nothing is read, written or started while it is locked.

mod events;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::processors::{Place, Processors};
use super::ready::Ready;
use super::reaper::Reaper;
use super::settings::{Keep, Settings};
use super::shelf::Shelf;
use super::stats::{PoolStats, Sums, Warmed};
use super::waiter::{Cancel, Grant, Waiter, lock};
use crate::error::{Error, Process};
use crate::sandbox::{Digest, Sandbox};

/// How long warming up may take, imports counted.
const WARMING: Duration = Duration::from_secs(120);

/// What all threads of a pool share.
pub(super) struct Core {
    pub settings: Settings,
    pub state: Mutex<State>,
    /// Wakes the thread that refills.
    pub wake: Condvar,
    /// Something has come of what was asked for.
    progress: Condvar,
    pub reaper: Reaper,
    pub processors: Arc<Processors>,
}

#[derive(Default)]
pub(super) struct State {
    pub shelves: HashMap<Digest, Shelf>,
    /// What was asked for sandboxes that are needed; a shelf may be given up and made again meanwhile.
    kept: HashMap<Digest, Keep>,
    /// Jobs that run on workers.
    pub busy: usize,
    /// Jars that are being emptied.
    pub emptying: usize,
    /// Jobs that wait.
    pub queued: usize,
    pub closed: bool,
    /// Threads that heard from cabinets that have ended.
    pub readers: Vec<JoinHandle<()>>,
    pub counted: PoolStats,
    pub sums: Sums,
}

/// What a job gets.
pub(super) enum Taken {
    Worker(Box<Ready>, Slot),
    Cold(String),
    /// Cold, and [`Core::first_ended`] is to be told.
    First,
    Cancelled,
}

/// A job's place among those that run. It is given back when this is dropped.
pub(super) struct Slot {
    core: Arc<Core>,
    digest: Digest,
    /// Where its worker is kept, if it is.
    _place: Option<Place>,
    /// Where the cgroups of jobs lie that are kept on some processors, if there is such a place.
    pub outer: Option<PathBuf>,
}

impl Slot {
    /// The job is over, its jar is being emptied.
    pub(super) fn ends(self, job: Option<Duration>) {
        let mut state = lock(&self.core.state);
        state.emptying += 1;
        if let Some(time) = job {
            state.sums.job(time);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = lock(&self.core.state);
        state.busy -= 1;
        if let Some(shelf) = state.shelves.get_mut(&self.digest) {
            shelf.busy = shelf.busy.saturating_sub(1);
        }
    }
}

impl Core {
    pub(super) fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            settings,
            state: Mutex::default(),
            wake: Condvar::new(),
            progress: Condvar::new(),
            reaper: Reaper::new()?,
            processors: Arc::new(Processors::new()?),
        })
    }

    /// A worker for a job: a parked one at once, or one that is made for it.
    pub(super) fn take(
        self: &Arc<Self>,
        sandbox: &Sandbox,
        cancel: Option<&Cancel>,
        may_be_first: bool,
    ) -> Result<Taken, Error> {
        let digest = sandbox.digest();
        let waiter = {
            let mut state = lock(&self.state);
            let now = Instant::now();
            let shelf = self.shelf(&mut state, sandbox);
            shelf.used = now;
            shelf.released = false;
            // Those who wait already come first.
            if shelf.waiters.is_empty()
                && let Some(worker) = shelf.take(&self.processors)
            {
                shelf.busy += 1;
                state.busy += 1;
                state.counted.jobs += 1;
                let slot = self.slot(&mut state, digest, &worker);
                return Ok(Taken::Worker(Box::new(worker), slot));
            }
            if let Some(reason) = shelf.cold(now) {
                return Ok(Taken::Cold(reason));
            }
            let may_be_first = may_be_first && self.settings.cold_first;
            if may_be_first
                && shelf.modules.is_none()
                && shelf.waiters.is_empty()
                && shelf.first.cold_is_sooner(now, self.settings.cores)
            {
                shelf.first.begins(now);
                shelf.wanted = shelf.wanted.max(1);
                self.wake.notify_one();
                return Ok(Taken::First);
            }
            let running = state.busy;
            if running + state.queued >= self.settings.max_workers + self.settings.queue {
                state.counted.refused += 1;
                let waiting = state.queued;
                return Err(Error::Busy { running, waiting });
            }
            state.queued += 1;
            state.counted.waits += 1;
            let waiter = Arc::new(Waiter::new(may_be_first));
            if let Some(shelf) = state.shelves.get_mut(&digest) {
                shelf.missed(shelf.ceiling.unwrap_or(self.settings.ceiling));
                shelf.waiters.push_back(waiter.clone());
            }
            waiter
        };
        if cancel.is_some_and(|cancel| !cancel.waits(self, digest, &waiter)) {
            self.give_up(&digest, &waiter);
        }
        self.wake.notify_one();
        let grant = waiter.wait();
        if !matches!(grant, Grant::Worker(_)) {
            lock(&self.state).queued -= 1;
        }
        Ok(match grant {
            // Counted by whoever gave it, so that nobody makes another one in its place meanwhile.
            Grant::Worker(worker) => {
                let slot = self.slot(&mut lock(&self.state), digest, &worker);
                Taken::Worker(worker, slot)
            }
            Grant::Cold(reason) => Taken::Cold(reason),
            Grant::First => Taken::First,
            Grant::Cancelled => Taken::Cancelled,
        })
    }

    /// One of a sandbox's first jobs is over, which ran cold for so long.
    pub(super) fn first_ended(&self, sandbox: &Sandbox, took: Duration) {
        let mut state = lock(&self.state);
        if let Some(shelf) = state.shelves.get_mut(&sandbox.digest()) {
            shelf.first.ends(took);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Sets what is kept for a sandbox.
    pub(super) fn keep(&self, sandbox: &Sandbox, keep: Keep) {
        let mut state = lock(&self.state);
        state.kept.insert(sandbox.digest(), keep);
        let shelf = self.shelf(&mut state, sandbox);
        shelf.released = false;
        shelf.used = Instant::now();
        shelf.keep(keep, &self.settings);
        drop(state);
        self.wake.notify_one();
    }

    /// The shelf of a sandbox, with what was asked for it.
    fn shelf<'a>(&self, state: &'a mut State, sandbox: &Sandbox) -> &'a mut Shelf {
        let digest = sandbox.digest();
        let State { shelves, kept, .. } = state;
        shelves.entry(digest).or_insert_with(|| {
            let mut shelf = Shelf::new(sandbox.clone(), self.settings.floor);
            if let Some(keep) = kept.get(&digest) {
                shelf.keep(*keep, &self.settings);
            }
            shelf
        })
    }

    /// Nobody needs a sandbox any more.
    pub(super) fn release(&self, sandbox: &Sandbox) {
        let mut state = lock(&self.state);
        state.kept.remove(&sandbox.digest());
        if let Some(shelf) = state.shelves.get_mut(&sandbox.digest()) {
            shelf.released = true;
        }
        drop(state);
        self.wake.notify_one();
    }

    /// For a job that is counted already.
    fn slot(self: &Arc<Self>, state: &mut State, digest: Digest, worker: &Ready) -> Slot {
        let open = state
            .shelves
            .get(&digest)
            .and_then(|shelf| shelf.cabinet.as_ref());
        Slot {
            core: self.clone(),
            digest,
            _place: (!worker.cpus.is_empty()).then(|| self.processors.kept_on(&worker.cpus)),
            outer: open.and_then(|open| open.outer.clone()),
        }
    }

    /// A job that waits is not wanted any more.
    pub(super) fn give_up(&self, digest: &Digest, waiter: &Arc<Waiter>) {
        let mut state = lock(&self.state);
        if let Some(shelf) = state.shelves.get_mut(digest) {
            shelf.waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        }
        // Too late: it has a worker, and gives it back.
        let _ = waiter.give(Grant::Cancelled);
    }

    /// Gives a worker to the first job that waits, or parks it.
    pub(super) fn park(&self, state: &mut State, digest: &Digest, worker: Ready) -> Option<Ready> {
        let Some(shelf) = state.shelves.get_mut(digest).filter(|_| !state.closed) else {
            return Some(worker);
        };
        let mut grant = Grant::Worker(Box::new(worker));
        while let Some(waiter) = shelf.waiters.pop_front() {
            match waiter.give(grant) {
                Ok(()) => {
                    state.queued -= 1;
                    state.busy += 1;
                    state.counted.jobs += 1;
                    shelf.busy += 1;
                    return None;
                }
                Err(back) => grant = back,
            }
        }
        if let Grant::Worker(worker) = grant {
            shelf.parked.push_back(*worker);
        }
        None
    }

    /// A worker that was not used after all goes back.
    pub(super) fn put_back(&self, digest: &Digest, worker: Ready) {
        let left = self.park(&mut lock(&self.state), digest, worker);
        self.discard(left);
    }

    /// Ends workers that are not wanted any more.
    pub(super) fn discard(&self, workers: impl IntoIterator<Item = Ready>) {
        for worker in workers {
            lock(&self.state).emptying += 1;
            self.reaper.take(worker.jar);
        }
    }

    /// A jar is empty, so long after its kill.
    pub(super) fn emptied(&self, after: Duration) {
        let mut state = lock(&self.state);
        state.emptying -= 1;
        state.sums.killed(after);
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until so many workers are parked, or it is clear that they will not be.
    pub(super) fn warm(&self, sandbox: &Sandbox, workers: usize) -> Result<Warmed, Error> {
        let until = Instant::now() + WARMING;
        let mut state = lock(&self.state);
        loop {
            let shelf = self.shelf(&mut state, sandbox);
            let now = Instant::now();
            let workers = workers.min(shelf.ceiling.unwrap_or(self.settings.ceiling));
            let warmed = Warmed {
                ready: shelf.parked.len(),
                cold: shelf.cold(now),
                modules: shelf.modules.clone().unwrap_or_default(),
            };
            if warmed.ready >= workers && shelf.modules.is_some() || warmed.cold.is_some() {
                return Ok(warmed);
            }
            if now >= until {
                return Err(Error::Lost {
                    process: Process::Cabinet,
                    how: format!(
                        "{} of {workers} workers after {} s",
                        warmed.ready,
                        WARMING.as_secs()
                    ),
                });
            }
            shelf.used = now;
            shelf.wanted = shelf.wanted.max(workers.max(1));
            shelf.target = shelf.target.max(workers);
            self.wake.notify_one();
            let wait = self.progress.wait_timeout(state, until - now);
            state = wait.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    pub(super) fn stats(&self) -> PoolStats {
        let state = lock(&self.state);
        let sum = |figure: fn(&Shelf) -> usize| state.shelves.values().map(figure).sum();
        PoolStats {
            cabinets: sum(|shelf| usize::from(shelf.cabinet.is_some())),
            ready: sum(|shelf| shelf.parked.len()),
            making: sum(|shelf| shelf.making.len()),
            busy: state.busy,
            emptying: state.emptying,
            queued: state.queued,
            memory: state.shelves.values().map(Shelf::memory).sum(),
            steps: state.sums.means(),
            ..state.counted.clone()
        }
    }

    /// A job ran cold.
    pub(super) fn ran_cold(&self, reason: &str) {
        let mut state = lock(&self.state);
        state.counted.cold += 1;
        *state.counted.reasons.entry(reason.to_owned()).or_default() += 1;
    }
}
