//! Why no interpreter could be had. One line each: which, what is wrong with it, and what to name instead.

use std::io;
use std::path::PathBuf;

use super::Version;
use crate::error::{Hinted, next_step};
use crate::hint::{Hint, Setting};

/// Why no interpreter could be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpreterError {
    /// Nothing of that version, or no Python at all.
    #[error("{wanted} was not found{}{}; looked in {}{}", list("; found ", found), list("; passed over ", passed), looked.join(", "), next_step(self.hint()))]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// Interpreters that were found but are not what was asked for.
        found: Vec<String>,
        /// Files that look like one and are not usable, with the reason.
        passed: Vec<String>,
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// The request is neither a version nor a path.
    #[error("python `{}` is neither a version nor a path{}", .0, next_step(self.hint()))]
    Request(String),
    /// A path that does not exist or cannot be read.
    #[error("interpreter {path} cannot be used: {cause}{}", next_step(self.hint()))]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file that is no program.
    #[error("interpreter {} is not an executable file{}", .0.display(), next_step(self.hint()))]
    NotExecutable(PathBuf),
    /// A program that starts some other Python.
    #[error("{} is a shim that starts some other Python{}", .0.display(), next_step(self.hint()))]
    Shim(PathBuf),
    /// A program that does not call itself Python.
    #[error("{} is not a Python: neither it nor what it leads to is called python{}", .0.display(), next_step(self.hint()))]
    NotPython(PathBuf),
    /// A program without a standard library near it.
    #[error("{} has no standard library (lib/python3.X/os.py) above it{}", .0.display(), next_step(self.hint()))]
    NoStdlib(PathBuf),
    /// A standard library that is a link to some other place of the host.
    #[error(
        "the standard library of {path} is in {leads}, outside its installation, and would show that folder{}", next_step(self.hint())
    )]
    StrayStdlib {
        /// The interpreter.
        path: PathBuf,
        /// Where the link leads.
        leads: PathBuf,
    },
    /// A version that is too old.
    #[error("{path} is Python {version}, and belljar needs CPython 3.10 or later{}", next_step(self.hint()))]
    TooOld {
        /// The interpreter.
        path: PathBuf,
        /// Its version.
        version: Version,
    },
    /// Something that is not CPython.
    #[error("{path} is {name}, not CPython{}", next_step(self.hint()))]
    NotCpython {
        /// The interpreter.
        path: PathBuf,
        /// What it is.
        name: String,
    },
    /// A path that holds no virtualenv.
    #[error("{} is not a virtualenv: it has no pyvenv.cfg{}", .0.display(), next_step(self.hint()))]
    NotVenv(PathBuf),
    /// A virtualenv that does not exist or cannot be read.
    #[error("virtualenv {} cannot be used: {cause}{}", path.display(), next_step(self.hint()))]
    UnreadableVenv {
        /// The path as it was given.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A virtualenv without a usable interpreter in its bin folder.
    #[error("virtualenv {venv} is broken: {cause}{}", next_step(self.hint()))]
    BrokenVenv {
        /// The virtualenv.
        venv: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Both a virtualenv and another interpreter than its own.
    #[error("virtualenv {venv} is for Python {has}, and python {wanted} was asked for{}", next_step(self.hint()))]
    VenvVersion {
        /// The virtualenv.
        venv: PathBuf,
        /// What it was made for.
        has: Version,
        /// What was asked for.
        wanted: String,
    },
    /// A mount over the interpreter.
    #[error(
        "mount target {target} would hide or lie inside {inside}, which the interpreter needs{}", next_step(self.hint())
    )]
    Hidden {
        /// Where the mount would be.
        target: PathBuf,
        /// What the interpreter needs there.
        inside: PathBuf,
    },
    /// A shared object that the interpreter cannot start without.
    #[error("{object} needs the library {name}, which is in none of {}{}", looked.join(", "), next_step(self.hint()))]
    Library {
        /// The program or library.
        object: PathBuf,
        /// The library it names.
        name: String,
        /// Where it was looked for.
        looked: Vec<String>,
    },
}

impl Hinted for InterpreterError {
    fn hint(&self) -> Option<Hint> {
        let step = match self {
            Self::NotFound { .. } => return Some(named("name one with")),
            Self::Request(_) => "write a version such as 3.12, or a path with a slash in it",
            Self::Unreadable { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
                return Some(named("name an interpreter that you may read with"));
            }
            Self::Unreadable { .. } => return Some(named("name an existing interpreter with")),
            Self::NotExecutable(_) => return Some(named("name the program of a CPython with")),
            Self::Shim(_) => return Some(named("name the real interpreter with")),
            Self::NotPython(_) => return Some(named("name a CPython with")),
            Self::NoStdlib(_) => return Some(named("name an installed CPython with")),
            Self::StrayStdlib { .. } => return Some(named("name another interpreter with")),
            Self::TooOld { .. } => return Some(named("name one with")),
            Self::NotCpython { .. } => return Some(named("name a CPython 3.10 or later with")),
            Self::NotVenv(_) | Self::UnreadableVenv { .. } => "make one with `python3 -m venv DIR`",
            Self::BrokenVenv { venv, .. } => {
                return Some(format!("make it again with `python3 -m venv --clear {venv}`").into());
            }
            Self::VenvVersion { .. } => "leave one of the two out",
            Self::Hidden { .. } => "choose another target, such as /data",
            Self::Library { .. } => {
                return Some(named("install that library, or name another interpreter with"));
            }
        };
        Some(step.into())
    }
}

/// Asks for another interpreter.
fn named(how: &'static str) -> Hint {
    Hint::from(how).say(" ").set_to(Setting::Python, ["PATH"])
}

fn list(before: &str, items: &[String]) -> String {
    if items.is_empty() {
        String::new()
    } else {
        format!("{before}{}", items.join(", "))
    }
}
