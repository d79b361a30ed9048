//! Why a policy cannot be had on a host, and what would help.

use crate::error::{Hinted, next_step};
use crate::hint::Hint;

/// This host cannot enforce what the policy requires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refused: {missing}{}", next_step(self.hint()))]
pub struct Refusal {
    /// What is missing.
    pub missing: String,
    /// The next step for the person who runs this host.
    pub fix: Hint,
}

impl Hinted for Refusal {
    fn hint(&self) -> Option<Hint> {
        Some(self.fix.clone())
    }
}

impl Refusal {
    pub(crate) fn new(missing: impl Into<String>, fix: impl Into<Hint>) -> Self {
        Self {
            missing: missing.into(),
            fix: fix.into(),
        }
    }
}
