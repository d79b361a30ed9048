//! Why a policy is refused. One line each: the thing, what is wrong with it, and what to write instead.

use std::io;
use std::path::PathBuf;

use super::keys::KEYS;
use crate::error::{Hinted, next_step};
use crate::hint::{Hint, Setting};

/// Why a policy is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The place of another problem.
    #[error("{}:{line}: {problem}", file.display())]
    In {
        /// The document.
        file: PathBuf,
        /// Its line, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: Box<PolicyError>,
    },
    /// The document cannot be read.
    #[error("policy file {} cannot be read: {cause}{}", file.display(), next_step(self.hint()))]
    Read {
        /// The document.
        file: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The document is larger than any policy.
    #[error("policy file {} is larger than 1 MiB{}", file.display(), next_step(self.hint()))]
    TooLarge {
        /// The document.
        file: PathBuf,
    },
    /// A pyproject.toml that says nothing of belljar.
    #[error("{} has no [tool.belljar] table{}", file.display(), next_step(self.hint()))]
    NoTable {
        /// The document.
        file: PathBuf,
    },
    /// The document is not TOML.
    #[error("not valid TOML: {message}")]
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// A key that no policy has.
    #[error("unknown key `{key}`{}", next_step(self.hint()))]
    UnknownKey {
        /// The key.
        key: String,
        /// The key that is most like it.
        nearest: Option<&'static str>,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}, not {found}{}", next_step(self.hint()))]
    Kind {
        /// The key.
        key: String,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: &'static str,
    },
    /// A value that cannot be used.
    #[error("`{key}` cannot be {value}: {problem}{}", next_step(self.hint()))]
    Value {
        /// The key.
        key: &'static str,
        /// The value, quoted.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
        /// A value that works.
        example: &'static str,
    },
    /// A profile that is nowhere.
    #[error("there is no profile `{name}`{}", next_step(self.hint()))]
    NoProfile {
        /// The name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A mount or workdir that cannot be.
    #[error("{key} {path:?} {problem}")]
    Path {
        /// `mount`, `workdir`, `venv` or `python`.
        key: &'static str,
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// A mount or workdir that is a link, which an earlier guest may have put there.
    #[error("{key} {path:?} is a link to {leads:?}{}", next_step(self.hint()))]
    Link {
        /// `mount` or `workdir`.
        key: &'static str,
        /// The link.
        path: PathBuf,
        /// Where it leads.
        leads: PathBuf,
    },
    /// A draft of a folder that another file system is mounted in.
    #[error("workdir {path:?} cannot be drafted: another file system is mounted at {mounted:?}{}", next_step(self.hint()))]
    Mounted {
        /// The folder.
        path: PathBuf,
        /// What is mounted in it.
        mounted: PathBuf,
    },
    /// A target in a folder of the host without a place for it.
    #[error("target {target:?} must exist in the folder around it, and {path:?} {problem}{}", next_step(self.hint()))]
    Place {
        /// The target.
        target: PathBuf,
        /// The path on the host.
        path: PathBuf,
        /// What is wrong with it.
        problem: PlaceProblem,
    },
    /// A variable that cannot be set.
    #[error("environment variable {name:?} {problem}")]
    Env {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: EnvProblem,
    },
    /// `draft` or `apply` without a folder that they are about.
    #[error("`{key}` needs a workdir, whose changes it lists or applies{}", next_step(self.hint()))]
    NoWorkdir {
        /// `draft` or `apply`.
        key: &'static str,
    },
    /// Too many variables.
    #[error("{count} environment variables are more than {most}{}", next_step(self.hint()))]
    ManyVariables {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}

impl Hinted for PolicyError {
    fn hint(&self) -> Option<Hint> {
        let step = match self {
            Self::In { problem, .. } => return problem.hint(),
            Self::Read { .. } => "name an existing file that you may read",
            Self::TooLarge { .. } => "name a policy",
            Self::NoTable { .. } => {
                return Some(Hint::from("add one, or name another file with ").set(Setting::Policy));
            }
            // The parser says what it expected.
            Self::Syntax { .. } => return None,
            Self::UnknownKey { nearest: None, .. } => "`docs/reference/policy.md` lists the keys",
            Self::UnknownKey {
                nearest: Some(near), ..
            } => return Some(format!("did you mean `{near}`?").into()),
            Self::Kind { key, .. } => {
                let key = KEYS.iter().find(|known| known.name == key)?;
                return Some(format!("write for example {}", key.example).into());
            }
            Self::Value { key, example, .. } => {
                return Some(format!("write for example {key} = {example}").into());
            }
            Self::NoProfile { known, .. } => return Some(format!("there are {}", known.join(", ")).into()),
            Self::Path { problem, .. } => problem.hint()?,
            Self::Link { .. } => "name the target itself if you mean it",
            Self::Mounted { .. } => "name a folder without one, or let the run write the folder itself",
            Self::Place { problem, .. } => problem.hint(),
            Self::Env { problem, .. } => problem.hint()?,
            Self::NoWorkdir { .. } => "add for example workdir = \"/home/me/project\"",
            Self::ManyVariables { .. } => "pass the data in a file",
        };
        Some(step.into())
    }
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    /// Not from the root.
    #[error("is relative{}", next_step(self.hint()))]
    Relative,
    /// With `..` in it, so that it is not where it seems to be.
    #[error("has `..` in it{}", next_step(self.hint()))]
    Dots,
    /// Without a name, or with bytes that no name should have.
    #[error("is empty or has control characters in it{}", next_step(self.hint()))]
    Name,
    /// Nothing is there.
    #[error("does not exist on the host, or cannot be reached{}", next_step(self.hint()))]
    Missing,
    /// A folder is needed.
    #[error("is not a folder{}", next_step(self.hint()))]
    NotFolder,
    /// The host's root, or one of the kernel's own trees.
    #[error("would show the whole host or its kernel's files{}", next_step(self.hint()))]
    HostTree,
    /// A folder where services of the host listen.
    #[error("holds the sockets of the host's services, and a guest could talk to them{}", next_step(self.hint()))]
    Services,
    /// A place that belljar fills itself.
    #[error("is belljar's own place in the jar{}", next_step(self.hint()))]
    Reserved,
    /// Two things at one place.
    #[error("is the target of two mounts{}", next_step(self.hint()))]
    Twice,
    /// A last part that is no path and no access.
    #[error("ends in something that is neither a path nor `ro` or `rw`{}", next_step(self.hint()))]
    Access,
    /// More parts than a mount has.
    #[error("has too many `:` in it{}", next_step(self.hint()))]
    Colons,
}

impl PathProblem {
    /// The next step.
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::Relative => "write the whole path, from `/`",
            Self::Dots => "write the path without",
            Self::Name => "name another",
            Self::Missing => "make it first, or name another",
            Self::NotFolder => "name one, or use a mount for a single file",
            Self::HostTree | Self::Services => "name the folder that is needed",
            Self::Reserved => "choose another target, such as /data or /jar/data",
            Self::Twice => "give one of them another target",
            Self::Access => "write SRC:DST:ro or SRC:DST:rw",
            Self::Colons => "write it as a table { source = \"…\", target = \"…\", access = \"ro\" }",
        })
    }
}

/// Why nothing can be mounted at a path of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceProblem {
    /// Nothing is there.
    #[error("is not there")]
    Missing,
    /// A link, which an earlier guest may have put there.
    #[error("is a link")]
    Link,
    /// A folder is needed.
    #[error("is not a folder")]
    NotFolder,
    /// A file is needed.
    #[error("is not a file")]
    NotFile,
}

