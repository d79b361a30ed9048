//! Why a policy cannot be had on a host, and what would help.

/// This host cannot enforce what the policy requires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refused: {missing}; {fix}")]
pub struct Refusal {
    /// What is missing.
    pub missing: String,
    /// The next step for the person who runs this host.
    pub fix: String,
}

impl Refusal {
    pub(crate) fn new(missing: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            missing: missing.into(),
            fix: fix.into(),
        }
    }
}
