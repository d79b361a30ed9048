//! What a job gives while it runs, on its way to the client: output, and what its guest says.

use std::sync::Arc;

use belljar::agent::{Kind, OutputHead, OutputStream, PartsHead};
use belljar::job::{About, Message, Reader, Which};

use crate::outbox::{Letter, Outbox};

/// Most bytes of one frame of output.
pub const PIECE: usize = 32 << 10;

/// The client, as a job's reader. A client that does not read makes the guest wait, and not the thread that watches it.
pub struct Client {
    /// The way to it.
    pub outbox: Arc<Outbox>,
    /// The job.
    pub id: u64,
}

impl Reader for Client {
    fn output(&mut self, which: Which, bytes: &[u8]) -> usize {
        let stream = match which {
            Which::Stdout => OutputStream::Stdout,
            Which::Stderr => OutputStream::Stderr,
        };
        let mut taken = 0;
        for piece in bytes.chunks(PIECE) {
            let letter = Letter::new(Kind::Output, self.id, &OutputHead { stream }, &[piece]);
            if letter.is_ok_and(|letter| !self.outbox.offer(letter)) {
                break;
            }
            taken += piece.len();
        }
        taken
    }

    fn message(&mut self, message: Message) -> Result<(), Message> {
        let kind = match message.about {
            About::Item => Kind::Item,
        };
        let (parts, content) = message.parcel.clone().into_parts();
        let letter = Letter::whole(kind, self.id, &PartsHead { parts }, content);
        // One whose list of parts is too long for a header is lost: the guest's runtime sends none.
        if letter.is_ok_and(|letter| !self.outbox.offer(letter)) {
            return Err(message);
        }
        Ok(())
    }
}
