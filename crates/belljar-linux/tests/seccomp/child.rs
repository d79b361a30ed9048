//! Children that make system calls by number. A child of a test has one thread and must not allocate: it makes calls, stores results
//! and ends.

use std::sync::atomic::{AtomicI64, Ordering};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
}

/// Runs `body` in a child and waits for it.
pub fn child(body: impl FnOnce() -> i32) -> End {
    // SAFETY: the child runs `body`, which by the rule of this module only makes calls, and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let code = body();
        // SAFETY: ends the child without running handlers that belong to the parent.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the status of the child made above.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    if libc::WIFSIGNALED(status) {
        End::Signalled(libc::WTERMSIG(status))
    } else {
        End::Exited(libc::WEXITSTATUS(status))
    }
}

/// Makes a call by number: its value, or the negated errno. A child that `clone` makes ends at once.
pub fn call(number: u32, args: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = args;
    // SAFETY: callers pass calls that are refused, that have wrong addresses, or that touch no memory of this process.
    let result = unsafe { libc::syscall(i64::from(number as i32), a, b, c, d, e, f) };
    if result == 0 && i64::from(number) == libc::SYS_clone {
        // SAFETY: this is the new process, which has nothing to do.
        unsafe { libc::_exit(0) };
    }
    if result == -1 {
        return -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0));
    }
    result
}

/// Numbers in memory that a child shares with its parent.
pub struct Shared(&'static [AtomicI64]);

impl Shared {
    pub fn new(len: usize) -> Shared {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), len.max(1) * 8, protection, flags, -1, 0) };
        assert_ne!(address, libc::MAP_FAILED);
        // SAFETY: the mapping is `len` zeroed, aligned words that stay until the process ends.
        Shared(unsafe { std::slice::from_raw_parts(address.cast::<AtomicI64>(), len) })
    }

    pub fn set(&self, index: usize, value: i64) {
        self.0[index].store(value, Ordering::Relaxed);
    }

    pub fn all(&self) -> Vec<i64> {
        self.0.iter().map(|value| value.load(Ordering::Relaxed)).collect()
    }
}
