//! What an environment should hold, and for which interpreter: the one way there from requirements and a policy.

use super::EnvironmentError;
use crate::error::Error;
use crate::policy::Policy;
use crate::python::{self, Interpreter};
use crate::requirement::{Allow, PythonSpec, Requirements};

/// Minor versions of Python 3 that may be installed, the newest first.
const MINORS: std::ops::RangeInclusive<u32> = 10..=20;

/// What an environment should hold, and for which interpreter.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Checked and normalised.
    pub requirements: Requirements,
    /// The interpreter; of a virtualenv's, the one below it.
    pub interpreter: Interpreter,
    /// What beyond wheels of an index is allowed.
    pub allow: Allow,
    /// Whether a lock that is remembered is forgotten.
    pub refresh: bool,
}

impl Wish {
    /// What a policy's jobs need; nothing where nothing is required. An interpreter that the requirements want becomes the
    /// policy's, unless that names one.
    pub fn for_policy(
        requirements: Requirements,
        allow: Allow,
        refresh: bool,
        policy: &mut Policy,
    ) -> Result<Option<Self>, Error> {
        if let Some(wanted) = requirements.requires_python() {
            choose(wanted, policy)?;
        }
        if requirements.is_empty() {
            return Ok(None);
        }
        if policy.venv.is_some() {
            return Err(EnvironmentError::Venv.into());
        }
        let interpreter = python::find(policy.python.as_deref(), None)?;
        Ok(Some(Self {
            requirements,
            interpreter,
            allow,
            refresh,
        }))
    }

    /// Refuses what could not be built for this interpreter.
    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        match self.requirements.requires_python() {
            Some(wanted) if !wanted.contains(self.interpreter.version) => Err(EnvironmentError::Python {
                wanted: wanted.to_string(),
                has: self.interpreter.version,
            }),
            _ => Ok(()),
        }
    }
}

/// Takes an interpreter that fits, where none was named and the one that is found first does not.
fn choose(wanted: &PythonSpec, policy: &mut Policy) -> Result<(), Error> {
    let first = python::find(policy.python.as_deref(), policy.venv.as_deref())?;
    if wanted.contains(first.version) {
        return Ok(());
    }
    let named = policy.python.is_some() || policy.venv.is_some();
    let mut others = MINORS
        .rev()
        .filter_map(|minor| python::find(Some(&format!("3.{minor}")), None).ok());
    match others.find(|other| !named && wanted.contains(other.version)) {
        Some(other) => {
            policy.python = Some(other.base_executable.to_string_lossy().into_owned());
            Ok(())
        }
        None => Err(EnvironmentError::Python {
            wanted: wanted.to_string(),
            has: first.version,
        }
        .into()),
    }
}
