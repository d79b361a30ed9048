//! A job that waits for a worker, and the way to end a job from another thread.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::core::Core;
use super::ready::Ready;
use crate::client::Running;
use crate::error::Error;
use crate::jar::Steering;
use crate::sandbox::Digest;
use crate::talk::Order;
use crate::wire::MAX_ITEMS;

/// What a job that waited is given.
pub(super) enum Grant {
    /// A worker of its own.
    Worker(Box<Ready>),
    /// No worker can be had; it shall run cold, for this reason.
    Cold(String),
    /// None will be there soon; it shall run cold, as one of its sandbox's first.
    First,
    /// Its caller does not want it any more.
    Cancelled,
}

/// The place where a waiting job is given something, once.
#[derive(Default)]
pub(super) struct Waiter {
    place: Mutex<Place>,
    given: Condvar,
    /// Whether it may run cold although workers can be had.
    pub may_be_first: bool,
}

#[derive(Default)]
enum Place {
    #[default]
    Empty,
    Given(Grant),
    Taken,
}

impl Waiter {
    pub(super) fn new(may_be_first: bool) -> Self {
        Self {
            may_be_first,
            ..Self::default()
        }
    }

    /// Gives, unless something was given before; then it comes back.
    pub(super) fn give(&self, grant: Grant) -> Result<(), Grant> {
        let mut place = lock(&self.place);
        if !matches!(*place, Place::Empty) {
            return Err(grant);
        }
        *place = Place::Given(grant);
        self.given.notify_one();
        Ok(())
    }

    /// Waits until something is given.
    pub(super) fn wait(&self) -> Grant {
        let mut place = lock(&self.place);
        loop {
            if matches!(*place, Place::Given(_))
                && let Place::Given(grant) = std::mem::replace(&mut *place, Place::Taken)
            {
                return grant;
            }
            place = self.given.wait(place).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A lock whose last holder panicked is still a lock: what it guards is changed in single steps.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends or interrupts a job from another thread, in whatever phase it is. Cheap to clone; for one job.
#[derive(Debug, Clone)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Heard by whoever watches the job.
    ours: UnixStream,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    watchers: Option<UnixStream>,
    killed: bool,
    phase: Phase,
}

enum Phase {
    /// Not begun, or watched by way of the socket.
    Quiet,
    Waiting(Weak<Core>, Digest, Arc<Waiter>),
    Cold(UnixStream),
}

impl std::fmt::Debug for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quiet => "Quiet",
            Self::Waiting(..) => "Waiting",
            Self::Cold(_) => "Cold",
        })
    }
}

impl Cancel {
    /// For one job that is yet to be given to a pool.
    pub fn new() -> Result<Self, Error> {
        let (ours, watchers) =
            UnixStream::pair().map_err(|error| Error::setup("make a socket pair", error))?;
        let state = Mutex::new(State {
            watchers: Some(watchers),
            killed: false,
            phase: Phase::Quiet,
        });
        Ok(Self {
            inner: Arc::new(Inner { ours, state }),
        })
    }

    /// Ends the job. Its outcome is `cancelled`.
    pub fn kill(&self) {
        let mut state = lock(&self.inner.state);
        state.killed = true;
        Order::end(&self.inner.ours);
        match &state.phase {
            Phase::Quiet => {}
            Phase::Waiting(core, digest, waiter) => {
                if let Some(core) = core.upgrade() {
                    core.give_up(digest, waiter);
                }
            }
            Phase::Cold(warden) => Order::end(warden),
        }
    }

    /// Sends the guest an interrupt, as Ctrl-C would; the second one ends it. A job that waits is ended.
    pub fn interrupt(&self) {
        let state = lock(&self.inner.state);
        match &state.phase {
            Phase::Quiet => drop(Order::Interrupt.say(&self.inner.ours)),
            Phase::Cold(warden) => drop(Order::Interrupt.say(warden)),
            Phase::Waiting(..) => {
                drop(state);
                self.kill();
            }
        }
    }

    /// Lets a generator give so many more items. A caller that gives leave faster than it is taken ends its job.
    pub fn more(&self, items: u64) {
        let leave = Order::More {
            items: items.min(MAX_ITEMS),
        };
        let state = lock(&self.inner.state);
        let given = match &state.phase {
            Phase::Quiet | Phase::Waiting(..) => leave.say(&self.inner.ours),
            Phase::Cold(warden) => leave.say(warden),
        };
        drop(state);
        if !given {
            self.kill();
        }
    }

    /// From now on the job waits; gives `false` if it is not wanted any more.
    pub(super) fn waits(&self, core: &Arc<Core>, digest: Digest, waiter: &Arc<Waiter>) -> bool {
        let mut state = lock(&self.inner.state);
        state.phase = Phase::Waiting(Arc::downgrade(core), digest, waiter.clone());
        !state.killed
    }

    /// From now on the job is with a worker, which is watched together with this; gives `false` if it is not wanted any
    /// more.
    pub(super) fn runs(&self) -> bool {
        let mut state = lock(&self.inner.state);
        state.phase = Phase::Quiet;
        !state.killed
    }

    /// What to watch together with a worker.
    pub(super) fn steering(&self) -> Steering {
        match lock(&self.inner.state).watchers.take() {
            Some(watchers) => Steering::Socket(watchers),
            None => Steering::None,
        }
    }

    /// From now on the job is with a warden of its own.
    pub(super) fn runs_cold(&self, running: &Running) {
        let mut state = lock(&self.inner.state);
        if let Some(reins) = running.reins() {
            state.phase = Phase::Cold(reins);
        }
        if state.killed {
            running.kill();
        }
    }

    /// The job is over.
    pub(super) fn ends(&self) {
        lock(&self.inner.state).phase = Phase::Quiet;
    }
}
