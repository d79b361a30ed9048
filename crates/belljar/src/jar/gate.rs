//! The gate of a job: asked by a thread of its own while the guest's interpreter starts.

use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::job::Gate;

/// A gate that is not open yet.
pub(crate) enum Closed {
    /// Nobody has asked: building the jar takes all processors by itself, the start of an interpreter only one.
    Unasked(Gate),
    /// Becomes readable with the answer, with a byte if that is yes.
    Asked(OwnedFd),
}

/// Asks.
pub(super) fn ask(Gate(question): Gate) -> Result<Closed, Error> {
    let (answer, told) = super::pipe()?;
    let act = move || {
        if question() {
            // Nobody reads it only if the jar has ended before.
            let _ = rustix::io::write(&told, b"y");
        }
    };
    let thread = std::thread::Builder::new().name("gate".into());
    let started = thread.spawn(act);
    started.map_err(|error| Error::setup("start a thread", error))?;
    Ok(Closed::Asked(answer))
}

/// Whether the answer is yes.
pub(super) fn is_open(answer: &OwnedFd) -> bool {
    rustix::io::read(answer, &mut [0; 1]) == Ok(1)
}
