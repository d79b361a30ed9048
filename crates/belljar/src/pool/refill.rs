//! Keeps workers ready: opens cabinets, asks for workers, gives up what nobody uses. One thread, off the callers' path.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::core::{Core, State};
use super::ready::Ready;
use super::shelf::{Making, Open, Shelf};
use super::waiter::lock;
use crate::cabinet::Cabinet;
use crate::error::Error;
use crate::jar::{hierarchy, make_group_of, sweep_after};
use crate::sandbox::{Digest, Sandbox};
use crate::talk::Spec;

/// How often a look is taken when nothing happens.
const LOOK: Duration = Duration::from_secs(1);
/// How long a worker may take to be made before it is given up.
const MAKING: Duration = Duration::from_secs(60);

/// One thing to do, outside of the lock.
enum Action {
    Open(Digest, Sandbox),
    Make(Digest, Sandbox, Arc<Cabinet>, u64),
    Retire(Option<Open>, Vec<Ready>, Vec<Making>),
    Join(JoinHandle<()>),
    Discard(Vec<Ready>),
    Bury(Vec<Making>),
    Wait,
    Stop,
}

/// The life of the thread.
pub(super) fn refill(core: &Arc<Core>) {
    let mut numbers = 0;
    loop {
        let mut state = lock(&core.state);
        let action = next(core, &mut state);
        match action {
            Action::Wait => {
                let quiet = quiet(&state, core.settings.cores);
                let wait = core.wake.wait_timeout(state, quiet);
                drop(wait.unwrap_or_else(std::sync::PoisonError::into_inner));
                continue;
            }
            Action::Make(digest, ..) => {
                numbers += 1;
                if let Some(shelf) = state.shelves.get_mut(&digest) {
                    let making = Making {
                        group: None,
                        since: Instant::now(),
                        group_usec: 0,
                        cpus: shelf.processors(&core.processors),
                    };
                    shelf.making.insert(numbers, making);
                }
            }
            Action::Open(digest, _) => {
                if let Some(shelf) = state.shelves.get_mut(&digest) {
                    shelf.first.template = Some(Instant::now());
                }
            }
            _ => {}
        }
        drop(state);
        match action {
            Action::Open(digest, sandbox) => {
                numbers += 1;
                open(core, digest, &sandbox, numbers);
            }
            Action::Make(digest, sandbox, cabinet, of) => {
                if let Err(error) = make(core, digest, &sandbox, &cabinet, numbers) {
                    tracing::debug!(%error, "a cabinet does not listen");
                    core.gone(&digest, of);
                }
            }
            Action::Retire(open, workers, making) => {
                retire(open);
                core.discard(workers);
                bury(core, making);
            }
            Action::Join(reader) => drop(reader.join()),
            Action::Discard(workers) => core.discard(workers),
            Action::Bury(making) => bury(core, making),
            Action::Wait => {}
            Action::Stop => return,
        }
    }
}

/// What to do next; jobs that wait come first.
fn next(core: &Core, state: &mut State) -> Action {
    let now = Instant::now();
    if state.closed {
        return match state.shelves.keys().next().copied() {
            Some(digest) => give_up(state, &digest),
            None => state.readers.pop().map_or(Action::Stop, Action::Join),
        };
    }
    let cores = core.settings.cores;
    for shelf in state.shelves.values_mut() {
        shelf.give_up_waiting(now, cores);
    }
    if let Some(action) = tidy(core, state, now) {
        return action;
    }
    let workers: usize = state.shelves.values().map(workers).sum();
    let ready = state.shelves.values().filter(|shelf| shelf.modules.is_some());
    let making: usize = ready.map(|shelf| shelf.making.len()).sum();
    let memory: u64 = state.shelves.values().map(Shelf::memory).sum();
    let full = workers + state.emptying >= core.settings.max_workers || memory >= core.settings.max_memory;
    let mut order: Vec<(bool, Instant, Digest)> = state
        .shelves
        .iter_mut()
        .filter(|(_, shelf)| shelf.missing() > 0 && !shelf.released && !shelf.holds(now, cores))
        .filter_map(|(digest, shelf)| {
            let cold = shelf.cold(now).is_some();
            (!cold).then_some((
                shelf.waiters.len() <= shelf.making.len() + shelf.arriving,
                shelf.used,
                *digest,
            ))
        })
        .collect();
    order.sort_unstable();
    for (supplied, _, digest) in order {
        let Some(shelf) = state.shelves.get(&digest) else {
            continue;
        };
        let Some(open) = &shelf.cabinet else {
            if shelf.waiters.is_empty() && shelf.least() == 0 {
                continue;
            }
            let cabinets = state
                .shelves
                .values()
                .filter(|shelf| shelf.cabinet.is_some())
                .count();
            if cabinets < core.settings.max_cabinets {
                return Action::Open(digest, shelf.sandbox.clone());
            }
            match oldest(state, &digest) {
                Some(other) => return give_up_counted(state, &other),
                None => continue,
            }
        };
        // Making more at once only makes each of them slower; those whose template is not ready make nobody else wait.
        let at_once = if supplied { cores } else { 2 * cores };
        let ready = shelf.modules.is_some();
        if at_once <= if ready { making } else { shelf.making.len() } {
            continue;
        }
        // Nobody waits for this one, and jobs have all processors.
        let starved = shelf.parked.is_empty() && shelf.making.is_empty();
        if supplied && state.busy >= cores && !starved {
            continue;
        }
        if full {
            if supplied {
                continue;
            }
            if let Some(other) = oldest(state, &digest) {
                return give_up_counted(state, &other);
            }
            // A job that runs will make room; where none does, this one would wait for ever.
            if workers + state.emptying > 0 {
                continue;
            }
        }
        let number = open.number;
        return Action::Make(digest, shelf.sandbox.clone(), open.cabinet.clone(), number);
    }
    Action::Wait
}

