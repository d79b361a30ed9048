//! Watching a running jar: output, the guest's word, the deadline, memory, the caller.

mod end;
mod frames;
mod hear;
mod wait;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{Group, OomEvent};
use belljar_linux::process;
use rustix::event::PollFlags;
use rustix::net::SendFlags;
use rustix::process::Signal;

use self::end::captured;
use self::wait::Source;
use super::cpu;
use super::foreign::Foreign;
use super::gate::{self, Closed};
use super::pump::Relay;
use super::sampler::Sampler;
use super::start::{Jar, Streams};
use super::steer::{Steer, Wish};
use super::stream::{PAGE, Stream};
use super::weight::is_heavy;
use crate::error::Error;
use crate::outcome::{Captured, Refused};
use crate::parcel::Parcel;
use crate::plan::Plan;
use crate::wire::{Decoder, Frame, Kind};

/// A job that takes longer than this is no short call.
const LATE: Duration = Duration::from_millis(2);
/// How long a job has run when a first look is taken at what it does to others.
const LOOK: Duration = Duration::from_millis(20);
/// Microseconds of processor time that no worker needs which only waits for its job.
const LITTLE: u64 = 50_000;

/// Why the warden ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kill {
    Deadline,
    Memory,
    Cpu,
    Caller,
}

/// What was seen while a jar ran.
pub(crate) struct Watched {
    /// How the guest's first process ended, as init saw it.
    pub status: Option<i32>,
    pub max_rss: u64,
    /// Processor time just before the jar was ended, where nobody would know it afterwards.
    pub cpu_usec: u64,
    /// Where the guest was when its time was up, as its runtime says.
    pub stuck: Option<String>,
    /// The guest's own last word.
    pub frame: Option<Frame>,
    /// What it holds, where only its client reads it.
    pub parcel: Option<Parcel>,
    /// Why it holds nothing.
    pub refused: Option<Refused>,
    pub kill: Option<Kill>,
    /// Whether the caller interrupted it.
    pub interrupted: bool,
    pub stdout: Captured,
    pub stderr: Captured,
    pub overflowed: bool,
    pub workdir: Option<OwnedFd>,
    pub upper: Option<OwnedFd>,
}

struct Watch<'a> {
    jar: &'a mut Jar,
    streams: Streams,
    steer: &'a Steer,
    longest: Option<Duration>,
    deadline: Option<Instant>,
    cpu_limit: Option<u64>,
    /// Where processor time is limited and no cgroup counts it.
    sampler: Option<Sampler>,
    oom: Option<OomEvent>,
    decoder: Decoder,
    /// One that came with the first byte of a frame that is not whole yet.
    descriptor: Option<Foreign>,
    /// Items that the job's reader has had no room for. Nothing is read from the guest meanwhile.
    items: VecDeque<Parcel>,
    relay: Option<Relay>,
    /// The guest's first process, where this jar was built for it.
    guest: Option<OwnedFd>,
    failed: Option<Error>,
    /// The worker is gone and has left a part of its job in its socket.
    unread: bool,
    /// Something came from the guest, or more than its job was sent to it.
    begun: bool,
    /// When to look at the job's cgroup.
    look: Option<Instant>,
    /// Since when the worker has ended, which its template sees and its keeper tells.
    gone: Option<Instant>,
    seen: Watched,
    buffer: Vec<u8>,
}

/// What came first when both were waited for.
pub(crate) enum Heard {
    /// The value of a call, and what it had printed; the kill is sent, and the jar still to be emptied.
    Value(Box<Said>),
    /// The end of the jar.
    End(Box<Watched>),
    /// The end of a worker that had not read its job: another one can have it, and the caller's streams.
    Unread(Box<Streams>),
}

/// The value of a call, and what it had printed.
pub(crate) struct Said {
    pub frame: Frame,
    pub parcel: Option<Parcel>,
    pub stdout: Captured,
    pub stderr: Captured,
}

/// Watches until nothing of the guest's is left, or the jar must be ended.
pub(crate) fn watch(plan: &Plan, jar: &mut Jar, streams: Streams, steer: &Steer) -> Result<Watched, Error> {
    let mut watch = Watch::new(plan, jar, streams, steer)?;
    while !watch.step()? {}
    watch.last_words();
    watch.finish()
}

