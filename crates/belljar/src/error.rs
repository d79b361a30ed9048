//! Our own failures. What a guest does is never one of these: that is an [`Outcome`](crate::Outcome).

use std::{fmt, io};

use crate::outcome::Outcome;

/// Why belljar itself could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This host cannot enforce what the policy requires.
    #[error(transparent)]
    Refused(#[from] crate::plan::Refusal),
    /// A step of building the jar failed; no guest code ran.
    #[error("cannot {step}: {source}{}", next_step(.hint))]
    Setup {
        /// What was being done, and to what.
        step: String,
        /// Why it failed.
        source: io::Error,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The program does not exist in the jar, or cannot be run there.
    #[error("cannot run {program} in the jar: {source}")]
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
    #[error("{text}")]
    Warden {
        /// What it said.
        text: String,
    },
    /// A job asked for more than its sandbox allows.
    #[error(transparent)]
    Limit(#[from] crate::plan::LooserLimit),
    /// A name that cannot be preloaded.
    #[error(
        "cannot preload {name:?}: it is not the name of a module; give names such as numpy or package.module"
    )]
    Module {
        /// The name as given.
        name: String,
    },
    /// A pool has as many jobs as it takes.
    #[error(
        "the pool is busy: {running} jobs run and {waiting} wait, which is its limit; try again later, or raise max_workers or queue"
    )]
    Busy {
        /// Jobs that run.
        running: usize,
        /// Jobs that wait.
        waiting: usize,
    },
    /// What a job depends on is not what it should be; nothing of the job has run.
    #[error("what the job depends on changed before it could start; start it again")]
    Gate,
    /// A process of ours ended before its work was done.
    #[error("the {process} ended unexpectedly ({how})")]
    Lost {
        /// Which: `warden` or `jar init`.
        process: &'static str,
        /// How it ended.
        how: String,
    },
}

fn next_step(hint: &Option<String>) -> String {
    hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default()
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
            (Some(error), _) => write!(f, "the value is of another type: {error}"),
            (None, Some(exception)) => write!(f, "{}: {}", exception.type_name, exception.message),
            (None, None) => write!(f, "it ended as {:?}", self.outcome.status),
        }
    }
}
