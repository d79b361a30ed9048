//! The way from a program of any shape (many threads, its own signal handlers) to a warden: a process of its own, our
//! binary, that is given one plan and one job over a socket and answers with one outcome.

mod binary;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use belljar_linux::cgroup::Hierarchy;

use crate::error::{Error, Process};
use crate::jar::{hierarchy, sweep_after};
use crate::job::{Job, Live, Message, Which};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::talk::{self, Asked, Blobs, Inbox, Order, Reply, Request};

pub use binary::{BinaryError, find_binary, own_binary};

/// All that a warden gets of the caller's environment: its log, and where its cache is.
const KEPT: [&str; 4] = ["BELLJAR_LOG", "BELLJAR_CACHE_DIR", "XDG_CACHE_HOME", "HOME"];

/// A job that runs. Dropping it ends the job.
///
/// ```
/// # fn main() -> Result<(), belljar::Error> {
/// use belljar::{Job, Sandbox, job::Program, outcome::Status};
///
/// let jar = Sandbox::builder().build()?;
/// let source = b"while True: pass".to_vec();
/// let running = jar.spawn_job(Job::new(Program::Code { source, from_stdin: false }))?;
/// running.kill();
/// assert_eq!(running.wait()?.status, Status::Cancelled);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Running {
    /// What the warden says, and the way to it.
    inbox: Inbox,
    warden: Child,
    /// Where the warden makes its cgroups.
    groups: Option<Hierarchy>,
    /// Who reads what the job gives while it runs.
    reader: Option<Live>,
}

/// Starts a warden and hands it the job.
pub(crate) fn start(binary: &std::path::Path, plan: &Plan, job: Job) -> Result<Running, Error> {
    let plan = &*plan.tighten(&job.limits)?;
    let (ours, warden) = start_binary(binary)?;
    let groups = hierarchy(plan).cloned();
    let (request, blobs, fds, reader) = Request::new(plan, job)?;
    let running = Running {
        inbox: Inbox::new(ours),
        warden,
        groups,
        reader,
    };
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
    let asked = Asked::Job(Box::new(request));
    talk::send(running.inbox.socket(), &asked, &blobs, &fds)
        .map_err(|error| Error::setup("hand the job to the warden", error))?;
    Ok(running)
}

/// Starts our binary as a warden, with one socket and nothing else of ours.
pub(crate) fn start_binary(binary: &std::path::Path) -> Result<(UnixStream, Child), Error> {
    let (ours, wardens) = UnixStream::pair().map_err(|error| Error::setup("make a socket pair", error))?;
    let warden = Command::new(binary)
        .arg("warden")
        .env_clear()
        .envs(
            KEPT.iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .current_dir("/")
        // The only descriptor that it gets from us; all others are closed on exec.
        .stdin(OwnedFd::from(wardens))
        .stdout(Stdio::null())
        .stderr(if std::env::var_os("BELLJAR_LOG").is_some() {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .spawn()
        .map_err(|error| Error::setup(format!("start {}", binary.display()), error))?;
    Ok((ours, warden))
}

impl Running {
    /// The warden's process id. The jar's init is its child.
    pub fn warden_pid(&self) -> u32 {
        self.warden.id()
    }

    /// A second way to steer it, for another thread.
    pub(crate) fn reins(&self) -> Option<UnixStream> {
        self.inbox.socket().try_clone().ok()
    }

    /// Sends the guest an interrupt, as Ctrl-C would; the second one ends it.
    pub fn interrupt(&self) {
        Order::Interrupt.say(self.inbox.socket());
    }

    /// Ends the job. Its outcome is `cancelled`.
    pub fn kill(&self) {
        Order::end(self.inbox.socket());
    }

    /// Waits for the outcome.
    pub fn wait(mut self) -> Result<Outcome, Error> {
        let answer = self.listen();
        // Where this program ignores SIGCHLD there is nothing to wait for; the answer counts.
        let status = self.warden.wait();
        match answer {
            Ok((reply, blobs, fds)) => reply.into_outcome(blobs, fds),
            Err(_) => {
                // A warden that was killed could not remove its cgroup.
                if let Some(groups) = &self.groups {
                    sweep_after(groups, self.warden.id());
                }
                Err(Error::Lost {
                    process: Process::Warden,
                    how: status.map_or_else(|error| error.to_string(), |status| status.to_string()),
                })
            }
        }
    }
}

/// How long to wait for a reader that has no room.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

impl Running {
    /// Hands on what comes while the job runs; gives the last word.
    fn listen(&mut self) -> io::Result<(Reply, Blobs, Vec<OwnedFd>)> {
        loop {
            let (reply, blobs, fds) = self.inbox.wait::<Reply>()?;
            let Some(Live(reader)) = &mut self.reader else {
                return Ok((reply, blobs, fds));
            };
            match reply {
                Reply::Output { stderr } => {
                    let which = if stderr { Which::Stderr } else { Which::Stdout };
                    for blob in &blobs {
                        let mut rest = blob.as_slice();
                        while !rest.is_empty() {
                            let taken = reader.output(which, rest).min(rest.len());
                            rest = &rest[taken..];
                            if taken == 0 {
                                std::thread::sleep(PAUSE);
                            }
                        }
                    }
                }
                Reply::Message { about, parcel } => {
                    let parcel = parcel.parcel(blobs.into_iter().next(), fds.into_iter().next());
                    let mut message = parcel.map(|parcel| Message { about, parcel });
                    while let Some(said) = message.take() {
                        if let Err(back) = reader.message(said) {
                            message = Some(back);
                            std::thread::sleep(PAUSE);
                        }
                    }
                }
                last => return Ok((last, blobs, fds)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The end of the socket ends the run; a warden that has answered is gone already.
        let _ = self.inbox.socket().shutdown(std::net::Shutdown::Both);
        let _ = self.warden.wait();
    }
}
