//! belljar runs Python that you did not write: every call gets a fresh process under glass.
//!
//! # Words
//!
//! - **policy**: what the guest may see, use and reach. Pure data.
//! - **host**: what this machine can enforce. Pure data, probed once.
//! - **plan**: the policy resolved for a host, or a refusal. The engine takes nothing else.
//! - **warden**: the process that starts everything else, owns limits and deadlines, and ends what must end.
//! - **jar**: one isolated room for one job. Used once.
//! - **guest**: the Python inside. **job**: what it shall do. **outcome**: what happened. **error**: our own failure.

pub mod client;
mod command;
mod error;
pub mod files;
pub mod host;
mod jar;
pub mod job;
pub mod outcome;
pub mod plan;
pub mod policy;
pub mod pyerror;
pub mod python;
mod runtime;
mod sandbox;
pub mod warden;
pub mod wire;

pub use command::{Child, Command, Stdio};
pub use error::{CallError, Error};
pub use host::Host;
pub use job::Job;
pub use outcome::Outcome;
pub use plan::Plan;
pub use policy::Policy;
pub use sandbox::{Builder, Sandbox};

/// Checks a policy, finds its interpreter and resolves both for a host.
pub fn prepare(policy: &Policy, host: &Host) -> Result<Plan, Error> {
    policy.check()?;
    Ok(Plan::resolve(policy, host, &python::for_policy(policy)?)?)
}
