//! belljar runs Python that you did not write: every call gets a fresh process under glass. It sees nothing of the host,
//! cannot reach out, cannot outgrow its limits, and is gone when the call ends.
//!
//! ```
//! # fn main() -> Result<(), belljar::Error> {
//! use belljar::{Sandbox, outcome::{Limit, Status}};
//!
//! let jar = Sandbox::builder().memory(256 << 20).build()?;
//! let outcome = jar.run("import os; print(os.listdir('/home') if os.path.exists('/home') else 'no home')")?;
//! assert_eq!(outcome.stdout.text(), "no home\n");
//!
//! // What the guest does is an outcome, never an error of ours.
//! let outcome = jar.run("open('/etc/shadow')")?;
//! assert_eq!(outcome.status, Status::Raised);
//! assert_eq!(outcome.exception.unwrap().type_name, "FileNotFoundError");
//!
//! let outcome = jar.run("x = bytearray(1 << 30)")?;
//! assert_eq!(outcome.limit, Some(Limit::Memory));
//! # Ok(())
//! # }
//! ```
//!
//! # Words
//!
//! - **policy**: what the guest may see, use and reach. Pure data.
//! - **host**: what this machine can enforce. Pure data, probed once.
//! - **plan**: the policy resolved for a host, or a refusal. The engine takes nothing else.
//! - **warden**: the process that starts everything else, owns limits and deadlines, and ends what must end.
//! - **jar**: one isolated room for one job. Used once.
//! - **pool**: **workers** kept ready for their one job. Each was forked from a **template**, a warm interpreter that never
//!   runs a job, and walked into a jar of its own; both are in a **cabinet**, from which the host's view is gone.
//! - **guest**: the Python inside. **job**: what it shall do. **outcome**: what happened. **error**: our own failure.
//!
//! # Layout
//!
//! Read in this order: [`policy`] (the wish), [`host`] (what this machine can do), [`plan`] (the two resolved, as a list
//! of steps), `jar` (the steps carried out in the jar's init), [`warden`] (a jar started, watched, emptied, judged),
//! [`outcome`]. [`Sandbox`] and [`Command`] are the front for programs; they reach a warden through [`client`].
//! [`pool`] runs jobs on workers that are ready; `cabinet` is where those are made.
//! [`files`] reads what a guest left, [`wire`] what it says, [`pyerror`] what went wrong in it, [`python`] finds
//! interpreters, [`requirement`] reads what a guest needs and [`environment`] builds it, [`tree`] holds modules of the
//! caller's own, [`parcel`] carries what only the client and its guest read.

pub mod agent;
mod cabinet;
mod cache;
pub mod client;
mod command;
pub mod environment;
mod error;
pub mod files;
pub mod hint;
pub mod host;
mod jar;
pub mod job;
mod nearest;
pub mod outcome;
pub mod parcel;
pub mod plan;
pub mod policy;
pub mod pool;
pub mod pyerror;
pub mod python;
pub mod requirement;
mod runtime;
mod sandbox;
pub mod tree;
pub mod warden;
pub mod wire;

pub use command::{Child, Command, Stdio};
pub use environment::{Environment, Environments};
pub use error::{CallError, Error, Hinted, Process, without_number};
pub use hint::Hint;
pub use host::Host;
pub use job::Job;
pub use nearest::nearest;
pub use outcome::Outcome;
pub use plan::Plan;
pub use policy::Policy;
pub use pool::Pool;
pub use sandbox::{Builder, Sandbox};

/// Checks a policy, finds its interpreter and resolves both for a host.
pub fn prepare(policy: &Policy, host: &Host) -> Result<Plan, Error> {
    prepare_in(policy, host, None)
}

/// As [`prepare`], with the interpreter in an environment.
pub fn prepare_in(policy: &Policy, host: &Host, environment: Option<&Environment>) -> Result<Plan, Error> {
    let policy = policy.clone().settled()?;
    // A host that runs nothing is told before an interpreter that is missing on it.
    Plan::require(&policy, host)?;
    let interpreter = match environment {
        Some(environment) => python::for_environment(&policy, environment)?,
        None => python::for_policy(&policy)?,
    };
    Ok(Plan::resolve(&policy, host, &interpreter)?)
}

/// What the README shows in Rust runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