/// How long nothing is to be done, if nothing happens.
fn quiet(state: &State, cores: usize) -> Duration {
    let now = Instant::now();
    let next = state.shelves.values().filter_map(|shelf| shelf.next(cores));
    let next = next.map(|next| next.saturating_duration_since(now));
    next.filter(|next| !next.is_zero())
        .min()
        .map_or(LOOK, |next| next.min(LOOK))
}

fn workers(shelf: &Shelf) -> usize {
    shelf.parked.len() + shelf.making.len() + shelf.arriving + shelf.busy
}

/// The cabinet that was not used for longest, of those in which nothing goes on.
fn oldest(state: &State, but: &Digest) -> Option<Digest> {
    let idle =
        |(digest, shelf): &(&Digest, &Shelf)| *digest != but && shelf.cabinet.is_some() && shelf.is_idle();
    let found = state
        .shelves
        .iter()
        .filter(idle)
        .min_by_key(|(_, shelf)| shelf.used);
    found.map(|(digest, _)| *digest)
}

fn give_up_counted(state: &mut State, digest: &Digest) -> Action {
    state.counted.retired += 1;
    give_up(state, digest)
}

fn give_up(state: &mut State, digest: &Digest) -> Action {
    let Some(mut shelf) = state.shelves.remove(digest) else {
        return Action::Wait;
    };
    for waiter in shelf.waiters.drain(..) {
        let _ = waiter.give(super::waiter::Grant::Cancelled);
    }
    empty(&mut shelf)
}

fn empty(shelf: &mut Shelf) -> Action {
    let making = shelf.making.drain().map(|(_, making)| making);
    Action::Retire(
        shelf.cabinet.take(),
        shelf.parked.drain(..).collect(),
        making.collect(),
    )
}

/// Gives up what nobody uses, and what has died.
fn tidy(core: &Core, state: &mut State, now: Instant) -> Option<Action> {
    let idle = |shelf: &Shelf| {
        let unused = || now.duration_since(shelf.used) >= shelf.idle.unwrap_or(core.settings.idle);
        shelf.is_idle() && (shelf.released || shelf.floor == 0 && unused())
    };
    let found = state
        .shelves
        .iter()
        .find(|(_, shelf)| idle(shelf))
        .map(|(digest, _)| *digest);
    if let Some(digest) = found {
        return Some(give_up_counted(state, &digest));
    }
    for shelf in state.shelves.values_mut() {
        if shelf.cabinet.is_some() && shelf.busy == 0 && shelf.arriving == 0 && shelf.cold(now).is_some() {
            return Some(empty(shelf));
        }
        let mut over = shelf.fit(now);
        if now.duration_since(shelf.looked) >= LOOK {
            shelf.looked = now;
            let (alive, dead): (Vec<Ready>, Vec<Ready>) = shelf.parked.drain(..).partition(Ready::is_alive);
            shelf.parked.extend(alive);
            state.counted.lost += dead.len() as u64;
            over.extend(dead);
        }
        if !over.is_empty() {
            return Some(Action::Discard(over));
        }
        let late: Vec<Making> = shelf
            .making
            .extract_if(|_, making| now.duration_since(making.since) > MAKING)
            .map(|(_, making)| making)
            .collect();
        if !late.is_empty() {
            shelf.failed(format!("a worker was not made within {} s", MAKING.as_secs()));
            return Some(Action::Bury(late));
        }
    }
    None
}

