//! The guest's socket: what its runtime and the host say to each other (docs/reference/wire.md), in one table.
//!
//! Every byte from the guest is hostile: sizes are checked before anything is kept, and the decoder is total.

use thiserror::Error;

/// Bytes before a frame's header: kind, version, flags, zero, header length, body length.
pub const PREFIX: usize = 16;
/// The version that both sides speak.
pub const VERSION: u8 = 1;
/// Largest header.
pub const MAX_HEADER: u32 = 1 << 20;
/// Largest body in the stream.
pub const MAX_BODY: u64 = 64 << 20;
/// Largest body in a sealed memfd.
pub const MAX_MEMORY: u64 = 1 << 30;
/// Parcels of this size and more travel as a sealed memfd; smaller ones in the stream.
pub const INLINE: u64 = 64 << 10;
/// Parts of a parcel begin at multiples of this, so that whoever maps it can use arrays in it as they are.
pub const ALIGN: u64 = 64;
/// Most items of a generator that leave is given for at once.
pub const MAX_ITEMS: u64 = 4096;
/// The body is not in the stream: it is a descriptor that comes with the frame's first byte.
const DESCRIPTOR: u8 = 1;

/// Fewest bytes of a job, filled up behind its body: a worker waits for so many at once, and reads on only where a job is
/// longer.
pub const LEAST_JOB: usize = 1024;

/// Every frame, in both directions, with its fields. 1 to 7 are last words, 8 to 15 of a worker before it is parked, 16 to 31
/// are said while a job runs; 32 and above go to the guest. What is not here is refused: 17 to 31 and 36 to 63 are kept for
/// what a guest will ask its host and the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The job came to its end. Header: none, or `encoding` (`json`, or `belljar` for a parcel), `parts`, the lengths of a
    /// parcel's parts, and `refused` where the value cannot be encoded. Body: the value, if there is one.
    Returned = 1,
    /// The job ended with an exception. Header: the exception, as `PythonError::from_frame` reads it.
    Raised = 2,
    /// The job chose its exit code. Header: `code`.
    Exited = 3,
    /// A worker is sealed and waits for its job. Body: two numbers of 4 bytes, the microseconds that it took to walk in and
    /// to rehearse.
    Parked = 8,
    /// A worker cannot be one. Header: `step` and `errno`.
    Failed = 9,
    /// With it comes the descriptor on which the jar's init answers those who want locks.
    Listener = 10,
    /// One item of a generator, or results of several calls: a parcel. It takes one of the items that leave was given for.
    Item = 16,
    /// The job, to a parked worker; at least [`LEAST_JOB`] bytes. Header: `kind`, `origin`, `args`, `env`, `parts` (lengths in
    /// the body), `parcel` (the body is a [`Kind::Parcel`]), `stays` (the worker waits for its end), `processors`.
    Job = 32,
    /// Leave for more items. Body: how many, in 8 bytes.
    More = 33,
    /// What the client has encoded for its runtime; it follows the job or is its body. Header: numbers of 8 bytes, how many
    /// items may be sent and the length of each part. Body: the parts; a memfd comes with one more byte.
    Parcel = 34,
    /// A job that waits may begin.
    Go = 35,
}

/// Who sends a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A worker, to its keeper, before it is parked.
    Worker,
    /// The guest while its job runs, to the host.
    Guest,
    /// The host, to the guest.
    Host,
}

impl Kind {
    /// The table.
    pub const ALL: [Self; 11] = [
        Self::Returned,
        Self::Raised,
        Self::Exited,
        Self::Parked,
        Self::Failed,
        Self::Listener,
        Self::Item,
        Self::Job,
        Self::More,
        Self::Parcel,
        Self::Go,
    ];

    /// Who sends it.
    pub fn sender(self) -> Sender {
        match self {
            Self::Parked | Self::Failed | Self::Listener => Sender::Worker,
            Self::Returned | Self::Raised | Self::Exited | Self::Item => Sender::Guest,
            Self::Job | Self::More | Self::Parcel | Self::Go => Sender::Host,
        }
    }

    /// Whether a job is over with it.
    pub fn is_last(self) -> bool {
        matches!(self, Self::Returned | Self::Raised | Self::Exited)
    }

    /// Whether its body may be a sealed memfd.
    fn may_be_memory(self) -> bool {
        matches!(self, Self::Returned | Self::Item)
    }

    /// The first bytes of such a frame.
    pub(crate) const fn prefix(self, header: u32, body: u64, in_descriptor: bool) -> [u8; PREFIX] {
        let ([a, b, c, d], [e, f, g, h, i, j, k, l]) = (header.to_le_bytes(), body.to_le_bytes());
        let flags = if in_descriptor { DESCRIPTOR } else { 0 };
        let kind = self as u8;
        [kind, VERSION, flags, 0, a, b, c, d, e, f, g, h, i, j, k, l]
    }
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
    /// A kind that a guest does not send while its job runs.
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

/// Collects the bytes of one run into frames: any number of messages, then at most one last word. What comes after that is
/// not read.
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
                self.done = expected.kind.is_last();
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
    let said = |kind: &Kind| *kind as u8 == bytes[0] && kind.sender() == Sender::Guest;
    let kind = Kind::ALL.into_iter().find(said);
    let kind = kind.ok_or(WireError::Kind(bytes[0]))?;
    let header = number(4..8) as u32;
    if header > MAX_HEADER {
        return Err(WireError::Header(header));
    }
    let body = number(8..16);
    let in_descriptor = bytes[2] & DESCRIPTOR != 0;
    let most = match kind {
        _ if in_descriptor => MAX_MEMORY,
        _ if kind.is_last() => MAX_BODY,
        // Many of these may be on their way.
        _ => INLINE - 1,
    };
    if body > most {
        return Err(WireError::Body(body));
    }
    if in_descriptor && (body == 0 || !kind.may_be_memory()) {
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
mod tests;
