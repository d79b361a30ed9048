//! As much of D-Bus as one call to a service manager takes, over the manager's own socket: no bus is between.
//!
//! What comes back is a stranger's until the kernel has confirmed it: [`next`] is total, believes no length, and is fuzzed.

mod read;
mod write;

pub use read::{Answer, Kind, Malformed, next};
pub use write::{Property, call};

/// Longest message that is read. The manager's answers have a few hundred bytes.
pub const MAX_MESSAGE: usize = 64 << 10;

/// What a client says before its first message: who it is, which the other side asks the kernel about anyway.
pub fn greeting(uid: u32) -> Vec<u8> {
    let mut hello = b"\0AUTH EXTERNAL ".to_vec();
    for digit in uid.to_string().bytes() {
        hello.extend_from_slice(format!("{digit:02x}").as_bytes());
    }
    hello.extend_from_slice(b"\r\nBEGIN\r\n");
    hello
}

/// How many bytes the answer to the greeting takes, once it is there whole; `None` until then.
pub fn welcome(said: &[u8]) -> Result<Option<usize>, Malformed> {
    // 32 hexadecimal digits and a line's end; nothing that is longer is an answer.
    const MOST: usize = 64;
    let end = said.iter().take(MOST).position(|byte| *byte == b'\n');
    match end {
        Some(end) if said.starts_with(b"OK ") => Ok(Some(end + 1)),
        None if said.len() < MOST => Ok(None),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests;
