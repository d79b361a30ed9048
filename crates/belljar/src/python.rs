//! Finds the interpreter that a guest runs on, by reading files alone: starting a Python to ask it would cost more than
//! the whole jar, and would run whatever a shim or a virtualenv of a stranger says.
//!
//! Nothing in the current folder counts: not `.python-version`, not `pyvenv.cfg`, not a relative entry of PATH.

mod elf;
mod error;
pub(crate) mod known;
mod libraries;
mod look;
mod modules;
mod packages;
mod prefix;
mod search;
mod shim;
#[cfg(test)]
mod tests;
mod venv;
mod walk;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment::{Environment, INSIDE};
use crate::policy::Policy;

pub use error::InterpreterError;
pub use modules::lacking;
pub(crate) use packages::of_system as packages_of_system;
pub use search::Surroundings;
pub use walk::Link;
use walk::{in_system, settle};

/// The oldest CPython that the guest runtime runs on.
pub const OLDEST: (u32, u32) = (3, 10);

/// An interpreter, and what of the host must be visible for it to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// The path to execute inside the jar: the virtualenv's `bin/python` when there is one.
    pub executable: PathBuf,
    /// The real interpreter, every link resolved.
    pub base_executable: PathBuf,
    /// Its version.
    pub version: Version,
    /// Where the real interpreter is installed.
    pub base_prefix: PathBuf,
    /// What `sys.prefix` will be: the virtualenv, or the base prefix.
    pub prefix: PathBuf,
    /// The folder of the standard library.
    pub stdlib: PathBuf,
    /// The virtualenv, every link resolved.
    pub venv: Option<PathBuf>,
    /// Where packages of the real interpreter are installed, every link resolved.
    pub packages: Vec<PathBuf>,
    /// Whether the virtualenv has those too.
    pub shares_packages: bool,
    /// Host files and folders that must be visible, read-only, at the same path. /usr and its aliases are left out.
    pub mounts: Vec<PathBuf>,
    /// Symbolic links outside those mounts that the interpreter is reached through.
    pub links: Vec<Link>,
    /// A host folder that is the virtualenv in the jar, at [`INSIDE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<PathBuf>,
}

/// What an interpreter needs on its own, when /usr is not part of the base.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Host files and folders that must be visible, read-only, at the same path.
    pub mounts: Vec<PathBuf>,
    /// Symbolic links outside those mounts.
    pub links: Vec<Link>,
}

/// A version of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// The 3 of 3.12.1.
    pub major: u32,
    /// The 12 of 3.12.1.
    pub minor: u32,
    /// The 1 of 3.12.1; `None` where only starting the interpreter would tell.
    pub patch: Option<u32>,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

impl Version {
    /// Reads `3`, `3.12` or `3.12.1`; nothing else.
    fn parse(text: &str) -> Option<(u32, Option<u32>, Option<u32>)> {
        let mut parts = text.split('.').map(|part| {
            let digits =
                !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        });
        let major = parts.next()??;
        let minor = parts.next().map_or(Some(None), |part| part.map(Some))?;
        let patch = parts.next().map_or(Some(None), |part| part.map(Some))?;
        parts.next().is_none().then_some((major, minor, patch))
    }
}

/// Finds the interpreter for a request (a version such as `3.12`, a path, or none) and a virtualenv.
pub fn find(request: Option<&str>, venv: Option<&Path>) -> Result<Interpreter, InterpreterError> {
    find_in(request, venv, &Surroundings::of_this_process())
}

/// The interpreter that a policy asks for, with all that it needs where the policy leaves /usr out.
pub fn for_policy(policy: &Policy) -> Result<Interpreter, InterpreterError> {
    fitted(
        policy,
        find(policy.python.as_deref(), policy.venv.as_deref())?,
        None,
    )
}

/// The interpreter that a policy asks for, in an environment.
pub fn for_environment(policy: &Policy, environment: &Environment) -> Result<Interpreter, InterpreterError> {
    let mut found = fitted(
        policy,
        environment.interpreter().clone(),
        Some(environment.folder()),
    )?;
    found.links.extend(environment.links());
    Ok(found)
}

