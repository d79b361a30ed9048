//! What the client says, cut into frames, each with the descriptor that came with it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use belljar::agent::{Decoder, Frame, FrameError};

/// Bytes that are taken at once.
const PIECE: usize = 64 << 10;

/// Why nothing more can be read.
#[derive(Debug)]
pub enum End {
    /// The client closed its end.
    Closed,
    /// The stream is no sequence of frames.
    Frame(FrameError),
    /// A descriptor came that no frame speaks of, or one did not come.
    Descriptor(&'static str),
    /// The kernel refused.
    System(io::Error),
}

/// The client's words.
#[derive(Debug)]
pub struct Inbox {
    socket: UnixStream,
    decoder: Decoder,
    descriptors: VecDeque<OwnedFd>,
    piece: Vec<u8>,
}

impl Inbox {
    /// Reads from this socket.
    pub fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            decoder: Decoder::default(),
            descriptors: VecDeque::new(),
            piece: vec![0; PIECE],
        }
    }

    /// The next frame, and the descriptor with its body if that is not in the stream.
    pub fn next(&mut self) -> Result<(Frame, Option<OwnedFd>), End> {
        loop {
            if let Some(frame) = self.decoder.next_frame().map_err(End::Frame)? {
                let descriptor = match frame.descriptor {
                    // It comes with the first byte of its frame, so it is here by now.
                    Some(_) => Some(
                        self.descriptors
                            .pop_front()
                            .ok_or(End::Descriptor("a frame speaks of a descriptor, and none came"))?,
                    ),
                    None => None,
                };
                return Ok((frame, descriptor));
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), End> {
        if self.decoder.is_between() && !self.descriptors.is_empty() {
            return Err(End::Descriptor("a descriptor came that no frame speaks of"));
        }
        let (length, fds) =
            belljar_linux::descriptors::receive(self.socket.as_fd(), &mut self.piece).map_err(End::System)?;
        if length == 0 {
            return Err(End::Closed);
        }
        self.descriptors.extend(fds);
        if self.descriptors.len() > 1 {
            return Err(End::Descriptor("more than one descriptor came with a frame"));
        }
        self.decoder.push(&self.piece[..length]);
        Ok(())
    }
}
