//! The way from a program of any shape (many threads, its own signal handlers) to a warden: a process of its own, our
//! binary, that is given one plan and one job over a socket and answers with one outcome.

mod binary;
mod message;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use belljar_linux::cgroup::Hierarchy;

use crate::error::{Error, Process};
use crate::jar::{hierarchy, sweep_after};
use crate::job::{Job, Live, Which};
use crate::outcome::Outcome;
use crate::plan::Plan;

pub use binary::{BinaryError, find_binary, own_binary};
pub(crate) use message::{ParcelHead, Reply, Request, carried};

/// Largest message in either direction: files of a job and captured output are in it.
const MAX_MESSAGE: u64 = 1 << 30;

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
    socket: UnixStream,
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
        socket: ours,
        warden,
        groups,
        reader,
    };
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
    send(&running.socket, &request, &blobs, &fds)
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
        self.socket.try_clone().ok()
    }

    /// Sends the guest an interrupt, as Ctrl-C would; the second one ends it.
    pub fn interrupt(&self) {
        let _ = (&self.socket).write_all(b"i");
    }

    /// Ends the job. Its outcome is `cancelled`.
    pub fn kill(&self) {
        let _ = (&self.socket).write_all(b"k");
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
    fn listen(&mut self) -> io::Result<Message<Reply>> {
        loop {
            let (reply, blobs, fds) = receive_with::<Reply>(&self.socket)?;
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
                Reply::Item(head) => {
                    let mut item = head.parcel(blobs.into_iter().next(), fds.into_iter().next());
                    while let Some(parcel) = item.take() {
                        if let Err(back) = reader.item(parcel) {
                            item = Some(back);
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
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.warden.wait();
    }
}

/// Writes a message: lengths, a JSON head, raw parts. Descriptors go with its first bytes.
pub(crate) fn send(
    mut socket: &UnixStream,
    head: &impl serde::Serialize,
    blobs: &[Vec<u8>],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let lengths = lengths(&head, blobs);
    let sent = belljar_linux::descriptors::send(socket.as_fd(), &lengths, fds)?;
    socket.write_all(&lengths[sent..])?;
    socket.write_all(&head)?;
    blobs.iter().try_for_each(|blob| socket.write_all(blob))
}

/// What a message begins with.
fn lengths(head: &[u8], blobs: &[Vec<u8>]) -> Vec<u8> {
    let all = [blobs.len(), head.len()]
        .into_iter()
        .chain(blobs.iter().map(Vec::len));
    all.flat_map(|length| (length as u64).to_le_bytes()).collect()
}

/// A whole small message.
pub(crate) fn message(head: &impl serde::Serialize, blobs: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(head)?;
    let mut bytes = lengths(&head, blobs);
    bytes.extend(head);
    bytes.extend(blobs.iter().flatten());
    Ok(bytes)
}

/// Bytes that are taken with the descriptors: the least a message has. One more could be of the next one.
const FIRST: usize = 16;

/// A message: its head, its raw parts, and the descriptors that came with it.
type Message<Head> = (Head, Vec<Vec<u8>>, Vec<OwnedFd>);

/// Reads a message and the descriptors with it.
pub(crate) fn receive_with<Head: serde::de::DeserializeOwned>(
    socket: &UnixStream,
) -> io::Result<Message<Head>> {
    let mut first = vec![0; FIRST];
    let (length, fds) = belljar_linux::descriptors::receive(socket.as_fd(), &mut first)?;
    first.truncate(length);
    let (head, blobs) = receive(socket, first)?;
    Ok((head, blobs, fds))
}

/// Reads a message whose first bytes, if some were taken already, are `first`.
fn receive<Head: serde::de::DeserializeOwned>(
    socket: &UnixStream,
    first: Vec<u8>,
) -> io::Result<(Head, Vec<Vec<u8>>)> {
    let mut source = first.as_slice().chain(socket);
    let mut number = || -> io::Result<u64> {
        let mut bytes = [0; 8];
        source.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    };
    let (count, head) = (number()?, number()?);
    if count > 1 << 20 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let lengths = (0..count).map(|_| number()).collect::<io::Result<Vec<u64>>>()?;
    let total = lengths
        .iter()
        .try_fold(head, |total, length| total.checked_add(*length));
    if total.is_none_or(|total| total > MAX_MESSAGE) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut part = |length: u64| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if source.by_ref().take(length).read_to_end(&mut bytes)? as u64 == length {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    };
    let head = serde_json::from_slice(&part(head)?)?;
    let blobs = lengths.into_iter().map(part).collect::<io::Result<_>>()?;
    Ok((head, blobs))
}
