//! What a client may say to the agent: any bytes in any pieces give the same frames within their caps, and whatever is in
//! their headers and bodies is a request or an error.
#![no_main]

use belljar::agent::{
    Close, Decoder, Frame, FrameError, Hello, INLINE, JobRequest, Kind, MAX_BODY, MAX_HEADER, Open, cut, policy,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (frames, error) = decode(data, usize::MAX);
    // The first byte chooses the size of the pieces.
    let step = data.first().map_or(1, |byte| usize::from(*byte % 32) + 1);
    assert_eq!(decode(data, step), (frames.clone(), error));
    for frame in frames {
        assert!(frame.header.len() <= MAX_HEADER as usize && (frame.body.len() as u64) < INLINE);
        assert!(frame.descriptor.is_none_or(|size| size > 0 && size <= MAX_BODY && frame.body.is_empty()));
        request(&frame);
    }
});

fn request(frame: &Frame) {
    match frame.kind {
        Kind::Hello => drop(serde_json::from_slice::<Hello>(&frame.header)),
        Kind::Close => drop(serde_json::from_slice::<Close>(&frame.header)),
        Kind::Open => {
            if let Ok(open) = serde_json::from_slice::<Open>(&frame.header) {
                let _ = policy(&open);
            }
        }
        _ => {
            if let Ok(job) = serde_json::from_slice::<JobRequest>(&frame.header) {
                let size = frame.descriptor.unwrap_or(frame.body.len() as u64);
                if let Ok(parts) = cut(&job.parts, size) {
                    assert!(parts.iter().all(|part| part.start <= part.end && part.end as u64 <= size));
                }
            }
        }
    }
}

fn decode(data: &[u8], step: usize) -> (Vec<Frame>, Option<FrameError>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for piece in data.chunks(step) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}
