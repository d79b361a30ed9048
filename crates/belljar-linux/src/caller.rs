//! Who started this process, and what of theirs it keeps.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::PidfdFlags;

/// Gives a pidfd of the process behind a socket; from Linux 6.5 on. The C library does not know it everywhere.
const SO_PEERPIDFD: libc::c_int = 77;

/// The process that made a socket pair.
#[derive(Debug)]
pub struct Peer {
    /// Its process id.
    pub pid: u32,
    /// Readable when the whole process is gone, whoever else holds a copy of the socket.
    pub pidfd: OwnedFd,
}

/// The process that made the socket pair of which `socket` is one end.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    let pid = rustix::net::sockopt::socket_peercred(socket)?.pid;
    let pidfd = match peer_pidfd(socket) {
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
            rustix::process::pidfd_open(pid, PidfdFlags::empty())?
        }
        found => found?,
    };
    Ok(Peer {
        pid: pid.as_raw_nonzero().get() as u32,
        pidfd,
    })
}

fn peer_pidfd(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut fd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both out-pointers are valid for the call, and `length` is the size of what the first points to.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut length,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    if fd < 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: the kernel has just made this number for us, close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Bytes that were sent and that the other end has not read yet, with the kernel's own overhead; 0 means that it has
/// everything, descriptors included.
pub fn unread(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int, which the pointer is valid for.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Forgets every variable but these, also where /proc shows what this process was started with, and shows `name` as its
/// command line. Only while this process has one thread; afterwards it is an error.
pub fn keep_variables(names: &[&str], name: &[u8]) -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("more than one thread runs"));
    }
    let kept: Vec<(&str, OsString)> = names
        .iter()
        .filter_map(|name| Some((*name, std::env::var_os(name)?)))
        .collect();
    // SAFETY: there is one thread, so nobody reads the environment meanwhile.
    if unsafe { libc::clearenv() } != 0 {
        return Err(io::Error::last_os_error());
    }
    for (name, value) in kept {
        // SAFETY: as above; the C library makes copies of its own, so that the old strings can go.
        unsafe { std::env::set_var(name, value) };
    }
    crate::process::forget_start(name)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_peer_of_a_pair_is_the_one_who_made_it() {
        let (one, _other) = UnixStream::pair().unwrap();
        let found = peer(one.as_fd()).unwrap();
        assert_eq!(found.pid, std::process::id());
        let mut poll = [rustix::event::PollFd::new(
            &found.pidfd,
            rustix::event::PollFlags::IN,
        )];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        assert_eq!(
            rustix::event::poll(&mut poll, Some(&now)).unwrap(),
            0,
            "it is alive"
        );
        assert!(peer(std::fs::File::open("/dev/null").unwrap().as_fd()).is_err());
    }

    #[test]
    fn what_was_not_read_is_told() {
        use std::io::{Read, Write};
        let (mut one, mut other) = UnixStream::pair().unwrap();
        assert_eq!(unread(one.as_fd()).unwrap(), 0);
        one.write_all(b"hello").unwrap();
        assert!(unread(one.as_fd()).unwrap() >= 5);
        other.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(unread(one.as_fd()).unwrap(), 0);
    }

    #[test]
    fn the_environment_is_left_alone_while_others_may_read_it() {
        // The test harness has threads of its own.
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || receiver.recv());
        assert!(keep_variables(&["PATH"], b"test").is_err());
        drop(sender);
        let _ = other.join();
        assert!(std::env::var_os("PATH").is_some());
    }
}
