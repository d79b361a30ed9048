//! belljar runs Python that you did not write: every call gets a fresh process under glass. That process sees nothing of
//! the host, reaches no network, cannot exceed its limits, and ends with the call.
//!
//! ```
//! # fn main() -> Result<(), belljar::Error> {
//! use belljar::{Sandbox, outcome::{Limit, Status}};
//!
//! let jar = Sandbox::builder().memory(256 << 20).build()?;
//! let outcome = jar.run("import os; print(os.listdir('/home') if os.path.exists('/home') else 'no home')")?;
//! assert_eq!(outcome.stdout.text(), "no home\n");
//!
//! // What the guest does is an outcome. An error means that belljar itself failed.
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
//! - **policy**: what the guest may see, use and reach. Plain data.
//! - **host**: what this machine can enforce. Plain data, probed once.
//! - **plan**: the policy, resolved for a host to a list of steps. If the host cannot enforce the policy, there is a
//!   refusal instead. The engine accepts only a plan.
//! - **warden**: the process that starts the jar, keeps its limits and deadline, and ends it.
//! - **jar**: one isolated room for one job. It is used once.
//! - **pool**: **workers** that wait for their one job. Each is forked from a **template**, a warm interpreter that never
//!   runs a job, and sealed in a jar of its own. Template and jars live in a **cabinet**, in which the host cannot be seen.
//! - **guest**: the Python inside the jar. **job**: what the guest runs. **outcome**: what happened. **error**: a failure
//!   of belljar itself.
//!
//! # Names
//!
//! Eight names are enough for most programs: a [`Policy`] and the [`Sandbox`] that keeps it, a [`Command`] or a [`Job`] to run
//! in it, a [`Pool`] of workers for many of them, [`Environments`] with packages, and the [`Outcome`] or [`Error`] in the end.
//! `examples/` has a program for each feature; the modules have the rest.
//!
//! # Layout
//!
//! Read in this order: [`policy`] (the wish), [`host`] (what this machine can do), [`plan`] (the two resolved, as a list
//! of steps), `init` (the steps carried out in a jar's init), `jar` (a jar held from outside: it, its worker and a run in
//! it, watched, emptied, judged), [`warden`] (the cold path), [`outcome`]. [`Sandbox`] and [`Command`] are the front for
//! programs; they reach a warden through [`client`], in the words of `talk`.
//! [`pool`] runs jobs on workers that are ready; `cabinet` is where those are made.
//! [`files`] reads what a guest left, [`wire`] what it says, [`pyerror`] what went wrong in it, [`python`] finds
//! interpreters, [`requirement`] reads what a guest needs and [`environment`] builds it, [`tree`] holds modules of the
//! caller's own, [`parcel`] carries what only the client and its guest read.

#[doc(hidden)]
pub mod agent;
mod cabinet;
mod cache;
#[doc(hidden)]
pub mod client;
pub mod command;
pub mod environment;
pub mod error;
pub mod files;
pub mod hint;
pub mod host;
mod init;
mod jar;
pub mod job;
mod named;
mod nearest;
pub mod outcome;
#[doc(hidden)]
pub mod parcel;
pub mod plan;
pub mod policy;
pub mod pool;
pub mod pyerror;
pub mod python;
pub mod requirement;
mod runtime;
pub mod sandbox;
mod talk;
pub mod tree;
#[doc(hidden)]
pub mod warden;
#[doc(hidden)]
pub mod wire;

#[doc(inline)]
pub use command::Command;
#[doc(inline)]
pub use environment::Environments;
#[doc(inline)]
pub use error::Error;
#[doc(inline)]
pub use job::Job;
#[doc(inline)]
pub use outcome::Outcome;
#[doc(inline)]
pub use policy::Policy;
#[doc(inline)]
pub use pool::Pool;
#[doc(inline)]
pub use sandbox::Sandbox;

// What comes with one of these, and what only our own binaries use: documented where it is defined.
#[doc(hidden)]
pub use command::{Child, Stdio};
#[doc(hidden)]
pub use environment::Environment;
#[doc(hidden)]
pub use error::{CallError, Hinted, Process, without_number};
#[doc(hidden)]
pub use hint::Hint;
#[doc(hidden)]
pub use host::Host;
#[doc(hidden)]
pub use nearest::nearest;
#[doc(hidden)]
pub use plan::Plan;
#[doc(hidden)]
pub use sandbox::Builder;

/// Checks a policy, finds its interpreter and resolves both for a host.
#[doc(hidden)]
pub fn prepare(policy: &Policy, host: &Host) -> Result<Plan, Error> {
    prepare_in(policy, host, None)
}

/// As [`prepare`], with the interpreter in an environment.
#[doc(hidden)]
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
