//! The frame decoder: any bytes in any pieces give items and at most one more frame, within their caps, and the same ones
//! however split.
#![no_main]

use belljar::wire::{Decoder, Frame, Kind, MAX_BODY, MAX_HEADER, PREFIX, WireError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let whole = decode(data, usize::MAX);
    // The first byte chooses the size of the pieces.
    let step = data.first().map_or(1, |byte| usize::from(*byte % 32) + 1);
    assert_eq!(decode(data, step), whole);
    let (frames, _) = whole;
    let mut taken = 0;
    for (index, frame) in frames.iter().enumerate() {
        assert!(frame.header.len() <= MAX_HEADER as usize && frame.body.len() as u64 <= MAX_BODY);
        assert!(frame.descriptor.is_none_or(|size| size > 0 && size <= 1 << 30 && frame.body.is_empty()));
        assert!(frame.kind == Kind::Item || index + 1 == frames.len(), "a guest has one last word");
        taken += PREFIX + frame.header.len() + frame.body.len();
    }
    assert!(taken <= data.len());
});

fn decode(data: &[u8], step: usize) -> (Vec<Frame>, Option<WireError>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    let mut rest = data;
    while !rest.is_empty() && decoder.wants() > 0 {
        let take = decoder.wants().min(step).min(rest.len());
        let before = decoder.wants();
        let pushed = match decoder.push(&rest[..take]) {
            Ok(pushed) => pushed,
            Err(error) => return (frames, Some(error)),
        };
        rest = &rest[take..];
        match pushed {
            Some(frame) => {
                let last = frame.kind != Kind::Item;
                assert_eq!(last, decoder.wants() == 0, "what follows an item is read, and nothing else");
                if last {
                    assert_eq!(decoder.push(data), Ok(None));
                }
                frames.push(frame);
            }
            None => assert!(before > take || decoder.wants() > 0, "nothing is whole, and nothing more is wanted"),
        }
    }
    (frames, None)
}
