//! Warm: workers kept ready, so that a job costs what a call to a process pool costs and still runs in a process that
//! nobody used before and nobody will use again.
//!
//! A pool has a cabinet for each sandbox that it is asked for, with a template in it, and workers that were forked from
//! that, walked into jars of their own, were sealed and checked, and wait. The caller's own thread takes one, writes the
//! job to it and reads the answer; making the next ones, emptying jars and giving up what nobody uses is done by threads
//! of the pool, behind the caller's back. What cannot run warm runs cold, and the outcome says why.

mod core;
mod crowd;
mod deliver;
mod first;
mod frame;
mod job;
mod processors;
mod ready;
mod reaper;
mod refill;
mod settings;
mod shelf;
mod stats;
mod waiter;

use std::sync::Arc;
use std::thread::JoinHandle;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Process};
use crate::job::{Job, Program};
use crate::outcome::Outcome;
use crate::sandbox::{Sandbox, call_job, value_of};

pub use job::{Answer, Spoken};
pub use settings::{Keep, PoolBuilder};
pub use stats::{Module, PoolStats, Steps, Warmed};
pub use waiter::Cancel;

use self::core::Core;
use self::settings::Settings;
use self::waiter::lock;

/// Parked workers for any number of sandboxes. Cheap to clone, and safe to share between threads; when the last clone is
/// dropped, everything that it holds is ended.
///
/// ```no_run
/// # fn main() -> Result<(), belljar::Error> {
/// use belljar::{Pool, Sandbox};
///
/// let pool = Pool::new()?;
/// let jar = Sandbox::builder().memory(256 << 20).build()?;
/// let double: i64 = pool.call(&jar, "lambda x: x * 2", (21,))?;
/// assert_eq!(double, 42);
/// let outcome = pool.run(&jar, belljar::Job::code("print('hi')"))?;
/// assert_eq!(outcome.stdout.text(), "hi\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Pool {
    handle: Arc<Handle>,
}

/// Ends the pool when the last clone is gone.
struct Handle {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("stats", &self.core.stats()).finish()
    }
}

