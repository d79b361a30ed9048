//! One job, from the request to its answer.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use belljar::agent::{self, Fault, JobRequest, MAX_BODY, Parts, ProgramKind, Text, read_buffer};
use belljar::job::{Collect, InputFile, Job, JobLimits, Program, Stdin};
use belljar::pool::{Answer, Cancel};

use super::answer::{self, fault, of_error};
use super::connection::Agent;
use super::outbox::Letter;
use super::stream;

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
pub fn work(owner: &Agent, id: u64, request: Request, cancel: &Cancel) {
    let answer = attempt(owner, id, request, cancel);
    // First of all: the client may use the id again as soon as it has the answer.
    owner.jobs.remove(id);
    owner
        .outbox
        .send(answer.unwrap_or_else(|fault| answer::error(id, &fault)));
}

fn attempt(owner: &Agent, id: u64, request: Request, cancel: &Cancel) -> Result<Letter, Fault> {
    let sandbox = owner.rooms.get(request.head.sandbox)?.wait()?;
    let pool = owner.pool().ok_or_else(cancelled)?;
    let (streamed, early) = (request.head.stream, request.head.early);
    let mut job = job(request)?;
    let pump = if streamed {
        let started = stream::start(&owner.outbox, id, &mut job);
        Some(started.map_err(|error| fault("setup", format!("cannot stream the output: {error}"), None))?)
    } else {
        None
    };
    let ended = if early {
        pool.answer(&sandbox, job, Some(cancel))
    } else {
        let outcome = pool.run_until(&sandbox, job, cancel);
        outcome.map(|outcome| Answer::Outcome(Box::new(outcome)))
    };
    // All of the output is on its way before the answer is.
    if let Some(pump) = pump {
        let _ = pump.join();
    }
    match ended.map_err(of_error)? {
        Answer::Value(spoken) => answer::value(id, &spoken),
        Answer::Outcome(outcome) => answer::outcome(id, *outcome),
    }
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
    job.collect = head.collect.map(|collect| match collect {
        agent::Collect::Folder(folder) => Collect::Folder(path_of(folder)),
        agent::Collect::Send(most) => Collect::Take(most.min(MAX_BODY)),
    });
    Ok(job)
}

fn limits(asked: &agent::JobLimits) -> Result<JobLimits, Fault> {
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
