//! Frames from the guest. Every byte is hostile: sizes are checked before anything is kept, and the decoder is total.

use thiserror::Error;

use crate::agent::{INLINE, MAX_BODY as MAX_MEMORY};

/// Bytes before a frame's header: kind, version, flags, zero, header length, body length.
pub const PREFIX: usize = 16;
/// The version that both sides speak.
pub const VERSION: u8 = 1;
/// Largest header.
pub const MAX_HEADER: u32 = 1 << 20;
/// Largest body in the stream. A sealed memfd may have as much as a client's.
pub const MAX_BODY: u64 = 64 << 20;
/// The body is not in the stream: it is a descriptor that comes with the frame's first byte.
const DESCRIPTOR: u8 = 1;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The job came to its end; the body is its value, if it has one.
    Returned,
    /// The job ended with an exception; the header is the exception.
    Raised,
    /// The job chose its exit code.
    Exited,
    /// One item of a generator; more may follow, up to one of the others.
    Item,
}

/// One whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it says.
    pub kind: Kind,
    /// Small structured data, as JSON.
    pub header: Vec<u8>,
    /// Raw data, if it is in the stream.
    pub body: Vec<u8>,
    /// Size of the body if it is in a descriptor instead.
    pub descriptor: Option<u64>,
}

/// Why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// Another protocol, or none.
    #[error("frame has version {0}, not {VERSION}")]
    Version(u8),
    /// A kind that the guest may not send. Calls from guest to host are reserved for 17 and above.
    #[error("frame has unknown kind {0}")]
    Kind(u8),
    /// Flags that mean nothing.
    #[error("frame has bits set where none may be")]
    Reserved,
    /// A header that is too large.
    #[error("frame header of {0} bytes is over the limit of {MAX_HEADER}")]
    Header(u32),
    /// A body that is too large.
    #[error("frame body of {0} bytes is over the limit")]
    Body(u64),
    /// A descriptor without a byte in it, or with a frame that has none.
    #[error("frame has a descriptor where none may be")]
    Descriptor,
}

/// Collects bytes into frames: any number of items, then at most one more. A guest has one last word, and what comes after
/// it is not read.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    expected: Option<Expected>,
    done: bool,
}

#[derive(Debug, Clone, Copy)]
struct Expected {
    kind: Kind,
    header: usize,
    body: usize,
    descriptor: Option<u64>,
}

impl Decoder {
    /// How many more bytes are of interest now; 0 when there is nothing more to read.
    pub fn wants(&self) -> usize {
        match self.expected {
            _ if self.done => 0,
            None => PREFIX - self.bytes.len(),
            Some(expected) => expected.header + expected.body - self.bytes.len(),
        }
    }

    /// Whether nothing of the next frame has come yet.
    pub fn is_empty(&self) -> bool {
        !self.done && self.expected.is_none() && self.bytes.is_empty()
    }

    /// Takes bytes, at most as many as [`Decoder::wants`]; gives the frame when it is whole.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Frame>, WireError> {
        let take = bytes.len().min(self.wants());
        self.bytes.extend_from_slice(&bytes[..take]);
        if self.expected.is_none() && self.bytes.len() == PREFIX {
            let expected = prefix(&self.bytes);
            self.bytes.clear();
            // A guest that sends nonsense has had its word.
            self.done = expected.is_err();
            self.expected = Some(expected?);
        }
        match self.expected {
            Some(expected) if !self.done && self.bytes.len() == expected.header + expected.body => {
                self.done = expected.kind != Kind::Item;
                self.expected = None;
                let body = self.bytes.split_off(expected.header);
                Ok(Some(Frame {
                    kind: expected.kind,
                    header: std::mem::take(&mut self.bytes),
                    body,
                    descriptor: expected.descriptor,
                }))
            }
            _ => Ok(None),
        }
    }
}

