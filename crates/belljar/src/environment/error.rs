//! Why an environment could not be had.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Hinted, next_step};
use crate::hint::{Hint, Setting};
use crate::python::Version;

/// Why an environment could not be had. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// There is no folder to keep environments in.
    #[error("belljar found no folder of yours for environments{}", next_step(self.hint()))]
    NoFolder,
    /// A folder that others can write to.
    #[error(
        "{} can be written by other users, who could change what guests run{}", .0.display(), next_step(self.hint())
    )]
    Shared(PathBuf),
    /// Something of ours could not be read or written.
    #[error("cannot {step} {}: {cause}{}", path.display(), next_step(self.hint()))]
    Io {
        /// What was being done.
        step: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// uv is missing.
    #[error("uv builds environments and was not found; looked at {}{}", .looked.join(", "), next_step(self.hint()))]
    NoUv {
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// What was found is not uv.
    #[error("{} is not uv: {problem}{}", path.display(), next_step(self.hint()))]
    NotUv {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A variable of ours that says nothing.
    #[error("{name} is \"{value}\", which cannot be used{}", next_step(self.hint()))]
    Variable {
        /// Its name.
        name: &'static str,
        /// What it says.
        value: String,
        /// What it could say.
        example: &'static str,
    },
    /// A settings file of uv or pip that cannot be read.
    #[error("the index settings in {} cannot be read: {problem}{}", path.display(), next_step(self.hint()))]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The interpreter is not what the requirements are for.
    #[error("Python {wanted} is required, and this is {has}{}", next_step(self.hint()))]
    Python {
        /// What was asked for.
        wanted: String,
        /// What there is.
        has: Version,
    },
    /// Packages from two places.
    #[error("dependencies and a virtualenv cannot be combined: each brings its own packages{}", next_step(self.hint()))]
    Venv,
    /// What was resolved is not what was asked for: other hashes, or nothing that can be read.
    #[error(transparent)]
    Lock(#[from] crate::requirement::RequirementError),
    /// uv could not do it; its reason, shortened.
    #[error("{what}{}", next_step(self.hint()))]
    Refused {
        /// What is wrong, in a line.
        what: String,
        /// What to do about it.
        next: Hint,
    },
    /// A build took more than it may.
    #[error("the build was ended: {what}{}", next_step(self.hint()))]
    Ended {
        /// Which limit.
        what: String,
        /// What to do about it.
        next: Hint,
    },
    /// A package put something else in the place of what makes the environment one.
    #[error("a package changed the environment that it is a part of: {} is not what belljar made{}", path.display(), next_step(self.hint()))]
    Meddled {
        /// What was changed, in the environment.
        path: PathBuf,
    },
    /// It was built and is gone: somebody removes things from the cache folder.
    #[error("environment {key} was built and has disappeared{}", next_step(self.hint()))]
    Vanished {
        /// Its key.
        key: String,
    },
    /// The jar for a build could not be had.
    #[error(transparent)]
    Jar(Box<crate::Error>),
    /// The binary that becomes the warden is missing.
    #[error(transparent)]
    Binary(#[from] crate::client::BinaryError),
}

impl Hinted for EnvironmentError {
    fn hint(&self) -> Option<Hint> {
        let step = match self {
            Self::NoFolder => "set BELLJAR_CACHE_DIR to a folder",
            Self::Shared(_) => "set BELLJAR_CACHE_DIR to a folder of your own, or `chmod go-w` it",
            Self::Io { cause, .. } => disk(cause)?,
            Self::NoUv { .. } => "install it with `pip install uv`, or name it with BELLJAR_UV",
            Self::NotUv { .. } => "name the program itself with BELLJAR_UV",
            Self::Variable { example, .. } => return Some(format!("write it as {example}").into()),
            Self::Settings { .. } => "correct the file, or set UV_NO_CONFIG=1",
            Self::Python { .. } => {
                return Some(Hint::from("install one that fits, or name it with ").set(Setting::Python));
            }
            Self::Venv => {
                let hint = Hint::from("leave out ").set(Setting::Venv);
                return Some(hint.say(", or install them there"));
            }
            Self::Lock(problem) => return problem.hint(),
            Self::Refused { next, .. } | Self::Ended { next, .. } => return Some(next.clone()),
            Self::Meddled { .. } => "do without that package",
            Self::Vanished { .. } => "does something else clean the cache folder?",
            Self::Jar(error) => return error.hint(),
            Self::Binary(error) => return error.hint(),
        };
        Some(step.into())
    }
}

impl From<crate::Error> for EnvironmentError {
    fn from(error: crate::Error) -> Self {
        Self::Jar(Box::new(error))
    }
}

impl EnvironmentError {
    pub(super) fn io<'a>(step: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |cause| Self::Io {
            step,
            path: path.to_path_buf(),
            cause,
        }
    }
}

/// The next step where the disk is full.
fn disk(cause: &io::Error) -> Option<&'static str> {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space with `belljar env prune`, or set BELLJAR_CACHE_DIR")
        }
        _ => None,
    }
}
