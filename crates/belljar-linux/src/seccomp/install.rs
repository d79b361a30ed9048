//! Handing a program to the kernel.

use std::io;

use super::bpf::Instruction;

const _: () = assert!(size_of::<Instruction>() == size_of::<libc::sock_filter>());
const _: () = assert!(align_of::<Instruction>() == align_of::<libc::sock_filter>());

/// Puts the calling thread, and all that it starts from now on, under `program`. There is no way back.
///
/// It needs no_new_privs or CAP_SYS_ADMIN (EACCES otherwise). It allocates nothing, so a freshly forked child may
/// call it; threads that already run stay as they are, so it belongs before the first of them. Without the log flag: a guest
/// that is denied a million times must not fill the host's log.
pub fn install(program: &[Instruction]) -> io::Result<()> {
    let Ok(len) = u16::try_from(program.len()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // The kernel copies the program and never writes to it, whatever the header's pointer says.
    let filter = program.as_ptr().cast_mut().cast::<libc::sock_filter>();
    let description = libc::sock_fprog { len, filter };
    // SAFETY: `description` points to `len` instructions that outlive the call and have the kernel's layout.
    let status = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const description,
        )
    };
    if status == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
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
