//! Bytecode of the guest runtime, one file for each interpreter, in the user's cache folder. Losing it costs a
//! millisecond; a file that another user could have written is not read.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{COMPILE, SOURCE};
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
            folder: folder()?.join("belljar/runtime"),
            name,
        })
    }

    /// The file and its size.
    pub(super) fn open(&self) -> Option<(File, usize)> {
        let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(self.folder.join(&self.name))
            .ok()?;
        let metadata = file.metadata().ok()?;
        let ours = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
        if !metadata.is_file() || !ours || metadata.size() > LARGEST {
            return None;
        }
        Some((file, metadata.size() as usize))
    }

    /// Whether there is a place to keep it: no home folder, a read-only one and another user's have none.
    pub(super) fn can_be_written(&self) -> bool {
        let nearest = self.folder.ancestors().find(|folder| folder.exists());
        nearest.is_some_and(|folder| {
            folder.is_dir() && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
        })
    }

    /// Written aside and moved into place, so that nobody ever reads half of it. Failing is no matter.
    pub(super) fn write(&self, bytes: &[u8]) {
        let aside = self.folder.join(format!(".{}-{}", self.name, std::process::id()));
        let written = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .and_then(|()| {
                let mut file = fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&aside)?;
                file.write_all(bytes)?;
                fs::rename(&aside, self.folder.join(&self.name))
            });
        if let Err(error) = written {
            tracing::debug!(%error, "the guest runtime's bytecode is not kept");
            let _ = fs::remove_file(&aside);
        }
    }
}

/// XDG_CACHE_HOME, or .cache in the home folder.
fn folder() -> Option<PathBuf> {
    let named = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named("XDG_CACHE_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".cache")))
        .filter(|path| owned(path))
}

/// Whether the nearest folder that exists is this user's own: a HOME that was inherited from someone else is not.
fn owned(path: &Path) -> bool {
    let nearest = path.ancestors().find_map(|path| fs::metadata(path).ok());
    nearest.is_some_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw())
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
