//! What is there, and taking away what is not needed. An environment in use is never touched.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::store::{self, Store};
use super::{About, EnvironmentError, Environments, lock, tree};

/// An environment that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What is in it.
    #[serde(flatten)]
    pub about: About,
    /// When it was last used, in seconds since 1970.
    pub last_used: u64,
    /// Whether somebody uses it now.
    pub in_use: bool,
    /// Whether some request leads to it; none does after a refresh that chose other versions.
    pub wanted: bool,
}

/// What shall be taken away. Nothing named is: what no request leads to any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruning {
    /// What was not used for so long.
    pub older_than: Option<Duration>,
    /// The least recently used, until everything takes no more than this.
    pub max_size: Option<u64>,
    /// What no request leads to any more.
    pub unused: bool,
    /// Everything, with what was downloaded.
    pub all: bool,
    /// Only tell.
    pub dry_run: bool,
}

/// What was taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// What is gone, or would be.
    pub removed: Vec<Entry>,
    /// What would be gone if nobody used it.
    pub in_use: Vec<Entry>,
    /// Bytes on disk before.
    pub before: u64,
    /// Bytes on disk afterwards.
    pub after: u64,
}

impl Environments {
    /// The folder that everything is in.
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// Every environment, the most recently used first.
    pub fn list(&self) -> Vec<Entry> {
        let wanted = wanted(&self.store);
        let mut found: Vec<Entry> = store::children(&self.folder().join("environments"))
            .iter()
            .filter_map(|path| entry(path, &wanted))
            .collect();
        found.sort_by(|one, other| {
            other
                .last_used
                .cmp(&one.last_used)
                .then(one.about.key.cmp(&other.about.key))
        });
        found
    }

    /// Bytes on disk of everything together; what is shared counts once.
    pub fn size(&self) -> u64 {
        let mut seen = BTreeSet::new();
        usage(self.folder(), &mut seen, 0)
    }

    /// Takes away what is asked for.
    pub fn prune(&self, pruning: &Pruning) -> Result<Pruned, EnvironmentError> {
        let mut pruned = Pruned {
            before: self.size(),
            ..Pruned::default()
        };
        if !pruning.dry_run {
            self.store.sweep();
            self.store.drop_unpacked();
        }
        let unused = pruning.unused || (pruning.older_than.is_none() && pruning.max_size.is_none());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let old = |entry: &Entry| {
            let age = now.saturating_sub(entry.last_used);
            pruning.older_than.is_some_and(|limit| age >= limit.as_secs())
        };
        let (chosen, mut rest): (Vec<Entry>, Vec<Entry>) = self
            .list()
            .into_iter()
            .partition(|entry| pruning.all || old(entry) || (unused && !entry.wanted));
        for entry in chosen {
            self.take_away(entry, pruning.dry_run, &mut pruned)?;
        }
        if pruning.all && !pruning.dry_run {
            self.forget_downloads()?;
        }
        if !pruning.dry_run {
            self.drop_lone_bytecode();
        }
        if let Some(most) = pruning.max_size {
            self.shrink(most, &mut rest, pruning.dry_run, &mut pruned)?;
        }
        if !pruning.dry_run {
            self.forget_requests();
        }
        pruned.after = if pruning.dry_run {
            let gone: u64 = pruned.removed.iter().map(|entry| entry.about.size).sum();
            pruned.before.saturating_sub(gone)
        } else {
            self.size()
        };
        Ok(pruned)
    }

    /// After a build: the least recently used go while everything together takes more than it may. Failing is no matter.
    pub(super) fn enforce_cap(&self, newest: &str) {
        self.store.drop_unpacked();
        let mut others = self.list();
        others.retain(|entry| entry.about.key != newest);
        let mut pruned = Pruned::default();
        if let Err(error) = self.shrink(self.limits.size, &mut others, false, &mut pruned) {
            tracing::warn!(%error, "the cache folder cannot be kept small");
        }
    }

    /// Takes the least recently used away until everything fits; what was downloaded goes last, it only costs a download.
    fn shrink(
        &self,
        most: u64,
        rest: &mut Vec<Entry>,
        dry_run: bool,
        pruned: &mut Pruned,
    ) -> Result<(), EnvironmentError> {
        let mut size = self.size();
        while size > most {
            let Some(entry) = rest.pop() else { break };
            let freed = entry.about.size;
            let gone = self.take_away(entry, dry_run, pruned)?;
            if dry_run {
                size = size.saturating_sub(freed);
            } else if gone {
                // Its files may still be linked from uv's cache, which is then of no use to anybody.
                self.drop_lone_bytecode();
                self.drop_lone_wheels();
                size = self.size();
            }
        }
        Ok(())
    }

