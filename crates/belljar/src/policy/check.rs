//! What every policy must satisfy, whichever front it came from.

use super::{Key, Policy, PolicyError, environment, paths};

impl Policy {
    /// Refuses a policy that no host could hold to: limits out of range, mounts that are missing or in belljar's own
    /// places, variables that would undo the jar.
    pub fn check(&self) -> Result<(), PolicyError> {
        self.clone().settled().map(drop)
    }

    /// As [`Policy::check`], with mounts and the workdir found on this host: their paths are then the ones that no link leads
    /// through, and what is planned is what was checked. Every front calls it before it plans.
    pub fn settled(mut self) -> Result<Self, PolicyError> {
        if let Some(request) = &self.python {
            python(request)?;
        }
        if let Some(venv) = &self.venv {
            paths::whole("venv", venv)?;
        }
        paths::settle(&mut self.mounts, self.workdir.as_mut())?;
        check_env(
            self.env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )?;
        for key in Key::all() {
            let Some(limit) = key.limit() else { continue };
            limit
                .of(&self.limits)
                .map(|amount| limit.check(key, amount))
                .transpose()?;
        }
        Ok(self)
    }
}

/// Refuses variables that a guest must not be given.
pub fn check_env<'a>(
    variables: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
) -> Result<(), PolicyError> {
    environment::check_count(variables.len())?;
    for (name, value) in variables {
        variable(name, value)?;
    }
    Ok(())
}

/// Refuses a request that cannot be an interpreter's version or path.
pub(super) fn python(request: &str) -> Result<(), PolicyError> {
    let printable = !request.is_empty() && request.len() <= 4096 && !request.chars().any(char::is_control);
    if printable {
        return Ok(());
    }
    let value = format!("{:.64?}", request);
    Err(PolicyError::Value {
        key: "python",
        value,
        problem: "not a version or path",
        example: "\"3.12\"",
    })
}

/// Refuses a variable that a guest must not be given.
pub(super) fn variable(name: &str, value: &str) -> Result<(), PolicyError> {
    environment::check_name(name)?;
    environment::check_value(name, value)
}

/// Refuses a name that a guest must not be given.
pub(super) fn variable_name(name: &str) -> Result<(), PolicyError> {
    environment::check_name(name)
}
