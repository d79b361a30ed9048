//! Where interpreters are looked for.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::shim::{self, Shim};
use super::{Interpreter, InterpreterError, OLDEST, Version, prefix, venv};
use crate::error::Hinted;

/// What the search takes from the environment; tests make their own.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// PATH.
    pub path: Option<OsString>,
    /// The folder that relative paths of the command line start from.
    pub cwd: PathBuf,
    /// Roots of a pyenv.
    pub pyenv: Option<PathBuf>,
    /// PYENV_VERSION.
    pub pyenv_version: Option<String>,
    /// Where uv keeps the interpreters it manages.
    pub uv: Option<PathBuf>,
    /// Folders with executables that are searched after PATH.
    pub folders: Vec<PathBuf>,
    /// The folder in which `python*` folders are looked for.
    pub opt: PathBuf,
}

impl Surroundings {
    /// What this process was started with.
    pub fn of_this_process() -> Self {
        let folder = |name: &str| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = folder("HOME");
        let below = |parts: &str| home.as_ref().map(|home| home.join(parts));
        let data = folder("XDG_DATA_HOME").or_else(|| below(".local/share"));
        Self {
            path: env::var_os("PATH"),
            cwd: env::current_dir().unwrap_or_default(),
            pyenv: folder("PYENV_ROOT").or_else(|| below(".pyenv")),
            pyenv_version: env::var("PYENV_VERSION").ok().filter(|value| !value.is_empty()),
            uv: folder("UV_PYTHON_INSTALL_DIR").or_else(|| data.map(|data| data.join("uv/python"))),
            folders: vec!["/usr/local/bin".into(), "/usr/bin".into()],
            opt: "/opt".into(),
        }
    }

    /// A path of the command line, made absolute.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Folders with executables, in order. A relative entry of PATH is the current folder's, which is not trusted.
    fn bins(&self) -> Vec<PathBuf> {
        let path = self
            .path
            .as_deref()
            .map(|path| env::split_paths(path).collect::<Vec<_>>())
            .unwrap_or_default();
        let mut bins: Vec<PathBuf> = Vec::with_capacity(path.len());
        for bin in path
            .into_iter()
            .filter(|bin| bin.is_absolute())
            .chain(self.folders.iter().cloned())
        {
            if !bins.contains(&bin) {
                bins.push(bin);
            }
        }
        bins
    }
}

/// A version that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    major: u32,
    minor: Option<u32>,
    patch: Option<u32>,
}

impl Wanted {
    pub(super) fn matches(self, version: Version) -> bool {
        self.major == version.major
            && self.minor.is_none_or(|minor| minor == version.minor)
            && self.patch.is_none_or(|patch| Some(patch) == version.patch)
    }
}

/// Reads `3.12`, `3.12.1`, `python3.12` or `python3`.
pub(super) fn wanted(request: &str) -> Option<Wanted> {
    let (major, minor, patch) = Version::parse(request.strip_prefix("python").unwrap_or(request))?;
    Some(Wanted { major, minor, patch })
}

/// What was met on the way, for the message when nothing fits.
#[derive(Default)]
struct Met {
    found: BTreeSet<String>,
    passed: Vec<String>,
}

impl Met {
    fn note(&mut self, error: &InterpreterError) {
        self.passed.push(error.message());
    }

    fn not_found(self, wanted: String, around: &Surroundings) -> InterpreterError {
        let mut looked = vec!["PATH".to_owned()];
        let folders = around.pyenv.iter().map(|root| root.join("versions"));
        let folders = folders
            .chain(around.uv.iter().cloned())
            .chain(around.folders.iter().cloned());
        looked.extend(folders.map(|folder| folder.display().to_string()));
        looked.push(around.opt.join("python*").display().to_string());
        InterpreterError::NotFound {
            wanted,
            found: self.found.into_iter().collect(),
            passed: self.passed,
            looked,
        }
    }
}

/// The first usable `python3` on PATH; of an active virtualenv the interpreter below it, because it was not named.
pub(super) fn default(around: &Surroundings) -> Result<Interpreter, InterpreterError> {
    let mut met = Met::default();
    for bin in around.bins() {
        let candidate = bin.join("python3");
        if candidate.symlink_metadata().is_err() {
            continue;
        }
        match open(&candidate) {
            Ok(interpreter) => return Ok(interpreter),
            Err(InterpreterError::Shim(path)) => match shim::resolve(&candidate, around) {
                Shim::Leads(real) => match open(&real) {
                    Ok(interpreter) => return Ok(interpreter),
                    Err(error) => met.note(&error),
                },
                Shim::Next => {}
                Shim::Unknown => return Err(InterpreterError::Shim(path)),
            },
            Err(error) => met.note(&error),
        }
    }
    survey(around, &mut met);
    Err(met.not_found("a python3 that is CPython 3.10 or later".into(), around))
}

