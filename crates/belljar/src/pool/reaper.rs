//! Empties jars behind their callers' backs: a value is handed over when the kill is sent, and the rest is done here.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::Group;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

use super::core::Core;
use super::waiter::lock;
use crate::error::Error;
use crate::warden::start::{Jar, PATIENCE, PROMPT};

/// How long a caller has the processors to itself before its jar is seen to.
const DELAY: Duration = Duration::from_millis(1);

/// Takes jars to be emptied and cgroups of empty ones.
pub(super) struct Reaper {
    brought: Mutex<Brought>,
    /// A timer: setting it wakes nobody now.
    wake: OwnedFd,
}

#[derive(Default)]
struct Brought {
    jars: Vec<Jar>,
    groups: Vec<Group>,
    closed: bool,
    /// Whether the timer runs.
    armed: bool,
}

/// A jar whose init was sent the kill.
struct Dying {
    jar: Jar,
    since: Instant,
    /// Whether its processes were killed one by one, too.
    pressed: bool,
}

impl Reaper {
    pub(super) fn new() -> Result<Self, Error> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let wake = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
            .map_err(|error| Error::setup("make a timer", error))?;
        Ok(Self {
            brought: Mutex::default(),
            wake,
        })
    }

    /// Takes a jar, which is counted as being emptied already.
    pub(super) fn take(&self, jar: Jar) {
        let _ = jar.init.kill();
        self.take_dying(jar);
    }

    /// Takes a jar that was sent the kill.
    pub(super) fn take_dying(&self, jar: Jar) {
        let mut brought = lock(&self.brought);
        brought.jars.push(jar);
        self.wake(&mut brought);
    }

    /// Takes cgroups that nothing is in any more, or will be in a moment.
    pub(super) fn bury(&self, groups: impl IntoIterator<Item = Group>) {
        let mut brought = lock(&self.brought);
        brought.groups.extend(groups);
        self.wake(&mut brought);
    }

    /// Ends the thread when nothing is left to be done.
    pub(super) fn close(&self) {
        let mut brought = lock(&self.brought);
        brought.closed = true;
        self.wake(&mut brought);
    }

    /// Wakes the thread in a moment. One that is to be woken already is not put off.
    fn wake(&self, brought: &mut Brought) {
        if std::mem::replace(&mut brought.armed, true) {
            return;
        }
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: 0,
                tv_nsec: DELAY.subsec_nanos().into(),
            },
        };
        // Cannot fail with a timer of ours and a time that is valid.
        let _ = rustix::time::timerfd_settime(&self.wake, TimerfdTimerFlags::empty(), &once);
    }
}

/// The life of the thread.
pub(super) fn reap(core: &Arc<Core>) {
    let reaper = &core.reaper;
    let mut dying: Vec<Dying> = Vec::new();
    loop {
        let _ = rustix::io::read(&reaper.wake, &mut [0; 8]);
        let Brought {
            jars, groups, closed, ..
        } = {
            let mut brought = lock(&reaper.brought);
            let closed = brought.closed;
            std::mem::replace(
                &mut *brought,
                Brought {
                    closed,
                    ..Brought::default()
                },
            )
        };
        dying.extend(jars.into_iter().map(|jar| Dying {
            jar,
            since: Instant::now(),
            pressed: false,
        }));
        groups.into_iter().for_each(remove);
        let mut at = 0;
        while at < dying.len() {
            if over(&mut dying[at]) {
                let Dying { jar, since, .. } = dying.swap_remove(at);
                jar.group.into_iter().for_each(remove);
                core.emptied(since);
            } else {
                at += 1;
            }
        }
        if closed && dying.is_empty() && lock(&reaper.brought).jars.is_empty() {
            lock(&reaper.brought).groups.drain(..).for_each(remove);
            return;
        }
        wait(reaper, &dying);
    }
}

/// Whether a jar is empty, or has had all the time that it gets.
fn over(dying: &mut Dying) -> bool {
    if matches!(dying.jar.init.try_wait(), Ok(Some(_))) {
        return true;
    }
    let waited = dying.since.elapsed();
    if waited > PROMPT && !dying.pressed {
        dying.pressed = true;
        if let Some(group) = &dying.jar.group {
            let _ = group.kill();
        }
    }
    if waited > PATIENCE {
        tracing::error!("a jar is not empty {} s after the kill", PATIENCE.as_secs());
    }
    waited > PATIENCE
}

fn wait(reaper: &Reaper, dying: &[Dying]) {
    let mut list = vec![PollFd::new(&reaper.wake, PollFlags::IN)];
    list.extend(
        dying
            .iter()
            .map(|dying| PollFd::from_borrowed_fd(dying.jar.init.as_fd(), PollFlags::IN)),
    );
    let soon = dying.iter().any(|dying| !dying.pressed);
    let patience = Timespec {
        tv_sec: i64::from(!soon),
        tv_nsec: if soon { PROMPT.subsec_nanos().into() } else { 0 },
    };
    let _ = rustix::event::poll(&mut list, (!dying.is_empty()).then_some(&patience));
}

fn remove(group: Group) {
    // What cannot be removed is swept when the next cabinet is opened.
    if let Err(error) = group.remove() {
        tracing::debug!(%error, "a cgroup is left for later");
    }
}
