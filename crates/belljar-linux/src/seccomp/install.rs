//! Handing a program to the kernel.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::bpf::Instruction;

const _: () = assert!(size_of::<Instruction>() == size_of::<libc::sock_filter>());
const _: () = assert!(align_of::<Instruction>() == align_of::<libc::sock_filter>());

/// `SECCOMP_FILTER_FLAG_NEW_LISTENER` and `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`.
const NEW_LISTENER: libc::c_ulong = 1 << 3;
const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;

/// Puts the calling thread, and all that it starts from now on, under `program`. There is no way back.
///
/// It needs no_new_privs or CAP_SYS_ADMIN (EACCES otherwise). It allocates nothing, so a freshly forked child may
/// call it; threads that already run stay as they are, so it belongs before the first of them. Without the log flag: a guest
/// that is denied a million times must not fill the host's log.
pub fn install(program: &[Instruction]) -> io::Result<()> {
    let description = describe(program)?;
    let error = match load(&description, 0) {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    if error.raw_os_error() != Some(libc::ENOSYS) {
        return Err(error);
    }
    // An outer filter may hide seccomp(2) and leave the older door open.
    // SAFETY: as above.
    let status = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
            &raw const description,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// As [`install`], with a listener for the calls that the program asks about, which is close-on-exec. A call that has been
/// read there waits until it is answered or killed: signals of its own would make it ask again and again.
///
/// EINVAL is a kernel before 5.19, EBUSY an outer filter with a listener of its own, ENOSYS one that hides seccomp(2).
pub fn install_listening(program: &[Instruction]) -> io::Result<OwnedFd> {
    let fd = load(&describe(program)?, NEW_LISTENER | WAIT_KILLABLE_RECV)?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn describe(program: &[Instruction]) -> io::Result<libc::sock_fprog> {
    let Ok(len) = u16::try_from(program.len()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // The kernel copies the program and never writes to it, whatever the header's pointer says.
    let filter = program.as_ptr().cast_mut().cast::<libc::sock_filter>();
    Ok(libc::sock_fprog { len, filter })
}

fn load(description: &libc::sock_fprog, flags: libc::c_ulong) -> io::Result<libc::c_int> {
    // SAFETY: `description` points to as many instructions as it says, of the kernel's layout; the callers' programs outlive
    // the call.
    let status = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const *description,
        )
    };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(status as libc::c_int)
}
