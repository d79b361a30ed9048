//! Version managers put a script named `python3` on PATH that looks for `.python-version` in the current folder and
//! above it. That folder may be a stranger's, so a shim is never started; pyenv's global choice is read instead.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::Version;
use super::search::Surroundings;

/// What a shim stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shim {
    /// This file.
    Leads(PathBuf),
    /// The next one on PATH.
    Next,
    /// Nobody knows without starting it.
    Unknown,
}

/// Resolves a shim on PATH.
pub(super) fn resolve(shim: &Path, around: &Surroundings) -> Shim {
    let Some(root) = root(shim) else {
        return Shim::Unknown;
    };
    let global = fs::read_to_string(root.join("version")).unwrap_or_default();
    let chosen = match &around.pyenv_version {
        Some(names) => names.split(':').map(str::to_owned).collect::<Vec<_>>(),
        None => global
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect(),
    };
    let name = shim.file_name().unwrap_or(OsStr::new("python3"));
    for version in chosen {
        if version == "system" {
            return Shim::Next;
        }
        if let Some(found) = installed(&root, &version).map(|folder| folder.join("bin").join(name))
            && found.is_file()
        {
            return Shim::Leads(found);
        }
    }
    Shim::Next
}

/// The root of the pyenv that a shim belongs to.
pub(super) fn root(shim: &Path) -> Option<PathBuf> {
    let shims = shim.parent()?;
    let root = shims.parent()?;
    (shims.file_name()? == "shims" && root.join("versions").is_dir() && root.join("libexec").is_dir())
        .then(|| root.to_path_buf())
}

/// The folder of an installed version; `3.12` means the highest 3.12.x.
fn installed(root: &Path, version: &str) -> Option<PathBuf> {
    let plain = !version.is_empty() && !version.contains('/') && !version.starts_with('.');
    let folder = root.join("versions").join(version);
    if plain && folder.is_dir() {
        return Some(folder);
    }
    let (major, minor, None) = Version::parse(version)? else {
        return None;
    };
    versions(root)
        .into_iter()
        .filter(|(found, _)| found.major == major && minor.is_none_or(|minor| minor == found.minor))
        .max_by_key(|(found, _)| *found)
        .map(|(_, folder)| folder)
}

/// Every plain version that a pyenv holds.
pub(super) fn versions(root: &Path) -> Vec<(Version, PathBuf)> {
    let entries = fs::read_dir(root.join("versions"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| match Version::parse(entry.file_name().to_str()?)? {
            (major, Some(minor), patch @ Some(_)) => Some((Version { major, minor, patch }, entry.path())),
            _ => None,
        })
        .collect()
}