fn prefix(bytes: &[u8]) -> Result<Expected, WireError> {
    let number = |range: std::ops::Range<usize>| {
        bytes[range]
            .iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    if bytes[1] != VERSION {
        return Err(WireError::Version(bytes[1]));
    }
    if bytes[2] & !DESCRIPTOR != 0 || bytes[3] != 0 {
        return Err(WireError::Reserved);
    }
    let kind = match bytes[0] {
        1 => Kind::Returned,
        2 => Kind::Raised,
        3 => Kind::Exited,
        16 => Kind::Item,
        other => return Err(WireError::Kind(other)),
    };
    let header = number(4..8) as u32;
    if header > MAX_HEADER {
        return Err(WireError::Header(header));
    }
    let body = number(8..16);
    let in_descriptor = bytes[2] & DESCRIPTOR != 0;
    let most = match kind {
        _ if in_descriptor => MAX_MEMORY,
        // Many of these may be on their way.
        Kind::Item => INLINE - 1,
        _ => MAX_BODY,
    };
    if body > most {
        return Err(WireError::Body(body));
    }
    if in_descriptor && (body == 0 || !matches!(kind, Kind::Returned | Kind::Item)) {
        return Err(WireError::Descriptor);
    }
    Ok(Expected {
        kind,
        header: header as usize,
        body: if in_descriptor { 0 } else { body as usize },
        descriptor: in_descriptor.then_some(body),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, header: &[u8], body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind, VERSION, 0, 0];
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(header);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_frame_survives_being_split_at_every_byte() {
        let bytes = frame(1, b"{}", b"value");
        for split in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let mut got = None;
            for part in [&bytes[..split], &bytes[split..]] {
                let mut rest = part;
                while !rest.is_empty() {
                    let take = decoder.wants().min(rest.len());
                    got = got.or(decoder.push(&rest[..take]).unwrap());
                    rest = &rest[take..];
                }
            }
            let got = got.unwrap();
            assert_eq!(
                (got.kind, got.header, got.body),
                (Kind::Returned, b"{}".to_vec(), b"value".to_vec())
            );
            assert_eq!(decoder.wants(), 0);
        }
    }

    #[test]
    fn hostile_sizes_are_refused_before_anything_is_kept() {
        for (bytes, error) in [
            (
                [1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0],
                WireError::Header(u32::MAX),
            ),
            (
                [
                    1, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
                ],
                WireError::Body(u64::MAX >> 1),
            ),
            (
                [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                WireError::Version(2),
            ),
            (
                [9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                WireError::Kind(9),
            ),
            (
                [1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                WireError::Reserved,
            ),
            (
                [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                WireError::Descriptor,
            ),
            (
                [2, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
                WireError::Descriptor,
            ),
            (
                [1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0x40, 0, 0, 0, 0],
                WireError::Body((1 << 30) + 1),
            ),
            (
                [16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
                WireError::Body(1 << 16),
            ),
        ] {
            let mut decoder = Decoder::default();
            assert_eq!(decoder.push(&bytes), Err(error));
            assert_eq!(decoder.wants(), 0);
            assert_eq!(decoder.push(&frame(1, b"", b"")), Ok(None));
        }
    }

    #[test]
    fn a_second_frame_is_not_read() {
        let mut decoder = Decoder::default();
        assert!(decoder.push(&frame(3, b"", b"")).unwrap().is_some());
        assert_eq!(decoder.push(&frame(1, b"", b"")), Ok(None));
    }

    #[test]
    fn items_come_before_the_last_word() {
        let mut bytes = frame(16, b"one", b"1");
        // Its body is elsewhere.
        bytes.extend([16, VERSION, DESCRIPTOR, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(frame(1, b"", b"end"));
        bytes.extend(frame(16, b"", b"late"));
        for step in 1..bytes.len() {
            let (mut decoder, mut got) = (Decoder::default(), Vec::new());
            for piece in bytes.chunks(step) {
                let mut rest = piece;
                while decoder.wants() > 0 && !rest.is_empty() {
                    let take = decoder.wants().min(rest.len());
                    got.extend(decoder.push(&rest[..take]).unwrap());
                    rest = &rest[take..];
                }
            }
            let got: Vec<_> = got
                .into_iter()
                .map(|frame| (frame.kind, frame.body, frame.descriptor))
                .collect();
            let expected = [
                (Kind::Item, b"1".to_vec(), None),
                (Kind::Item, Vec::new(), Some(5)),
                (Kind::Returned, b"end".to_vec(), None),
            ];
            assert_eq!(got, expected, "{step}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_survived(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut decoder = Decoder::default();
            for piece in pieces {
                let _ = decoder.push(&piece);
            }
        }
    }
}