fn open(core: &Arc<Core>, digest: Digest, sandbox: &Sandbox, number: u64) {
    let spec = Spec {
        preload: sandbox.preload().to_vec(),
        asked: sandbox.asked_for_preload(),
        rotate_jobs: core.settings.rotate_jobs,
        rotate_after: core.settings.rotate_after,
    };
    let cabinet = match Cabinet::open(sandbox.binary(), sandbox.plan(), sandbox.tree(), &spec) {
        Ok(cabinet) => Arc::new(cabinet),
        Err(error) => return core.broken(&digest, &error),
    };
    tracing::debug!(warden = cabinet.warden_pid(), "a cabinet is opened");
    // Locked, so that nothing is heard before it is known whose it is.
    let mut state = lock(&core.state);
    let (reads, read) = (core.clone(), cabinet.clone());
    let groups = hierarchy(sandbox.plan()).cloned();
    let reader = std::thread::Builder::new()
        .name("belljar-cabinet".into())
        .spawn(move || {
            listen(&reads, &digest, number, &read);
            let warden = read.warden_pid();
            // Waits for the warden's end; one that was killed could not remove its cgroup.
            drop(read);
            if let Some(groups) = groups {
                sweep_after(&groups, warden);
            }
        });
    let outer = hierarchy(sandbox.plan())
        .and_then(|hierarchy| belljar_linux::cgroup::outer_cpuset(hierarchy, cabinet.warden_pid()));
    match (state.shelves.get_mut(&digest), reader) {
        (Some(shelf), Ok(reader)) => {
            shelf.cabinet = Some(Open {
                cabinet,
                reader,
                number,
                outer,
            });
        }
        (None, Ok(reader)) => {
            drop(state);
            retire(Some(Open {
                cabinet,
                reader,
                number,
                outer,
            }));
        }
        (_, Err(error)) => {
            drop(state);
            core.broken(&digest, &Error::setup("start a thread", error));
        }
    }
}

/// Hears from a cabinet until it is gone.
fn listen(core: &Arc<Core>, digest: &Digest, number: u64, cabinet: &Cabinet) {
    loop {
        match cabinet.receive() {
            Ok(Some(event)) => core.happened(digest, number, event),
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "a cabinet is given up");
                break;
            }
        }
    }
    core.gone(digest, number);
}

/// Asks for one worker. An error means that there is nobody to ask.
fn make(
    core: &Arc<Core>,
    digest: Digest,
    sandbox: &Sandbox,
    cabinet: &Cabinet,
    number: u64,
) -> Result<(), Error> {
    let since = Instant::now();
    let group = make_group_of(sandbox.plan(), 0, cabinet.warden_pid()).and_then(|group| {
        let fds = group.as_ref().map_or(Ok(Vec::new()), |group| group.procs_fds());
        let fds = fds.map_err(|error| Error::setup("open the cgroup", std::io::Error::other(error)))?;
        Ok((group, fds))
    });
    let mut state = lock(&core.state);
    let Some(shelf) = state.shelves.get_mut(&digest) else {
        core.reaper.bury(group.ok().and_then(|(group, _)| group));
        return Ok(());
    };
    let (group, fds) = match group {
        Ok(made) => made,
        Err(error) => {
            shelf.making.remove(&number);
            drop(state);
            core.broken(&digest, &error);
            return Ok(());
        }
    };
    // Kept before the worker is asked for: it may be there before we are back.
    match shelf.making.get_mut(&number) {
        Some(making) => {
            making.group = group;
            making.group_usec = since.elapsed().as_micros() as u64;
        }
        None => {
            core.reaper.bury(group);
            return Ok(());
        }
    }
    let cpus = shelf
        .making
        .get(&number)
        .map(|making| making.cpus.clone())
        .unwrap_or_default();
    let hurry = shelf.waiters.len() >= shelf.making.len() + shelf.arriving;
    drop(state);
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
    cabinet.make(number, hurry, cpus, &fds)
}

/// Removes the cgroups of workers that will not come.
fn bury(core: &Core, making: Vec<Making>) {
    core.reaper
        .bury(making.into_iter().filter_map(|making| making.group));
}

/// Ends a cabinet and waits until it is gone.
fn retire(open: Option<Open>) {
    let Some(Open { cabinet, reader, .. }) = open else {
        return;
    };
    // Its reader hears an end and lets go.
    let _ = rustix::net::shutdown(cabinet.socket(), rustix::net::Shutdown::Both);
    drop(cabinet);
    let _ = reader.join();
}
