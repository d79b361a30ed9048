//! Threads for jobs: as many as jobs run, kept for a while, and a queue of bounded length for those beyond the most.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Jobs that wait for a thread.
pub const MOST_WAITING: usize = 1024;
/// How long a thread without a job is kept: starting one costs a third of a short call.
const IDLE: Duration = Duration::from_secs(10);
/// Little is on a job's stack: what is large is in vectors and descriptors.
const STACK: usize = 512 << 10;

type Task = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    queue: VecDeque<(u64, Task)>,
    threads: usize,
    idle: usize,
}

/// The threads.
pub struct Crew {
    most: usize,
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
}

impl Crew {
    /// At most so many threads.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a task to a thread, or lets it wait for one; `false` if too many wait.
    pub fn give(self: &Arc<Self>, id: u64, task: Task) -> bool {
        let mut state = self.lock();
        if state.queue.len() >= MOST_WAITING {
            return false;
        }
        state.queue.push_back((id, task));
        if state.idle >= state.queue.len() {
            self.work.notify_one();
            return true;
        }
        if state.threads < self.most {
            let crew = self.clone();
            let started = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || crew.serve());
            match started {
                Ok(_) => state.threads += 1,
                // Those that are there will come to it.
                Err(_) if state.threads > 0 => {}
                Err(_) => {
                    state.queue.pop_back();
                    return false;
                }
            }
        }
        true
    }

    /// Takes a waiting task back; `false` if it waits no longer.
    pub fn take_back(&self, id: u64) -> bool {
        let mut state = self.lock();
        let found = state.queue.iter().position(|(waiting, _)| *waiting == id);
        found.is_some_and(|position| state.queue.remove(position).is_some())
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some((_, task)) = state.queue.pop_front() {
                drop(state);
                task();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            self.done.notify_all();
            let waited = self
                .work
                .wait_timeout(state, IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            state.idle -= 1;
            if waited.1.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                self.done.notify_all();
                return;
            }
        }
    }

    /// Drops what waits and waits for what runs, for so long.
    pub fn finish(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        state.queue.clear();
        while state.idle < state.threads {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            state = self
                .done
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Jobs that run, and jobs that wait for a thread.
    pub fn figures(&self) -> (usize, usize) {
        let state = self.lock();
        (state.threads - state.idle, state.queue.len())
    }
}
