//! The warden as a process of its own: one job from the socket at standard input, one answer.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::remote::Remote;
use super::{Steering, compile_runtime, run};
use crate::cabinet;
use crate::error::{Error, Process};
use crate::jar::settle_scope;
use crate::job::{Job, Live};
use crate::plan::Plan;
use crate::talk::{Asked, Inbox, Reply, send};

/// Serves the caller behind standard input; gives the exit code of the process.
pub fn serve() -> i32 {
    match answer() {
        Ok(()) => 0,
        // Nobody to tell: the caller sees the socket end.
        Err(error) => {
            tracing::debug!(%error, "no job could be taken");
            1
        }
    }
}

fn answer() -> Result<(), Error> {
    let socket = rustix::stdio::stdin()
        .try_clone_to_owned()
        .map(UnixStream::from)
        .map_err(|error| Error::setup("take the caller's socket", error))?;
    // A session of its own: a Ctrl-C at the caller's terminal is the caller's to pass on. Fails for a leader already.
    let _ = rustix::process::setsid();
    let mut inbox = Inbox::new(socket);
    let asked = inbox.wait();
    let (asked, blobs, fds) = asked.map_err(|error| Error::setup("take a job", error))?;
    match asked {
        Asked::Cabinet(mut opening) if opening.is_ours() => {
            let (keeper, tree) = opening.given(blobs, fds).ok_or_else(strange)?;
            cabinet::hold(*opening, keeper, tree, inbox.socket(), compile_runtime)
        }
        Asked::Cabinet(_) => Err(strange()),
        Asked::Job(request) => {
            let (plan, job) = request.into_job(blobs, fds).ok_or_else(strange)?;
            run_for(inbox.socket(), plan, job)
        }
    }
}

/// Runs a job for the caller behind a socket. Both speak while it lasts.
fn run_for(socket: &UnixStream, mut plan: Plan, mut job: Job) -> Result<(), Error> {
    let copy = || {
        socket
            .try_clone()
            .map_err(|error| Error::setup("watch the caller", error))
    };
    if job.is_live() {
        job.reader = Some(Live(Box::new(Remote::new(copy()?))));
    }
    let caller = Steering::Socket(copy()?);
    let result = settle_scope(&mut plan).and_then(|()| run(&plan, job, caller));
    let (reply, blobs, memory) = Reply::new(result);
    let fds: Vec<_> = memory.iter().map(AsFd::as_fd).collect();
    send(socket, &reply, &blobs, &fds).map_err(|error| Error::setup("answer the caller", error))
}

fn strange() -> Error {
    Error::Lost {
        process: Process::Caller,
        how: "it sent no job of this version".into(),
    }
}
