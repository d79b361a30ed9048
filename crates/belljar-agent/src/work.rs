//! One job, from the request to its answer.

use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use belljar::Sandbox;
use belljar::agent::{self, Fault, JobRequest, MAX_BODY, MAX_ITEMS, Parts, ProgramKind, Text, read_buffer};
use belljar::hint::{Hint, Setting};
use belljar::job::{Collect, InputFile, Job, JobLimits, Live, Program, Sink, Stdin};
use belljar::outcome::{Captured, Status};
use belljar::parcel::Parcel;
use belljar::pool::{Answer, Cancel, Spoken};

use crate::answer::{self, fault, of_error};
use crate::connection::Agent;
use crate::outbox::Letter;
use crate::stream::Client;
use belljar::policy::readable_size as bytes;

/// The body of a request, checked.
pub enum Body {
    /// It came in the stream.
    Inline(Vec<u8>),
    /// It came as a sealed memfd of this size.
    Memory(OwnedFd, u64),
}

impl Body {
    /// A copy of some of it.
    pub fn part(&self, part: Range<usize>) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Inline(bytes) => Ok(bytes[part].to_vec()),
            Self::Memory(fd, _) => {
                read_buffer(fd.as_fd(), part).map_err(|error| fault("buffer", error.to_string(), None))
            }
        }
    }

    /// All of it, in parts of these lengths.
    pub fn parcel(self, lengths: Vec<u64>) -> Result<Parcel, Fault> {
        let parcel = match self {
            Self::Inline(bytes) => Parcel::inline(lengths, bytes),
            Self::Memory(fd, size) => Parcel::memory(lengths, fd, size),
        };
        parcel.map_err(|error| fault("buffer", error.to_string(), None))
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
    let (letter, rest) = answer.unwrap_or_else(|fault| (answer::error(id, &fault), None));
    owner.outbox.send(letter);
    // What is left of the job, and what the next one needs, is seen to when nobody waits for it.
    drop(rest);
    owner.jobs.make_spare();
}

/// The answer, and what is left of a job whose value it is.
fn attempt(
    owner: &Agent,
    id: u64,
    request: Request,
    cancel: &Cancel,
) -> Result<(Letter, Option<Spoken>), Fault> {
    let sandbox = owner.rooms.get(request.head.sandbox)?.wait()?;
    let pool = owner.pool().ok_or_else(cancelled)?;
    fits(&sandbox, &request)?;
    let (streamed, early) = (request.head.stream, request.head.early);
    let ends_with_value = request.head.kind == ProgramKind::Invoke;
    let mut job = job(request)?;
    if streamed {
        (job.stdout, job.stderr) = (Sink::Live, Sink::Live);
    }
    if streamed || job.items > 0 {
        let outbox = owner.outbox.clone();
        job.reader = Some(Live(Box::new(Client { outbox, id })));
    }
    let ended = if early {
        pool.answer(&sandbox, job, Some(cancel))
    } else {
        let outcome = pool.run_until(&sandbox, job, cancel);
        outcome.map(|outcome| Answer::Outcome(Box::new(outcome)))
    };
    match ended.map_err(of_error)? {
        Answer::Value(mut spoken) => {
            let letter = match spoken.parcel.take() {
                Some(parcel) => early_value(
                    owner,
                    id,
                    parcel,
                    spoken.seconds,
                    [&spoken.stdout, &spoken.stderr],
                    streamed,
                ),
                None => answer::value(id, &spoken),
            };
            Ok((letter?, Some(spoken)))
        }
        Answer::Outcome(mut outcome) => {
            if let Some(parcel) = outcome.parcel.take() {
                let streams = [&outcome.stdout, &outcome.stderr];
                let seconds = outcome.usage.wall_seconds;
                if early && ends_with_value && outcome.status == Status::Returned {
                    return Ok((early_value(owner, id, parcel, seconds, streams, streamed)?, None));
                }
                owner
                    .outbox
                    .send(answer::parcel(id, parcel, false, seconds, streams)?);
            }
            Ok((answer::outcome(id, *outcome)?, None))
        }
    }
}

/// What the guest must copy, and the files of a fresh /jar, are more than it may have: known before anything runs.
fn fits(sandbox: &Sandbox, request: &Request) -> Result<(), Fault> {
    let (head, limits) = (&request.head, sandbox.plan().limits());
    let memory = head
        .limits
        .memory
        .map_or(limits.memory, |tighter| tighter.min(limits.memory));
    // An encoding begins with what is copied; parts that follow are used where they lie.
    let copied = match head.kind {
        ProgramKind::Invoke => head.parts.first(),
        ProgramKind::Evaluate => head.parts.get(1),
        _ => None,
    };
    let copied = copied.copied().unwrap_or_default();
    if copied > memory {
        let (size, most) = (bytes(copied), bytes(memory));
        let hint = Hint::from("give it more with ")
            .set(Setting::Memory)
            .say(", or give the data as a file: with ")
            .set(Setting::Mount)
            .say(", or among the job's own");
        return Err(Fault {
            hint: Some(hint),
            ..fault(
                "large",
                format!("cannot send the arguments: {size}, and the jar has {most} of memory"),
                None,
            )
        });
    }
    let files = head.parts.iter().rev().take(head.files.len());
    let files = files.fold(0u64, |sum, size| sum.saturating_add(*size));
    if files > limits.disk && sandbox.plan().workdir().is_none() {
        let (size, most) = (bytes(files), bytes(limits.disk));
        let hint = Hint::from("give it more with ")
            .set(Setting::Disk)
            .say(", or show their folder with ")
            .set(Setting::Mount);
        return Err(Fault {
            hint: Some(hint),
            ..fault(
                "large",
                format!("cannot send the job's files: {size}, and the jar has {most} of disk"),
                None,
            )
        });
    }
    Ok(())
}

