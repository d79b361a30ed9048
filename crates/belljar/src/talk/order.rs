//! What a caller says to its run, while that lasts.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use rustix::net::SendFlags;
use serde::{Deserialize, Serialize};

use super::channel::message;

/// One thing that a caller says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Pass an interrupt to the guest, as Ctrl-C would; the second one ends the run.
    Interrupt,
    /// Let the guest send so many more items.
    More { items: u64 },
    /// The terminal has another size.
    Resize,
    /// End the run. So does the end of the socket.
    End,
}

impl Order {
    /// Says it without waiting; `false` if there is no room for it, or nobody to hear it.
    pub(crate) fn say(self, socket: &UnixStream) -> bool {
        let Ok(bytes) = message(&self, &[]) else {
            return false;
        };
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        rustix::io::retry_on_intr(|| rustix::net::send(socket, &bytes, flags)) == Ok(bytes.len())
    }

    /// Ends the run behind a socket, whatever else was said there.
    pub(crate) fn end(socket: &UnixStream) {
        if !Self::End.say(socket) {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }
}
