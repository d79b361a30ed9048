//! Where packages are that somebody installed in an interpreter itself, and not in a virtualenv.

use std::fs;
use std::path::{Path, PathBuf};

use super::prefix::Install;
use super::walk::in_system;

/// The names of such folders; the second one is Debian's.
const NAMES: [&str; 2] = ["site-packages", "dist-packages"];
/// Where an interpreter looks for folders of its version, below its prefix; the last two are Debian's.
const LIBS: [&str; 4] = ["lib", "lib64", "local/lib", "local/lib64"];
/// What all versions of Debian's interpreter share.
const SHARED: &str = "lib/python3";

/// Those of an installation. What a link has put elsewhere is not counted: a stranger's may lead anywhere.
pub(super) fn of_install(install: &Install) -> Vec<PathBuf> {
    let (prefix, name) = (&install.prefix, install.stdlib.file_name().unwrap_or_default());
    let own = LIBS.map(|lib| prefix.join(lib).join(name));
    let folders = own.into_iter().chain([prefix.join(SHARED)]);
    found(folders, |path| path.starts_with(prefix) || in_system(path))
}

/// Those of all interpreters in /usr.
pub(crate) fn of_system() -> Vec<PathBuf> {
    let libs = LIBS.map(|lib| Path::new("/usr").join(lib));
    let entries = libs.iter().flat_map(fs::read_dir).flatten().flatten();
    let python = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python3"));
    found(python.map(|entry| entry.path()), |path| path.starts_with("/usr"))
}

fn found(folders: impl IntoIterator<Item = PathBuf>, counts: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let paths = folders
        .into_iter()
        .flat_map(|folder| NAMES.map(|name| folder.join(name)));
    // Most are not there, and to ask for the path without links takes a call for each part of it.
    let there = paths.filter(|path| path.is_dir());
    let mut found: Vec<PathBuf> = there.filter_map(|path| path.canonicalize().ok()).collect();
    found.retain(|path| counts(path));
    found.sort();
    found.dedup();
    found
}