/// With all that it needs under this policy, whose mounts must leave it alone.
fn fitted(
    policy: &Policy,
    mut found: Interpreter,
    environment: Option<&Path>,
) -> Result<Interpreter, InterpreterError> {
    if !policy.system {
        Needs {
            mounts: found.mounts,
            links: found.links,
        } = found.alone()?;
    }
    if policy.site_packages || found.shares_packages {
        // Most lie in what is shown already; without /usr, those of Debian's interpreter do not.
        let apart = |folder: &&PathBuf| !(policy.system && in_system(folder));
        found.mounts.extend(found.packages.iter().filter(apart).cloned());
        settle(&mut found.mounts, &mut found.links);
    }
    if let Some(folder) = environment {
        found = found.inside(folder);
    }
    let mounts = policy.mounts.iter().map(|mount| (&mount.source, &mount.target));
    let workdir = policy
        .workdir
        .iter()
        .map(|workdir| (&workdir.source, &workdir.target));
    for (source, target) in mounts.chain(workdir) {
        found.refuse_hidden(source, target)?;
    }
    Ok(found)
}

/// As [`find`], with everything that it takes from the environment given.
pub fn find_in(
    request: Option<&str>,
    venv: Option<&Path>,
    around: &Surroundings,
) -> Result<Interpreter, InterpreterError> {
    let Some(venv) = venv else {
        return match request {
            None => search::default(around),
            Some(request) if request.contains('/') => by_path(&around.absolute(Path::new(request))),
            Some(request) => search::by_version(request, around),
        };
    };
    let found = venv::open(&around.absolute(venv))?;
    match request {
        Some(request) if !agrees(request, &found, around) => Err(InterpreterError::VenvVersion {
            venv: venv.to_path_buf(),
            has: found.version,
            wanted: request.to_owned(),
        }),
        _ => Ok(found),
    }
}

impl Interpreter {
    /// The same interpreter, started from an environment that the jar shows at one place, wherever it is on the host.
    pub(crate) fn inside(self, environment: &Path) -> Self {
        Self {
            executable: Path::new(INSIDE).join("bin/python"),
            prefix: INSIDE.into(),
            venv: Some(INSIDE.into()),
            environment: Some(environment.to_path_buf()),
            ..self
        }
    }

    /// Refuses a mount over, or into, a folder that the interpreter needs: it would be gone, or there is no place for it.
    fn refuse_hidden(&self, source: &Path, target: &Path) -> Result<(), InterpreterError> {
        // A folder shown at its own path has the interpreter in it as before.
        let same = source == target;
        let clash = |needed: &&PathBuf| !same && (needed.starts_with(target) || target.starts_with(needed));
        let environment = self.environment.as_ref().map(|_| PathBuf::from(INSIDE));
        match self.mounts.iter().chain(&environment).find(clash) {
            Some(inside) => Err(InterpreterError::Hidden {
                target: target.to_path_buf(),
                inside: inside.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// An interpreter that was named by path: an executable, a prefix, or a virtualenv.
fn by_path(path: &Path) -> Result<Interpreter, InterpreterError> {
    let meta = path.metadata().map_err(|cause| InterpreterError::Unreadable {
        path: path.to_path_buf(),
        cause,
    })?;
    if meta.is_dir() {
        if path.join("pyvenv.cfg").is_file() {
            return venv::open(path);
        }
        return prefix::open(&path.join("bin/python3"));
    }
    match venv::around(path) {
        Some(venv) => venv::open(venv),
        None => prefix::open(path),
    }
}

/// Whether a virtualenv's interpreter is what was asked for beside it.
fn agrees(request: &str, found: &Interpreter, around: &Surroundings) -> bool {
    if request.contains('/') {
        return by_path(&around.absolute(Path::new(request)))
            .is_ok_and(|other| other.base_executable == found.base_executable);
    }
    search::wanted(request).is_some_and(|wanted| wanted.matches(found.version))
}
