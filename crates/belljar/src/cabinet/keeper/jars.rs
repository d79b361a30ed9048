//! Jars on their way from an empty room to a parked worker, and what becomes of them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::pidfd;
use belljar_linux::process::Ended;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use super::loops::{Keeper, Source};
use crate::cabinet::check::{Expected, Look};
use crate::cabinet::message::{Fork, FromKeeper, Timings, send};
use crate::cabinet::room::{self, Keys};
use crate::cabinet::template;
use crate::jar::{Report, choose};
use crate::plan::Step;
use crate::wire::{PREFIX, VERSION};

/// How long each step of making a worker may take before the jar is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a template gets to reap a worker that has ended.
const REAPING: Duration = Duration::from_secs(1);
/// A worker's first frame: it is sealed, or it is not.
const PARKED: u8 = 8;
const UNSEALED: u8 = 9;

/// One jar.
pub(super) struct Jar {
    jar: room::Jar,
    pub template: Option<u64>,
    state: State,
    /// Our end of the engine's report socket.
    report: Option<OwnedFd>,
    worker: Option<(i32, OwnedFd)>,
    groups: Vec<OwnedFd>,
    /// Kept for another jar when this one is empty.
    network: Option<OwnedFd>,
    hurry: bool,
    timings: Timings,
    since: Instant,
    pub deadline: Option<Instant>,
}

enum State {
    /// Init builds it.
    Building,
    /// It waits for a template.
    Built(Box<Keys>),
    /// The template forks, or the worker walks in.
    Forking(Box<Coming>),
    /// The engine has it.
    Parked,
    /// It has failed, and ends.
    Failed,
}

/// A worker on its way: the engine's ends of everything.
struct Coming {
    keys: Keys,
    control: OwnedFd,
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    report: OwnedFd,
    expected: Expected,
}

impl Jar {
    /// Whether a fork by this template is on its way.
    pub(super) fn is_forking(&self, template: u64) -> bool {
        self.template == Some(template) && self.worker.is_none() && matches!(self.state, State::Forking(_))
    }

    /// Whether its worker has ended and is nobody's any more; a template may say so of one that runs.
    pub(super) fn is_reaped(&self, look: &Look) -> bool {
        self.worker.as_ref().is_some_and(|(pid, process)| {
            pidfd::exit_info(process.as_fd()).is_ok_and(|info| info.is_some())
                || pidfd::is_ended(process.as_fd()).unwrap_or(false) && !look.is_there(*pid)
        })
    }

    /// The microseconds since the last step.
    fn lap(&mut self) -> u32 {
        let now = Instant::now();
        let lap = now.duration_since(self.since);
        self.since = now;
        self.deadline = Some(now + PATIENCE);
        u32::try_from(lap.as_micros()).unwrap_or(u32::MAX)
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())
}