/// As [`watch`], but a value is handed over as soon as it is there and the kill is sent.
pub(crate) fn listen(plan: &Plan, jar: &mut Jar, streams: Streams, steer: &Steer) -> Result<Heard, Error> {
    let mut watch = Watch::new(plan, jar, streams, steer)?;
    while !watch.step()? {}
    if watch.unread && watch.seen.kill.is_none() {
        let _ = watch.jar.init.kill();
        return Ok(Heard::Unread(Box::new(watch.streams)));
    }
    if watch.has_value()
        && watch.seen.kill.is_none()
        && watch.failed.is_none()
        // One that is too heavy to be read becomes an exception when everything is put together.
        && !watch.seen.frame.as_ref().is_some_and(is_heavy)
        && let Some(frame) = watch.seen.frame.take()
    {
        let killed = watch.jar.init.kill();
        killed.map_err(|error| Error::setup("end the jar", error))?;
        watch.drain();
        let parcel = watch.seen.parcel.take();
        // Closed with the jar, when the value has been handed on.
        if let Some(warm) = &mut watch.jar.warm {
            (warm.memory, warm.workdir) = (watch.oom.take(), watch.seen.workdir.take());
            let Streams { stdout, stderr, .. } = &mut watch.streams;
            warm.rest
                .extend([stdout, stderr].into_iter().filter_map(Stream::spent));
        }
        let (stdout, stderr, _) = captured(watch.streams)?;
        return Ok(Heard::Value(Box::new(Said {
            frame,
            parcel,
            stdout,
            stderr,
        })));
    }
    watch.last_words();
    watch.finish().map(|watched| Heard::End(Box::new(watched)))
}

impl<'a> Watch<'a> {
    fn new(plan: &Plan, jar: &'a mut Jar, streams: Streams, steer: &'a Steer) -> Result<Self, Error> {
        // The time of a job that waits at its gate begins behind it.
        let longest = plan.deadline();
        let deadline = longest
            .filter(|_| jar.gate.is_none())
            .map(|longest| jar.since + longest);
        let (oom, workdir) = match (&mut jar.warm, &jar.group) {
            (Some(warm), _) => (warm.memory.take(), warm.workdir.take()),
            (None, Some(group)) => (
                group
                    .oom_event()
                    .map_err(|error| Error::setup("watch memory", std::io::Error::other(error)))?,
                None,
            ),
            (None, None) => (None, None),
        };
        let cpu_limit = plan.limits().cpu_seconds.map(|seconds| (seconds * 1e6) as u64);
        let counts = jar.group.as_ref().is_some_and(|group| group.cpu_usec().is_some());
        let sampled = cpu_limit.is_some() && !counts;
        let looks = jar.group.is_some() && jar.warm.as_ref().is_some_and(|warm| warm.look.is_some());
        Ok(Self {
            look: looks.then(|| jar.since + LOOK),
            jar,
            streams,
            steer,
            longest,
            deadline,
            cpu_limit,
            sampler: sampled.then(|| Sampler::new(plan.limits().cpus.ceil())),
            oom,
            decoder: Decoder::default(),
            descriptor: None,
            items: VecDeque::new(),
            relay: None,
            guest: None,
            failed: None,
            unread: false,
            begun: false,
            gone: None,
            seen: Watched {
                status: None,
                max_rss: 0,
                cpu_usec: 0,
                stuck: None,
                frame: None,
                parcel: None,
                refused: None,
                kill: None,
                interrupted: false,
                stdout: Captured::default(),
                stderr: Captured::default(),
                overflowed: false,
                workdir,
                upper: None,
            },
            buffer: Vec::new(),
        })
    }

    /// Waits for something to happen and deals with it; `true` once init has ended, is alone, or is to be ended.
    fn step(&mut self) -> Result<bool, Error> {
        let ready = self.poll()?;
        if let Some(warm) = &mut self.jar.warm
            && warm.late.is_some()
            && self.jar.since.elapsed() >= LATE
            && let Some(late) = warm.late.take()
        {
            late();
        }
        self.look();
        for (source, events) in ready {
            if matches!(source, Source::Stdout | Source::Stderr) {
                self.make_buffer();
            }
            match source {
                Source::Init => return Ok(true),
                Source::Report => self.report()?,
                Source::Worker => self.gone = Some(Instant::now()),
                Source::Control => self.control(events),
                Source::Gate => self.gate(),
                Source::Stdin => self.streams.input.advance(),
                Source::Stdout => self.streams.stdout.advance(&mut self.buffer),
                Source::Stderr => self.streams.stderr.advance(&mut self.buffer),
                Source::Memory => {
                    if self.oom.as_ref().is_some_and(OomEvent::take) {
                        self.seen.kill = Some(Kill::Memory);
                    }
                }
                Source::Caller => self.wish(),
                Source::Tty => self.relay(events, PollFlags::empty()),
                Source::Master => self.relay(PollFlags::empty(), events),
            }
        }
        self.offer();
        self.ask_kernel();
        // Nothing that comes after counts: a worker's first process is not its jar's, and the value of a call its end.
        if self.jar.warm.is_some() && self.seen.status.is_some() || self.has_value() || self.unread {
            return Ok(true);
        }
        if self.jar.emptied.is_some() {
            return Ok(true);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.seen.kill = self.seen.kill.or(Some(Kill::Deadline));
        }
        if self.cpu_used_up() {
            self.seen.kill = self.seen.kill.or(Some(Kill::Cpu));
        }
        Ok(self.seen.kill.is_some() || self.failed.is_some())
    }

