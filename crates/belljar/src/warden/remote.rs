//! What a job gives while it runs, on its way from its own warden to the engine.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::jar::Outgoing;
use crate::job::{Message, Reader, Which};
use crate::talk::{ParcelHead, Reply, message};

/// Most bytes of output in a message.
const PIECE: usize = 32 << 10;

/// Sends everything over the socket whose last message is the outcome. It never waits for the engine.
pub(super) struct Remote {
    socket: UnixStream,
    outgoing: Outgoing,
}

impl Remote {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            outgoing: Outgoing::default(),
        }
    }

    /// Whether there is room for another message.
    fn has_room(&mut self) -> bool {
        if self.outgoing.send(self.socket.as_fd()).is_err() {
            // The engine is gone, and the watch will see that.
            self.outgoing.give_up();
        }
        self.outgoing.is_done()
    }

    fn put(&mut self, outgoing: Outgoing) {
        self.outgoing = outgoing;
        self.has_room();
    }
}

impl Reader for Remote {
    fn output(&mut self, which: Which, piece: &[u8]) -> usize {
        if !self.has_room() {
            return 0;
        }
        let piece = &piece[..piece.len().min(PIECE)];
        let head = Reply::Output {
            stderr: which == Which::Stderr,
        };
        if let Ok(bytes) = message(&head, &[piece.to_vec()]) {
            self.put(Outgoing::new(bytes));
        }
        piece.len()
    }

    fn message(&mut self, said: Message) -> Result<(), Message> {
        if !self.has_room() {
            return Err(said);
        }
        let about = said.about;
        let (parcel, bytes, fd) = ParcelHead::new(said.parcel);
        let blobs: Vec<Vec<u8>> = bytes.into_iter().collect();
        if let Ok(bytes) = message(&Reply::Message { about, parcel }, &blobs) {
            self.put(Outgoing::with(bytes, fd));
        }
        Ok(())
    }
}

impl Drop for Remote {
    /// The outcome must not come into the middle of a message.
    fn drop(&mut self) {
        while !self.has_room() {
            let mut poll = [rustix::event::PollFd::new(
                &self.socket,
                rustix::event::PollFlags::OUT,
            )];
            let _ = rustix::event::poll(&mut poll, None);
        }
    }
}
