//! Which processors jobs are kept on, and which are left clear for the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use belljar_linux::process;
use rustix::thread::CpuSet;

use super::waiter::lock;
use crate::error::Error;

/// The processors of this process, and how many jobs are kept on each.
pub(super) struct Processors {
    all: Vec<usize>,
    kept: Mutex<Vec<u32>>,
    /// Jobs that are kept somewhere. Most of the time there are none, and that is all that a caller asks.
    places: AtomicUsize,
}

/// Where a job is kept. It is given back when this is dropped.
pub(super) struct Place {
    of: Arc<Processors>,
    /// By their positions in the list of all.
    at: Vec<usize>,
}

impl Processors {
    pub(super) fn new() -> Result<Self, Error> {
        let all = process::processors().map_err(|error| Error::setup("ask for the processors", error))?;
        Ok(Self::of(all))
    }

    fn of(all: Vec<usize>) -> Self {
        Self {
            kept: Mutex::new(vec![0; all.len()]),
            all,
            places: AtomicUsize::new(0),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// A place for a job that may have so many: where the fewest are kept, and of those the last, because the first have
    /// the machine's own work to do.
    pub(super) fn keep(self: &Arc<Self>, count: usize) -> Place {
        let mut kept = lock(&self.kept);
        let mut at = fewest(&kept, |_| 0);
        at.truncate(count.clamp(1, self.all.len().max(1)));
        self.enter(&mut kept, at)
    }

    /// The place of a job that was put on these when its worker was made.
    pub(super) fn kept_on(self: &Arc<Self>, cpus: &[usize]) -> Place {
        let at = cpus
            .iter()
            .filter_map(|cpu| self.all.iter().position(|other| other == cpu));
        let at = at.collect();
        self.enter(&mut lock(&self.kept), at)
    }

    fn enter(self: &Arc<Self>, kept: &mut [u32], at: Vec<usize>) -> Place {
        at.iter().for_each(|at| kept[*at] += 1);
        self.places.fetch_add(1, Ordering::Relaxed);
        Place { of: self.clone(), at }
    }

    /// Those for a worker that is yet to be made, where so many like it are parked on each: a job that runs there weighs
    /// more than a worker that waits, but some shall be parked on every processor.
    pub(super) fn for_worker(&self, count: usize, parked: impl Fn(usize) -> u32) -> Vec<usize> {
        let kept = lock(&self.kept);
        let mut at = fewest(&kept, |at| kept[at] + parked(self.all[at]));
        at.truncate(count);
        at.into_iter().map(|at| self.all[at]).collect()
    }

    /// How many jobs are kept where a worker would be.
    pub(super) fn load(&self, cpus: &[usize]) -> u32 {
        if cpus.is_empty() || self.places.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let kept = lock(&self.kept);
        let all = self.all.iter().zip(&*kept);
        all.filter(|(cpu, _)| cpus.contains(cpu))
            .map(|(_, kept)| *kept)
            .sum()
    }

    /// Those that no job is kept on, where jobs are kept on some of them.
    pub(super) fn clear(&self) -> Option<CpuSet> {
        if self.places.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let kept = lock(&self.kept);
        let mut set = CpuSet::new();
        for (cpu, _) in self.all.iter().zip(&*kept).filter(|(_, kept)| **kept == 0) {
            set.set(*cpu);
        }
        let clear = set.count() as usize;
        (clear > 0 && clear < self.all.len()).then_some(set)
    }
}

/// Positions, in the order of how many are kept there; `more` is added to that.
fn fewest(kept: &[u32], more: impl Fn(usize) -> u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..kept.len()).rev().collect();
    order.sort_by_key(|at| kept[*at] + more(*at));
    order
}

/// How far a worker that was parked somewhere is from its caller: not at all, nobody knows, or elsewhere.
pub(super) fn distance(parked_on: Option<usize>, here: usize) -> u8 {
    match parked_on {
        Some(there) if there == here => 0,
        None => 1,
        Some(_) => 2,
    }
}

impl Place {
    pub(super) fn cpus(&self) -> Vec<usize> {
        self.at.iter().map(|at| self.of.all[*at]).collect()
    }

