//! Frames: prefix, header, body. The stream is cut into frames before anything in them is looked at.

use thiserror::Error;

use super::{INLINE, MAX_BODY, MAX_HEADER};

/// Bytes before a header: kind, layout, flags, zero, header length, id, body length; numbers are little-endian.
pub const PREFIX: usize = 24;
/// The layout of the prefix. It stays as it is, so that any two versions can tell each other that they differ.
const LAYOUT: u8 = 1;
/// The body is not in the stream: it is a descriptor that comes with the frame's first byte.
const DESCRIPTOR: u8 = 1;

/// What a frame says. Below 64 from client to agent, from 64 on back; 33–63 and 97–127 are reserved for calls from guest
/// to host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The first frame of either side: versions.
    Hello = 1,
    /// A policy that jobs shall run under; its id is the sandbox from then on.
    Open = 2,
    /// One job.
    Job = 3,
    /// Ends the job with this id. It is answered as every job is.
    Cancel = 4,
    /// Interrupts the job with this id, as Ctrl-C would.
    Interrupt = 5,
    /// Gives a sandbox back.
    Close = 6,
    /// Asks for figures.
    Stats = 7,
    /// Asks what a text tells of a Python exception.
    Parse = 8,
    /// Has workers of a sandbox ready.
    Warm = 9,
    /// Lets the job with this id give more items.
    More = 32,
    /// The agent's versions.
    Welcome = 64,
    /// A sandbox is ready.
    Opened = 65,
    /// A piece of a job's output, live.
    Output = 66,
    /// A job's value, before its jar is empty.
    Value = 67,
    /// All that is known of a job; its last frame.
    Outcome = 68,
    /// Why there is no other answer; with id 0 the last frame of the connection.
    Error = 69,
    /// A sandbox was given back.
    Closed = 70,
    /// Figures.
    Figures = 71,
    /// The exception that a text tells of.
    Parsed = 72,
    /// How warming up went.
    Warmed = 73,
    /// An item of a generator.
    Item = 96,
}

impl Kind {
    const ALL: [Self; 21] = [
        Self::Hello,
        Self::Open,
        Self::Job,
        Self::Cancel,
        Self::Interrupt,
        Self::Close,
        Self::Stats,
        Self::Parse,
        Self::Warm,
        Self::More,
        Self::Welcome,
        Self::Opened,
        Self::Output,
        Self::Value,
        Self::Outcome,
        Self::Error,
        Self::Closed,
        Self::Figures,
        Self::Parsed,
        Self::Warmed,
        Self::Item,
    ];

    /// Whether a client sends it.
    pub fn is_request(self) -> bool {
        (self as u8) < 64
    }
}

/// One whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it says.
    pub kind: Kind,
    /// The request that it is or answers; chosen by the client.
    pub id: u64,
    /// Small structured data, as JSON.
    pub header: Vec<u8>,
    /// Raw data, if it is in the stream.
    pub body: Vec<u8>,
    /// Size of the body if it is in a descriptor instead.
    pub descriptor: Option<u64>,
}

/// Why bytes are no frame. The stream cannot be followed after one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Another protocol, or none.
    #[error("a frame has layout {0}, not {LAYOUT}")]
    Layout(u8),
    /// A kind that nobody sends.
    #[error("a frame has unknown kind {0}")]
    Kind(u8),
    /// Flags that mean nothing.
    #[error("a frame has bits set where none may be")]
    Reserved,
    /// A header that is too large.
    #[error("a frame header of {0} bytes is over the limit of {MAX_HEADER}")]
    Header(u32),
    /// A body that is too large.
    #[error("a frame body of {0} bytes is over the limit of {MAX_BODY}")]
    Body(u64),
    /// A body that belongs into a descriptor.
    #[error("a frame body of {0} bytes is in the stream; from {INLINE} on it must be a sealed memfd")]
    Inline(u64),
    /// A descriptor without a byte in it.
    #[error("a frame has a descriptor for an empty body")]
    Empty,
}

/// The bytes of a frame that go through the stream: all of it, or all but a body of `descriptor` bytes.
pub fn encode(kind: Kind, id: u64, header: &[u8], body: &[u8], descriptor: Option<u64>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PREFIX + header.len() + body.len());
    let flags = if descriptor.is_some() { DESCRIPTOR } else { 0 };
    bytes.extend([kind as u8, LAYOUT, flags, 0]);
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.extend(descriptor.unwrap_or(body.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(body);
    bytes
}

/// Cuts a stream into frames. Holds less than one frame and what was pushed last.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// How much of `bytes` has been given out.
    used: usize,
    failed: Option<FrameError>,
}

/// A prefix that is within the caps.
#[derive(Debug, Clone, Copy)]
struct Prefix {
    kind: Kind,
    id: u64,
    header: usize,
    body: u64,
    in_descriptor: bool,
}

impl Decoder {
    /// Takes bytes of the stream. [`Decoder::next_frame`] is to be called until it gives none before more is pushed.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether the stream is between two frames.
    pub fn is_between(&self) -> bool {
        self.used == self.bytes.len()
    }

