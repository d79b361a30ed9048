//! What to do about an exception: one or two sentences that name the next step.
//!
//! The jar comes first: what a guest cannot reach or have here explains more than the exception's own words.

mod builtin;
mod jar;
mod modules;
mod notebook;

use super::PythonError;
use crate::hint::Hint;
use crate::policy::{Network, Policy};

/// What a hint must know of the jar that the exception came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintContext {
    /// What the guest can reach.
    pub network: Network,
    /// Most memory, in bytes.
    pub memory: u64,
    /// Most processes and threads.
    pub pids: u64,
    /// Most bytes on disk.
    pub disk: u64,
    /// Most open files.
    pub open_files: u64,
    /// Whether a virtualenv of the caller's own was given.
    pub venv: bool,
    /// Whether a host folder is the working directory.
    pub workdir: bool,
}

impl From<&Policy> for HintContext {
    fn from(policy: &Policy) -> Self {
        Self {
            network: policy.network,
            memory: policy.limits.memory,
            pids: policy.limits.pids,
            disk: policy.limits.disk,
            open_files: policy.limits.open_files,
            venv: policy.venv.is_some(),
            workdir: policy.workdir.is_some(),
        }
    }
}

/// What to do about an exception in a jar, if there is something to say.
pub fn hint(error: &PythonError, context: &HintContext) -> Option<Hint> {
    modules::hint(error, context)
        .or_else(|| jar::hint(error, context))
        .or_else(|| builtin::hint(error))
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

/// A size as a flag takes it.
fn bytes(size: u64) -> String {
    match size {
        size if size >= 1 << 30 && size.is_multiple_of(1 << 30) => format!("{}G", size >> 30),
        size if size >= 1 << 20 => format!("{}M", size >> 20),
        size => format!("{}K", size >> 10),
    }
}

#[cfg(test)]
mod tests;
