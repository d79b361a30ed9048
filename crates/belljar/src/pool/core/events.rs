//! What cabinets tell: workers that are parked, templates that are ready, fail or rotate, ends.

use std::time::Instant;

use super::{Core, State};
use crate::cabinet::{Event, Parked, Told};
use crate::error::Error;
use crate::pool::ready::Ready;
use crate::pool::shelf::Shelf;
use crate::pool::waiter::{Grant, lock};
use crate::sandbox::Digest;

impl Core {
    /// Something happened in a cabinet.
    pub(in crate::pool) fn happened(&self, digest: &Digest, cabinet: u64, event: Event) {
        let told = match event {
            Event::Parked(parked) => {
                self.parked(digest, cabinet, *parked);
                return self.tell();
            }
            Event::Told(told) => told,
        };
        let mut dropped = Vec::new();
        let mut state = lock(&self.state);
        let State { shelves, counted, .. } = &mut *state;
        let Some(shelf) = shelves.get_mut(digest).filter(|shelf| shelf.is_of(cabinet)) else {
            return;
        };
        match told {
            Told::Ready { python, modules } => {
                for module in modules.iter().filter(|module| module.error.is_some()) {
                    tracing::warn!(module = module.name, error = module.error, "a preload failed");
                }
                tracing::debug!(?python, "a template is ready");
                shelf.modules = Some(modules.into_iter().map(Into::into).collect());
            }
            Told::Failed { number, step, errno } => {
                counted.failed += 1;
                let reason = format!("a worker could not be made: {step}: {}", text(errno));
                tracing::warn!(reason);
                self.reaper
                    .bury(shelf.making.remove(&number).and_then(|making| making.group));
                shelf.failed(reason);
                refuse(shelf);
            }
            Told::Cold { reason } => {
                tracing::info!(reason, "jobs run cold");
                shelf.goes_cold(reason);
                refuse(shelf);
                dropped.extend(shelf.parked.drain(..));
            }
            Told::Lost { what } => tracing::warn!(what, "a template was lost"),
            Told::Rotated => {
                counted.rotations += 1;
                shelf.generation += 1;
            }
            Told::Broken { step, errno } => {
                let reason = format!("the cabinet could not be built: {step}: {}", text(errno));
                tracing::warn!(reason);
                shelf.failed(reason);
                refuse(shelf);
            }
        }
        drop(state);
        self.discard(dropped);
        self.tell();
    }

    /// Something has changed that others wait for.
    fn tell(&self) {
        self.progress.notify_all();
        self.wake.notify_one();
    }

    fn parked(&self, digest: &Digest, cabinet: u64, parked: Parked) {
        let (timings, number) = (parked.timings, parked.number);
        tracing::trace!(number, pid = parked.worker_pid, "a worker is parked");
        let mut state = lock(&self.state);
        let shelf = state.shelves.get_mut(digest).filter(|shelf| shelf.is_of(cabinet));
        let made = shelf.and_then(|shelf| {
            let making = shelf.making.remove(&number)?;
            shelf.succeeded();
            let bound = shelf.sandbox.plan().affinity().is_some();
            let waited_for = !shelf.waiters.is_empty();
            Some((making, shelf.generation, shelf.weight_known, bound, waited_for))
        });
        let Some((making, generation, weighed, bound, waited_for)) = made else {
            // Of a cabinet that was given up, or after a time that was too long: nobody waits for it.
            drop(state);
            self.discard([Ready::new(parked, None, 0, Vec::new())]);
            return;
        };
        // Counted as on its way, so that nobody makes another one in its place meanwhile.
        if let Some(shelf) = state.shelves.get_mut(digest) {
            shelf.arriving += 1;
        }
        let beside = state.busy > 0;
        drop(state);
        let mut worker = Ready::new(parked, making.group, generation, making.cpus);
        // The call would have to do it.
        if let Some(clear) = self.processors.clear().filter(|_| !bound) {
            worker.stand_aside(&clear);
        }
        if beside && !waited_for {
            worker.locate();
        }
        let weight = (!weighed).then(|| worker.weight());
        let mut state = lock(&self.state);
        state.counted.forks += 1;
        state.sums.made(making.group_usec, timings);
        if let Some(shelf) = state.shelves.get_mut(digest) {
            shelf.arriving = shelf.arriving.saturating_sub(1);
            if let Some(weight) = weight {
                shelf.weight = weight;
                shelf.weight_known = true;
            }
        }
        let left = self.park(&mut state, digest, worker);
        drop(state);
        self.discard(left);
    }

    /// A cabinet or a worker could not be asked for.
    pub(in crate::pool) fn broken(&self, digest: &Digest, error: &Error) {
        tracing::warn!(%error, "no worker can be made");
        let mut state = lock(&self.state);
        if let Some(shelf) = state.shelves.get_mut(digest) {
            shelf.failed(error.to_string());
            refuse(shelf);
        }
        drop(state);
        self.progress.notify_all();
    }

    /// A cabinet has ended, and everything in it.
    pub(in crate::pool) fn gone(&self, digest: &Digest, cabinet: u64) {
        let mut dropped = Vec::new();
        let mut groups = Vec::new();
        let mut state = lock(&self.state);
        let State {
            shelves,
            counted,
            readers,
            ..
        } = &mut *state;
        if let Some(shelf) = shelves.get_mut(digest).filter(|shelf| shelf.is_of(cabinet)) {
            // Its reader ends by itself, and is waited for when the pool ends.
            readers.retain(|reader| !reader.is_finished());
            readers.extend(shelf.cabinet.take().map(|open| open.reader));
            if shelf.modules.take().is_none() || !shelf.making.is_empty() {
                shelf.failed("the cabinet ended before a worker was made".into());
                refuse(shelf);
            }
            dropped.extend(shelf.parked.drain(..));
            groups.extend(shelf.making.drain().filter_map(|(_, making)| making.group));
            counted.lost += dropped.len() as u64;
        }
        drop(state);
        self.reaper.bury(groups);
        self.discard(dropped);
        self.tell();
    }
}

/// Lets jobs that wait run cold, if that is how it is now.
fn refuse(shelf: &mut Shelf) {
    let Some(reason) = shelf.cold(Instant::now()) else {
        return;
    };
    for waiter in shelf.waiters.drain(..) {
        // One that was cancelled wants nothing.
        let _ = waiter.give(Grant::Cold(reason.clone()));
    }
}

fn text(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}
