//! Tracebacks found in any text: nothing or an exception, in time that grows with the text alone.
#![no_main]

use belljar::Policy;
use belljar::pyerror::{HintContext, PythonError, hint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(error) = PythonError::parse(text) {
        let _ = hint(&error, &HintContext::from(&Policy::default()));
    }
});
