//! Empties jars behind their callers' backs: a value is handed over when the kill is sent, and the rest is done here.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::Group;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

use super::core::Core;
use super::waiter::lock;
use crate::error::Error;
use crate::jar::{Jar, PATIENCE, PROMPT};

/// How long a caller has the processors to itself before the cgroup of its empty jar is seen to.
const DELAY: Duration = Duration::from_millis(1);
/// How often jars are looked at that do not end.
const LOOK: Duration = Duration::from_secs(1);
/// Ends that are told of at once.
const EVENTS: usize = 16;

/// Takes jars to be emptied and cgroups of empty ones.
pub(super) struct Reaper {
    brought: Mutex<Brought>,
    /// Tells of jars that are empty, and of the timer. A caller that brings a jar wakes nobody.
    ends: OwnedFd,
    timer: OwnedFd,
}

#[derive(Default)]
struct Brought {
    jars: Vec<Dying>,
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
    /// Whether it was told of as lost.
    told: bool,
}

impl Reaper {
    pub(super) fn new() -> Result<Self, Error> {
        let make = || -> rustix::io::Result<Self> {
            let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let ends = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            epoll::add(&ends, &timer, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            Ok(Self {
                brought: Mutex::default(),
                ends,
                timer,
            })
        };
        make().map_err(|error| Error::setup("make a timer", error))
    }

    /// Takes a jar, which is counted as being emptied already.
    pub(super) fn take(&self, jar: Jar) {
        let _ = jar.init.kill();
        self.take_dying(jar);
    }

    /// Takes a jar that was sent the kill.
    pub(super) fn take_dying(&self, jar: Jar) {
        let mut brought = lock(&self.brought);
        // Once is enough: whatever ended, all of them are looked at. Where it cannot be watched, the timer tells.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        let _ = epoll::add(&self.ends, &jar.init, epoll::EventData::new_u64(0), flags);
        brought.jars.push(Dying {
            jar,
            since: Instant::now(),
            pressed: false,
            told: false,
        });
        // Later than the kernel's next tick in most cases: a timer that comes first costs as much as all the rest here.
        self.wake(&mut brought, PROMPT);
    }

    /// Takes cgroups that nothing is in any more, or will be in a moment.
    pub(super) fn bury(&self, groups: impl IntoIterator<Item = Group>) {
        let mut brought = lock(&self.brought);
        brought.groups.extend(groups);
        self.wake(&mut brought, DELAY);
    }

    /// Ends the thread when nothing is left to be done.
    pub(super) fn close(&self) {
        let mut brought = lock(&self.brought);
        brought.closed = true;
        self.wake(&mut brought, DELAY);
    }

    /// Wakes the thread after a while. One that is to be woken already is not put off.
    fn wake(&self, brought: &mut Brought, after: Duration) {
        if !std::mem::replace(&mut brought.armed, true) {
            self.set_timer(after);
        }
    }

    fn set_timer(&self, after: Duration) {
        let once = Itimerspec {
            it_interval: timespec(Duration::ZERO),
            it_value: timespec(after),
        };
        // Cannot fail with a timer of ours and a time that is valid.
        let _ = rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }

    /// What was brought since the last time, and whether nothing more will be. The timer has nothing to tell then.
    fn fetch(&self) -> (Vec<Dying>, Vec<Group>, bool) {
        let mut brought = lock(&self.brought);
        if std::mem::replace(&mut brought.armed, false) {
            self.set_timer(Duration::ZERO);
        }
        let (jars, groups) = (
            std::mem::take(&mut brought.jars),
            std::mem::take(&mut brought.groups),
        );
        (jars, groups, brought.closed)
    }

    /// Waits for the end of a jar or for the timer.
    fn wait(&self, events: &mut Vec<epoll::Event>, patience: Option<Duration>) {
        let patience = patience.map(timespec);
        events.clear();
        let _ = epoll::wait(&self.ends, spare_capacity(events), patience.as_ref());
    }

    /// A keeper has a copy of the descriptor: closed here and watched still, it would stay in the list.
    fn forget(&self, jar: &Jar) {
        let _ = epoll::delete(&self.ends, &jar.init);
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs() as i64,
        tv_nsec: duration.subsec_nanos().into(),
    }
}

/// The life of the thread.
pub(super) fn reap(core: &Arc<Core>) {
    let reaper = &core.reaper;
    let mut dying: Vec<Dying> = Vec::new();
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        let (jars, groups, closed) = reaper.fetch();
        dying.extend(jars);
        groups.into_iter().for_each(|group| remove(core, group));
        let mut at = 0;
        while at < dying.len() {
            if over(&mut dying[at]) {
                let Dying { jar, since, .. } = dying.swap_remove(at);
                let after = since.elapsed();
                reaper.forget(&jar);
                if let Some(group) = jar.group {
                    remove(core, group);
                }
                core.emptied(after);
            } else {
                at += 1;
            }
        }
        if closed && dying.is_empty() && lock(&reaper.brought).jars.is_empty() {
            let groups = std::mem::take(&mut lock(&reaper.brought).groups);
            groups.into_iter().for_each(|group| remove(core, group));
            return;
        }
        let pressing = dying.iter().any(|dying| !dying.pressed).then_some(PROMPT);
        let looking = (!dying.is_empty()).then_some(LOOK);
        reaper.wait(&mut events, pressing.or(looking));
    }
}

/// Whether a jar is empty. One that takes too long is told, and waited for.
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
    if waited > PATIENCE && !std::mem::replace(&mut dying.told, true) {
        tracing::error!("a jar is not empty {} s after the kill", PATIENCE.as_secs());
    }
    false
}

fn remove(core: &Core, group: Group) {
    let since = Instant::now();
    // What cannot be removed is swept when the next cabinet is opened.
    if let Err(error) = group.remove() {
        tracing::debug!(%error, "a cgroup is left for later");
    }
    lock(&core.state).sums.reaped(since.elapsed());
}
