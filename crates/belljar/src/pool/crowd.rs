//! Jobs that want more processors than their limit is.
//!
//! The limit counts time: a crowd of processes that may have one processor of two has both for half of the time, and whoever
//! wakes up in that half waits for a turn. A job that was held back by its limit is kept on as many processors as that is,
//! and the others stay clear for calls. So is one that has become so many that it would be: the limit tells after half of
//! the time that it is counted over at the earliest, a fork bomb is there sooner.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar_linux::cgroup::Group;

use super::core::Core;
use super::processors::{Place, Processors};
use crate::jar::Holder;

/// From one look to the next at first, and how often: a crowd hurts until it is seen. Then each time twice as long.
const SOON: Duration = Duration::from_millis(25);
const OFTEN: u32 = 20;
const LATER: Duration = Duration::from_secs(1);
/// Threads for each processor of a job's limit: whoever has more of them is a crowd.
const MANY: u64 = 32;

/// From the moment when a run is no short call any more to the first look.
const FIRST: Duration = Duration::from_millis(18);

/// What a pool does while a job runs that takes its time.
pub(super) struct Attendant {
    core: Arc<Core>,
    crowd: Option<Crowd>,
    called: bool,
}

impl Attendant {
    pub(super) fn new(core: &Arc<Core>, outer: Option<PathBuf>, cpus: f64) -> Self {
        Self {
            core: core.clone(),
            crowd: Crowd::new(&core.processors, outer, cpus),
            called: false,
        }
    }
}

impl Holder for Attendant {
    fn attend(&mut self, group: Option<&mut Group>) -> Option<Duration> {
        let (crowd, group) = (self.crowd.as_mut(), group);
        if !std::mem::replace(&mut self.called, true) {
            // Other workers may be made now: so far they would have taken the processor from a short call.
            self.core.wake.notify_one();
            return crowd.zip(group).map(|_| FIRST);
        }
        crowd?.look(group?)
    }
}

/// Looks at one job while it runs.
struct Crowd {
    processors: Arc<Processors>,
    /// Below which it is kept on some processors, where the host needs that.
    outer: Option<PathBuf>,
    /// As many as its limit is.
    count: usize,
    next: Duration,
    looks: u32,
    place: Option<Place>,
}

impl Crowd {
    /// `None` for a job that may have all processors.
    fn new(processors: &Arc<Processors>, outer: Option<PathBuf>, cpus: f64) -> Option<Self> {
        let count = cpus.ceil() as usize;
        (count < processors.count()).then(|| Self {
            processors: processors.clone(),
            outer,
            count,
            next: SOON,
            looks: 0,
            place: None,
        })
    }

    /// Takes a look, and tells when to take the next one, if at all.
    fn look(&mut self, group: &mut Group) -> Option<Duration> {
        let kept = match &mut self.place {
            Some(place) => !place.improve() || self.keep(group),
            None => match group.throttled() {
                Some(0) if !self.is_many(group) => true,
                Some(_) => {
                    self.place = Some(self.processors.keep(self.count));
                    self.keep(group)
                }
                None => return None,
            },
        };
        if !kept {
            self.place = None;
            return None;
        }
        self.looks += 1;
        if self.looks > OFTEN || self.place.is_some() {
            self.next = (self.next * 2).min(LATER);
        }
        Some(self.next)
    }

    fn is_many(&self, group: &Group) -> bool {
        group
            .tasks()
            .is_some_and(|tasks| tasks > MANY * self.count as u64)
    }

    fn keep(&self, group: &mut Group) -> bool {
        let cpus = self.place.as_ref().map(Place::cpus).unwrap_or_default();
        match group.keep_on(&cpus, self.outer.as_deref()) {
            Ok(kept) => {
                tracing::debug!(
                    ?cpus,
                    kept,
                    "a job that wants more than its limit is kept on some processors"
                );
                kept
            }
            Err(error) => {
                tracing::debug!(%error, "a job cannot be kept on some processors");
                false
            }
        }
    }
}