/// The best interpreter of a version: PATH first, then pyenv, uv, the system's folders and /opt.
pub(super) fn by_version(request: &str, around: &Surroundings) -> Result<Interpreter, InterpreterError> {
    let wanted = wanted(request).ok_or_else(|| InterpreterError::Request(request.to_owned()))?;
    if wanted.minor.is_none() && wanted.major == OLDEST.0 {
        return default(around);
    }
    let mut met = Met::default();
    for candidate in candidates(wanted, around) {
        match open(&candidate) {
            Ok(interpreter) if wanted.matches(interpreter.version) => return Ok(interpreter),
            Ok(_) => {}
            // It stands for the version that its manager holds; one of no known manager is passed over.
            Err(InterpreterError::Shim(_)) => {
                if let Some(interpreter) = behind(&candidate, wanted) {
                    return Ok(interpreter);
                }
            }
            Err(error @ InterpreterError::TooOld { .. }) => return Err(error),
            Err(error) => met.note(&error),
        }
    }
    survey(around, &mut met);
    Err(met.not_found(format!("python {}", request.trim_start_matches("python")), around))
}

/// The highest version that fits, of the pyenv that a shim belongs to.
fn behind(shim: &Path, wanted: Wanted) -> Option<Interpreter> {
    let mut versions = shim::versions(&shim::root(shim)?);
    versions.retain(|(version, _)| wanted.matches(*version));
    let (_, folder) = versions.into_iter().max_by_key(|(version, _)| *version)?;
    open(&folder.join("bin").join(shim.file_name()?)).ok()
}

fn candidates(wanted: Wanted, around: &Surroundings) -> impl Iterator<Item = PathBuf> {
    let name = format!("python{}.{}", wanted.major, wanted.minor.unwrap_or_default());
    let named = around.bins().into_iter().map({
        let name = name.clone();
        move |bin| bin.join(&name)
    });
    let mut managed = around.pyenv.as_deref().map(shim::versions).unwrap_or_default();
    managed.extend(around.uv.as_deref().map(uv).unwrap_or_default());
    managed.retain(|(version, _)| wanted.matches(*version));
    // Highest first; the sort is stable, so pyenv comes before uv at the same version.
    managed.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    let managed = managed
        .into_iter()
        .map(move |(_, folder)| folder.join("bin").join(&name));
    let name = format!("bin/python{}.{}", wanted.major, wanted.minor.unwrap_or_default());
    let opt = opt(&around.opt).into_iter().map(move |folder| folder.join(&name));
    named
        .chain(managed)
        .chain(opt)
        .filter(|path| path.symlink_metadata().is_ok())
}

/// Opens an interpreter that was found and not named: a virtualenv's packages are left behind.
fn open(path: &Path) -> Result<Interpreter, InterpreterError> {
    match venv::around(path) {
        Some(folder) => prefix::open(&venv::open(folder)?.base_executable),
        None => prefix::open(path),
    }
}

/// uv's folders, such as `cpython-3.12.1-linux-x86_64-gnu`; the ones without a patch level are links to these.
fn uv(folder: &Path) -> Vec<(Version, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name
                .to_str()?
                .strip_prefix("cpython-")?
                .split(['-', '+'])
                .next()?;
            match Version::parse(version)? {
                (major, Some(minor), patch @ Some(_)) => {
                    Some((Version { major, minor, patch }, entry.path()))
                }
                _ => None,
            }
        })
        .collect()
}

/// `/opt/python3.12` and the folders in `/opt/python`.
fn opt(folder: &Path) -> Vec<PathBuf> {
    let children = |folder: &Path| {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    let mut found = children(folder);
    found.retain(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("python"))
    });
    found.extend(children(&folder.join("python")));
    found.sort();
    found
}

/// Everything usable that the search would find under other versions; only made for the message.
fn survey(around: &Surroundings, met: &mut Met) {
    for bin in around.bins() {
        for entry in fs::read_dir(bin).into_iter().flatten().flatten() {
            if entry
                .file_name()
                .to_str()
                .is_some_and(|name| prefix::numbers(name).is_some())
                && let Ok(found) = open(&entry.path())
            {
                met.found.insert(format!(
                    "{} at {}",
                    found.version,
                    found.base_executable.display()
                ));
            }
        }
    }
    let managed = around
        .pyenv
        .as_deref()
        .map(shim::versions)
        .unwrap_or_default()
        .into_iter();
    let managed = managed
        .chain(around.uv.as_deref().map(uv).unwrap_or_default())
        .map(|(_, folder)| folder);
    for folder in managed.chain(opt(&around.opt)) {
        if let Ok(found) = open(&folder.join("bin/python3")) {
            met.found.insert(format!(
                "{} at {}",
                found.version,
                found.base_executable.display()
            ));
        }
    }
}
