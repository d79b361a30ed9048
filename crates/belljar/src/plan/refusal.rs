//! Why a policy cannot be had on a host, and what would help.

use std::borrow::Cow;

use crate::error::{Hinted, next_step};

/// This host cannot enforce what the policy requires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refused: {missing}{}", next_step(self.hint()))]
pub struct Refusal {
    /// What is missing.
    pub missing: String,
    /// The next step for the person who runs this host.
    pub fix: String,
}

impl Hinted for Refusal {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.fix.as_str().into())
    }
}

impl Refusal {
    pub(crate) fn new(missing: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            missing: missing.into(),
            fix: fix.into(),
        }
    }
}
