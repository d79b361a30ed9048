//! Finding the `belljar` binary that becomes the warden.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Hinted, next_step};
use crate::hint::Hint;

/// The binary was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the belljar binary was not found; looked at {}{}", .looked.join(", "), next_step(self.hint()))]
pub struct BinaryError {
    /// Where it was looked for.
    pub looked: Vec<String>,
}

impl Hinted for BinaryError {
    fn hint(&self) -> Option<Hint> {
        Some("set BELLJAR_BIN or put it on PATH".into())
    }
}

/// This very program: the file may have been replaced by another version since.
pub fn own_binary() -> PathBuf {
    let running = Path::new("/proc/self/exe");
    let same = |path: &Path| {
        let (found, ours) = (path.metadata().ok()?, running.metadata().ok()?);
        Some((found.dev(), found.ino()) == (ours.dev(), ours.ino()))
    };
    match std::env::current_exe() {
        Ok(path) if same(&path) == Some(true) => path,
        _ => running.to_path_buf(),
    }
}

/// Finds it: an explicit path, `BELLJAR_BIN`, beside the current executable, then PATH.
pub fn find_binary(explicit: Option<&Path>) -> Result<PathBuf, BinaryError> {
    let mut looked = Vec::new();
    let mut check = |path: PathBuf, whence: &str| {
        if path.is_file() {
            return Some(path);
        }
        looked.push(format!("{} ({whence})", path.display()));
        None
    };
    if let Some(path) = explicit {
        return check(path.to_path_buf(), "given").ok_or(BinaryError { looked });
    }
    if let Some(path) = std::env::var_os("BELLJAR_BIN") {
        return check(path.into(), "BELLJAR_BIN").ok_or(BinaryError { looked });
    }
    if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        // Test and example executables are in a folder below the one that has the binaries.
        let beside = [
            folder.join("belljar"),
            folder.parent().unwrap_or(folder).join("belljar"),
        ];
        for path in beside {
            if let Some(found) = check(path, "beside this program") {
                return Ok(found);
            }
        }
    }
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if folder.is_absolute()
            && let Some(found) = check(folder.join("belljar"), "PATH")
        {
            return Ok(found);
        }
    }
    Err(BinaryError { looked })
}
