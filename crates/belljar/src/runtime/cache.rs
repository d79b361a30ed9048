//! Bytecode of the guest runtime, one file for each interpreter, in the user's cache folder. Losing it costs a
//! millisecond; a file that another user could have written is not read.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::{COMPILE, SOURCE};
use crate::cache::{self, Cache, CacheError};
use crate::plan::Plan;

/// Far more than the runtime ever compiles to.
const LARGEST: u64 = 1 << 20;
/// Changes with every byte of the runtime's source, and of what makes bytecode of it.
const FINGERPRINT: u64 = fingerprint();

/// Where the bytecode for one interpreter is, or would be.
pub(super) struct Entry {
    folder: PathBuf,
    name: String,
}

impl Entry {
    /// For the plan's base interpreter, as it is now; `None` where there is no cache folder to be had.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let metadata = fs::metadata(plan.base_interpreter()).ok()?;
        let path = fold(
            FINGERPRINT,
            plan.base_interpreter().as_os_str().as_encoded_bytes(),
        );
        let name = format!(
            "{path:016x}-{:x}-{:x}-{:x}-{:x}",
            metadata.dev(),
            metadata.ino(),
            metadata.size(),
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
        );
        Some(Self {
            folder: cache::named(|name| std::env::var_os(name))?.join("runtime"),
            name,
        })
    }

    /// The file and its size.
    pub(super) fn open(&self) -> Option<(File, usize)> {
        let cache = Cache::find(&self.folder).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(cache.folder()?, &self.name, flags, Mode::empty()).ok()?;
        let file = File::from(file);
        let metadata = file.metadata().ok()?;
        let ours = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
        if !metadata.is_file() || !ours || metadata.size() > LARGEST {
            return None;
        }
        Some((file, metadata.size() as usize))
    }

    /// Whether there is a place to keep it: no home folder, a read-only one and another user's have none.
    pub(super) fn can_be_written(&self) -> bool {
        Cache::find(&self.folder).is_ok_and(|cache| cache.can_be_written())
    }

    /// Failing is no matter.
    pub(super) fn write(&self, bytes: &[u8]) {
        let written = Cache::open(&self.folder).and_then(|cache| {
            let Some(folder) = cache.folder() else {
                return Ok(());
            };
            cache::write(folder, self.name.as_ref(), bytes)
                .map_err(|error| CacheError::Io(self.folder.clone(), error))
        });
        if let Err(error) = written {
            tracing::debug!(?error, "the guest runtime's bytecode is not kept");
        }
    }
}

const fn fingerprint() -> u64 {
    let mut hash = fold(0xcbf2_9ce4_8422_2325, COMPILE.as_bytes());
    let mut position = 0;
    while position < SOURCE.len() {
        hash = fold(hash, SOURCE[position].1);
        position += 1;
    }
    hash
}

/// FNV-1a: not against forgery, which the owner check is for, but against mixing up.
const fn fold(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut position = 0;
    while position < bytes.len() {
        hash = (hash ^ bytes[position] as u64).wrapping_mul(0x0100_0000_01b3);
        position += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_place_that_takes_it_is_worth_compiling_for() {
        let home = tempfile::tempdir().unwrap();
        let entry = |folder: PathBuf| Entry {
            folder,
            name: "x".into(),
        };
        assert!(entry(home.path().join(".cache/belljar/runtime")).can_be_written());
        fs::write(home.path().join("file"), "").unwrap();
        assert!(!entry(home.path().join("file/belljar/runtime")).can_be_written());
    }
}
