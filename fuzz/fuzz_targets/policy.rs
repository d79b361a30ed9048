//! Policy documents: any text is a policy or an error that says why; what is written reads back as the same policy.
#![no_main]

use std::path::Path;

use belljar::Policy;
use belljar::policy::{PolicyDocument, PolicyError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for origin in ["/policies/jar.toml", "/policies/pyproject.toml"] {
        match read(text, origin) {
            Ok(policy) => {
                let _ = policy.check();
                let written = policy.to_toml();
                match read(&written, "/policies/jar.toml") {
                    Ok(again) => assert_eq!(again, policy, "{written}"),
                    Err(error) => panic!("what was written cannot be read: {error}\n{written}"),
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn read(text: &str, origin: &str) -> Result<Policy, PolicyError> {
    PolicyDocument::parse(text, Path::new(origin))?.resolve_with(|_| None)
}
