//! Watching a running jar: output, the guest's word, the deadline, memory, the caller.

mod end;
mod frames;
mod hear;
mod wait;

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{Group, OomEvent};
use belljar_linux::process;
use rustix::event::PollFlags;
use rustix::process::Signal;

use self::end::captured;
use self::wait::Source;
use super::cpu;
use super::foreign::Foreign;
use super::gate::{self, Closed};
use super::pump::Relay;
use super::run::{Holder, Run, Streams};
use super::sampler::Sampler;
use super::steer::Steer;
use super::stream::{PAGE, Stream};
use super::weight::is_heavy;
use super::{Jar, Parent};
use crate::error::Error;
use crate::job::{Collect, InputFile, Message};
use crate::outcome::{Captured, Refused};
use crate::parcel::Parcel;
use crate::plan::Plan;
use crate::talk::Order;
use crate::wire::{Decoder, Frame, Kind};

/// A run that takes longer than this is no short call: until then nobody else shall want the processor.
const LATE: Duration = Duration::from_millis(2);
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

/// A run that is over, and what was seen of it.
pub(crate) struct Watched<'a> {
    pub plan: &'a Plan,
    pub since: Instant,
    pub cpu_before: u64,
    pub inputs: Vec<InputFile>,
    pub collect: Option<Collect>,
    pub seen: Seen,
}

/// What was seen of a run.
#[derive(Default)]
pub(crate) struct Seen {
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
}

/// One run under watch. It holds nothing that outlives the run, so that the jar can have another.
pub(crate) struct Watch<'w, 'r> {
    jar: &'w mut Jar,
    run: Run<'r>,
    /// How its caller ends or interrupts it, or lets it go on.
    steer: &'w mut Steer,
    holder: Option<&'w mut dyn Holder>,
    longest: Option<Duration>,
    deadline: Option<Instant>,
    cpu_limit: Option<u64>,
    /// Where processor time is limited and no cgroup counts it.
    sampler: Option<Sampler>,
    decoder: Decoder,
    /// One that came with the first byte of a frame that is not whole yet.
    descriptor: Option<Foreign>,
    /// Messages that the job's reader has had no room for. Nothing is read from the guest meanwhile.
    messages: VecDeque<Message>,
    relay: Option<Relay>,
    failed: Option<Error>,
    /// The worker is gone and has left a part of its job in its socket.
    unread: bool,
    /// Something came from the guest, or more than its job was sent to it.
    begun: bool,
    /// When to call the holder.
    look: Option<Instant>,
    /// Since when the worker has ended, which its template sees and its keeper tells.
    gone: Option<Instant>,
    seen: Seen,
    buffer: Vec<u8>,
}

/// What a run is over with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The value of a call.
    Value,
    /// The end of a worker that had not read its job: another one can have it.
    Unread,
    /// Anything else: the end of the worker or of the jar, a limit, the caller.
    End,
}

/// The value of a call, and what it had printed.
pub(crate) struct Said {
    pub json: Vec<u8>,
    pub parcel: Option<Parcel>,
    pub stdout: Captured,
    pub stderr: Captured,
}

impl<'w, 'r> Watch<'w, 'r> {
    pub(crate) fn new(
        jar: &'w mut Jar,
        run: Run<'r>,
        steer: &'w mut Steer,
        holder: Option<&'w mut dyn Holder>,
    ) -> Self {
        let longest = run.plan.deadline();
        // The time of a job that waits at its gate begins behind it.
        let deadline = longest
            .filter(|_| run.gate.is_none())
            .map(|longest| run.since + longest);
        let limits = run.plan.limits();
        let cpu_limit = limits.cpu_seconds.map(|seconds| (seconds * 1e6) as u64);
        let counts = jar.group.as_ref().is_some_and(|group| group.cpu_usec().is_some());
        let sampled = cpu_limit.is_some() && !counts;
        Self {
            look: holder.is_some().then(|| run.since + LATE),
            longest,
            deadline,
            cpu_limit,
            sampler: sampled.then(|| Sampler::new(limits.cpus.ceil())),
            jar,
            run,
            steer,
            holder,
            decoder: Decoder::default(),
            descriptor: None,
            messages: VecDeque::new(),
            relay: None,
            failed: None,
            unread: false,
            begun: false,
            gone: None,
            seen: Seen::default(),
            buffer: Vec::new(),
        }
    }

    /// Watches until the run is over. Nothing is ended by that.
    pub(crate) fn listen(&mut self) -> Result<Over, Error> {
        while !self.step()? {}
        let is_last = |frame: &Frame| !is_heavy(frame);
        Ok(match self.seen.kill {
            None if self.unread => Over::Unread,
            // One that is too heavy to be read becomes an exception when everything is put together.
            None if self.has_value()
                && self.failed.is_none()
                && self.seen.frame.as_ref().is_some_and(is_last) =>
            {
                Over::Value
            }
            _ => Over::End,
        })
    }

