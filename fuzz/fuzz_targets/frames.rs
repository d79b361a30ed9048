//! The frame decoder: any bytes in any pieces give at most one frame, within its caps, and the same one however split.
#![no_main]

use belljar::wire::{Decoder, Frame, MAX_BODY, MAX_HEADER, PREFIX, WireError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let whole = decode(data, usize::MAX);
    // The first byte chooses the size of the pieces.
    let step = data.first().map_or(1, |byte| usize::from(*byte % 32) + 1);
    assert_eq!(decode(data, step), whole);
    if let Ok(Some(frame)) = whole {
        assert!(frame.header.len() <= MAX_HEADER as usize && frame.body.len() as u64 <= MAX_BODY);
        assert!(PREFIX + frame.header.len() + frame.body.len() <= data.len());
    }
});

fn decode(data: &[u8], step: usize) -> Result<Option<Frame>, WireError> {
    let mut decoder = Decoder::default();
    let mut rest = data;
    while !rest.is_empty() && decoder.wants() > 0 {
        let take = decoder.wants().min(step).min(rest.len());
        let before = decoder.wants();
        let pushed = decoder.push(&rest[..take])?;
        rest = &rest[take..];
        if pushed.is_some() {
            assert_eq!(decoder.wants(), 0, "a guest has one last word");
            assert_eq!(decoder.push(data), Ok(None));
            return Ok(pushed);
        }
        assert!(before > take || decoder.wants() > 0, "nothing is whole, and nothing more is wanted");
    }
    Ok(None)
}
