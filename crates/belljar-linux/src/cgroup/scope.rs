//! Asks a service manager for a delegated cgroup of this process's own: one message over the manager's socket.
//!
//! The manager is never believed. Whom it moves, the kernel tells it (`PIDs=[0]` is whoever connected), and that this
//! process was moved, the kernel tells us.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::detect::{Read, detect, detect_of, is_unified, own_group, read};
use super::{Hierarchy, leave};
use crate::dbus::{self, Kind, MAX_MESSAGE, Property};

/// What a silent manager can cost. One that works answers within a few milliseconds.
const PATIENCE: Duration = Duration::from_millis(250);
/// What one can cost that has answered: giving up then would leave a process that is moved later.
const ANSWERED: Duration = Duration::from_secs(2);

/// Why this process has no scope of its own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// Nobody listens there.
    #[error("no systemd manager of this user runs (nobody listens at {path})", path = path.display())]
    NoManager {
        /// The manager's socket.
        path: PathBuf,
        /// What connecting to it gave.
        source: io::Error,
    },
    /// The socket is not the manager's of this user, or not one that sees this process as we do.
    #[error("{path} is not the systemd manager of this user: {problem}", path = path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Limits that hold for this process now would no longer hold.
    #[error("this process is held to {limit}, which it would leave for a cgroup of its own")]
    Limited {
        /// The file that limits, and what it says.
        limit: String,
    },
    /// The manager said no.
    #[error("systemd refuses a scope: {name}: {text}")]
    Refused {
        /// The error's name.
        name: String,
        /// The manager's words.
        text: String,
    },
    /// The manager did not answer, or with something that is no answer.
    #[error("systemd gave no scope: {0}")]
    NoAnswer(io::Error),
    /// The time is up and this process is where it was.
    #[error("systemd gave no scope in time")]
    Late,
}

/// Whether this machine has a service manager to ask, and cgroups that it could give.
pub fn is_askable() -> bool {
    is_unified(&read) && Path::new("/run/systemd/system").is_dir()
}

/// The cgroups that this process may make, in a scope of its own where it has none otherwise.
///
/// Never for a process that is not belljar's: whoever moves a program out of its session or service changes when it is ended.
pub fn obtain() -> Result<Hierarchy, ScopeError> {
    let found = detect();
    if !matches!(found, Hierarchy::None { .. }) || !is_askable() {
        return Ok(found);
    }
    enter()?;
    Ok(detect())
}

/// The cgroups that another process of this user obtained; `None` where it has no scope of its own (yet).
pub fn of_process(pid: u32) -> Option<Hierarchy> {
    match detect_of(pid) {
        found @ Hierarchy::V2 { .. } => Some(found),
        _ => None,
    }
}

/// Moves this process, with all its threads, into a delegated scope of its own; it is gone with its last process.
fn enter() -> Result<(), ScopeError> {
    let uid = rustix::process::geteuid().as_raw();
    enter_by(socket_of(uid), uid)
}

/// The manager's own socket. Root's is the system's; a user's is in a folder that only root and that user can fill.
/// Not from a variable: `sudo -E` keeps those of somebody else.
fn socket_of(uid: u32) -> PathBuf {
    match uid {
        0 => PathBuf::from("/run/systemd/private"),
        uid => PathBuf::from(format!("/run/user/{uid}/systemd/private")),
    }
}

pub(super) fn enter_by(path: PathBuf, uid: u32) -> Result<(), ScopeError> {
    let since = Instant::now();
    let socket = connect(&path).map_err(|errno| ScopeError::NoManager {
        path: path.clone(),
        source: errno.into(),
    })?;
    let slice = check(&socket, uid, &read).map_err(|problem| ScopeError::Stranger { path, problem })?;
    let own = own_group(&read).unwrap_or_default();
    if let Some(limit) = leave::limit(&own, &slice, &read) {
        return Err(ScopeError::Limited { limit });
    }
    let unit = unit_name().map_err(ScopeError::NoAnswer)?;
    let mut message = dbus::greeting(uid);
    message.extend(dbus::call(
        1,
        &unit,
        &[
            // Not our pid, which is another's where the manager is in another pid namespace.
            ("PIDs", Property::Numbers(&[0])),
            ("Delegate", Property::Bool(true)),
            ("CollectMode", Property::Text("inactive-or-failed")),
            ("Description", Property::Text("belljar")),
            // The default is for one program; this holds all jars, each with a limit of its own.
            ("TasksMax", Property::Number(u64::MAX)),
        ],
    ));
    let sent = rustix::net::send(&socket, &message, rustix::net::SendFlags::NOSIGNAL);
    if sent != Ok(message.len()) {
        return Err(ScopeError::NoAnswer(sent.err().unwrap_or(Errno::AGAIN).into()));
    }
    await_move(&socket, &unit, since)
}