    /// The next whole frame. An error stays: nothing after it can be read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let rest = &self.bytes[self.used..];
        let Some(first) = rest.first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let prefix = match prefix(first) {
            Ok(prefix) => prefix,
            Err(error) => {
                self.failed = Some(error);
                self.bytes = Vec::new();
                self.used = 0;
                return Err(error);
            }
        };
        let inline = if prefix.in_descriptor {
            0
        } else {
            prefix.body as usize
        };
        let length = PREFIX + prefix.header + inline;
        if rest.len() < length {
            return Ok(None);
        }
        let (header, body) = rest[PREFIX..length].split_at(prefix.header);
        let frame = Frame {
            kind: prefix.kind,
            id: prefix.id,
            header: header.to_vec(),
            body: body.to_vec(),
            descriptor: prefix.in_descriptor.then_some(prefix.body),
        };
        self.used += length;
        Ok(Some(frame))
    }
}

fn prefix(bytes: &[u8; PREFIX]) -> Result<Prefix, FrameError> {
    let number = |from: usize, length: usize| {
        bytes[from..from + length]
            .iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    if bytes[1] != LAYOUT {
        return Err(FrameError::Layout(bytes[1]));
    }
    if bytes[2] & !DESCRIPTOR != 0 || bytes[3] != 0 {
        return Err(FrameError::Reserved);
    }
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| *kind as u8 == bytes[0])
        .ok_or(FrameError::Kind(bytes[0]))?;
    let (header, id, body) = (number(4, 4) as u32, number(8, 8), number(16, 8));
    let in_descriptor = bytes[2] & DESCRIPTOR != 0;
    if header > MAX_HEADER {
        return Err(FrameError::Header(header));
    }
    if body > MAX_BODY {
        return Err(FrameError::Body(body));
    }
    if !in_descriptor && body >= INLINE {
        return Err(FrameError::Inline(body));
    }
    if in_descriptor && body == 0 {
        return Err(FrameError::Empty);
    }
    Ok(Prefix {
        kind,
        id,
        header: header as usize,
        body,
        in_descriptor,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(bytes: &[u8], step: usize) -> (Vec<Frame>, Option<FrameError>) {
        let (mut decoder, mut found) = (Decoder::default(), Vec::new());
        for piece in bytes.chunks(step) {
            decoder.push(piece);
            loop {
                match decoder.next_frame() {
                    Ok(Some(frame)) => found.push(frame),
                    Ok(None) => break,
                    Err(error) => return (found, Some(error)),
                }
            }
        }
        (found, None)
    }

    #[test]
    fn frames_survive_being_split_at_every_size() {
        let mut bytes = encode(Kind::Hello, 0, b"{}", b"", None);
        bytes.extend(encode(Kind::Job, 7, b"{\"a\":1}", b"body", None));
        bytes.extend(encode(Kind::Job, u64::MAX, b"", b"", Some(1 << 20)));
        let (whole, error) = frames(&bytes, usize::MAX);
        assert_eq!((whole.len(), error), (3, None));
        assert_eq!((whole[1].id, whole[1].body.as_slice()), (7, b"body".as_slice()));
        assert_eq!(whole[2].descriptor, Some(1 << 20));
        for step in 1..bytes.len() {
            assert_eq!(frames(&bytes, step).0, whole, "{step}");
        }
    }

    #[test]
    fn hostile_prefixes_are_refused_before_anything_is_kept() {
        let prefix = |change: fn(&mut Vec<u8>)| {
            let mut bytes = encode(Kind::Job, 1, b"", b"", None);
            change(&mut bytes);
            bytes
        };
        for (bytes, error) in [
            (prefix(|bytes| bytes[0] = 0), FrameError::Kind(0)),
            (prefix(|bytes| bytes[0] = 40), FrameError::Kind(40)),
            (prefix(|bytes| bytes[1] = 2), FrameError::Layout(2)),
            (prefix(|bytes| bytes[2] = 2), FrameError::Reserved),
            (prefix(|bytes| bytes[3] = 1), FrameError::Reserved),
            (prefix(|bytes| bytes[2] = 1), FrameError::Empty),
            (
                prefix(|bytes| bytes[4..8].fill(255)),
                FrameError::Header(u32::MAX),
            ),
            (
                prefix(|bytes| bytes[16..24].fill(255)),
                FrameError::Body(u64::MAX),
            ),
            (prefix(|bytes| bytes[18] = 1), FrameError::Inline(INLINE)),
        ] {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            assert_eq!(decoder.next_frame(), Err(error));
            decoder.push(&encode(Kind::Hello, 0, b"{}", b"", None));
            assert_eq!(decoder.next_frame(), Err(error), "an error stays");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same(bytes in prop::collection::vec(any::<u8>(), 0..300), step in 1usize..40) {
            prop_assert_eq!(frames(&bytes, step), frames(&bytes, usize::MAX));
        }

        #[test]
        fn what_is_encoded_is_decoded(id: u64, header in prop::collection::vec(any::<u8>(), 0..200), body in prop::collection::vec(any::<u8>(), 0..200)) {
            let (found, error) = frames(&encode(Kind::Output, id, &header, &body, None), 7);
            prop_assert_eq!(error, None);
            prop_assert_eq!(found, vec![Frame { kind: Kind::Output, id, header, body, descriptor: None }]);
        }
    }
}
