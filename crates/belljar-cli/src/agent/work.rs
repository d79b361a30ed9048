//! One job, from the request to its answer.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belljar::agent::{Collect, Fault, JobRequest, Parts, ProgramKind, Text, read_buffer};
use belljar::client::Reins;
use belljar::job::{InputFile, Job, JobLimits, Program, Stdin};
use belljar::{Outcome, Sandbox};

use super::answer::{self, fault, of_error};
use super::connection::Agent;
use super::stream;

/// Ends or interrupts a job, in whatever phase it is.
#[derive(Default)]
pub struct Hold {
    state: Mutex<Phase>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Waiting,
    Killed,
    Running(Reins),
}

impl Hold {
    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the job.
    pub fn kill(&self) {
        let mut phase = self.lock();
        match &*phase {
            Phase::Running(reins) => reins.kill(),
            Phase::Waiting | Phase::Killed => *phase = Phase::Killed,
        }
    }

    /// Interrupts the job; one that does not run yet is ended.
    pub fn interrupt(&self) {
        let mut phase = self.lock();
        match &*phase {
            Phase::Running(reins) => reins.interrupt(),
            Phase::Waiting | Phase::Killed => *phase = Phase::Killed,
        }
    }

    fn is_killed(&self) -> bool {
        matches!(*self.lock(), Phase::Killed)
    }

    /// From now on the job runs.
    fn runs(&self, reins: Reins) {
        let mut phase = self.lock();
        if matches!(*phase, Phase::Killed) {
            reins.kill();
        }
        *phase = Phase::Running(reins);
    }
}

/// The body of a request, checked.
pub enum Body {
    /// It came in the stream.
    Inline(Vec<u8>),
    /// It came as a sealed memfd.
    Memory(OwnedFd),
}

impl Body {
    fn part(&self, part: std::ops::Range<usize>) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Inline(bytes) => Ok(bytes[part].to_vec()),
            Self::Memory(fd) => {
                read_buffer(fd.as_fd(), part).map_err(|error| fault("buffer", error.to_string(), None))
            }
        }
    }
}

/// A request and its body, which fit each other.
pub struct Request {
    /// What was asked for.
    pub head: JobRequest,
    /// Where its parts are.
    pub parts: Parts,
    /// The parts.
    pub body: Body,
}

/// The answer to a job that was cancelled before it ran.
pub fn cancelled() -> Fault {
    fault("cancelled", "the job was cancelled before it ran", None)
}

/// Runs a job and answers.
pub fn work(agent: &Agent, id: u64, request: Request, hold: &Hold) {
    let answer = attempt(agent, id, request, hold).and_then(|outcome| answer::outcome(id, outcome));
    // First of all: the client may use the id again as soon as it has the answer.
    agent.jobs.remove(id);
    agent
        .outbox
        .send(answer.unwrap_or_else(|fault| answer::error(id, &fault)));
}

fn attempt(agent: &Agent, id: u64, request: Request, hold: &Hold) -> Result<Outcome, Fault> {
    let sandbox = agent.rooms.get(request.head.sandbox)?.wait()?;
    if hold.is_killed() {
        return Err(cancelled());
    }
    let streamed = request.head.stream;
    let mut job = job(request)?;
    let pump = if streamed {
        let started = stream::start(&agent.outbox, id, &mut job);
        Some(started.map_err(|error| fault("setup", format!("cannot stream the output: {error}"), None))?)
    } else {
        None
    };
    let ended = run_job(&sandbox, job, hold);
    // All of the output is on its way before the outcome is.
    if let Some(pump) = pump {
        let _ = pump.join();
    }
    ended.map_err(of_error)
}

/// The seam to the engine.
fn run_job(sandbox: &Sandbox, job: Job, hold: &Hold) -> Result<Outcome, belljar::Error> {
    let running = sandbox.spawn_job(job)?;
    hold.runs(running.handle()?);
    running.wait()
}

/// The job that a request asks for.
fn job(request: Request) -> Result<Job, Fault> {
    let Request { head, parts, body } = request;
    let mut parts = parts.into_iter();
    let mut part = || {
        let place = parts.next().ok_or_else(|| wrong("the body has too few parts"))?;
        body.part(place)
    };
    let name = head.name;
    let named = |what: &str| match name {
        Some(name) => Ok(std::ffi::OsString::from(name)),
        None => Err(wrong(format!("a {what} needs a name"))),
    };
    let program = match head.kind {
        ProgramKind::Code => Program::Code {
            source: part()?,
            from_stdin: false,
        },
        ProgramKind::Stdin => Program::Code {
            source: part()?,
            from_stdin: true,
        },
        ProgramKind::Script => Program::Script {
            source: part()?,
            name: named("script")?,
        },
        ProgramKind::Path => Program::ScriptAt(named("path")?.into()),
        ProgramKind::Module => Program::Module(
            named("module")?
                .into_string()
                .map_err(|_| wrong("the name of a module is UTF-8"))?,
        ),
        ProgramKind::Call => Program::Call {
            function: String::from_utf8(part()?).map_err(|_| wrong("the source of a function is UTF-8"))?,
            arguments: part()?,
        },
        ProgramKind::Command => Program::Command(named("command")?),
    };
    let mut job = Job::new(program);
    if head.stdin {
        job.stdin = Stdin::Bytes(part()?);
    }
    for path in head.files {
        let content = part()?;
        job.files.push(InputFile {
            path: path_of(path),
            content,
        });
    }
    if parts.next().is_some() {
        return Err(wrong("the body has too many parts"));
    }
    job.args = head.args.into_iter().map(Into::into).collect();
    belljar::policy::check_env(
        head.env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    )
    .map_err(|error| of_error(error.into()))?;
    job.env = head.env.into_iter().collect();
    job.current_dir = head.cwd.map(path_of);
    job.limits = limits(&head.limits)?;
    match head.collect {
        Some(Collect::Folder(folder)) => job.collect = Some(path_of(folder)),
        Some(Collect::Send(_)) | None => {}
    }
    Ok(job)
}

fn limits(asked: &belljar::agent::JobLimits) -> Result<JobLimits, Fault> {
    let timeout = asked.timeout.map(Duration::try_from_secs_f64).transpose();
    Ok(JobLimits {
        timeout: timeout.map_err(|error| wrong(format!("the timeout of a job: {error}")))?,
        output: asked.output,
        cpu_seconds: asked.cpu_seconds,
        memory: asked.memory,
        pids: asked.pids,
    })
}

fn path_of(text: Text) -> PathBuf {
    std::ffi::OsString::from(text).into()
}

fn wrong(message: impl Into<String>) -> Fault {
    fault("request", message, None)
}