impl Pool {
    /// A pool with the default settings.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// A pool, to be put together.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    fn start(settings: Settings) -> Result<Self, Error> {
        let core = Arc::new(Core::new(settings)?);
        let mut handle = Handle {
            core: core.clone(),
            threads: Vec::new(),
        };
        type Life = fn(&Arc<Core>);
        let lives: [(&str, Life); 2] = [
            ("belljar-refill", refill::refill),
            ("belljar-reaper", reaper::reap),
        ];
        for (name, life) in lives {
            let core = core.clone();
            let thread = std::thread::Builder::new()
                .name(name.into())
                .spawn(move || life(&core));
            handle
                .threads
                .push(thread.map_err(|error| Error::setup("start a thread", error))?);
        }
        Ok(Self {
            handle: Arc::new(handle),
        })
    }

    /// Runs one job and waits for its outcome, as [`Sandbox::run_job`] does.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] when too many jobs wait already; otherwise only if belljar itself failed.
    pub fn run(&self, sandbox: &Sandbox, job: Job) -> Result<Outcome, Error> {
        self.run_to_end(sandbox, job, None)
    }

    /// As [`Pool::run`], with a way to end it from another thread.
    pub fn run_until(&self, sandbox: &Sandbox, job: Job, cancel: &Cancel) -> Result<Outcome, Error> {
        self.run_to_end(sandbox, job, Some(cancel))
    }

    fn run_to_end(&self, sandbox: &Sandbox, job: Job, cancel: Option<&Cancel>) -> Result<Outcome, Error> {
        match self.handle.core.run(sandbox, job, cancel, false)? {
            Answer::Outcome(outcome) => Ok(*outcome),
            Answer::Value(value) => Ok(value.outcome(sandbox.plan())),
        }
    }

    /// Runs one job; where it is a call that gives a value, that is handed over as soon as it is there and the kill is
    /// sent, while the jar is emptied behind the caller's back.
    pub fn answer(&self, sandbox: &Sandbox, job: Job, cancel: Option<&Cancel>) -> Result<Answer, Error> {
        let is_call = matches!(job.program, Program::Call { .. } | Program::Invoke { .. });
        self.handle.core.run(sandbox, job, cancel, is_call)
    }

    /// Calls a Python function, given as source, with arguments that serialise to a sequence; gives its value.
    ///
    /// # Errors
    ///
    /// [`Error::Call`] with the outcome when the function did not return a value of the wanted type.
    pub fn call<Value: DeserializeOwned>(
        &self,
        sandbox: &Sandbox,
        function: &str,
        args: impl Serialize,
    ) -> Result<Value, Error> {
        match self.answer(sandbox, call_job(function, args)?, None)? {
            Answer::Value(value) => value.read(sandbox),
            Answer::Outcome(outcome) => value_of(*outcome),
        }
    }

    /// Starts one job on a thread of its own.
    pub fn spawn(&self, sandbox: &Sandbox, job: Job) -> Result<Task, Error> {
        let cancel = Cancel::new()?;
        let (pool, sandbox, ends) = (self.clone(), sandbox.clone(), cancel.clone());
        let thread = std::thread::Builder::new()
            .name("belljar-job".into())
            .spawn(move || pool.run_until(&sandbox, job, &ends))
            .map_err(|error| Error::setup("start a thread", error))?;
        Ok(Task {
            cancel,
            thread: Some(thread),
        })
    }

    /// Has so many workers parked for a sandbox before it is used, at most as many as the ceiling; waits for them. They
    /// are kept until the sandbox is idle.
    pub fn warm(&self, sandbox: &Sandbox, workers: usize) -> Result<Warmed, Error> {
        match crate::cabinet::unfit(sandbox.plan()) {
            Some(reason) => Ok(Warmed {
                cold: Some(reason.into()),
                ..Warmed::default()
            }),
            None => self.handle.core.warm(sandbox, workers),
        }
    }

    /// Sets what is kept ready for a sandbox, from now on; sandboxes that build the same jars share it.
    pub fn keep(&self, sandbox: &Sandbox, keep: Keep) {
        if crate::cabinet::unfit(sandbox.plan()).is_none() {
            self.handle.core.keep(sandbox, keep);
        }
    }

    /// Gives up what is kept for a sandbox as soon as its jobs are done. One that comes after all is served as before.
    pub fn release(&self, sandbox: &Sandbox) {
        self.handle.core.release(sandbox);
    }

    /// What the pool has and has done.
    pub fn stats(&self) -> PoolStats {
        self.handle.core.stats()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.core.state).closed = true;
        self.core.wake.notify_all();
        let mut threads = self.threads.drain(..);
        // Cabinets first; the reaper then finds every jar empty.
        if let Some(refill) = threads.next() {
            let _ = refill.join();
        }
        self.core.reaper.close();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// A job that a pool runs. Dropping it ends the job.
#[derive(Debug)]
pub struct Task {
    cancel: Cancel,
    thread: Option<JoinHandle<Result<Outcome, Error>>>,
}

impl Task {
    /// Ends the job. Its outcome is `cancelled`.
    pub fn kill(&self) {
        self.cancel.kill();
    }

    /// Sends the guest an interrupt, as Ctrl-C would; the second one ends it.
    pub fn interrupt(&self) {
        self.cancel.interrupt();
    }

    /// Whether its outcome is there.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the outcome.
    pub fn wait(mut self) -> Result<Outcome, Error> {
        self.join().unwrap_or_else(|| {
            Err(Error::Lost {
                process: Process::JobThread,
                how: "it panicked".into(),
            })
        })
    }

    fn join(&mut self) -> Option<Result<Outcome, Error>> {
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.cancel.kill();
            let _ = self.join();
        }
    }
}
