//! What a client process and `belljar agent` say to each other over one stream socket (docs/reference/agent.md).
//!
//! - [`Frame`], [`Decoder`], [`encode`]: a prefix of fixed size, a JSON header, a body. Sizes are checked before anything
//!   is kept, and the decoder is total.
//! - [`Parts`]: the body of a frame as several raw parts. A body of [`INLINE`] bytes and more is a sealed memfd.
//! - The other types are the headers. Values are opaque: the agent passes them on and never reads them.

mod frame;
mod message;
mod policy;

pub use frame::{Decoder, Frame, FrameError, Kind, PREFIX, encode};
pub use message::{
    Close, Collect, Dependencies, Encoding, Fault, Hello, JobLimits, JobRequest, Keep, More, Open, Opened,
    OutputHead, OutputStream, Parse, PartsHead, ProgramKind, Text, ValueHead, Warm,
};
pub use policy::policy;

pub use crate::parcel::{
    BufferError, MAX_PARTS, Parts, PartsError, check_buffer, cut, join, read_buffer, sealed_buffer,
};
pub use crate::wire::{ALIGN, INLINE, MAX_ITEMS, MAX_MEMORY as MAX_BODY};

/// The protocol that this version speaks. Both sides must speak the same one and be of the same package version.
pub const PROTOCOL: u32 = 1;
/// Largest header.
pub const MAX_HEADER: u32 = 1 << 20;
