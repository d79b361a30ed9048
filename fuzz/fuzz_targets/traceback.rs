//! Tracebacks found in any text: never a panic, and nothing that was not in the text.
#![no_main]

use belljar::Policy;
use belljar::pyerror::{HintContext, PythonError, hint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(error) = PythonError::parse(text) {
        let _ = hint(&error, &HintContext::from(&Policy::default()));
        assert!(!error.type_name.is_empty());
        assert!(error.frames.len() <= text.lines().count());
        let stored = serde_json::to_vec(&error).expect("json");
        serde_json::from_slice::<PythonError>(&stored).expect("it reads back");
    }
});
