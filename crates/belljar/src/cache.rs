//! The cache folder: where it is, whether it is ours alone, and how files come into it.
//!
//! Whoever can write to a folder above it can put another in its place, and have us read, write or remove there. So
//! every folder on the way must be ours or root's, and is opened from the one before it, without following a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// The owner of what belongs to nobody in this user namespace.
const NOBODY: u32 = 65_534;

/// Why there is no cache folder.
#[derive(Debug)]
pub(crate) enum CacheError {
    /// Other users could put something else in the place of this folder, or into it.
    Shared(PathBuf),
    /// It could not be made or opened.
    Io(PathBuf, io::Error),
}

/// A folder that only we can change, and the folders that are still to be made in it.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: OwnedFd,
    path: PathBuf,
    missing: Vec<OsString>,
}

/// The cache folder that variables name: `BELLJAR_CACHE_DIR`, or `belljar` in the user's own.
pub(crate) fn named(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = |name| {
        let path = variable(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    named("BELLJAR_CACHE_DIR")
        .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("belljar")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/belljar")))
}

impl Cache {
    /// The folder at `path`, or the nearest above it that is there.
    pub(crate) fn find(path: &Path) -> Result<Self, CacheError> {
        let mut above = path.ancestors();
        let (nearest, real) = loop {
            let Some(folder) = above.next() else {
                return Err(CacheError::Io(path.into(), io::ErrorKind::NotFound.into()));
            };
            match folder.canonicalize() {
                Ok(real) => break (folder, real),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(CacheError::Io(folder.into(), error)),
            }
        };
        let missing: Vec<OsString> = path
            .strip_prefix(nearest)
            .into_iter()
            .flatten()
            .map(OsStr::to_os_string)
            .collect();
        if missing.iter().any(|name| name == "..") {
            return Err(CacheError::Io(path.into(), io::ErrorKind::InvalidInput.into()));
        }
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |error: Errno| CacheError::Io(path, error.into())
        };
        let mut cache = Self {
            folder: rustix::fs::open("/", FOLDER, Mode::empty()).map_err(io(Path::new("/")))?,
            path: "/".into(),
            missing: Vec::new(),
        };
        cache.check()?;
        for name in real.iter().skip(1) {
            cache.enter(name)?;
        }
        cache.missing = missing;
        if cache.missing.is_empty() {
            cache.check_own()?;
        }
        Ok(cache)
    }

    /// The folder at `path`, made where it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, CacheError> {
        let mut cache = Self::find(path)?;
        for name in std::mem::take(&mut cache.missing) {
            match rustix::fs::mkdirat(&cache.folder, &name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => cache.enter(&name)?,
                Err(error) => return Err(CacheError::Io(cache.path.join(&name), error.into())),
            }
        }
        cache.check_own()?;
        Ok(cache)
    }

    /// Its path, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself, if it is there.
    pub(crate) fn folder(&self) -> Option<BorrowedFd<'_>> {
        self.missing.is_empty().then(|| self.folder.as_fd())
    }

    /// Whether something can be made in what is there.
    pub(crate) fn can_be_written(&self) -> bool {
        rustix::fs::accessat(&self.folder, ".", rustix::fs::Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), CacheError> {
        let path = self.path.join(name);
        match rustix::fs::openat(&self.folder, name, FOLDER, Mode::empty()) {
            Ok(folder) => self.folder = folder,
            Err(error) => return Err(CacheError::Io(path, error.into())),
        }
        self.path = path;
        self.check()
    }

    /// Whether nobody but us and root can put something else in the place of what is in it.
    fn check(&self) -> Result<(), CacheError> {
        let stat = self.stat()?;
        let us = rustix::process::geteuid().as_raw();
        // Where only some users are known, the host's root is nobody.
        let safe = stat.st_uid == us || stat.st_uid == 0 || (stat.st_uid == NOBODY && !knows_all_users());
        // A sticky folder lets others add names, and keeps ours. A group of the same number as its owner is nobody else's.
        let alone = stat.st_mode & 0o002 == 0 && (stat.st_mode & 0o020 == 0 || stat.st_gid == stat.st_uid);
        if safe && (alone || stat.st_mode & 0o1000 != 0) {
            Ok(())
        } else {
            Err(CacheError::Shared(self.path.clone()))
        }
    }

    /// Whether it is ours, and nobody else can write to it.
    fn check_own(&self) -> Result<(), CacheError> {
        let stat = self.stat()?;
        if stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o022 == 0 {
            Ok(())
        } else {
            Err(CacheError::Shared(self.path.clone()))
        }
    }

    fn stat(&self) -> Result<Stat, CacheError> {
        rustix::fs::fstat(&self.folder).map_err(|error| CacheError::Io(self.path.clone(), error.into()))
    }
}

