//! The cache folder: what is kept where, and how it is found again.
//!
//! ```text
//! environments/KEY/    env (the virtualenv), about.json, manifest, front (a part of it), used (locked by whoever uses it)
//! requests/KEY.json    what a wish was resolved to: lock and environment
//! bytecode/            by interpreter, then by hash of path and source
//! uv/wheels/           uv's own cache, which only uv writes to
//! uv/building/KEY/     what is being built; on one file system with the wheels, so that files are linked and not copied
//! builds/KEY/          the same two for a wish that allows builds: code of packages runs there, so nobody else uses it
//! turns/               one file for each process that builds
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checking::Found;
use super::lock::{self, Turn};
use super::manifest::Verdict;
use super::{About, Environment, EnvironmentError, Progress, Variables, Wish, digest, tree};
use crate::cache::{self, Cache, CacheError, unique};

/// The cache folder, made where it is missing.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

/// What a wish was resolved to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub key: String,
    pub lock: String,
    pub requirements: Vec<String>,
}

/// What was found under a key.
#[derive(Debug)]
pub(super) enum Opened {
    Ready(Environment),
    Missing,
    /// It is there, and these are not what they were.
    Changed(Vec<PathBuf>),
}

impl Opened {
    pub(super) fn ready(self) -> Option<Environment> {
        match self {
            Self::Ready(environment) => Some(environment),
            _ => None,
        }
    }
}

/// The cache folder that the environment names, or `belljar` in the user's own.
pub(super) fn folder(variables: &Variables) -> Result<PathBuf, EnvironmentError> {
    cache::named(|name| variables.get(name).map(OsString::from)).ok_or(EnvironmentError::NoFolder)
}

impl Store {
    pub(super) fn open(folder: PathBuf) -> Result<Self, EnvironmentError> {
        // Links on the way are resolved once: a build's jar is given real paths.
        let folder = open(&folder)?.path().to_path_buf();
        Ok(Self { folder })
    }

