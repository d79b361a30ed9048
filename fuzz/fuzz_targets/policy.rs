//! Policy documents: any text is a policy or an error that says why.
#![no_main]

use std::path::Path;

use belljar::Policy;
use belljar::policy::{PolicyDocument, PolicyError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for origin in ["/policies/jar.toml", "/policies/pyproject.toml"] {
        match read(text, origin) {
            Ok(policy) => assert!(policy.check().is_ok(), "what was read is a policy"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn read(text: &str, origin: &str) -> Result<Policy, PolicyError> {
    PolicyDocument::parse(text, Path::new(origin))?.resolve_with(|_| None)
}
