//! belljar's own failure, as the person at the terminal needs it: what, which thing, next step.

use std::fmt;

use belljar::Hinted;
use belljar::environment::EnvironmentError;
use belljar::plan::Refusal;
use belljar::policy::{KEYS, PolicyError};
use belljar::python::InterpreterError;
use belljar::requirement::RequirementError;
use belljar::without_number;

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

    /// A failure of the library.
    pub fn of(error: &impl Hinted) -> Self {
        Self {
            message: without_number(&error.message()),
            hint: error.hint().map(|hint| hint.in_flags()),
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

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        // A problem that is in no file was typed, so it is told in the words of the command line.
        let flag = |name: &'static str| {
            KEYS.iter()
                .find(|key| key.name == name)
                .map_or(name, |key| key.flag)
        };
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
            other => Self::of(&other),
        }
    }
}

impl From<InterpreterError> for Failure {
    fn from(error: InterpreterError) -> Self {
        Self::of(&error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::of(&refusal)
    }
}

impl From<RequirementError> for Failure {
    fn from(error: RequirementError) -> Self {
        Self::of(&error)
    }
}

impl From<EnvironmentError> for Failure {
    fn from(error: EnvironmentError) -> Self {
        Self::of(&error)
    }
}

impl From<belljar::Error> for Failure {
    fn from(error: belljar::Error) -> Self {
        Self::of(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_names_a_flag_that_is_there() {
        let mut command = crate::args::definition();
        command.build();
        let run = command.find_subcommand("run").expect("a command");
        let flags: Vec<String> = run
            .get_arguments()
            .filter_map(|flag| Some(format!("--{}", flag.get_long()?)))
            .collect();
        for key in KEYS {
            assert!(
                flags.iter().any(|flag| flag == key.flag),
                "{} {}",
                key.name,
                key.flag
            );
        }
        assert!(
            !flags
                .iter()
                .any(|flag| flag == "--require-layers" || flag == "--system")
        );
    }

    #[test]
    fn what_was_typed_is_told_with_its_flag() {
        let told = |key| {
            let problem = PolicyError::Value {
                key,
                value: "\"x\"".into(),
                problem: "it is none",
                example: "\"cgroup\"",
            };
            Failure::from(problem).to_string()
        };
        assert_eq!(
            told("require_layers"),
            "--require-layer cannot be x: it is none; write for example --require-layer cgroup"
        );
        assert_eq!(
            told("open_files"),
            "--open-files cannot be x: it is none; write for example --open-files cgroup"
        );
    }
}