    /// A folder of the store, made where it is missing.
    pub(super) fn part(&self, name: &str) -> Result<PathBuf, EnvironmentError> {
        Ok(open(&self.folder.join(name))?.path().to_path_buf())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where an environment is, or would be.
    pub(super) fn environment(&self, key: &str) -> PathBuf {
        self.folder.join("environments").join(key)
    }

    /// This process's turn to build what has this name.
    pub(super) fn turn(&self, name: &str, tell: &mut dyn FnMut(Progress)) -> Result<Turn, EnvironmentError> {
        let path = self.part("turns")?.join(name);
        Turn::take(path.clone(), &mut || tell(Progress::Waiting)).map_err(EnvironmentError::io("lock", &path))
    }

    /// What a wish was resolved to. A file that cannot be read is one that is not there: it is written anew.
    pub(super) fn remembered(&self, request: &str) -> Option<Remembered> {
        let path = self.folder.join("requests").join(format!("{request}.json"));
        let found: Remembered = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        is_key(&found.key).then_some(found)
    }

    pub(super) fn remember(
        &self,
        request: &str,
        key: &str,
        lock: &str,
        wish: &Wish,
    ) -> Result<(), EnvironmentError> {
        let remembered = Remembered {
            key: key.to_owned(),
            lock: lock.to_owned(),
            requirements: wish.requirements.iter().map(ToString::to_string).collect(),
        };
        let path = self.part("requests")?.join(format!("{request}.json"));
        // Plain data: it always has a JSON form.
        write(&path, &serde_json::to_vec(&remembered).unwrap_or_default())
    }

    /// An environment that is there, and was built by the present recipe; nobody prunes it from now on.
    pub(super) fn find_environment(&self, key: &str) -> Result<Option<Found>, EnvironmentError> {
        let folder = self.environment(key);
        let path = folder.join("used");
        let used = lock::share(&path).map_err(EnvironmentError::io("mark as used", &path))?;
        let about = read_about(&folder).filter(|about| about.recipe == digest::RECIPE);
        let (Some(used), Some(about)) = (used, about) else {
            return Ok(None);
        };
        Ok(Some(Found {
            folder,
            about,
            used: Arc::new(used),
        }))
    }

    /// An environment that is there, and is what it was when it was built; marked as used now.
    pub(super) fn open_environment(&self, key: &str, wish: &Wish) -> Result<Opened, EnvironmentError> {
        let Some(found) = self.find_environment(key)? else {
            return Ok(Opened::Missing);
        };
        Ok(match found.check(false) {
            Verdict::Changed(paths) => Opened::Changed(paths),
            Verdict::Same | Verdict::Moved => Opened::Ready(found.ready(&wish.interpreter)),
        })
    }

    /// Takes changed files of an environment out of uv's cache and the bytecode that they are linked with, or a new
    /// environment would have the same.
    pub(super) fn purge(&self, key: &str, changed: &[PathBuf]) {
        let environment = self.environment(key).join("env");
        let number = |path: &Path| {
            let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
            Some((metadata.dev(), metadata.ino()))
        };
        let wheels = self.folder.join("uv/wheels");
        let archives: Vec<PathBuf> = children(&wheels)
            .iter()
            .flat_map(|bucket| children(bucket))
            .filter(|path| path.is_dir())
            .collect();
        let pieces = || {
            let interpreters = children(&self.folder.join("bytecode"));
            interpreters
                .into_iter()
                .flat_map(|folder| children(&folder))
                .flat_map(|folder| children(&folder))
        };
        for path in changed {
            let Some(bad) = number(&environment.join(path)) else {
                continue;
            };
            if path.extension().is_some_and(|extension| extension == "pyc") {
                pieces()
                    .filter(|piece| number(piece) == Some(bad))
                    .for_each(|piece| drop(fs::remove_file(piece)));
            }
            // lib, pythonX.Y and site-packages come before what an unpacked wheel has.
            let within: PathBuf = path.components().skip(3).collect();
            for archive in archives
                .iter()
                .filter(|archive| number(&archive.join(&within)) == Some(bad))
            {
                let _ = tree::remove(archive);
            }
        }
    }

    /// Moves what was built into its place. Whoever uses what was there before goes on with that.
    pub(super) fn place(&self, new: &Path, key: &str) -> Result<(), EnvironmentError> {
        let place = self.environment(key);
        if place.symlink_metadata().is_ok() {
            self.discard(&place)?;
        }
        fs::rename(new, &place).map_err(EnvironmentError::io("move into place", &place))
    }

    /// Takes an environment away under its name, and removes it unless somebody uses it: then the next sweep does.
    pub(super) fn discard(&self, place: &Path) -> Result<bool, EnvironmentError> {
        let alone = lock::own(&place.join("used"));
        let away = self.part("environments")?.join(format!(".old-{}", unique()));
        fs::rename(place, &away).map_err(EnvironmentError::io("move away", place))?;
        if let Ok(None) = alone {
            return Ok(false);
        }
        tree::remove(&away).map_err(EnvironmentError::io("remove", &away))?;
        Ok(true)
    }

    /// Removes what builds that were killed left behind, and environments that were replaced while in use.
    pub(super) fn sweep(&self) {
        let environments = self.folder.join("environments");
        for path in children(&environments) {
            let name = name_of(&path);
            let ours = name.strip_prefix(".new-").is_some_and(is_key)
                || name.strip_prefix(".old-").is_some_and(cache::is_unique);
            if !ours {
                continue;
            }
            // What is being made has no such file yet, and is left alone while its builder has the turn.
            let free = match lock::own(&path.join("used")) {
                Ok(lock) => lock.is_some(),
                Err(_) => self.is_abandoned(&path),
            };
            if free {
                let _ = tree::remove(&path);
            }
        }
        for parent in ["uv/building", "builds"] {
            for path in children(&self.folder.join(parent)) {
                if is_key(&name_of(&path)) && self.is_abandoned(&path) {
                    let _ = tree::remove(&path);
                }
            }
        }
    }

    /// Whether the builder that a folder is named after is gone.
    fn is_abandoned(&self, path: &Path) -> bool {
        let key = name_of(path).trim_start_matches(".new-").to_owned();
        match lock::own(&self.folder.join("turns").join(key)) {
            Ok(turn) => turn.is_some(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

/// What is in a folder; nothing where it cannot be read, or where a link leads to it.
pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let names = cache::open_folder(folder).and_then(|folder| Ok(rustix::fs::Dir::read_from(folder)?));
    let names = names.into_iter().flatten().flatten();
    names
        .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_os_string())
        .filter(|name| name != "." && name != "..")
        .map(|name| folder.join(name))
        .collect()
}

/// The last name of a path, for a comparison with names of our own.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Whether a name is of the form that wishes, environments and interpreters have.
pub(super) fn is_key(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn read_about(folder: &Path) -> Option<About> {
    serde_json::from_slice(&fs::read(folder.join("about.json")).ok()?).ok()
}

fn open(folder: &Path) -> Result<Cache, EnvironmentError> {
    Cache::open(folder).map_err(|error| match error {
        CacheError::Shared(path) => EnvironmentError::Shared(path),
        CacheError::Io(path, cause) => EnvironmentError::io("make the folder", &path)(cause),
    })
}

/// Written aside and moved into place, so that nobody ever reads half of it.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), EnvironmentError> {
    let folder = cache::open_folder(path.parent().unwrap_or(path));
    let name = path.file_name().unwrap_or_default();
    let written = folder.and_then(|folder| cache::write(folder.as_fd(), name, bytes));
    written.map_err(EnvironmentError::io("write", path))
}

/// The time of its last use is the file's.
pub(super) fn touch(used: &File) {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let _ = futimens(
        used,
        &Timestamps {
            last_access: now,
            last_modification: now,
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_follow_no_link_and_take_only_names_of_our_own() {
        let stage = tempfile::tempdir().unwrap();
        let top = stage.path().canonicalize().unwrap();
        let key = "a".repeat(32);
        let victim = top.join("victim");
        let swept = [format!(".new-{key}"), ".old-1-2-3".into()];
        let kept = [".old-mine", ".new-mine", ".hidden", "notes"];
        for name in swept.iter().map(String::as_str).chain(kept) {
            fs::create_dir_all(victim.join(name)).unwrap();
        }
        let store = Store::open(top.join("cache")).unwrap();
        std::os::unix::fs::symlink(&victim, top.join("cache/environments")).unwrap();
        store.sweep();
        assert_eq!(children(&victim).len(), 6);
        fs::remove_file(top.join("cache/environments")).unwrap();
        fs::rename(&victim, top.join("cache/environments")).unwrap();
        store.sweep();
        let mut left: Vec<String> = children(&top.join("cache/environments"))
            .iter()
            .map(|path| name_of(path))
            .collect();
        left.sort();
        assert_eq!(
            left,
            [".hidden", ".new-mine", ".old-mine", "notes"],
            "control: ours are gone"
        );
    }
}
