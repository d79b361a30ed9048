//! Questions to the kernel: which mechanisms it has, and, by trying them in a child, which of them it lets us use.

mod trial;

pub use trial::{Trial, Tried, idmap, trial};

/// The version of Landlock's interface; 0 when the kernel has none, it is switched off, or a filter hides it.
pub fn landlock_abi() -> u32 {
    const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
    // SAFETY: with the version flag the kernel takes no attribute and touches no memory; it returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Whether a system-call filter that kills the process can be loaded.
pub fn seccomp_filters() -> bool {
    let action: u32 = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the kernel reads four bytes from a live variable and writes nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0_u32,
            &raw const action,
        )
    };
    answer == 0
}

/// Whether the kernel has `mount_setattr`. Whether somebody forbids it, and who, is another matter.
pub fn mount_setattr() -> bool {
    // SAFETY: a size of 0 is refused before any pointer is looked at.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            -1_i32,
            c"".as_ptr(),
            0_u32,
            std::ptr::null::<libc::c_void>(),
            0_usize,
        )
    };
    // There, it is EINVAL; behind a container's filter it is EPERM.
    answer == -1 && std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}
