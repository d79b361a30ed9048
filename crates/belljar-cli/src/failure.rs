//! belljar's own failure, as the person at the terminal needs it: what, which thing, next step.

use std::fmt;

use belljar::policy::PolicyError;

use crate::values::without_number;

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

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        // A problem that is in no file was typed, so it is told in the words of the command line.
        let flag = |key: &str| format!("--{}", key.replace('_', "-"));
        match error {
            PolicyError::Value {
                key,
                value,
                problem,
                example,
            } => {
                let (flag, example) = (flag(key), example.trim_matches('"'));
                Self::with_hint(
                    format!("{flag} cannot be {}: {problem}", value.trim_matches('"')),
                    format!("write for example {flag} {example}"),
                )
            }
            PolicyError::NoWorkdir { key } => Self::with_hint(
                format!("{} needs a folder to change", flag(key)),
                "name it with --workdir DIR",
            ),
            other => split(&other.to_string()),
        }
    }
}

/// The library's messages end with the next step, after a semicolon.
fn split(text: &str) -> Failure {
    let text = without_number(text);
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

impl From<belljar::requirement::RequirementError> for Failure {
    fn from(error: belljar::requirement::RequirementError) -> Self {
        split(&error.to_string())
    }
}

impl From<belljar::environment::EnvironmentError> for Failure {
    fn from(error: belljar::environment::EnvironmentError) -> Self {
        match error {
            belljar::environment::EnvironmentError::Jar(error) => (*error).into(),
            other => split(&other.to_string()),
        }
    }
}

impl From<belljar::Error> for Failure {
    fn from(error: belljar::Error) -> Self {
        match error {
            belljar::Error::Refused(refusal) => refusal.into(),
            belljar::Error::Setup { step, source, hint } => Self {
                message: without_number(&format!("cannot {step}: {source}")),
                hint,
            },
            belljar::Error::Program { program, source } => Self {
                message: without_number(&format!("cannot run {program} in the jar: {source}")),
                hint: (source.kind() == std::io::ErrorKind::NotFound).then(|| {
                    "`belljar exec -- ls /usr/bin` shows what is there; --mount shows more".to_owned()
                }),
            },
            other => split(&other.to_string()),
        }
    }
}
