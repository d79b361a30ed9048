//! Descriptor tables: exactly what a process shall hold, and handing descriptors to another.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

/// Most descriptors in one message: a jar's namespaces, streams and cgroups at once. The kernel takes 253.
pub const MAX_PASSED: usize = 24;

/// Makes the descriptor table of this process exactly `table` (at 0, 1, 2 … in order), with close-on-exec off,
/// plus `kept` above it, with close-on-exec on; everything else is closed. Returns `kept` at their new numbers.
///
/// Every descriptor value that the caller holds is stale afterwards: for a copied process that is about to exec.
pub fn set_table(table: &[RawFd], kept: &[RawFd]) -> io::Result<Vec<OwnedFd>> {
    // Everything is first moved above the wanted numbers, so that no wanted number is overwritten before it is used.
    let floor = (table.len() + kept.len() + 3) as RawFd;
    let lift = |fd: &RawFd| {
        // SAFETY: fcntl on a number; a bad one is an error, not undefined.
        let moved = unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, floor) };
        if moved < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(moved)
        }
    };
    let table: Vec<RawFd> = table.iter().map(lift).collect::<io::Result<_>>()?;
    let kept: Vec<RawFd> = kept.iter().map(lift).collect::<io::Result<_>>()?;
    let place = |from: RawFd, to: RawFd, flags: libc::c_int| {
        // SAFETY: dup3 on numbers that this process owns; the overwritten ones are given up by contract.
        if unsafe { libc::dup3(from, to, flags) } < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    };
    let mut next = 0;
    for fd in table {
        place(fd, next, 0)?;
        next += 1;
    }
    let mut places = Vec::with_capacity(kept.len());
    for fd in kept {
        place(fd, next, libc::O_CLOEXEC)?;
        // SAFETY: dup3 has just made this number, and nobody else knows of it.
        places.push(unsafe { OwnedFd::from_raw_fd(next) });
        next += 1;
    }
    close_from(next as u32)?;
    Ok(places)
}

/// Closes every descriptor but `kept`, which stay at their numbers.
///
/// Every other descriptor value that the caller holds is stale afterwards: for a copied process that never gives them up
/// one by one.
pub fn keep_only(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().map(|fd| *fd as u32).collect();
    kept.sort_unstable();
    let mut first = 0;
    for fd in kept {
        if fd > first {
            close_range(first, fd - 1)?;
        }
        first = fd + 1;
    }
    close_from(first)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: plain integers; descriptors in the range are given up by the callers' contract.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return Ok(());
    }
    for fd in first..=last {
        // SAFETY: closing a number that is not open is an error that is ignored.
        unsafe { libc::close(fd as libc::c_int) };
    }
    Ok(())
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: plain integers; descriptors above `first` are given up by contract.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if done == 0 {
        return Ok(());
    }
    close_from_slow(first)
}

/// As [`close_from`], for kernels without close_range: walks /proc/self/fd, and if that is not there, every number.
pub fn close_from_slow(first: u32) -> io::Result<()> {
    let close = |fd: u32| {
        // SAFETY: closing a number that is not open is an error that is ignored.
        unsafe { libc::close(fd as libc::c_int) };
    };
    if let Ok(folder) = std::fs::read_dir("/proc/self/fd") {
        let open: Vec<u32> = folder
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|fd| *fd >= first)
            .collect();
        open.into_iter().for_each(close);
        return Ok(());
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile)
        .current
        .unwrap_or(1 << 20);
    (first..limit.min(1 << 20) as u32).for_each(close);
    Ok(())
}

/// Most descriptors that the kernel takes in one message.
const SCM_MAX: usize = 253;

/// Sends one message with descriptors.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PASSED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // The buffer is rounded up and might take one more than the other end has room for.
    if fds.len() > MAX_PASSED {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    loop {
        match rustix::net::sendmsg(
            socket,
            &[io::IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}

/// Receives what is there now, and the descriptors with it, all close-on-exec. Nothing is waited for.
pub fn receive_now(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> rustix::io::Result<(usize, Vec<OwnedFd>)> {
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    // As many as the kernel lets anyone send: those without room would be closed here and now.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SCM_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = rustix::net::recvmsg(socket, &mut [io::IoSliceMut::new(bytes)], &mut control, flags)?;
    Ok((got.bytes, passed(&mut control)))
}

fn passed(control: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let all = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    all.collect()
}

/// Receives one message and the descriptors with it, all close-on-exec. An empty message means the other end is gone.
pub fn receive(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PASSED))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match rustix::net::recvmsg(
            socket,
            &mut [io::IoSliceMut::new(bytes)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        ) {
            // A peer that ended with something unread resets once; what it had said comes after that.
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => {}
            done => break done?,
        }
    };
    Ok((got.bytes, passed(&mut control)))
}

/// The numbers of some descriptors.
pub fn numbers(fds: &[BorrowedFd<'_>]) -> Vec<RawFd> {
    fds.iter().map(AsRawFd::as_raw_fd).collect()
}

/// Closes one number in a copied process, where its owner is the process that was copied.
pub fn close(fd: RawFd) -> io::Result<()> {
    // SAFETY: closing a number that is not open is an error, not undefined.
    if unsafe { libc::close(fd) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
