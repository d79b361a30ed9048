//! Watching a running jar: output, the guest's word, the deadline, memory, the caller.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::OomEvent;
use belljar_linux::{pidfd, process};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::SendFlags;
use rustix::process::Signal;

use super::cpu;
use super::pump::Relay;
use super::start::{Jar, Streams, Warm};
use super::steer::{Steer, Wish};
use super::stream::Stream;
use super::weight::is_heavy;
use crate::error::Error;
use crate::jar::{Report, receive};
use crate::outcome::Captured;
use crate::plan::{Plan, Step};
use crate::wire::{Decoder, Frame, Kind};

/// How often processor time is looked at when it is limited.
const CPU_LOOK: Duration = Duration::from_millis(20);
/// A job that takes longer than this is no short call.
const LATE: Duration = Duration::from_millis(2);
/// How long a keeper may take to tell how a worker ended, before the kernel is asked, and before nobody is: longer than the
/// keeper waits for a template to reap, and for the worker to be its own after that.
const GONE_TOLD: Duration = Duration::from_millis(20);
const GONE_LOST: Duration = Duration::from_secs(3);
/// How often the kernel is asked: it knows when the worker has been reaped.
const GONE_LOOK: Duration = Duration::from_millis(2);
/// How long a guest whose time is up may take to say where it is.
const ANSWER: Duration = Duration::from_millis(20);
/// Most bytes taken from a stream at once, so that a flood on one cannot keep the others waiting.
const BUFFER: usize = 64 << 10;

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
    pub kill: Option<Kill>,
    /// Whether the caller interrupted it.
    pub interrupted: bool,
    pub stdout: Captured,
    pub stderr: Captured,
    pub overflowed: bool,
    pub workdir: Option<OwnedFd>,
    pub upper: Option<OwnedFd>,
}

/// Everything that is polled, in the order of the poll list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Init,
    Report,
    Worker,
    Control,
    Stdin,
    Stdout,
    Stderr,
    Memory,
    Caller,
    Tty,
    Master,
}

struct Watch<'a> {
    jar: &'a mut Jar,
    streams: Streams,
    steer: &'a Steer,
    deadline: Option<Instant>,
    cpu_limit: Option<u64>,
    oom: Option<OomEvent>,
    decoder: Decoder,
    relay: Option<Relay>,
    /// The guest's first process, where this jar was built for it.
    guest: Option<OwnedFd>,
    failed: Option<Error>,
    /// The worker is gone and has left a part of its job in its socket.
    unread: bool,
    /// Since when the worker has ended, which its template sees and its keeper tells.
    gone: Option<Instant>,
    seen: Watched,
    buffer: Vec<u8>,
}

/// What came first when both were waited for.
pub(crate) enum Heard {
    /// The value of a call, and what it had printed; the kill is sent, and the jar still to be emptied.
    Value(Frame, Captured, Captured),
    /// The end of the jar.
    End(Box<Watched>),
    /// The end of a worker that had not read its job: another one can have it, and the caller's streams.
    Unread(Streams),
}

/// Watches until the jar's init has ended, or must be ended.
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
        return Ok(Heard::Unread(watch.streams));
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
        let (stdout, stderr, _) = captured(watch.streams)?;
        return Ok(Heard::Value(frame, stdout, stderr));
    }
    watch.last_words();
    watch.finish().map(|watched| Heard::End(Box::new(watched)))
}

