//! Jars on their way from an empty room to a parked worker, and what becomes of them.

mod workers;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::pidfd;
use rustix::io::Errno;

use super::loops::{Keeper, Source};
use crate::cabinet::Told;
use crate::cabinet::check::{Expected, Look};
use crate::cabinet::message::Timings;
use crate::cabinet::room::{self, Keys};

/// How long each step of making a worker may take before the jar is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// One jar, as its keeper knows it.
pub(super) struct Kept {
    jar: room::Builds,
    pub template: Option<u64>,
    state: State,
    /// Our end of the engine's report socket.
    report: Option<OwnedFd>,
    worker: Option<(i32, OwnedFd)>,
    groups: Vec<OwnedFd>,
    /// Kept for another jar when this one is empty.
    network: Option<OwnedFd>,
    hurry: bool,
    /// Processors that its worker keeps to, where the plan says how many.
    cpus: Vec<usize>,
    /// Whether its init answers those who want locks.
    answered: bool,
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

impl Kept {
    /// Whether a fork by this template is on its way.
    pub(super) fn is_forking(&self, template: u64) -> bool {
        self.template == Some(template) && self.worker.is_none() && matches!(self.state, State::Forking(_))
    }

    /// Its PID 1.
    pub(super) fn init(&self) -> i32 {
        self.jar.init.pid() as i32
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
    pub(super) fn make(&mut self, number: u64, hurry: bool, cpus: Vec<usize>, groups: Vec<OwnedFd>) {
        if self.cold.is_some() {
            return self.refuse(number, "start a template", Errno::CHILD.raw_os_error());
        }
        let made = self.networks.within(|| room::start(&self.blueprint, &groups));
        let made = made.and_then(|(jar, network)| {
            self.watch(&jar.gate, Source::Gate(number))?;
            self.watch(&jar.init, Source::InitEnd(number))?;
            Ok((jar, network))
        });
        match made {
            Ok((jar, network)) => {
                let now = Instant::now();
                let jar = Kept {
                    jar,
                    template: None,
                    state: State::Building,
                    report: None,
                    worker: None,
                    groups,
                    network,
                    hurry,
                    cpus,
                    answered: self.room.plan.locks() == 0,
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
        self.tell(Told::Failed { number, step, errno });
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
        if let Some((pid, process)) = jar.worker {
            // Its template reaps it, or has done so and has not told yet.
            self.workers.remove(&pid);
            self.unwatch(process);
        }
        if let Some(network) = jar.network {
            self.networks.give_back(network);
        }
    }
}
