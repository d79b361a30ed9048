//! Frames from a guest: however the bytes are cut, the decoder says the same, and never keeps more than its caps.
#![no_main]

use belljar::pyerror::PythonError;
use belljar::wire::{Decoder, Frame, Kind, MAX_BODY, MAX_HEADER, PREFIX, WireError};
use libfuzzer_sys::fuzz_target;

fn feed(bytes: &[u8], step: usize) -> Result<Option<Frame>, WireError> {
    let mut decoder = Decoder::default();
    let mut rest = bytes;
    loop {
        let wanted = decoder.wants();
        assert!(wanted as u64 <= PREFIX as u64 + u64::from(MAX_HEADER) + MAX_BODY);
        let (now, after) = rest.split_at(wanted.min(step).min(rest.len()));
        if now.is_empty() {
            return Ok(None);
        }
        rest = after;
        if let Some(frame) = decoder.push(now)? {
            return Ok(Some(frame));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let whole = feed(bytes, usize::MAX);
    assert_eq!(whole, feed(bytes, 1), "one byte at a time");
    assert_eq!(whole, feed(bytes, 7), "in pieces");
    if let Ok(Some(frame)) = whole
        && frame.kind == Kind::Raised
    {
        let _ = PythonError::from_frame(&frame.header);
    }
    let _ = PythonError::from_frame(bytes);
});
