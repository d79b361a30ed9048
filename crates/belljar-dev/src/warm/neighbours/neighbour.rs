//! A neighbour with a thread of its own, so that when it begins has nothing to do with when the victim calls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use belljar::job::Sink;
use belljar::pool::Cancel;
use belljar::{Job, Pool, Sandbox};

use super::PERIOD;

/// From the beginning of one that dies of its limit to the beginning of the next, at least.
const AWAY: Duration = Duration::from_secs(1);
/// Multiples of it fall evenly between whole numbers.
const GOLDEN: f64 = 0.618_034;

pub(super) struct Neighbour {
    shared: Arc<Shared>,
    thread: JoinHandle<anyhow::Result<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ends: Condvar,
}

#[derive(Default)]
struct State {
    ended: bool,
    running: Option<Cancel>,
}

impl Neighbour {
    pub(super) fn start(pool: &Pool, sandbox: &Sandbox, code: &'static str) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (pool, sandbox, own) = (pool.clone(), sandbox.clone(), shared.clone());
        let thread = std::thread::Builder::new()
            .name("neighbour".into())
            .spawn(move || own.live(&pool, &sandbox, code))?;
        Ok(Self { shared, thread })
    }

    pub(super) fn end(self) -> anyhow::Result<()> {
        {
            let mut state = self.shared.lock();
            state.ended = true;
            if let Some(running) = &state.running {
                running.kill();
            }
        }
        self.shared.ends.notify_all();
        self.thread.join().map_err(|_| anyhow!("a neighbour panicked"))?
    }
}

impl Shared {
    /// One that was ended by a limit is followed by another.
    fn live(&self, pool: &Pool, sandbox: &Sandbox, code: &str) -> anyhow::Result<()> {
        loop {
            let began = Instant::now();
            let cancel = Cancel::new()?;
            {
                let mut state = self.lock();
                if state.ended {
                    return Ok(());
                }
                state.running = Some(cancel.clone());
            }
            let mut job = Job::code(code);
            job.stdout = Sink::Capture;
            pool.run_until(sandbox, job, &cancel)?;
            let away = away().saturating_sub(began.elapsed());
            let wait = self
                .ends
                .wait_timeout_while(self.lock(), away, |state| !state.ended);
            drop(wait);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the time between two calls is added, another one each time: in whole seconds all would begin just when the
/// victim calls.
fn away() -> Duration {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    let times = TIMES.fetch_add(1, Ordering::Relaxed);
    AWAY + PERIOD.mul_f64((f64::from(times) * GOLDEN).fract())
}
