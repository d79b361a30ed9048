//! Policy documents: an error or a policy, never a panic, and what is taken passes its own check or is refused by it.
#![no_main]

use std::path::Path;

use belljar::policy::PolicyDocument;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for origin in ["jar.toml", "pyproject.toml"] {
        let Ok(document) = PolicyDocument::parse(text, Path::new(origin)) else {
            continue;
        };
        if let Ok(policy) = document.resolve_with(|_| None) {
            let _ = policy.check();
        }
    }
});
