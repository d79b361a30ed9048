//! The warden as a process of its own: one job from the socket at standard input, one answer.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::remote::Remote;
use super::{Steering, run, scope};
use crate::cabinet::{self, Opening};
use crate::client::{Reply, Request, receive_with, send};
use crate::error::{Error, Process};
use crate::job::Live;
use crate::tree::Tree;

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
    let (mut plan, mut job) = match asked(&socket)? {
        Asked::Job(plan, job) => (*plan, *job),
        Asked::Cabinet(opening, keeper, tree) => return cabinet::hold(*opening, keeper, tree, &socket),
    };
    let steering = socket.try_clone().and_then(|copy| {
        copy.set_nonblocking(true)?;
        Ok(OwnedFd::from(copy))
    });
    let steering = steering.map_err(|error| Error::setup("watch the caller", error))?;
    if job.is_live() {
        let socket = socket.try_clone();
        let socket = socket.map_err(|error| Error::setup("tell the caller", error))?;
        job.reader = Some(Live(Box::new(Remote::new(socket))));
    }
    let result = scope::settle(&mut plan).and_then(|()| run(&plan, job, Steering::Socket(steering)));
    let (reply, blobs, memory) = Reply::new(result);
    let fds: Vec<_> = memory.iter().map(AsFd::as_fd).collect();
    socket
        .set_nonblocking(false)
        .map_err(|error| Error::setup("answer the caller", error))?;
    send(&socket, &reply, &blobs, &fds).map_err(|error| Error::setup("answer the caller", error))
}

/// What an engine may ask of a warden. A cabinet has a `spec`, a job has none.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Head {
    Cabinet(Box<Opening>),
    Job(Box<Request>),
}

enum Asked {
    Job(Box<crate::Plan>, Box<crate::Job>),
    Cabinet(Box<Opening>, OwnedFd, Option<Tree>),
}

fn asked(socket: &UnixStream) -> Result<Asked, Error> {
    let taken = receive_with::<Head>(socket);
    let (head, blobs, fds) = taken.map_err(|error| Error::setup("take a job", error))?;
    let asked = match head {
        Head::Cabinet(mut opening) if opening.is_ours() => opening
            .given(blobs, fds)
            .map(|(keeper, tree)| Asked::Cabinet(opening, keeper, tree)),
        Head::Cabinet(_) => None,
        Head::Job(request) => request
            .into_job(blobs, fds)
            .map(|(plan, job)| Asked::Job(Box::new(plan), Box::new(job))),
    };
    asked.ok_or(Error::Lost {
        process: Process::Caller,
        how: "it sent no job of this version".into(),
    })
}
