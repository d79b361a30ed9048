//! A job's output on its way to the client while the job runs.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use belljar::agent::{Kind, OutputHead, OutputStream};
use belljar::job::{Job, Sink};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use super::outbox::{Letter, Outbox};

/// Most bytes of one frame.
pub const PIECE: usize = 32 << 10;

/// Copies a job's output to the client while it runs. The thread ends when the job's ends of the pipes are closed.
pub fn start(outbox: &Arc<Outbox>, id: u64, job: &mut Job) -> std::io::Result<JoinHandle<()>> {
    let (stdout, for_stdout) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, for_stderr) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    job.stdout = Sink::Both(for_stdout);
    job.stderr = Sink::Both(for_stderr);
    let outbox = outbox.clone();
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || pump(&outbox, id, stdout, stderr))
}

fn pump(outbox: &Outbox, id: u64, stdout: OwnedFd, stderr: OwnedFd) {
    let mut open = [
        (OutputStream::Stdout, Some(stdout)),
        (OutputStream::Stderr, Some(stderr)),
    ];
    let mut piece = vec![0; PIECE];
    while open.iter().any(|(_, fd)| fd.is_some()) {
        let mut poll: Vec<PollFd<'_>> = open
            .iter()
            .filter_map(|(_, fd)| fd.as_ref())
            .map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN))
            .collect();
        let _ = rustix::event::poll(&mut poll, None);
        let ready: Vec<bool> = poll.iter().map(|poll| !poll.revents().is_empty()).collect();
        let pipes = open.iter_mut().filter(|(_, fd)| fd.is_some());
        for ((stream, fd), _) in pipes.zip(ready).filter(|(_, ready)| *ready) {
            let Some(pipe) = fd else { continue };
            match rustix::io::read(pipe, &mut piece[..]) {
                Ok(0) => *fd = None,
                Ok(length) => {
                    let head = OutputHead { stream: *stream };
                    if let Ok(letter) = Letter::new(Kind::Output, id, &head, &[&piece[..length]]) {
                        outbox.send(letter);
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => *fd = None,
            }
        }
    }
}
