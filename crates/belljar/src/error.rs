//! Our own failures. What a guest does is never one of these: that is an [`Outcome`](crate::Outcome).

use std::io;

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
    /// A failed step.
    pub(crate) fn setup(step: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Setup {
            step: step.into(),
            source: source.into(),
            hint: None,
        }
    }
}