impl<'a> Watch<'a> {
    fn new(plan: &Plan, jar: &'a mut Jar, streams: Streams, steer: &'a Steer) -> Result<Self, Error> {
        let deadline = plan.steps().iter().find_map(|step| match step {
            Step::Deadline { seconds } => Some(jar.since + Duration::from_secs_f64(*seconds)),
            _ => None,
        });
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
        Ok(Self {
            jar,
            streams,
            steer,
            deadline,
            cpu_limit: plan.limits().cpu_seconds.map(|seconds| (seconds * 1e6) as u64),
            oom,
            decoder: Decoder::default(),
            relay: None,
            guest: None,
            failed: None,
            unread: false,
            gone: None,
            seen: Watched {
                status: None,
                max_rss: 0,
                cpu_usec: 0,
                stuck: None,
                frame: None,
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

    /// Waits for something to happen and deals with it; `true` once init has ended or is to be ended.
    fn step(&mut self) -> Result<bool, Error> {
        let ready = self.poll()?;
        if let Some(warm) = &mut self.jar.warm
            && warm.late.is_some()
            && self.jar.since.elapsed() >= LATE
            && let Some(late) = warm.late.take()
        {
            late();
        }
        for (source, events) in ready {
            if matches!(source, Source::Stdout | Source::Stderr) {
                self.make_buffer();
            }
            match source {
                Source::Init => return Ok(true),
                Source::Report => self.report()?,
                Source::Worker => self.gone = Some(Instant::now()),
                Source::Control => self.control(events),
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
        self.ask_kernel();
        // Nothing that comes after counts: a worker's first process is not its jar's, and the value of a call its end.
        if self.jar.warm.is_some() && self.seen.status.is_some() || self.has_value() || self.unread {
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

    /// Not before there is something to read: until then init may be waiting for this processor.
    fn make_buffer(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER];
        }
    }

    fn poll(&self) -> Result<Vec<(Source, PollFlags)>, Error> {
        let mut wanted: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::with_capacity(10);
        wanted.push((Source::Init, self.jar.init.as_fd(), PollFlags::IN));
        wanted.push((Source::Report, self.jar.report.as_fd(), PollFlags::IN));
        if let Some(warm) = self.jar.warm.as_ref().filter(|_| self.gone.is_none()) {
            wanted.push((Source::Worker, warm.worker.as_fd(), PollFlags::IN));
        }
        let mut control = PollFlags::empty();
        control.set(PollFlags::IN, self.decoder.wants() > 0);
        control.set(PollFlags::OUT, self.unsent());
        if !control.is_empty() {
            wanted.extend(
                self.jar
                    .control
                    .as_ref()
                    .map(|fd| (Source::Control, fd.as_fd(), control)),
            );
        }
        wanted.extend(
            self.streams
                .input
                .interest()
                .map(|(fd, flags)| (Source::Stdin, fd, flags)),
        );
        wanted.extend(
            self.streams
                .stdout
                .interest()
                .map(|(fd, flags)| (Source::Stdout, fd, flags)),
        );
        wanted.extend(
            self.streams
                .stderr
                .interest()
                .map(|(fd, flags)| (Source::Stderr, fd, flags)),
        );
        wanted.extend(
            self.oom
                .as_ref()
                .map(|oom| (Source::Memory, oom.as_fd(), oom.poll_flags())),
        );
        wanted.extend(self.steer.fd().map(|fd| (Source::Caller, fd, PollFlags::IN)));
        if let Some(relay) = &self.relay {
            let [(tty, caller), (master, guest)] = relay.interest();
            wanted.push((Source::Tty, tty, caller));
            if !relay.is_over() {
                wanted.push((Source::Master, master, guest));
            }
        }
        let mut list: Vec<PollFd<'_>> = wanted
            .iter()
            .map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
            .collect();
        match rustix::event::poll(&mut list, self.patience().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::setup("wait for the jar", error)),
        }
        // Init last: what came before its end is dealt with first.
        let mut ready: Vec<(Source, PollFlags)> = list
            .iter()
            .zip(&wanted)
            .filter(|(poll, _)| !poll.revents().is_empty())
            .map(|(poll, (source, ..))| (*source, poll.revents()))
            .collect();
        let init_ended = ready.first().is_some_and(|(source, _)| *source == Source::Init);
        ready.rotate_left(usize::from(init_ended));
        Ok(ready)
    }

    /// How long to wait at most.
    fn patience(&self) -> Option<Timespec> {
        let until = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let look = self.cpu_limit.map(|_| CPU_LOOK);
        let late = self
            .jar
            .warm
            .as_ref()
            .filter(|warm| warm.late.is_some())
            .map(|_| LATE.saturating_sub(self.jar.since.elapsed()));
        let gone = self
            .gone
            .filter(|_| self.seen.status.is_none())
            .map(|_| GONE_LOOK);
        let least = [until, look, late, gone].into_iter().flatten().min();
        // Rounded up, so that the deadline has passed when the wait is over.
        least.map(|least| Timespec {
            tv_sec: least.as_secs() as i64,
            tv_nsec: i64::from(least.subsec_nanos()),
        })
    }

    fn cpu_used_up(&self) -> bool {
        let counted = || self.jar.group.as_ref().and_then(|group| group.stats().cpu_usec);
        let used = || counted().unwrap_or_else(|| cpu::tree(&self.jar.roots()));
        self.cpu_limit
            .is_some_and(|limit| used().saturating_sub(self.jar.cpu_before()) >= limit)
    }

    /// A template that dies between reaping a worker and telling of it leaves it to the kernel to tell.
    fn ask_kernel(&mut self) {
        let (Some(gone), Some(warm), None) = (self.gone, &self.jar.warm, self.seen.status) else {
            return;
        };
        if gone.elapsed() < GONE_TOLD {
            return;
        }
        match pidfd::exit_info(warm.worker.as_fd()) {
            Ok(Some(info)) => self.seen.status = Some(info.status),
            _ if gone.elapsed() > GONE_LOST => {
                self.failed = Some(Error::Lost {
                    process: "worker",
                    how: "nobody can tell how".into(),
                });
            }
            _ => {}
        }
    }

    /// Whether a call has given its value, which ends it.
    fn has_value(&self) -> bool {
        let returned = |frame: &Frame| frame.kind == Kind::Returned;
        self.jar.warm.as_ref().is_some_and(|warm| warm.ends_with_value)
            && self.seen.frame.as_ref().is_some_and(returned)
    }

    /// Whether a part of the job is still to be written.
    fn unsent(&self) -> bool {
        let part = |warm: &Warm| warm.sent < warm.job.len();
        self.jar.warm.as_ref().is_some_and(part)
    }

    fn report(&mut self) -> Result<(), Error> {
        let report = match receive(self.jar.report.as_fd()) {
            Ok(report) => report,
            // Init is our own code; if it talks nonsense, or is gone, the jar ends.
            Err(error) => {
                self.failed = self
                    .failed
                    .take()
                    .or(Some(Error::setup("hear from the jar", error)));
                return Ok(());
            }
        };
        match report {
            None => {
                // Its end of the socket closes when it ends; the pidfd tells how.
                let _ = self.jar.init.as_fd();
                self.wait_for_init()
            }
            Some((Report::Failed { step, errno }, _)) => {
                let source = std::io::Error::from_raw_os_error(errno);
                self.failed = Some(Error::Setup {
                    step,
                    source,
                    hint: None,
                });
                Ok(())
            }
            Some((Report::NoProgram { errno }, _)) => {
                let source = std::io::Error::from_raw_os_error(errno);
                self.failed = Some(Error::Program {
                    program: self.jar.program.clone(),
                    source,
                });
                Ok(())
            }
            Some((Report::Started { draft, terminal }, fds)) => self.started(draft, terminal, fds),
            Some((
                Report::Ended {
                    status,
                    max_rss,
                    cpu_usec,
                },
                _,
            )) => {
                self.seen.status = Some(status);
                self.seen.max_rss = max_rss;
                self.seen.cpu_usec = cpu_usec;
                Ok(())
            }
        }
    }

    /// The report socket has ended before the pidfd was seen: wait for that, so that the loop does not spin.
    fn wait_for_init(&mut self) -> Result<(), Error> {
        let mut list = [PollFd::new(&self.jar.init, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        match rustix::event::poll(&mut list, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::setup("wait for the jar", error)),
        }
    }

    fn started(&mut self, draft: bool, terminal: bool, fds: Vec<OwnedFd>) -> Result<(), Error> {
        let mut fds = fds.into_iter();
        self.guest = fds.next();
        self.seen.workdir = fds.next();
        if draft {
            self.seen.upper = fds.next();
        }
        if terminal && let (Some(master), Some(tty)) = (fds.next(), self.streams.terminal.take()) {
            self.relay = Some(Relay::new(tty, master)?);
        }
        Ok(())
    }

    fn control(&mut self, events: PollFlags) {
        if events.contains(PollFlags::OUT) {
            self.send();
        }
        if events.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.hear();
        }
    }

    /// Writes as much of the job as the worker's socket takes.
    fn send(&mut self) {
        let (Some(control), Some(warm)) = (&self.jar.control, &mut self.jar.warm) else {
            return;
        };
        match send_some(control.as_fd(), &warm.job[warm.sent..]) {
            Ok(length) => warm.sent += length,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            // The worker is gone, and its end will be told; or it does not want the rest.
            Err(_) => warm.sent = warm.job.len(),
        }
    }

    fn hear(&mut self) {
        self.make_buffer();
        let Some(control) = &self.jar.control else { return };
        // A whole small frame in one read; what comes after the frame is the decoder's to ignore.
        match rustix::io::read(control, &mut self.buffer[..]) {
            Ok(0) => self.jar.control = None,
            Ok(length) => {
                let mut rest = &self.buffer[..length];
                while self.decoder.wants() > 0 && !rest.is_empty() {
                    let (part, after) = rest.split_at(self.decoder.wants().min(rest.len()));
                    rest = after;
                    match self.decoder.push(part) {
                        Ok(frame) => self.seen.frame = self.seen.frame.take().or(frame),
                        Err(error) => {
                            tracing::debug!(%error, "the guest sent no frame");
                            self.jar.control = None;
                            return;
                        }
                    }
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(error) => {
                // The kernel says so when the other end goes with unread bytes, and a job is read whole before it runs.
                self.unread = self.jar.warm.is_some() && error == rustix::io::Errno::CONNRESET;
                self.jar.control = None;
            }
        }
    }

    fn wish(&mut self) {
        match self.steer.next() {
            None => {}
            Some(Wish::Resize) => {
                if let Some(relay) = &self.relay {
                    relay.resize();
                }
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

    /// Once the jar is to end: empty it, then take what it had already written.
    fn last_words(&mut self) {
        self.make_buffer();
        if self.seen.kill == Some(Kill::Deadline) {
            self.ask_where();
        }
        // A process that is killed along with its init is waited for by nobody, so its figures would be lost.
        if self.seen.kill.is_some() || self.has_value() {
            let roots = self.jar.roots();
            self.seen.cpu_usec = cpu::tree(&roots);
            self.seen.max_rss = self.seen.max_rss.max(cpu::largest(&roots));
        }
        if self.jar.empty().is_err() {
            return;
        }
        while let Ok(Some((report, fds))) = poll_report(&self.jar.report) {
            match report {
                Report::Ended {
                    status,
                    max_rss,
                    cpu_usec,
                } => {
                    self.seen.status = Some(status);
                    self.seen.max_rss = self.seen.max_rss.max(max_rss);
                    self.seen.cpu_usec = self.seen.cpu_usec.max(cpu_usec);
                }
                Report::Started { draft, .. } => drop(self.started(draft, false, fds)),
                Report::Failed { step, errno } => {
                    let source = std::io::Error::from_raw_os_error(errno);
                    self.failed = self.failed.take().or(Some(Error::Setup {
                        step,
                        source,
                        hint: None,
                    }));
                }
                Report::NoProgram { errno } => {
                    let source = std::io::Error::from_raw_os_error(errno);
                    let program = self.jar.program.clone();
                    self.failed = self.failed.take().or(Some(Error::Program { program, source }));
                }
            }
        }
        while self.decoder.wants() > 0 && self.jar.control.is_some() && readable(self.jar.control.as_ref()) {
            self.hear();
        }
        self.drain();
        while let Some(relay) = &mut self.relay
            && !relay.is_over()
        {
            relay.advance(PollFlags::OUT, PollFlags::IN);
        }
    }

    /// Takes what was printed before the end.
    fn drain(&mut self) {
        let steer = self.steer;
        let mut ended = || matches!(steer.next(), Some(Wish::Interrupt | Wish::End));
        self.streams.stdout.drain(&mut self.buffer, &mut ended);
        self.streams.stderr.drain(&mut self.buffer, &mut ended);
    }

    /// Asks a guest whose time is up where it is; its runtime answers in the place of a frame, or not at all.
    fn ask_where(&mut self) {
        let (Some(guest), Some(control)) = (self.guest(), &self.jar.control) else {
            return;
        };
        if self.decoder.is_empty() && process::signal_last(guest).is_ok() && readable_within(control, ANSWER)
        {
            let length = rustix::io::read(control, &mut self.buffer[..]).unwrap_or(0);
            self.seen.stuck = Some(String::from_utf8_lossy(&self.buffer[..length]).into_owned());
            self.jar.control = None;
        }
    }

    fn finish(mut self) -> Result<Watched, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.has_value() && self.seen.kill.is_none() {
            // It was ended where Python would have exited.
            self.seen.status = Some(0);
        }
        if self.seen.status.is_none() && self.seen.kill.is_none() && !self.memory_ran_out() {
            let how = self
                .jar
                .empty()
                .map(|ended| format!("wait status {:#x}", ended.status))?;
            return Err(Error::Lost {
                process: "jar init",
                how,
            });
        }
        (self.seen.stdout, self.seen.stderr, self.seen.overflowed) = captured(self.streams)?;
        Ok(self.seen)
    }

    /// Init itself may be what the kernel killed.
    fn memory_ran_out(&self) -> bool {
        self.jar
            .group
            .as_ref()
            .is_some_and(|group| group.stats().oom_kills > 0)
    }
}

/// What was kept of both output streams, and whether more was dropped.
fn captured(streams: Streams) -> Result<(Captured, Captured, bool), Error> {
    let Streams { stdout, stderr, .. } = streams;
    // Checked before a draft is applied: a run whose output is lost did not end well.
    for (name, stream) in [("stdout", &stdout), ("stderr", &stderr)] {
        if let Some(error) = stream.failed() {
            return Err(Error::setup(
                format!("write what the guest printed to {name}"),
                error,
            ));
        }
    }
    let overflowed = Stream::overflowed(&stdout) || Stream::overflowed(&stderr);
    Ok((stdout.finish(), stderr.finish(), overflowed))
}

/// Sends what the socket takes now. No signal comes when the other end is gone.
pub(crate) fn send_some(socket: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn readable(fd: Option<&OwnedFd>) -> bool {
    fd.is_some_and(|fd| readable_within(fd, Duration::ZERO))
}

fn readable_within(fd: &OwnedFd, wait: Duration) -> bool {
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    let mut list = [PollFd::new(fd, PollFlags::IN)];
    rustix::event::poll(&mut list, Some(&wait)).is_ok_and(|ready| ready > 0)
}

fn poll_report(report: &OwnedFd) -> std::io::Result<Option<(Report, Vec<OwnedFd>)>> {
    if readable(Some(report)) {
        receive(report.as_fd())
    } else {
        Ok(None)
    }
}
