//! What a request and an environment are known by. Hashes, so that neither paths nor addresses of an index stand in a
//! file name, and so that the same wish in another order, spelling or process has the same name.

use std::fs;
use std::os::unix::fs::MetadataExt;

use sha2::{Digest, Sha256};

use super::settings::IndexSettings;
use super::{EnvironmentError, Wish};
use crate::python::Interpreter;

/// Counts up when names are made in another way: every lock is then forgotten.
const FORMAT: u32 = 1;
/// Counts up when something else is built from the same lock: other bytecode, other caches, another layout. What was built by
/// another recipe is built anew, from the lock that is remembered.
pub(super) const RECIPE: u32 = 1;

/// The name of a wish, before anything is resolved.
pub(super) fn request(wish: &Wish, settings: &IndexSettings) -> Result<String, EnvironmentError> {
    let lines = wish.requirements.to_string();
    let interpreter = interpreter(&wish.interpreter)?;
    // Another index may mean another package by the same name.
    Ok(name(&[
        "request",
        &lines,
        &allowed(wish),
        &interpreter,
        &settings.identity(),
    ]))
}

/// The name of what is built from a lock.
pub(super) fn environment(wish: &Wish, lock: &str, tool: &str) -> Result<String, EnvironmentError> {
    let interpreter = interpreter(&wish.interpreter)?;
    Ok(by_recipe(RECIPE, &[lock, &allowed(wish), &interpreter, tool]))
}

/// What a build made of a source is in no hash of the lock, and what we add to it is not either.
fn by_recipe(recipe: u32, parts: &[&str]) -> String {
    let recipe = recipe.to_string();
    name(&[&["environment", &recipe], parts].concat())
}

/// The name of an interpreter as it is now: one that was updated is another.
pub(super) fn interpreter(interpreter: &Interpreter) -> Result<String, EnvironmentError> {
    let path = &interpreter.base_executable;
    let metadata = fs::metadata(path).map_err(EnvironmentError::io("look at", path))?;
    Ok(name(&[
        "interpreter",
        &path.to_string_lossy(),
        &interpreter.version.to_string(),
        &format!(
            "{} {} {}",
            metadata.size(),
            metadata.mtime(),
            metadata.mtime_nsec()
        ),
    ]))
}

fn allowed(wish: &Wish) -> String {
    format!("builds={} urls={}", wish.allow.builds, wish.allow.urls)
}

fn name(parts: &[&str]) -> String {
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let mut hash = Sha256::new();
    hash.update(FORMAT.to_le_bytes());
    for part in parts.iter().copied().chain([platform.as_str()]) {
        // With its length, so that no two lists of parts run together to the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_recipe_gives_another_key() {
        let parts = ["lib==1", "builds=false", "python", "belljar 1, uv 1"];
        let key = by_recipe(RECIPE, &parts);
        assert_eq!(key, by_recipe(RECIPE, &parts));
        assert_ne!(key, by_recipe(RECIPE + 1, &parts));
        assert_eq!(key.len(), 32);
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_ne!(name(&["ab"]), name(&["ab", ""]));
    }
}
