//! belljar's own failure, as the person at the terminal needs it: what, which thing, next step.

use std::fmt;

/// Why the command could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What failed, with which thing, and why.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure that says all there is to say.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// A failure with a next step.
    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl From<belljar::python::InterpreterError> for Failure {
    fn from(error: belljar::python::InterpreterError) -> Self {
        split(&error.to_string())
    }
}

impl From<belljar::policy::PolicyError> for Failure {
    fn from(error: belljar::policy::PolicyError) -> Self {
        split(&error.to_string())
    }
}

/// The library's messages end with the next step, after a semicolon.
fn split(text: &str) -> Failure {
    match text.rsplit_once("; ") {
        Some((message, hint)) => Failure::with_hint(message, hint),
        None => Failure::new(text),
    }
}

impl From<belljar::plan::Refusal> for Failure {
    fn from(refusal: belljar::plan::Refusal) -> Self {
        Self::with_hint(format!("refused: {}", refusal.missing), refusal.fix)
    }
}

impl From<belljar::Error> for Failure {
    fn from(error: belljar::Error) -> Self {
        match error {
            belljar::Error::Refused(refusal) => refusal.into(),
            belljar::Error::Setup { step, source, hint } => Self {
                message: format!("cannot {step}: {source}"),
                hint,
            },
            other => Self::new(other.to_string()),
        }
    }
}