impl Keeper<'_> {
    pub(super) fn make(&mut self, number: u64, hurry: bool, groups: Vec<OwnedFd>) {
        if self.cold.is_some() {
            return self.refuse(number, "start a template", Errno::CHILD.raw_os_error());
        }
        let plan = self.room.plan;
        let made = self.networks.within(|| room::start(plan, &groups));
        let made = made.and_then(|(jar, network)| {
            self.watch(&jar.gate, Source::Gate(number))?;
            self.watch(&jar.init, Source::InitEnd(number))?;
            Ok((jar, network))
        });
        match made {
            Ok((jar, network)) => {
                let now = Instant::now();
                let jar = Jar {
                    jar,
                    template: None,
                    state: State::Building,
                    report: None,
                    worker: None,
                    groups,
                    network,
                    hurry,
                    timings: Timings::default(),
                    since: now,
                    deadline: Some(now + PATIENCE),
                };
                self.jars.insert(number, jar);
            }
            Err(error) => self.refuse(number, "start a jar", errno(&error)),
        }
    }

    fn refuse(&self, number: u64, step: &str, errno: i32) {
        let step = step.to_owned();
        self.tell(&FromKeeper::Failed { number, step, errno }, &[]);
    }

    pub(super) fn hear_init(&mut self, number: u64) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        // Init has one thing to say; after that its gate tells nothing that its pidfd does not.
        let keys = room::keys(self.room.plan, jar.jar.gate.as_fd());
        let gate = self.jars[&number].jar.gate.as_fd();
        self.unwatch(gate);
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        if !matches!(jar.state, State::Building) {
            return;
        }
        match keys {
            Ok(keys) => {
                jar.timings.jar = jar.lap();
                jar.state = State::Built(Box::new(keys));
                self.waiting.push_back(number);
            }
            Err((step, error)) => self.jar_failed(number, &step, errno(&error)),
        }
    }

    /// Sends workers into the jars that wait, if there is a template. Old ones go when nobody needs them.
    pub(super) fn serve_waiting(&mut self) {
        self.retire();
        if let Some(reason) = &self.cold {
            tracing::debug!(reason, "jars are dropped");
            while let Some(number) = self.waiting.pop_front() {
                self.jar_failed(number, "start a template", Errno::CHILD.raw_os_error());
            }
        }
        while let Some(current) = self.current
            && let Some(number) = self.waiting.pop_front()
        {
            if let Err(error) = self.send_worker(number, current) {
                self.jar_failed(number, "send a worker", errno(&error));
            }
        }
    }

    fn send_worker(&mut self, number: u64, current: u64) -> io::Result<()> {
        let plan = self.room.plan;
        let kinds = room::kinds(plan);
        let Some(jar) = self.jars.get_mut(&number) else {
            return Ok(());
        };
        let State::Built(keys) = std::mem::replace(&mut jar.state, State::Failed) else {
            return Ok(());
        };
        jar.timings.queue = jar.lap();
        let pair = |kind| rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
        let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (control, workers) = pair(SocketType::STREAM)?;
        let (engines, report) = pair(SocketType::SEQPACKET)?;
        let ((guest_in, stdin), (stdout, guest_out), (stderr, guest_err)) = (pipe()?, pipe()?, pipe()?);
        let mut fds: Vec<BorrowedFd<'_>> = vec![
            workers.as_fd(),
            guest_in.as_fd(),
            guest_out.as_fd(),
            guest_err.as_fd(),
        ];
        let expected = self.look.expect(
            [&guest_in, &guest_out, &guest_err, &workers],
            &kinds,
            &keys.namespaces,
            jar.jar.init.pid() as i32,
        )?;
        fds.extend(keys.namespaces.iter().map(AsFd::as_fd));
        fds.extend(keys.ruleset.as_ref().map(AsFd::as_fd));
        fds.extend(jar.groups.iter().map(AsFd::as_fd));
        let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name()).collect();
        let (mut rlimits, mut affinity) = (Vec::new(), None);
        for step in plan.steps() {
            match step {
                Step::Rlimits { limits } => rlimits.extend(
                    limits
                        .iter()
                        .filter(|limit| template::is_workers_own(&limit.name))
                        .map(|limit| (limit.name.clone(), limit.soft, limit.hard)),
                ),
                Step::Affinity { cpus } => affinity = Some(choose(*cpus as usize)?),
                _ => {}
            }
        }
        let order = Fork {
            fork: number,
            namespaces: &names,
            ruleset: keys.ruleset.is_some(),
            groups: jar.groups.len(),
            rlimits: &rlimits,
            affinity,
            privileges: self.look.drops_privileges(),
            rehearse: !jar.hurry,
        };
        let Some(template) = self.templates.get_mut(&current) else {
            return Err(Errno::CHILD.into());
        };
        send(template.socket.as_fd(), &order, &fds)?;
        template.forks += 1;
        jar.groups.clear();
        jar.template = Some(current);
        jar.report = Some(report);
        jar.state = State::Forking(Box::new(Coming {
            keys: *keys,
            control,
            stdin,
            stdout,
            stderr,
            report: engines,
            expected,
        }));
        let jar = &self.jars[&number];
        if let State::Forking(coming) = &jar.state {
            self.watch(&coming.control, Source::Control(number))?;
        }
        Ok(())
    }

    pub(super) fn worker_forked(&mut self, number: u64, template: u64, pid: i32) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        if !jar.is_forking(template) || self.workers.contains_key(&pid) {
            return;
        }
        jar.timings.fork = jar.lap();
        match pidfd::open(pid) {
            Ok(process) => {
                jar.worker = Some((pid, process));
                self.workers.insert(pid, number);
                if let Some((_, process)) = &self.jars[&number].worker {
                    let _ = self.watch(process, Source::WorkerEnd(number));
                }
            }
            Err(error) => self.jar_failed(number, "find the worker", errno(&error)),
        }
    }

    pub(super) fn hear_worker(&mut self, number: u64) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        let State::Forking(coming) = &jar.state else {
            return;
        };
        let mut prefix = [0; PREFIX];
        let read = rustix::net::recv(&coming.control, &mut prefix[..], RecvFlags::DONTWAIT);
        match read {
            Ok((PREFIX, _))
                if prefix[..2] == [PARKED, VERSION] && prefix[2..].iter().all(|byte| *byte == 0) =>
            {
                if jar.worker.is_none() {
                    // The template has not said yet whom it forked; it is asked for nothing else meanwhile.
                    self.hear_template_now(number);
                }
                self.park(number);
            }
            Ok((PREFIX, _)) if prefix[..2] == [UNSEALED, VERSION] => {
                let mut header = [0; 4096];
                let length = rustix::net::recv(&coming.control, &mut header[..], RecvFlags::DONTWAIT)
                    .map_or(0, |(length, _)| length);
                let why: Unsealed = serde_json::from_slice(&header[..length]).unwrap_or_default();
                let step = format!("seal a worker: {}", why.step);
                self.jar_failed(number, &step, why.errno);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => self.jar_failed(number, "seal a worker", Errno::PIPE.raw_os_error()),
        }
    }

    /// A worker may be sealed before its template has said that it was forked.
    fn hear_template_now(&mut self, number: u64) {
        let Some(template) = self.jars.get(&number).and_then(|jar| jar.template) else {
            return;
        };
        let until = Instant::now() + Duration::from_millis(100);
        while self.jars.get(&number).is_some_and(|jar| jar.worker.is_none())
            && let Some(socket) = self.templates.get(&template).map(|template| &template.socket)
        {
            let left = until.saturating_duration_since(Instant::now());
            let wait = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut list = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
            if !rustix::event::poll(&mut list, Some(&wait)).is_ok_and(|ready| ready > 0) {
                return;
            }
            self.hear_template(template);
        }
    }

    /// Looks at the worker from outside, and hands it to the engine.
    fn park(&mut self, number: u64) {
        let Some(jar) = self.jars.get(&number) else {
            return;
        };
        let Some((pid, process)) = &jar.worker else {
            return self.jar_failed(number, "find the worker", Errno::CHILD.raw_os_error());
        };
        let (pid, template) = (*pid, jar.template);
        let State::Forking(coming) = &jar.state else {
            return;
        };
        let template = template.and_then(|template| self.templates.get(&template));
        let template = template.map(|template| template.process.pid() as i32);
        let before = Instant::now();
        let looked = self.look.worker(pid, &coming.expected, template);
        let check = u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX);
        let fds: Vec<OwnedFd> = match (&looked, process.try_clone()) {
            (Ok(()), Ok(process)) => vec![process],
            (Err(reason), _) => {
                let step = format!("check a worker: {reason}");
                return self.jar_failed(number, &step, Errno::PERM.raw_os_error());
            }
            (_, Err(error)) => return self.jar_failed(number, "hand over a worker", errno(&error)),
        };
        self.unwatch(&coming.control);
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        jar.timings.seal = jar.lap().saturating_sub(check);
        jar.timings.check = check;
        jar.deadline = None;
        let State::Forking(coming) = std::mem::replace(&mut jar.state, State::Parked) else {
            return;
        };
        let jar = &self.jars[&number];
        let parked = FromKeeper::Parked {
            number,
            worker_pid: pid,
            timings: jar.timings,
        };
        self.tell(
            &parked,
            &[
                jar.jar.init.as_fd(),
                fds[0].as_fd(),
                coming.control.as_fd(),
                coming.stdin.as_fd(),
                coming.stdout.as_fd(),
                coming.stderr.as_fd(),
                coming.report.as_fd(),
                coming.keys.workdir.as_fd(),
                coming.keys.script.as_fd(),
            ],
        );
    }

    /// Tells the engine, and ends the jar.
    pub(super) fn jar_failed(&mut self, number: u64, step: &str, errno: i32) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        if matches!(jar.state, State::Parked) {
            return;
        }
        let told = matches!(jar.state, State::Failed) && jar.deadline.is_none();
        jar.state = State::Failed;
        jar.deadline = None;
        let _ = jar.jar.init.kill();
        if !told {
            self.refuse(number, step, errno);
        }
    }

    pub(super) fn jar_late(&mut self, number: u64) {
        let Some(jar) = self.jars.get(&number) else {
            return;
        };
        let template = jar.template.and_then(|template| self.templates.get(&template));
        match jar.state {
            // It ended, and its template does not reap it: the init of its jar cannot end.
            State::Parked | State::Failed => {
                if let Some(template) = template {
                    let _ = template.process.kill();
                }
                if let Some(jar) = self.jars.get_mut(&number) {
                    jar.deadline = None;
                }
            }
            State::Forking(_) => {
                if jar.worker.is_none()
                    && let Some(template) = template
                {
                    let _ = template.process.kill();
                }
                self.jar_failed(number, "seal a worker", Errno::TIMEDOUT.raw_os_error());
            }
            State::Building => self.jar_failed(number, "build a jar", Errno::TIMEDOUT.raw_os_error()),
            // It waits for the template, which has a deadline of its own.
            State::Built(_) => {
                if let Some(jar) = self.jars.get_mut(&number) {
                    jar.deadline = None;
                }
            }
        }
    }

    /// A worker has ended. Whoever is its parent now will tell how.
    pub(super) fn worker_ended(&mut self, number: u64) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        jar.deadline = Some(Instant::now() + REAPING);
        if let Some((_, process)) = &self.jars[&number].worker {
            self.unwatch(process);
        }
    }

    /// How a worker ended, from its parent.
    pub(super) fn worker_reaped(&mut self, number: u64, mut ended: Ended) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        if let Some((_, process)) = &jar.worker
            && let Ok(Some(info)) = pidfd::exit_info(process.as_fd())
        {
            // The kernel's own word, where it gives one.
            ended.status = info.status;
        }
        report(jar.report.as_ref(), ended);
        jar.report = None;
        jar.worker = None;
        jar.deadline = None;
        if matches!(jar.state, State::Forking(_)) {
            self.jar_failed(number, "seal a worker", Errno::CHILD.raw_os_error());
        }
    }

    /// Jars whose worker has ended and whose template has not said how.
    pub(super) fn ended_workers(&self, template: u64) -> Vec<u64> {
        let ended = |jar: &Jar| {
            let worker = jar.worker.as_ref().filter(|_| jar.template == Some(template));
            worker.is_some_and(|(_, process)| pidfd::is_ended(process.as_fd()).unwrap_or(false))
        };
        let jars = self.jars.iter().filter(|(_, jar)| ended(jar));
        jars.map(|(number, _)| *number).collect()
    }

    /// A worker was reaped by a template that died before it could say how the worker ended.
    pub(super) fn worker_lost(&mut self, number: u64) {
        let Some((pid, _)) = self.jars.get(&number).and_then(|jar| jar.worker.as_ref()) else {
            return;
        };
        let pid = *pid;
        self.workers.remove(&pid);
        // Where the kernel does not know either: like the template, by a kill.
        let unknown = Ended {
            status: rustix::process::Signal::KILL.as_raw(),
            cpu_usec: 0,
            max_rss: 0,
        };
        self.worker_reaped(number, unknown);
    }

    /// The jar is empty.
    pub(super) fn init_ended(&mut self, number: u64) {
        let Some(jar) = self.jars.get(&number) else {
            return;
        };
        self.unwatch(&jar.jar.init);
        if !matches!(jar.state, State::Parked | State::Failed) {
            self.refuse(number, "build a jar", Errno::CHILD.raw_os_error());
        }
        let Some(jar) = self.jars.remove(&number) else {
            return;
        };
        if let Some((pid, _)) = jar.worker {
            // Its template reaps it, or has done so and has not told yet.
            self.workers.remove(&pid);
        }
        if let Some(network) = jar.network {
            self.networks.give_back(network);
        }
    }
}

fn report(socket: Option<&OwnedFd>, ended: Ended) {
    if let Some(socket) = socket {
        let said = Report::Ended {
            status: ended.status,
            max_rss: ended.max_rss,
            cpu_usec: ended.cpu_usec,
        };
        crate::jar::send(socket.as_fd(), &said, &[]);
    }
}

/// Why a worker is not sealed, in its own words.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Unsealed {
    step: String,
    errno: i32,
}
