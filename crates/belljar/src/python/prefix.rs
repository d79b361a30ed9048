//! From an executable to its installation, by the landmark that CPython itself goes by: `lib/python3.X/os.py`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::walk::{Link, in_system, settle, walk};
use super::{Interpreter, InterpreterError, OLDEST, Version};
use super::{look, packages};

/// An installation of CPython.
#[derive(Debug)]
pub(super) struct Install {
    pub(super) executable: PathBuf,
    pub(super) prefix: PathBuf,
    pub(super) stdlib: PathBuf,
    pub(super) version: Version,
}

/// Opens an interpreter that is not part of a virtualenv.
pub(super) fn open(path: &Path) -> Result<Interpreter, InterpreterError> {
    let mut links = Vec::new();
    let install = install(path, &mut links)?;
    let mut mounts = mounts(&install);
    settle(&mut mounts, &mut links);
    Ok(Interpreter {
        packages: packages::of_install(&install),
        shares_packages: false,
        executable: install.executable.clone(),
        base_executable: install.executable,
        version: install.version,
        base_prefix: install.prefix.clone(),
        prefix: install.prefix,
        stdlib: install.stdlib,
        venv: None,
        mounts,
        // The real path is executed, so no link is on the way.
        links: Vec::new(),
        environment: None,
    })
}

/// Finds the installation of an executable, and refuses what is not a usable CPython.
pub(super) fn install(path: &Path, links: &mut Vec<Link>) -> Result<Install, InterpreterError> {
    let unreadable = |cause| InterpreterError::Unreadable {
        path: path.to_path_buf(),
        cause,
    };
    let executable = walk(path, links).map_err(unreadable)?;
    let meta = executable.metadata().map_err(unreadable)?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return Err(InterpreterError::NotExecutable(path.to_path_buf()));
    }
    let name = executable
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    for other in ["pypy", "graalpy", "jython", "ironpython"] {
        if name.starts_with(other) {
            return Err(InterpreterError::NotCpython {
                path: path.to_path_buf(),
                name: other.to_owned(),
            });
        }
    }
    fs::File::open(&executable).map_err(unreadable)?;
    // Neither was asked for by a name of Python, nor is one.
    let named = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if !named.starts_with("python") && !name.starts_with("python") {
        return Err(InterpreterError::NotPython(path.to_path_buf()));
    }
    // A script, or a manager's own program under the name of Python: it would choose by the current folder.
    if !look::is_object(&executable) || !name.starts_with("python") {
        return Err(InterpreterError::Shim(path.to_path_buf()));
    }
    let (prefix, stdlib) =
        landmark(&executable, name).ok_or_else(|| InterpreterError::NoStdlib(path.to_path_buf()))?;
    refuse_stray(&executable, &prefix, &stdlib)?;
    let (major, minor) = stdlib
        .file_name()
        .and_then(|name| numbers(name.to_str()?))
        .unwrap_or_default();
    let version = Version {
        major,
        minor,
        patch: patch(&prefix, &stdlib),
    };
    if (major, minor) < OLDEST {
        return Err(InterpreterError::TooOld {
            path: path.to_path_buf(),
            version,
        });
    }
    Ok(Install {
        executable,
        prefix,
        stdlib,
        version,
    })
}

/// Refuses a standard library that a link has put elsewhere: it is shown whole, and a stranger's link may lead anywhere.
fn refuse_stray(executable: &Path, prefix: &Path, stdlib: &Path) -> Result<(), InterpreterError> {
    let leads = stdlib
        .canonicalize()
        .map_err(|cause| InterpreterError::Unreadable {
            path: stdlib.to_path_buf(),
            cause,
        })?;
    if leads.starts_with(prefix) || in_system(&leads) {
        return Ok(());
    }
    Err(InterpreterError::StrayStdlib {
        path: executable.to_path_buf(),
        leads,
    })
}

/// Walks up from the executable to the first folder with a standard library, as CPython does.
fn landmark(executable: &Path, name: &str) -> Option<(PathBuf, PathBuf)> {
    for prefix in executable.ancestors().skip(1) {
        for lib in ["lib", "lib64"] {
            let lib = prefix.join(lib);
            if numbers(name).is_some() {
                let stdlib = lib.join(name);
                if stdlib.join("os.py").is_file() {
                    return Some((prefix.to_path_buf(), stdlib));
                }
                continue;
            }
            let mut stdlibs = fs::read_dir(&lib)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| {
                    numbers(entry.file_name().to_str()?)?;
                    let path = entry.path();
                    path.join("os.py").is_file().then_some(path)
                });
            // Two of them and an executable without a version in its name: nothing tells which.
            if let (Some(stdlib), None) = (stdlibs.next(), stdlibs.next()) {
                return Some((prefix.to_path_buf(), stdlib));
            }
        }
    }
    None
}

/// The 3 and 12 of `python3.12` or `python3.13t`.
pub(super) fn numbers(name: &str) -> Option<(u32, u32)> {
    let digits = name.strip_prefix("python")?.trim_end_matches(['t', 'm', 'd']);
    match Version::parse(digits)? {
        (major, Some(minor), None) => Some((major, minor)),
        _ => None,
    }
}

/// The patch level, from the header that says it; absent where the headers are not installed.
fn patch(prefix: &Path, stdlib: &Path) -> Option<u32> {
    let header = prefix
        .join("include")
        .join(stdlib.file_name()?)
        .join("patchlevel.h");
    let text = look::text(&header, 16 << 10).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("#define PY_MICRO_VERSION")?.trim().parse().ok())
}

/// What of an installation must be visible beside the system base.
pub(super) fn mounts(install: &Install) -> Vec<PathBuf> {
    if in_system(&install.prefix) {
        return Vec::new();
    }
    if dedicated(&install.prefix) {
        return vec![install.prefix.clone()];
    }
    pieces(install)
}

/// The parts of an installation alone: its prefix may be a home folder, or `~/.local` with keyrings beside it.
pub(super) fn pieces(install: &Install) -> Vec<PathBuf> {
    let mut mounts = vec![install.executable.clone(), install.stdlib.clone()];
    let library = format!("libpython{}.{}", install.version.major, install.version.minor);
    if let Some(lib) = install.stdlib.parent() {
        let entries = fs::read_dir(lib).into_iter().flatten().flatten();
        mounts.extend(entries.filter_map(|entry| {
            let named = entry.file_name().to_str()?.starts_with(&library);
            // By name alone a stranger's link to ~/.ssh would count.
            (named && look::is_object(&entry.path())).then(|| entry.path())
        }));
    }
    mounts
}

/// Whether a prefix holds an interpreter and nothing else, by the layouts of those who install them so.
fn dedicated(prefix: &Path) -> bool {
    let name = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let parent = prefix.parent().map(name).unwrap_or_default();
    let own = name(prefix);
    // pyenv's and asdf's versions/3.12.1; uv's cpython-3.12.1-linux; /opt/python3.12; CI's Python/3.12.1/x64; conda.
    matches!(parent.as_str(), "versions" | "python")
        || own.starts_with("python")
        || own.starts_with("cpython")
        || (own == "x64" || own == "arm64")
            && prefix
                .parent()
                .and_then(Path::parent)
                .map(name)
                .is_some_and(|name| name == "python")
        || prefix.join("conda-meta").is_dir()
}