fn connect(path: &Path) -> Result<OwnedFd, Errno> {
    // Not blocking: a full backlog would let connect(2) wait for ever.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Whose socket it is; gives the slice that the manager puts scopes into.
///
/// A manager that this process does not see sees it under another pid, or not at all, and one whose cgroup lies outside of
/// ours is outside of our container: both are somebody else's, bound into it.
fn check(socket: &OwnedFd, uid: u32, read: Read<'_>) -> Result<String, &'static str> {
    let peer = peer(socket).map_err(|_| "the kernel does not tell who listens")?;
    if peer.uid != uid {
        return Err("somebody else listens");
    }
    if peer.pid <= 0 {
        return Err("whoever listens is outside of this process's pid namespace");
    }
    let groups = read(format!("/proc/{}/cgroup", peer.pid).as_ref()).unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let manager = group.and_then(|group| group.strip_suffix("/init.scope"));
    match manager {
        Some(manager) if !manager.split('/').any(|part| part == "..") => {
            let slice = if uid == 0 { "system.slice" } else { "app.slice" };
            Ok(format!("{manager}/{slice}"))
        }
        _ => Err("whoever listens is no service manager of this cgroup tree"),
    }
}

/// Who called listen(2). Read as plain numbers: a process outside of our pid namespace is 0.
fn peer(socket: &OwnedFd) -> io::Result<libc::ucred> {
    use std::os::fd::AsRawFd;
    let mut peer = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both out-pointers are valid for the call, and `length` is the size of what the first points to.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(peer)
}

/// A name that no other scope has: the same pid may ask again before its last scope is collected.
fn unit_name() -> io::Result<String> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let random = u64::from_le_bytes(random);
    Ok(format!("belljar-{}-{random:016x}.scope", std::process::id()))
}

/// Waits until the kernel says that this process is in the unit. The reply comes before that; a signal that the job is
/// done comes after it, and both are only a reason to look.
pub(super) fn await_move(socket: &OwnedFd, unit: &str, since: Instant) -> Result<(), ScopeError> {
    let moved = || own_group(&read).is_some_and(|group| group.rsplit('/').next() == Some(unit));
    let mut said = Vec::new();
    let mut welcomed = false;
    loop {
        if moved() {
            return Ok(());
        }
        let patience = if welcomed { ANSWERED } else { PATIENCE };
        let left = patience.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Err(ScopeError::Late);
        }
        hear(socket, &mut said, left).map_err(ScopeError::NoAnswer)?;
        let malformed = |error: dbus::Malformed| ScopeError::NoAnswer(io::Error::other(error));
        if !welcomed && let Some(length) = dbus::welcome(&said).map_err(malformed)? {
            said.drain(..length);
            welcomed = true;
        }
        while welcomed && let Some((answer, length)) = dbus::next(&said).map_err(malformed)? {
            said.drain(..length);
            if let (Kind::Error { name, text }, Some(1)) = (answer.kind, answer.reply_to) {
                return Err(ScopeError::Refused { name, text });
            }
        }
    }
}

/// Waits for more, and takes what there is.
fn hear(socket: &OwnedFd, said: &mut Vec<u8>, patience: Duration) -> io::Result<()> {
    let timeout = Timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: patience.subsec_nanos().into(),
    };
    let mut list = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
    match rustix::event::poll(&mut list, Some(&timeout)) {
        Ok(0) | Err(Errno::INTR) => return Ok(()),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut buffer = [0; 4096];
    match rustix::io::read(socket, &mut buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) if said.len() + count > MAX_MESSAGE => Err(io::ErrorKind::InvalidData.into()),
        Ok(count) => {
            said.extend_from_slice(&buffer[..count]);
            Ok(())
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