fn knows_all_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// The folder at a path that has no links.
pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?)
}

/// Written aside and moved into place, so that nobody ever reads half of it.
pub(crate) fn write(folder: BorrowedFd<'_>, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let aside = format!(".{}", unique());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let written = rustix::fs::openat(folder, &aside, flags, mode)
        .map_err(io::Error::from)
        .and_then(|file| File::from(file).write_all(bytes))
        .and_then(|()| Ok(rustix::fs::renameat(folder, &aside, folder, name)?));
    written.inspect_err(|_| {
        let _ = rustix::fs::unlinkat(folder, &aside, AtFlags::empty());
    })
}

/// A name that nobody else uses now: digits and dashes.
pub(crate) fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", std::process::id(), now.as_nanos())
}

/// Whether a name is of the form that [`unique`] gives.
pub(crate) fn is_unique(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(digits)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn stage() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    fn shared(result: Result<Cache, CacheError>) -> Option<PathBuf> {
        match result {
            Err(CacheError::Shared(path)) => Some(path),
            Err(other) => panic!("{other:?}"),
            Ok(_) => None,
        }
    }

    #[test]
    fn every_folder_on_the_way_must_be_ours_or_roots() {
        let (_dir, top) = stage();
        let folder = top.join("home/cache/belljar");
        assert_eq!(shared(Cache::open(&folder)), None, "control");
        for (mode, refused) in [(0o755, false), (0o1777, false), (0o777, true), (0o772, true)] {
            fs::set_permissions(top.join("home"), Permissions::from_mode(mode)).unwrap();
            let expected = refused.then(|| top.join("home"));
            assert_eq!(shared(Cache::open(&folder)), expected, "{mode:o}");
            assert_eq!(shared(Cache::find(&folder)), expected, "{mode:o}");
        }
        fs::set_permissions(top.join("home"), Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(
            shared(Cache::open(&folder)),
            Some(folder),
            "its own folder must be ours alone"
        );
    }

    #[test]
    fn another_users_folder_on_the_way_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_dir, top) = stage();
        let folder = top.join("home/cache/belljar");
        Cache::open(&folder).unwrap();
        std::os::unix::fs::chown(top.join("home"), Some(12_345), None).unwrap();
        assert_eq!(shared(Cache::open(&folder)), Some(top.join("home")));
        // Nor is anything made there.
        assert_eq!(shared(Cache::open(&top.join("home/new"))), Some(top.join("home")));
        assert!(!top.join("home/new").exists());
    }

    #[test]
    fn links_on_the_way_are_resolved_once_and_judged_where_they_lead() {
        let (_dir, top) = stage();
        fs::create_dir(top.join("real")).unwrap();
        symlink("real", top.join("link")).unwrap();
        let cache = Cache::open(&top.join("link/belljar")).unwrap();
        assert_eq!(cache.path(), top.join("real/belljar"));
        fs::set_permissions(top.join("real"), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(
            shared(Cache::open(&top.join("link/belljar"))),
            Some(top.join("real"))
        );
    }

    #[test]
    fn names_of_our_own_are_known() {
        assert!(is_unique(&unique()));
        for name in ["", "1-2", "1-2-3-4", "a-1-2", "1--2", "../1-2-3"] {
            assert!(!is_unique(name), "{name}");
        }
    }
}
