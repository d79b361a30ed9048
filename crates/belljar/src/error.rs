//! Our own failures. What a guest does is never one of these: that is an [`Outcome`].

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::hint::{Hint, Setting};
use crate::outcome::{Outcome, Status};

/// Why belljar itself could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This host cannot enforce what the policy requires.
    #[error(transparent)]
    Refused(#[from] crate::plan::Refusal),
    /// A step of building the jar failed; no guest code ran.
    #[error("cannot {step}: {source}{}", next_step(self.hint()))]
    Setup {
        /// What was being done, and to what.
        step: String,
        /// Why it failed.
        source: io::Error,
        /// What to do about it.
        hint: Option<Hint>,
    },
    /// The program does not exist in the jar, or cannot be run there.
    #[error("cannot run {program} in the jar: {source}{}", next_step(self.hint()))]
    Program {
        /// The program, as it was named.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// What the guest left could not be read, collected or applied.
    #[error(transparent)]
    Files(#[from] crate::files::FilesError),
    /// A draft could not be applied.
    #[error(transparent)]
    Apply(#[from] crate::files::ApplyError),
    /// The policy is not one.
    #[error(transparent)]
    Policy(#[from] crate::policy::PolicyError),
    /// No interpreter could be had.
    #[error(transparent)]
    Interpreter(#[from] crate::python::InterpreterError),
    /// A requirement is not one, or is not allowed.
    #[error(transparent)]
    Requirement(#[from] crate::requirement::RequirementError),
    /// An environment could not be had.
    #[error(transparent)]
    Environment(#[from] crate::environment::EnvironmentError),
    /// The binary that becomes the warden is missing.
    #[error(transparent)]
    Binary(#[from] crate::client::BinaryError),
    /// The arguments of a call are no data.
    #[error("the arguments of the call cannot be sent: {0}")]
    Arguments(#[source] serde_json::Error),
    /// A call did not give the value that was asked for.
    #[error("the call gave no value: {}", .0)]
    Call(Box<CallError>),
    /// The warden, a process of its own, could not do it; this is its own text.
    #[error("{text}{}", next_step(self.hint()))]
    Warden {
        /// What it said.
        text: String,
        /// What to do about it, as it said.
        hint: Option<Hint>,
    },
    /// A job asked for more than its sandbox allows.
    #[error(transparent)]
    Limit(#[from] crate::plan::LooserLimit),
    /// The caller's own source files are no tree.
    #[error(transparent)]
    Tree(#[from] crate::tree::TreeError),
    /// A name that cannot be preloaded.
    #[error("cannot preload {name:?}: it is not the name of a module{}", next_step(self.hint()))]
    Module {
        /// The name as given.
        name: String,
    },
    /// A module that was to be preloaded and that no guest would find.
    #[error("cannot preload {name:?}: guests have no such module{}", next_step(self.hint()))]
    NoModule {
        /// The name as given.
        name: String,
        /// The one that may be meant.
        near: Option<String>,
    },
    /// A pool has as many jobs as it takes.
    #[error("the pool is busy: {running} jobs run and {waiting} wait, which is its limit{}", next_step(self.hint()))]
    Busy {
        /// Jobs that run.
        running: usize,
        /// Jobs that wait.
        waiting: usize,
    },
    /// What a job depends on is not what it should be; nothing of the job has run.
    #[error("the environment changed while the job was starting{}", next_step(self.hint()))]
    Gate,
    /// A process of ours ended, or fell silent, before its work was done.
    #[error("the {process} was lost ({how}){}", next_step(self.hint()))]
    Lost {
        /// Which.
        process: Process,
        /// How it ended, or what did not happen.
        how: String,
    },
}

/// What of ours can be lost: a process, or what stands for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Process {
    /// Whoever asked the warden.
    Caller,
    /// The warden.
    Warden,
    /// A thread of this process that waits for a job.
    JobThread,
    /// The first process of a jar.
    JarInit,
    /// All processes of a jar.
    Jar,
    /// The first process of a cabinet.
    Keeper,
    /// The keeper with its template.
    Cabinet,
    /// The process that runs a job in a warm jar.
    Worker,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller => "caller",
            Self::Warden => "warden",
            Self::JobThread => "thread of a job",
            Self::JarInit => "jar init",
            Self::Jar => "jar",
            Self::Keeper => "keeper",
            Self::Cabinet => "cabinet",
            Self::Worker => "worker",
        })
    }
}

/// An error that may know the next step. Its text ends with that, after a semicolon; these two are the text taken
/// apart, which the text alone cannot be: what a user wrote may have a semicolon in it.
pub trait Hinted: fmt::Display {
    /// The next step.
    fn hint(&self) -> Option<Hint>;

    /// What failed, with which thing, and why.
    fn message(&self) -> String {
        let mut text = self.to_string();
        let end = next_step(self.hint());
        if text.ends_with(&end) {
            text.truncate(text.len() - end.len());
        }
        text
    }
}

/// A message without the number that the system's own texts carry.
pub fn without_number(text: &str) -> String {
    let Some((before, after)) = text.split_once(" (os error ") else {
        return text.to_owned();
    };
    format!("{before}{}", after.split_once(')').map_or("", |(_, rest)| rest))
}

/// How a next step ends a text.
pub(crate) fn next_step(hint: Option<impl fmt::Display>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

impl Hinted for Error {
    fn hint(&self) -> Option<Hint> {
        let step = match self {
            Self::Refused(refusal) => return refusal.hint(),
            Self::Setup { hint, .. } | Self::Warden { hint, .. } => return hint.clone(),
            Self::Program { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                return Some(
                    Hint::from("`belljar exec -- ls /usr/bin` lists the programs in the jar; ")
                        .set(Setting::Mount)
                        .say(" shows more"),
                );
            }
            Self::Program { .. } | Self::Arguments(_) | Self::Call(_) | Self::Tree(_) => return None,
            Self::Files(error) => return error.hint(),
            Self::Apply(error) => return error.hint(),
            Self::Policy(error) => return error.hint(),
            Self::Interpreter(error) => return error.hint(),
            Self::Requirement(error) => return error.hint(),
            Self::Environment(error) => return error.hint(),
            Self::Binary(error) => return error.hint(),
            Self::Limit(error) => return error.hint(),
            Self::Module { .. } => "give names such as numpy or package.module",
            Self::NoModule { near: Some(near), .. } => return Some(format!("did you mean `{near}`?").into()),
            Self::NoModule { .. } => {
                "name a module of the standard library or of an installed package; belljar imports your own modules ahead by itself"
            }
            Self::Busy { .. } => "try again later, or raise max_workers or queue",
            Self::Gate => "start it again",
            Self::Lost { .. } => "try again; if it happens again, BELLJAR_LOG=debug shows more",
        };
        Some(step.into())
    }
}

impl Error {
    pub(crate) fn arguments(error: serde_json::Error) -> Self {
        Self::Arguments(error)
    }

    pub(crate) fn call(value: Option<serde_json::Error>, outcome: Outcome) -> Self {
        Self::Call(Box::new(CallError { value, outcome }))
    }

    /// A failed step.
    pub(crate) fn setup(step: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Setup {
            step: step.into(),
            source: source.into(),
            hint: None,
        }
    }
}

/// Why a call gave no value, and everything that is known of its run.
#[derive(Debug)]
pub struct CallError {
    /// Why the value is not of the wanted type, when there was one.
    pub value: Option<serde_json::Error>,
    /// How the run ended.
    pub outcome: Outcome,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, &self.outcome.exception) {
            (Some(error), _) => write!(f, "the value has another type: {error}"),
            (None, Some(exception)) => write!(f, "{}: {}", exception.type_name, exception.message),
            (None, None) => f.write_str(match self.outcome.status {
                Status::Returned | Status::Raised | Status::Exited => "it ended by itself",
                Status::Signalled => "a signal ended it",
                Status::TimedOut => "it timed out",
                Status::OutOfMemory => "it ran out of memory",
                Status::Cancelled => "it was cancelled",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Applied, ApplyError, FilesError};
    use crate::policy::PolicyDocument;
    use crate::requirement::{Allow, Requirement};

    /// What somebody wrote may look like the border between the two.
    #[test]
    fn message_and_hint_are_apart_whatever_the_user_wrote() {
        let requirement = Requirement::parse("lib; python_version > ", Allow::default()).unwrap_err();
        let profile = PolicyDocument::default().profile("a; b").unwrap_err();
        let known = profile.hint().unwrap().to_string();
        let conflict = ApplyError::Conflict {
            paths: vec!["a; b".into()],
        };
        let incomplete = ApplyError::Incomplete {
            cause: FilesError::LinkedDestination { path: "a; b".into() },
            written: Box::new(Applied::default()),
            remaining: vec!["a; b".into()],
        };
        let files = FilesError::LinkedDestination { path: "a; b".into() };
        let warden = Error::Warden {
            text: "cannot do a; b".into(),
            hint: None,
        };
        let example = "write for example pandas>=2, or pandas>=2; python_version > '3.10'";
        let cases: [(Error, &str, Option<&str>); 6] = [
            (
                requirement.into(),
                "cannot read `lib; python_version >` at column 22: expected a marker variable such as python_version or sys_platform, or a quoted string",
                Some(example),
            ),
            (profile.into(), "there is no profile `a; b`", Some(&known)),
            (
                conflict.into(),
                "apply the draft: changed meanwhile on the host: a; b; nothing was written",
                Some("run it again, on the folder as it is now"),
            ),
            (
                incomplete.into(),
                "collect into a; b: it is a symbolic link; 0 changes were written, 1 were not",
                Some("look at the folder, and run it again once the cause is gone"),
            ),
            (
                files.into(),
                "collect into a; b: it is a symbolic link",
                Some("name the folder itself"),
            ),
            (warden, "cannot do a; b", None),
        ];
        for (error, message, hint) in cases {
            assert_eq!(
                (
                    error.message().as_str(),
                    error.hint().map(|hint| hint.to_string()).as_deref()
                ),
                (message, hint)
            );
            assert_eq!(error.to_string(), format!("{message}{}", next_step(hint)));
        }
    }
}
