//! Why a policy is refused. One line each: the thing, what is wrong with it, and what to write instead.

use std::io;
use std::path::PathBuf;

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
    #[error("policy file {} cannot be read: {cause}", file.display())]
    Read {
        /// The document.
        file: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The document is larger than any policy.
    #[error("policy file {} is larger than 1 MiB; it is no policy", file.display())]
    TooLarge {
        /// The document.
        file: PathBuf,
    },
    /// A pyproject.toml that says nothing of belljar.
    #[error("{} has no [tool.belljar] table; add one, or name another file with --policy", file.display())]
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
    #[error("unknown key `{key}`{}", nearest.map_or("; `docs/policy.md` lists the keys".into(), |near| format!("; did you mean `{near}`?")))]
    UnknownKey {
        /// The key.
        key: String,
        /// The key that is most like it.
        nearest: Option<&'static str>,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key.
        key: String,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: &'static str,
    },
    /// A value that cannot be used.
    #[error("`{key}` cannot be {value}: {problem}; write for example {key} = {example}")]
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
    #[error("there is no profile `{name}`; there are {}", known.join(", "))]
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
    /// A variable that cannot be set.
    #[error("environment variable {name:?} {problem}")]
    Env {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: EnvProblem,
    },
    /// `draft` or `apply` without a folder that they are about.
    #[error(
        "`{key}` needs a workdir: it is that folder's changes that are listed or applied; add for example workdir = \"/home/me/project\""
    )]
    NoWorkdir {
        /// `draft` or `apply`.
        key: &'static str,
    },
    /// Too many variables.
    #[error("{count} environment variables are more than {most}; pass the data in a file")]
    ManyVariables {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    /// Not from the root.
    #[error("is relative; write the whole path, from `/`")]
    Relative,
    /// With `..` in it, so that it is not where it seems to be.
    #[error("has `..` in it; write the path without")]
    Dots,
    /// Without a name, or with bytes that no name should have.
    #[error("is empty or has control characters in it")]
    Name,
    /// Nothing is there.
    #[error("does not exist on the host, or cannot be reached; make it first, or name another")]
    Missing,
    /// A folder is needed.
    #[error("is not a folder; name one, or use a mount for a single file")]
    NotFolder,
    /// The host's root, or one of the kernel's own trees.
    #[error("would show the whole host or its kernel's files; name the folder that is needed")]
    HostTree,
    /// A place that belljar fills itself.
    #[error("is belljar's own place in the jar; choose another target, such as /data or /jar/data")]
    Reserved,
    /// Two things at one place.
    #[error("is the target of two mounts; give one of them another target")]
    Twice,
    /// A last part that is no path and no access.
    #[error("ends in something that is neither a path nor `ro` or `rw`; write SRC:DST:ro or SRC:DST:rw")]
    Access,
    /// More parts than a mount has.
    #[error(
        "has too many `:` in it; write it as a table {{ source = \"…\", target = \"…\", access = \"ro\" }}"
    )]
    Colons,
}

/// What is wrong with an environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvProblem {
    /// It changes how programs start, so that it could undo the jar's own setup.
    #[error("is refused: it changes which code runs before the guest's own; leave it out")]
    Dangerous,
    /// belljar sets it.
    #[error("is set by belljar itself, to a place in the jar; leave it out")]
    Own,
    /// Not a name.
    #[error("is not a name: use letters, digits and `_`, no `=`, space or control character")]
    Name,
    /// A value with control characters.
    #[error("has a control character in its value; pass such data in a file")]
    Control,
    /// A value that is too long.
    #[error("has a value longer than 32 KiB; pass it in a file")]
    Long,
    /// A name alone, and the caller has no such variable.
    #[error("is not set where belljar was started; write NAME=VALUE")]
    Unset,
}