    /// Has someone look at the job's cgroup, when it is time.
    fn look(&mut self) {
        if self.look.is_none_or(|when| Instant::now() < when) {
            return;
        }
        let next = match (&mut self.jar.warm, &mut self.jar.group) {
            (Some(warm), Some(group)) => warm.look.as_mut().and_then(|look| look(group)),
            _ => None,
        };
        self.look = next.map(|next| Instant::now() + next);
    }

    /// The answer to the job's gate is here.
    pub(super) fn gate(&mut self) {
        let Some(Closed::Asked(answer)) = self.jar.gate.take() else {
            return;
        };
        if !gate::is_open(&answer) {
            self.failed = self.failed.take().or(Some(Error::Gate));
            return;
        }
        self.jar.since = Instant::now();
        self.deadline = self.longest.map(|longest| self.jar.since + longest);
        if let Some(control) = self.jar.voice() {
            // A guest that is gone is seen elsewhere.
            let _ = rustix::net::send(control, gate::OPEN, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    /// Not before there is something to read: until then init may be waiting for this processor.
    fn make_buffer(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = vec![0; PAGE];
        }
    }

    fn cpu_used_up(&mut self) -> bool {
        let Some(limit) = self.cpu_limit else {
            return false;
        };
        let roots = self.jar.roots();
        let sampled = self
            .sampler
            .as_mut()
            .map(|sampler| sampler.sample(|| cpu::family(&roots)));
        let used = sampled.map(|used| used.saturating_sub(self.jar.cpu_before()));
        used.unwrap_or_else(|| self.cpu_used()) >= limit
    }

    fn cpu_used(&self) -> u64 {
        let counted = self.jar.group.as_ref().and_then(Group::cpu_usec);
        let used = counted.unwrap_or_else(|| cpu::tree(&self.jar.roots()));
        used.saturating_sub(self.jar.cpu_before())
    }

    /// Whether the job may run already. A guest can leave something unread, too, and must not have its job run again for it:
    /// one that was heard or used its processor has read its job.
    fn has_begun(&self) -> bool {
        let silent = self.streams.stdout.is_untouched() && self.streams.stderr.is_untouched();
        self.begun || !silent || self.cpu_used() > LITTLE
    }

    /// Whether a call has given its value, which ends it.
    fn has_value(&self) -> bool {
        let returned = |frame: &Frame| frame.kind == Kind::Returned;
        self.jar.warm.as_ref().is_some_and(|warm| warm.ends_with_value)
            && self.seen.frame.as_ref().is_some_and(returned)
    }

    fn wish(&mut self) {
        match self.steer.next() {
            None => {}
            Some(Wish::Resize) => {
                if let Some(relay) = &self.relay {
                    relay.resize();
                }
            }
            Some(Wish::More) => {
                self.jar.leave += 1;
                self.begun = true;
                self.jar.outgoing.more(1);
            }
            Some(Wish::Interrupt) if !self.seen.interrupted => {
                self.seen.interrupted = true;
                match self.guest() {
                    Some(guest) => drop(process::signal(guest, Signal::INT)),
                    // Nothing to interrupt yet: there is only the jar to end.
                    None => self.seen.kill = Some(Kill::Caller),
                }
            }
            Some(_) => self.seen.kill = Some(Kill::Caller),
        }
    }

    /// The guest's first process.
    fn guest(&self) -> Option<BorrowedFd<'_>> {
        let worker = self.jar.warm.as_ref().map(|warm| warm.worker.as_fd());
        self.guest.as_ref().map(AsFd::as_fd).or(worker)
    }

    fn relay(&mut self, caller: PollFlags, guest: PollFlags) {
        if let Some(relay) = &mut self.relay {
            relay.advance(caller, guest);
        }
    }
}
