//! Workers on their way into jars, and out of them.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use belljar_linux::namespaces::Kind;
use belljar_linux::process::Ended;
use belljar_linux::{confine, descriptors, pidfd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use super::{Coming, Kept, State, errno};
use crate::cabinet::keeper::loops::{Keeper, Source};
use crate::cabinet::message::{Fork, FromKeeper, send};
use crate::cabinet::room;
use crate::init::{Name, Report, choose};
use crate::wire::{Kind as Frame, PREFIX};

/// How long a template gets to reap a worker that has ended.
const REAPING: Duration = Duration::from_secs(1);
/// A worker's first frame: it is sealed, and says how many microseconds it took to walk in and to rehearse; or it is not.
const PARKED: [u8; PREFIX] = Frame::Parked.prefix(0, TOOK as u64, false);
const TOOK: usize = 8;
/// What comes before it with the listener for its locks, where there are some.
const LISTENER: [u8; PREFIX] = Frame::Listener.prefix(0, 0, false);

impl Keeper<'_> {
    pub(super) fn send_worker(&mut self, number: u64, current: u64) -> io::Result<()> {
        let plan = self.room.plan;
        let kinds = room::kinds(plan);
        let groups = self.jars.get(&number).map_or(0, |jar| jar.groups.len());
        let fixed = match &self.order {
            Some((count, fixed)) if *count == groups => fixed.clone(),
            _ => {
                let fixed = self.fixed(&kinds, groups)?;
                self.order.insert((groups, fixed)).1.clone()
            }
        };
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
        for engines in [&stdin, &stdout, &stderr] {
            // Here, where no caller waits for it.
            rustix::io::ioctl_fionbio(engines, true)?;
        }
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
        let mut order = format!("{number} {}", u8::from(!jar.hurry)).into_bytes();
        if let Some(cpus) = plan.affinity() {
            // Whatever the engine says, it is never more of them than the plan has.
            let told = std::mem::take(&mut jar.cpus);
            let chosen = match told.len() <= cpus && !told.is_empty() {
                true => told,
                false => choose(cpus)?,
            };
            for cpu in chosen {
                write!(order, " {cpu}")?;
            }
        }
        order.push(b'\n');
        order.extend_from_slice(&fixed);
        let Some(template) = self.templates.get_mut(&current) else {
            return Err(Errno::CHILD.into());
        };
        descriptors::send(template.socket.as_fd(), &order, &fds)?;
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

    /// The part of an order that is the same for all workers.
    fn fixed(&self, kinds: &[Kind], groups: usize) -> io::Result<Vec<u8>> {
        let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name()).collect();
        let plan = self.room.plan;
        let ruleset = plan.landlock().map(|rules| confine::quiet(rules.abi));
        let rlimits: Vec<(&str, u64, u64)> = plan
            .rlimits()
            .iter()
            .filter(|limit| limit.resource.is_workers_own())
            .map(|limit| (limit.resource.name(), limit.soft, limit.hard))
            .collect();
        Ok(serde_json::to_vec(&Fork {
            namespaces: &names,
            ruleset: ruleset.is_some(),
            quiet: ruleset.unwrap_or_default(),
            groups,
            folder: self.room.plan.current_dir().as_os_str().as_bytes(),
            rlimits: &rlimits,
            privileges: self.look.drops_privileges(),
        })?)
    }

    pub(in crate::cabinet::keeper) fn worker_forked(&mut self, number: u64, template: u64, pid: i32) {
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

    pub(in crate::cabinet::keeper) fn hear_worker(&mut self, number: u64) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        let State::Forking(coming) = &jar.state else {
            return;
        };
        let mut prefix = [0; PREFIX];
        match descriptors::receive_now(coming.control.as_fd(), &mut prefix) {
            Ok((PREFIX, fds)) if prefix == LISTENER && fds.len() == 1 && !jar.answered => {
                // What a hostile template sends in its place answers nobody: its guests have no locks then.
                let sent = descriptors::send(jar.jar.gate.as_fd(), b"l", &[fds[0].as_fd()]);
                match sent {
                    Ok(_) => jar.answered = true,
                    Err(error) => self.jar_failed(number, "hand over the listener", errno(&error)),
                }
            }
            Ok((PREFIX, _)) if prefix == PARKED && jar.answered => {
                let mut took = [0; TOOK];
                let read = rustix::net::recv(&coming.control, &mut took[..], RecvFlags::DONTWAIT);
                if !matches!(read, Ok((TOOK, _))) {
                    return self.jar_failed(number, "seal a worker", Errno::BADMSG.raw_os_error());
                }
                // Its own word, and good for figures only.
                let [a, b, c, d, e, f, g, h] = took;
                jar.timings.setns = u32::from_le_bytes([a, b, c, d]);
                jar.timings.rehearse = u32::from_le_bytes([e, f, g, h]);
                if jar.worker.is_none() {
                    // The template has not said yet whom it forked; it is asked for nothing else meanwhile.
                    self.hear_template_now(number);
                }
                self.park(number);
            }
            Ok((PREFIX, _)) if prefix[..4] == Frame::Failed.prefix(0, 0, false)[..4] => {
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
            if left.is_zero() {
                // One that says something all the time must not keep the others waiting.
                return;
            }
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
        let Some((pid, _)) = &jar.worker else {
            return self.jar_failed(number, "find the worker", Errno::CHILD.raw_os_error());
        };
        let (pid, template) = (*pid, jar.template);
        let State::Forking(coming) = &jar.state else {
            return;
        };
        let before = Instant::now();
        let of = template.and_then(|template| self.templates.get(&template));
        let looked = self.look.worker(pid, &coming.expected, of);
        if let (Some(template), Ok(())) = (template, &looked)
            && let Err(reason) = self.still_fit(template)
        {
            self.jar_failed(
                number,
                &format!("check a template: {reason}"),
                Errno::PERM.raw_os_error(),
            );
            return self.spoiled(template, reason);
        }
        let check = u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX);
        if let Err(reason) = looked {
            let step = format!("check a worker: {reason}");
            return self.jar_failed(number, &step, Errno::PERM.raw_os_error());
        }
        self.unwatch(&coming.control);
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        let lap = jar.lap().saturating_sub(check);
        let timings = &mut jar.timings;
        timings.check = check;
        timings.rehearse = timings.rehearse.min(lap);
        timings.setns = timings.setns.min(lap - timings.rehearse);
        timings.seal = lap - timings.rehearse - timings.setns;
        jar.deadline = None;
        let State::Forking(coming) = std::mem::replace(&mut jar.state, State::Parked) else {
            return;
        };
        let jar = &self.jars[&number];
        let Some((_, process)) = &jar.worker else {
            return;
        };
        let (handed, more): (Vec<Name>, Vec<BorrowedFd<'_>>) = coming.keys.handed.list().unzip();
        let parked = FromKeeper::Parked {
            number,
            worker_pid: pid,
            timings: jar.timings,
            handed,
        };
        let ends = [
            jar.jar.init.as_fd(),
            process.as_fd(),
            coming.control.as_fd(),
            coming.stdin.as_fd(),
            coming.stdout.as_fd(),
            coming.stderr.as_fd(),
            coming.report.as_fd(),
        ];
        let fds: Vec<BorrowedFd<'_>> = ends.into_iter().chain(more).collect();
        let _ = send(self.engine.as_fd(), &parked, &fds);
    }

    /// A worker has ended. Whoever is its parent now will tell how.
    pub(in crate::cabinet::keeper) fn worker_ended(&mut self, number: u64) {
        let Some(jar) = self.jars.get_mut(&number) else {
            return;
        };
        jar.deadline = Some(Instant::now() + REAPING);
        if let Some((_, process)) = &self.jars[&number].worker {
            self.unwatch(process);
        }
    }

    /// How a worker ended, from its parent.
    pub(in crate::cabinet::keeper) fn worker_reaped(&mut self, number: u64, mut ended: Ended) {
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
        jar.deadline = None;
        let (worker, forking) = (jar.worker.take(), matches!(jar.state, State::Forking(_)));
        if let Some((_, process)) = worker {
            // The engine has a copy: closed here and watched still, it would be told of as ended, again and again.
            self.unwatch(process);
        }
        if forking {
            self.jar_failed(number, "seal a worker", Errno::CHILD.raw_os_error());
        }
    }

    /// Jars whose worker has ended and whose template has not said how.
    pub(in crate::cabinet::keeper) fn ended_workers(&self, template: u64) -> Vec<u64> {
        let ended = |jar: &Kept| {
            let worker = jar.worker.as_ref().filter(|_| jar.template == Some(template));
            worker.is_some_and(|(_, process)| pidfd::is_ended(process.as_fd()).unwrap_or(false))
        };
        let jars = self.jars.iter().filter(|(_, jar)| ended(jar));
        jars.map(|(number, _)| *number).collect()
    }

    /// A worker was reaped by a template that died before it could say how the worker ended.
    pub(in crate::cabinet::keeper) fn worker_lost(&mut self, number: u64) {
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
}

fn report(socket: Option<&OwnedFd>, ended: Ended) {
    if let Some(socket) = socket {
        let said = Report::Ended {
            status: ended.status,
            max_rss: ended.max_rss,
            cpu_usec: ended.cpu_usec,
            alone: false,
        };
        crate::init::send(socket.as_fd(), &said, &[]);
    }
}

/// Why a worker is not sealed, in its own words.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Unsealed {
    step: String,
    errno: i32,
}