    /// Sends the kill, and takes the value of a call and what it had printed. The jar is still to be emptied.
    pub(crate) fn value(mut self) -> Result<Said, Error> {
        self.jar.kill()?;
        self.drain();
        let Streams { stdout, stderr, .. } = &mut self.run.streams;
        let spent = [stdout, stderr].into_iter().filter_map(Stream::spent);
        self.jar.rest.extend(spent);
        let (stdout, stderr, _) = captured(self.run.streams)?;
        Ok(Said {
            json: self.seen.frame.map(|frame| frame.body).unwrap_or_default(),
            parcel: self.seen.parcel,
            stdout,
            stderr,
        })
    }

    /// Gives a run back that no worker has begun, to be given to another.
    pub(crate) fn unread(self) -> Run<'r> {
        self.run
    }

    /// Empties the jar, and takes what it had already said and printed.
    pub(crate) fn end(mut self) -> Result<Watched<'r>, Error> {
        self.last_words();
        self.finish()
    }

    /// Waits for something to happen and deals with it; `true` once init has ended, is alone, or is to be ended.
    fn step(&mut self) -> Result<bool, Error> {
        let ready = self.poll()?;
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
                Source::Stdin => self.run.streams.input.advance(),
                Source::Stdout => self.run.streams.stdout.advance(&mut self.buffer),
                Source::Stderr => self.run.streams.stderr.advance(&mut self.buffer),
                Source::Memory => {
                    if self.jar.memory.as_ref().is_some_and(OomEvent::take) {
                        self.seen.kill = Some(Kill::Memory);
                    }
                }
                Source::Caller => self.order(),
                Source::Tty => self.relay(events, PollFlags::empty()),
                Source::Master => self.relay(PollFlags::empty(), events),
            }
        }
        self.offer();
        self.ask_kernel();
        // Nothing that comes after counts: a jar does not end with the worker of a template, and a call ends with its value.
        let ended = self.jar.worker.parent == Parent::Template && self.seen.status.is_some();
        if ended || self.has_value() || self.unread {
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

    /// Calls the holder, when it is time.
    fn look(&mut self) {
        if self.look.is_none_or(|when| Instant::now() < when) {
            return;
        }
        let group = self.jar.group.as_mut();
        let next = self.holder.as_mut().and_then(|holder| holder.attend(group));
        self.look = next.map(|next| Instant::now() + next);
    }

    /// The answer to the job's gate is here.
    pub(super) fn gate(&mut self) {
        let Some(Closed::Asked(answer)) = self.run.gate.take() else {
            return;
        };
        if !gate::is_open(&answer) {
            self.failed = self.failed.take().or(Some(Error::Gate));
            return;
        }
        self.run.since = Instant::now();
        self.deadline = self.longest.map(|longest| self.run.since + longest);
        self.send();
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
        let used = sampled.map(|used| used.saturating_sub(self.run.cpu_before));
        used.unwrap_or_else(|| self.cpu_used()) >= limit
    }

    fn cpu_used(&self) -> u64 {
        let counted = self.jar.group.as_ref().and_then(Group::cpu_usec);
        let used = counted.unwrap_or_else(|| cpu::tree(&self.jar.roots()));
        used.saturating_sub(self.run.cpu_before)
    }

    /// Whether the job may run already. A guest can leave something unread, too, and must not have its job run again for it:
    /// one that was heard or used its processor has read its job.
    fn has_begun(&self) -> bool {
        let silent = self.run.streams.stdout.is_untouched() && self.run.streams.stderr.is_untouched();
        self.begun || !silent || self.cpu_used() > LITTLE
    }

    /// Whether a call has given its value, which ends it.
    fn has_value(&self) -> bool {
        let returned = |frame: &Frame| frame.kind == Kind::Returned;
        self.run.ends_with_value && self.seen.frame.as_ref().is_some_and(returned)
    }

    fn order(&mut self) {
        match self.steer.next() {
            None => {}
            Some(Order::Resize) => {
                if let Some(relay) = &self.relay {
                    relay.resize();
                }
            }
            Some(Order::More { items }) => {
                self.run.leave = self.run.leave.saturating_add(items);
                self.begun = true;
                self.run.outgoing.more(items);
            }
            Some(Order::Interrupt) if !self.seen.interrupted => {
                self.seen.interrupted = true;
                match &self.jar.worker.process {
                    Some(guest) => drop(process::signal(guest.as_fd(), Signal::INT)),
                    // Nothing to interrupt yet: there is only the jar to end.
                    None => self.seen.kill = Some(Kill::Caller),
                }
            }
            Some(Order::Interrupt | Order::End) => self.seen.kill = Some(Kill::Caller),
        }
    }

    fn relay(&mut self, caller: PollFlags, guest: PollFlags) {
        if let Some(relay) = &mut self.relay {
            relay.advance(caller, guest);
        }
    }
}
