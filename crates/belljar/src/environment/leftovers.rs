//! What is left of builds that were ended: turns that nobody has, and wheels that uv was unpacking.

use std::fs;
use std::path::PathBuf;

use super::store::{self, Store};
use super::{lock, tree};

impl Store {
    /// Whether nobody builds now. Turns of builders that were killed go.
    pub(super) fn is_quiet(&self) -> bool {
        let turns = store::children(&self.folder().join("turns"));
        let mut turns = turns.iter().filter(|turn| store::is_key(&store::name_of(turn)));
        turns.all(|turn| match lock::own(turn) {
            // As the builder itself does it: before it is unlocked.
            Ok(Some(_held)) => fs::remove_file(turn).is_ok(),
            Ok(None) => false,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        })
    }

    /// Whether some process has the turn to build what has this key.
    pub(super) fn is_being_built(&self, key: &str) -> bool {
        matches!(lock::own(&self.folder().join("turns").join(key)), Ok(None))
    }

    /// Removes wheels that uv had unpacked in part when it was ended. They may be as large as a build may write, and nobody would
    /// ever look at them again.
    pub(super) fn drop_unpacked(&self) {
        let unpacked: Vec<PathBuf> = store::children(&self.folder().join("uv/wheels"))
            .into_iter()
            .filter(|path| {
                let name = store::name_of(path);
                let rest = name.strip_prefix(".tmp").unwrap_or_default();
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
            })
            .collect();
        // In this order: whoever made one of these and goes on has its turn until it is done.
        if !unpacked.is_empty() && self.is_quiet() {
            for path in unpacked {
                let _ = tree::remove(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_being_unpacked_stays_while_somebody_builds() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("cache")).unwrap();
        let wheels = store.part("uv/wheels").unwrap();
        let (half, whole) = (wheels.join(".tmpAbc"), wheels.join("archive-v0"));
        let others = [wheels.join(".tmp-mine"), folder.path().join("cache/turns/mine")];
        fs::create_dir(&half).unwrap();
        store.part("turns").unwrap();
        others.iter().for_each(|path| fs::write(path, "").unwrap());
        fs::create_dir(&whole).unwrap();
        fs::write(half.join("file"), "x").unwrap();
        // One builder was killed, and its file is still there; another one is at work.
        fs::write(store.part("turns").unwrap().join("0".repeat(32)), "").unwrap();
        let turn = store.turn(&"1".repeat(32), &mut |_| {}).unwrap();
        assert!(!store.is_quiet());
        store.drop_unpacked();
        assert!(half.join("file").exists());
        drop(turn);
        store.drop_unpacked();
        assert!(!half.exists() && whole.exists());
        assert!(store.is_quiet());
        // What is not of our own form is left alone.
        assert!(others.iter().all(|path| path.exists()));
        assert_eq!(store::children(&folder.path().join("cache/turns")), others[1..]);
    }
}