/// A value that is the answer; what was printed comes before it.
fn early_value(
    owner: &Agent,
    id: u64,
    parcel: Parcel,
    seconds: f64,
    streams: [&Captured; 2],
    streamed: bool,
) -> Result<Letter, Fault> {
    if !streamed {
        answer::output(id, streams)
            .into_iter()
            .for_each(|letter| owner.outbox.send(letter));
    }
    answer::parcel(id, parcel, true, seconds, streams)
}

/// The job that a request asks for.
fn job(request: Request) -> Result<Job, Fault> {
    let Request {
        mut head,
        parts,
        body,
    } = request;
    // Input and files come last; what an encoding has of parts only its client knows.
    let own = parts
        .len()
        .checked_sub(usize::from(head.stdin) + head.files.len());
    let own = own.ok_or_else(|| wrong("the body has too few parts"))?;
    let mut others = parts[own..].iter().cloned();
    let mut other = || body.part(others.next().unwrap_or_default());
    let stdin = if head.stdin {
        Stdin::Bytes(other()?)
    } else {
        Stdin::Null
    };
    let mut files = Vec::new();
    for path in std::mem::take(&mut head.files) {
        let content = other()?;
        files.push(InputFile {
            path: path_of(path),
            content,
        });
    }
    let mut job = Job::new(program(&mut head, &parts[..own], body)?);
    (job.stdin, job.files) = (stdin, files);
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
    if head.items > MAX_ITEMS {
        return Err(wrong(format!("{} items at once are too many", head.items)));
    }
    job.items = head.items;
    job.collect = head.collect.map(|collect| match collect {
        agent::Collect::Folder(folder) => Collect::Folder(path_of(folder)),
        agent::Collect::Send(most) => Collect::Take(most.min(MAX_BODY)),
    });
    Ok(job)
}

/// What a job runs; its parts come first in the body.
fn program(head: &mut JobRequest, parts: &[Range<usize>], body: Body) -> Result<Program, Fault> {
    let (least, most) = match head.kind {
        ProgramKind::Code | ProgramKind::Stdin | ProgramKind::Script => (1, 1),
        ProgramKind::Call => (2, 2),
        ProgramKind::Path | ProgramKind::Module | ProgramKind::Command => (0, 0),
        ProgramKind::Invoke | ProgramKind::Evaluate => (1, usize::MAX),
    };
    if parts.len() < least {
        return Err(wrong("the body has too few parts"));
    }
    if parts.len() > most {
        return Err(wrong("the body has too many parts"));
    }
    let name = head.name.take().map(OsString::from);
    let named = |what: &str| {
        name.clone()
            .ok_or_else(|| wrong(format!("a {what} needs a name")))
    };
    Ok(match head.kind {
        ProgramKind::Code | ProgramKind::Stdin => Program::Code {
            source: body.part(parts[0].clone())?,
            from_stdin: head.kind == ProgramKind::Stdin,
        },
        ProgramKind::Script => Program::Script {
            source: body.part(parts[0].clone())?,
            name: named("script")?,
        },
        ProgramKind::Path => Program::ScriptAt(named("path")?.into()),
        ProgramKind::Module => Program::Module(
            named("module")?
                .into_string()
                .map_err(|_| wrong("the name of a module is UTF-8"))?,
        ),
        ProgramKind::Call => Program::Call {
            function: String::from_utf8(body.part(parts[0].clone())?)
                .map_err(|_| wrong("the source of a function is UTF-8"))?,
            arguments: body.part(parts[1].clone())?,
        },
        ProgramKind::Command => Program::Command(named("command")?),
        ProgramKind::Invoke => Program::Invoke {
            name: name.unwrap_or_default(),
            parcel: parcel(head, parts.len(), body)?,
        },
        ProgramKind::Evaluate => Program::Evaluate {
            name: name.unwrap_or_default(),
            parcel: parcel(head, parts.len(), body)?,
        },
    })
}

/// The first parts of a body as they came.
fn parcel(head: &JobRequest, count: usize, body: Body) -> Result<Parcel, Fault> {
    Ok(body.parcel(head.parts.clone())?.first(count))
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