impl PlaceProblem {
    /// The next step.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Missing => "make it first, or choose a target outside that folder",
            Self::Link => "remove the link, or choose a target outside that folder",
            Self::NotFolder | Self::NotFile => "choose another target",
        }
    }
}

/// What is wrong with an environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvProblem {
    /// It changes how programs start, so that it could undo the jar's own setup.
    #[error("is refused: it changes which code runs before the guest's own{}", next_step(self.hint()))]
    Dangerous,
    /// belljar sets it.
    #[error("is set by belljar itself, to a place in the jar{}", next_step(self.hint()))]
    Own,
    /// Not a name.
    #[error("is not a name{}", next_step(self.hint()))]
    Name,
    /// A value with control characters.
    #[error("has a control character in its value{}", next_step(self.hint()))]
    Control,
    /// A value that is too long.
    #[error("has a value longer than 32 KiB{}", next_step(self.hint()))]
    Long,
    /// A name alone, and the caller has no such variable.
    #[error("is not set where belljar was started{}", next_step(self.hint()))]
    Unset,
}

impl EnvProblem {
    /// The next step.
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::Dangerous | Self::Own => "leave it out",
            Self::Name => "use letters, digits and `_`, no `=`, space or control character",
            Self::Control => "pass such data in a file",
            Self::Long => "pass it in a file",
            Self::Unset => "write NAME=VALUE",
        })
    }
}
