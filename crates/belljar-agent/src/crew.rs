//! Threads for jobs, one of which reads: whoever has read a job runs it, and another one reads on. So no job is handed from
//! one thread to another, unless the most run already: then it waits in a queue of bounded length.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Jobs that wait for a thread.
pub const MOST_WAITING: usize = 1024;
/// How long a thread without a job is kept: starting one costs a third of a short call.
const IDLE: Duration = Duration::from_secs(10);
/// Of each thread here: little is on it, what is large is in vectors and descriptors.
pub const STACK: usize = 512 << 10;

/// One job.
pub type Task = Box<dyn FnOnce() + Send>;
/// Reads until there is a job for the thread that reads.
pub type Read = dyn Fn() -> Task + Send + Sync;

/// What becomes of a task.
pub enum Given {
    /// The thread that reads runs it.
    Back(Task),
    /// It waits for a thread.
    Waits,
    /// Too many wait.
    Refused,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(u64, Task)>,
    /// Threads that have neither a job nor are reading.
    idle: usize,
    running: usize,
    /// Whether nobody reads.
    vacant: bool,
}

/// The threads.
pub struct Crew {
    most: usize,
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
}

impl Crew {
    /// Threads for at most so many jobs.
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

    /// For the thread that reads: the task comes back if it is to run it itself. Otherwise it waits, or is one too many.
    pub fn give(&self, id: u64, task: Task) -> Given {
        let mut state = self.lock();
        if state.running < self.most {
            state.running += 1;
            return Given::Back(task);
        }
        if state.queue.len() >= MOST_WAITING {
            return Given::Refused;
        }
        state.queue.push_back((id, task));
        Given::Waits
    }

    /// Takes a waiting task back; `false` if it waits no longer.
    pub fn take_back(&self, id: u64) -> bool {
        let mut state = self.lock();
        let found = state.queue.iter().position(|(waiting, _)| *waiting == id);
        found.is_some_and(|position| state.queue.remove(position).is_some())
    }

    /// The life of a thread that reads first. `read` gives what it is to run then, while another thread reads.
    pub fn serve(self: &Arc<Self>, read: &Arc<Read>) {
        loop {
            let task = read();
            self.succeed(read);
            task();
            while let Some(task) = self.next_waiting() {
                task();
            }
            if !self.rest() {
                return;
            }
        }
    }

    /// Has another thread read.
    fn succeed(self: &Arc<Self>, read: &Arc<Read>) {
        let mut state = self.lock();
        state.vacant = true;
        if state.idle > 0 {
            self.work.notify_one();
            return;
        }
        state.vacant = false;
        drop(state);
        let (crew, read) = (self.clone(), read.clone());
        let start = move || crew.serve(&read);
        if std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(start)
            .is_err()
        {
            // Whoever is done first reads on.
            self.lock().vacant = true;
        }
    }

    /// After a task: the next that waits.
    fn next_waiting(&self) -> Option<Task> {
        let mut state = self.lock();
        if let Some((_, task)) = state.queue.pop_front() {
            return Some(task);
        }
        state.running -= 1;
        self.done.notify_all();
        None
    }

    /// Waits until this thread is to read; `false` when it has waited for long enough.
    fn rest(&self) -> bool {
        let mut state = self.lock();
        state.idle += 1;
        let until = Instant::now() + IDLE;
        while !state.vacant {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.work.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.idle -= 1;
        std::mem::take(&mut state.vacant)
    }

    /// Drops what waits and waits for what runs, for so long.
    pub fn finish(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        state.queue.clear();
        while state.running > 0 {
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
        (state.running, state.queue.len())
    }
}
