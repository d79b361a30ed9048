//! The caller's standard streams as descriptors of their own. Rust's start code has already put /dev/null in the place
//! of a stream that was closed, so that no descriptor of ours lands on 0, 1 or 2.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use belljar::job::{Sink, Stdin};

use crate::failure::Failure;

/// A copy of a descriptor, above the standard ones.
pub fn duplicate(descriptor: BorrowedFd<'_>) -> Result<OwnedFd, Failure> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, 3).map_err(|error| {
        Failure::new(format!(
            "cannot copy a standard stream: {}",
            std::io::Error::from(error)
        ))
    })
}

/// The caller's standard input, copied to the guest.
pub fn stdin() -> Result<Stdin, Failure> {
    Ok(Stdin::Copy(duplicate(std::io::stdin().as_fd())?))
}

/// The caller's standard output, live.
pub fn stdout() -> Result<Sink, Failure> {
    Ok(Sink::Forward(duplicate(std::io::stdout().as_fd())?))
}

/// The caller's standard error, live.
pub fn stderr() -> Result<Sink, Failure> {
    Ok(Sink::Forward(duplicate(std::io::stderr().as_fd())?))
}
