//! The warden as a process of its own: one job from the socket at standard input, one answer.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::{Steering, run};
use crate::client::{Reply, Request, receive, send};
use crate::error::Error;

/// Bytes that are taken with the descriptors: the least a message has. One more could be the caller's next word.
const FIRST: usize = 16;

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
    let (plan, job) = job(&socket)?;
    let steering = socket.try_clone().and_then(|copy| {
        copy.set_nonblocking(true)?;
        Ok(OwnedFd::from(copy))
    });
    let steering = steering.map_err(|error| Error::setup("watch the caller", error))?;
    let result = run(&plan, job, Steering::Socket(steering));
    let (reply, blobs) = Reply::new(result);
    socket
        .set_nonblocking(false)
        .map_err(|error| Error::setup("answer the caller", error))?;
    send(&socket, &reply, &blobs, &[]).map_err(|error| Error::setup("answer the caller", error))
}

fn job(socket: &UnixStream) -> Result<(crate::Plan, crate::Job), Error> {
    let mut first = vec![0; FIRST];
    let taken = belljar_linux::descriptors::receive(socket.as_fd(), &mut first);
    let (length, fds) = taken.map_err(|error| Error::setup("take a job", error))?;
    first.truncate(length);
    let (request, blobs) =
        receive::<Request>(socket, first).map_err(|error| Error::setup("take a job", error))?;
    request.into_job(blobs, fds).ok_or(Error::Lost {
        process: "caller",
        how: "it sent no job of this version".into(),
    })
}
