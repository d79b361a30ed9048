//! Headers of `raised` frames: what a guest says of its exception is capped, and its hint is dropped.
#![no_main]

use belljar::pyerror::PythonError;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|header: &[u8]| {
    if let Ok(error) = PythonError::from_frame(header) {
        assert!(error.hint.is_none(), "hints are the host's");
        assert!(header.len() <= 1 << 20);
        serde_json::to_vec(&error).expect("json");
        for (place, link) in error.chain.iter().enumerate() {
            let others = link.cause.iter().chain(&link.context);
            assert!(others.chain(link.members.iter().flatten()).all(|other| *other < place), "a circle");
        }
    }
});
