//! Jobs that have no answer yet, by the id that the client chose, and the way to end each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belljar::Error;
use belljar::pool::Cancel;

/// Most bytes of requests that wait or run, but for bodies in descriptors: those are the client's own memory.
const MOST: usize = 64 << 20;

/// Jobs without an answer.
#[derive(Default)]
pub struct Jobs {
    state: Mutex<State>,
    /// The way to end a job that is yet to come: a pair of sockets takes a twentieth of a short call.
    spare: Mutex<Option<Cancel>>,
}

#[derive(Default)]
struct State {
    map: HashMap<u64, (Cancel, usize)>,
    weight: usize,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A way to end the next job.
    pub fn cancel(&self) -> Result<Cancel, Error> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        spare.map_or_else(Cancel::new, Ok)
    }

    /// Makes one for the next job, while nobody waits.
    pub fn make_spare(&self) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.is_none() {
            *spare = Cancel::new().ok();
        }
    }

    /// Notes a job whose request has `weight` bytes; `false` if there is no room for them.
    pub fn add(&self, id: u64, cancel: &Cancel, weight: usize) -> bool {
        let mut state = self.lock();
        if state.weight + weight > MOST {
            return false;
        }
        state.weight += weight;
        state.map.insert(id, (cancel.clone(), weight));
        true
    }

    /// Whether an id is taken.
    pub fn has(&self, id: u64) -> bool {
        self.lock().map.contains_key(&id)
    }

    /// The way to end a job that has no answer yet.
    pub fn get(&self, id: u64) -> Option<Cancel> {
        self.lock().map.get(&id).map(|(cancel, _)| cancel.clone())
    }

    /// Forgets a job: its answer follows, and the id is free again.
    pub fn remove(&self, id: u64) {
        let mut state = self.lock();
        if let Some((_, weight)) = state.map.remove(&id) {
            state.weight -= weight;
        }
    }

    /// Ends all.
    pub fn kill(&self) {
        let all: Vec<Cancel> = self
            .lock()
            .map
            .values()
            .map(|(cancel, _)| cancel.clone())
            .collect();
        all.iter().for_each(Cancel::kill);
    }
}
