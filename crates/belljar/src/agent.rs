//! What a client process and `belljar agent` say to each other over one stream socket (docs/reference/agent.md).
//!
//! - [`Frame`], [`Decoder`], [`encode`]: a prefix of fixed size, a JSON header, a body. Sizes are checked before anything
//!   is kept, and the decoder is total.
//! - [`Parts`]: the body of a frame as several raw parts. A body of [`INLINE`] bytes and more is a sealed memfd.
//! - The other types are the headers. Values are opaque: the agent passes them on and never reads them.

mod buffer;
mod frame;
mod message;
mod parts;
mod policy;

pub use buffer::{BufferError, check_buffer, read_buffer, sealed_buffer};
pub use frame::{Decoder, Frame, FrameError, Kind, PREFIX, encode};
pub use message::{
    Close, Collect, Dependencies, Encoding, Fault, Hello, JobLimits, JobRequest, Keep, More, Open, Opened,
    OutputHead, OutputStream, Parse, PartsHead, ProgramKind, Text, ValueHead, Warm,
};
pub use parts::{Parts, PartsError, cut, join};
pub use policy::policy;

/// The protocol that this version speaks. Both sides must speak the same one and be of the same package version.
pub const PROTOCOL: u32 = 1;
/// Bodies of this size and more travel as a sealed memfd; smaller ones in the stream.
pub const INLINE: u64 = 64 << 10;
/// Largest header.
pub const MAX_HEADER: u32 = 1 << 20;
/// Largest body.
pub const MAX_BODY: u64 = 1 << 30;
/// Most parts of a body.
pub const MAX_PARTS: usize = 1 << 16;
/// Most items of a generator that leave is given for at once.
pub const MAX_ITEMS: u64 = 4096;
/// Parts begin at multiples of this, so that whoever maps a body can use arrays in it as they are.
pub const ALIGN: u64 = 64;