    fn take_away(&self, entry: Entry, dry_run: bool, pruned: &mut Pruned) -> Result<bool, EnvironmentError> {
        let place = self.store.environment(&entry.about.key);
        // Held until it is gone: whoever comes now finds that it is not there any more.
        let lock = match lock::own(&place.join("used")) {
            // One that was just built is its builder's, who has not opened it yet.
            Ok(Some(lock)) if !self.store.is_being_built(&entry.about.key) => lock,
            _ => {
                pruned.in_use.push(entry);
                return Ok(false);
            }
        };
        if !dry_run {
            let away = self
                .store
                .part("environments")?
                .join(format!(".old-{}", crate::cache::unique()));
            fs::rename(&place, &away).map_err(EnvironmentError::io("move away", &place))?;
            tree::remove(&away).map_err(EnvironmentError::io("remove", &away))?;
        }
        drop(lock);
        pruned.removed.push(entry);
        Ok(true)
    }

    /// Requests whose environment is gone would only cost a build from an old lock.
    fn forget_requests(&self) {
        for path in store::children(&self.folder().join("requests")) {
            let name = store::name_of(&path);
            let Some(key) = name.strip_suffix(".json").filter(|key| store::is_key(key)) else {
                continue;
            };
            let remembered = self.store.remembered(key);
            if !remembered.is_some_and(|found| self.store.environment(&found.key).exists()) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn forget_downloads(&self) -> Result<(), EnvironmentError> {
        for part in ["uv/wheels", "bytecode"] {
            let path = self.folder().join(part);
            if self.store.is_quiet() {
                tree::remove(&path).map_err(EnvironmentError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Bytecode that no environment has a link to.
    fn drop_lone_bytecode(&self) {
        // A build that has just made some has not linked it yet.
        if !self.store.is_quiet() {
            return;
        }
        let all = store::children(&self.folder().join("bytecode"));
        for interpreter in all.iter().filter(|path| store::is_key(&store::name_of(path))) {
            let pieces = store::children(interpreter);
            for path in pieces.iter().flat_map(|folder| store::children(folder)) {
                if fs::symlink_metadata(&path)
                    .is_ok_and(|metadata| metadata.is_file() && metadata.nlink() == 1)
                {
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    /// Unpacked wheels of which no environment has a file.
    fn drop_lone_wheels(&self) {
        if !self.store.is_quiet() {
            return;
        }
        let archives = store::children(&self.folder().join("uv/wheels"))
            .into_iter()
            .filter(|path| {
                let name = store::name_of(path);
                let version = name.strip_prefix("archive-v").unwrap_or_default();
                !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
            });
        for archive in archives.flat_map(|bucket| store::children(&bucket)) {
            if !has_links(&archive, 0) {
                let _ = tree::remove(&archive);
            }
        }
    }
}

/// Whether some file in a tree has another name elsewhere.
fn has_links(folder: &Path, depth: usize) -> bool {
    depth < 64
        && store::children(folder)
            .iter()
            .any(|path| match fs::symlink_metadata(path) {
                Ok(metadata) if metadata.is_dir() => has_links(path, depth + 1),
                Ok(metadata) => metadata.is_file() && metadata.nlink() > 1,
                Err(_) => false,
            })
}

fn entry(path: &Path, wanted: &BTreeSet<String>) -> Option<Entry> {
    let hidden = path.file_name()?.as_encoded_bytes().starts_with(b".");
    let about = store::read_about(path).filter(|_| !hidden)?;
    let used = path.join("used");
    let last = fs::metadata(&used)
        .and_then(|metadata| metadata.modified())
        .ok()?;
    Some(Entry {
        last_used: last.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        in_use: matches!(lock::own(&used), Ok(None)),
        wanted: wanted.contains(&about.key),
        about,
    })
}

/// Keys that requests lead to.
fn wanted(store: &Store) -> BTreeSet<String> {
    let names = store::children(&store.folder().join("requests"));
    let stems = names
        .iter()
        .filter_map(|path: &PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned()));
    stems
        .filter_map(|name| Some(store.remembered(&name)?.key))
        .collect()
}

/// Bytes on disk below a folder; a file with several names counts once.
fn usage(folder: &Path, seen: &mut BTreeSet<(u64, u64)>, depth: usize) -> u64 {
    if depth > 128 {
        return 0;
    }
    let mut sum = 0;
    for path in store::children(folder) {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.nlink() == 1 || metadata.is_dir() || seen.insert((metadata.dev(), metadata.ino())) {
            sum += metadata.blocks() * 512;
        }
        if metadata.is_dir() {
            sum += usage(&path, seen, depth + 1);
        }
    }
    sum
}
