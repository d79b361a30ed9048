//! A process of its own for a test: libtest has threads, and what is tried here is for processes with one.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body` in a forked child, which has one thread, and fails with what it fails with.
pub fn alone(body: impl FnOnce()) {
    let (mut read, mut write) = std::io::pipe().unwrap();
    // SAFETY: glibc's fork leaves its allocator usable in the child, which ends without unwinding into libtest.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let notes = write.try_clone().unwrap();
        std::panic::set_hook(Box::new(move |info| {
            let _ = write!(&notes, "{info}");
        }));
        let code = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(()) => 0,
            Err(_) => 1,
        };
        let _ = write.flush();
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(code) };
    }
    drop(write);
    let mut said = String::new();
    // Descendants may hold the pipe, so the end of the child is what counts.
    let mut status = 0;
    // SAFETY: `status` is a valid place for the status of the child made above.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    if status != 0 {
        let _ = read.read_to_string(&mut said);
        panic!("status {status:#x}: {said}");
    }
}