    /// Leaves processors that two more jobs are kept on than on another; tells whether it did.
    pub(super) fn improve(&mut self) -> bool {
        let mut kept = lock(&self.of.kept);
        let mut moved = false;
        for at in 0..self.at.len() {
            let now = self.at[at];
            let other = fewest(&kept, |_| 0)
                .into_iter()
                .find(|other| !self.at.contains(other));
            let Some(other) = other.filter(|other| kept[*other] + 1 < kept[now]) else {
                continue;
            };
            kept[now] -= 1;
            kept[other] += 1;
            self.at[at] = other;
            moved = true;
        }
        moved
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut kept = lock(&self.of.kept);
        self.at.iter().for_each(|at| kept[*at] -= 1);
        self.of.places.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four() -> Arc<Processors> {
        Arc::new(Processors::of(vec![2, 3, 5, 7]))
    }

    fn listed(set: Option<CpuSet>) -> Option<Vec<usize>> {
        set.map(|set| (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
    }

    #[test]
    fn jobs_are_kept_apart_as_long_as_there_is_room() {
        let processors = four();
        assert_eq!(listed(processors.clear()), None, "nobody is kept anywhere");
        let first = processors.keep(1);
        assert_eq!(first.cpus(), [7]);
        let second = processors.keep(2);
        assert_eq!(second.cpus(), [5, 3]);
        assert_eq!(listed(processors.clear()), Some(vec![2]));
        let third = processors.keep(1);
        assert_eq!(third.cpus(), [2]);
        assert_eq!(listed(processors.clear()), None, "none is left to be clear");
        drop(second);
        assert_eq!(listed(processors.clear()), Some(vec![3, 5]));
        drop((first, third));
        assert_eq!(listed(processors.clear()), None);
        assert_eq!(processors.keep(9).cpus().len(), 4, "there are no more");
    }

    #[test]
    fn a_job_moves_when_others_have_gone() {
        let processors = four();
        let others: Vec<Place> = (0..4).map(|_| processors.keep(1)).collect();
        let mut late = processors.keep(1);
        assert_eq!(late.cpus(), [7]);
        assert!(!late.improve(), "one more than elsewhere is no reason");
        drop(others);
        assert!(!late.improve(), "it is alone");
        let crowd: Vec<Place> = (0..2).map(|_| processors.kept_on(&[7])).collect();
        assert!(late.improve());
        assert_eq!(late.cpus(), [5]);
        drop(crowd);
    }

    #[test]
    fn a_worker_where_the_caller_is_comes_before_one_that_may_be() {
        let parked = [Some(3), None, Some(7), Some(2)];
        let nearest = |here| parked.into_iter().min_by_key(|at| distance(*at, here));
        assert_eq!(nearest(7), Some(Some(7)));
        assert_eq!(nearest(2), Some(Some(2)));
        assert_eq!(nearest(5), Some(None));
    }

    #[test]
    fn workers_are_spread_and_taken_where_nobody_is() {
        let processors = four();
        assert_eq!(processors.for_worker(1, |_| 0), [7]);
        assert_eq!(processors.for_worker(1, |cpu| u32::from(cpu > 3)), [3]);
        let busy = processors.kept_on(&[7]);
        assert_eq!(processors.load(&[7]), 1);
        assert_eq!(processors.load(&[2, 3]), 0);
        assert_eq!(processors.load(&[]), 0, "one that is kept nowhere");
        assert_eq!(processors.for_worker(1, |cpu| u32::from(cpu != 7)), [5]);
        assert_eq!(processors.for_worker(1, |cpu| 2 * u32::from(cpu != 7) + 1), [7]);
        assert_eq!(processors.kept_on(&[99]).cpus(), [0; 0]);
        drop(busy);
        assert_eq!(processors.load(&[7]), 0);
    }
}
