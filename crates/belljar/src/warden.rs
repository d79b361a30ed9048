//! Starts a jar, watches it, ends what must end, and decides the outcome from what the host knows.
//!
//! The warden is single-threaded and may be the caller itself: a one-shot command is its own warden. It must never
//! run guest code, open a path that a guest chose, or wait for a guest without a deadline of its own.

pub(crate) mod cpu;
pub(crate) mod finish;
pub(crate) mod foreign;
pub(crate) mod gate;
pub(crate) mod init;
pub(crate) mod outgoing;
mod outlet;
pub(crate) mod pump;
mod remote;
pub(crate) mod sampler;
pub(crate) mod scope;
mod serve;
pub(crate) mod start;
pub(crate) mod steer;
pub(crate) mod stream;
pub(crate) mod sweep;
mod verdict;
pub(crate) mod watch;
mod weight;
mod word;

use crate::error::Error;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::runtime;

pub use serve::serve;
pub(crate) use start::{Ids, ids, namespaces as cabinet_namespaces};
pub use steer::Steering;

/// Runs one job in a jar of its own, from delivery to the empty jar.
///
/// # Errors
///
/// Only if belljar itself failed; whatever the guest does is an [`Outcome`].
pub fn run(plan: &Plan, job: Job, steering: Steering) -> Result<Outcome, Error> {
    belljar_linux::signals::keep_children();
    let steer = steer::Steer::new(steering)?;
    let (outcome, wants_compiling) = run_once(plan, job, &steer)?;
    if wants_compiling && outcome.success() {
        // Once for each interpreter, after the job: the next start is a millisecond faster.
        compile(plan, &steer);
    }
    Ok(outcome)
}

/// Has the guest runtime compiled and kept, if its source is all there is. Templates start from it again and again.
pub(crate) fn compile_runtime(plan: &Plan, steering: Steering) -> Result<(), Error> {
    if runtime::Runtime::whole(plan).wants_compiling() {
        compile(plan, &steer::Steer::new(steering)?);
    }
    Ok(())
}

fn compile(plan: &Plan, steer: &steer::Steer) {
    match run_once(plan, runtime::compile_job(plan), steer) {
        Ok((compiled, _)) if compiled.success() => runtime::keep(plan, &compiled.stdout.head),
        failed => tracing::debug!(?failed, "the guest runtime is not compiled"),
    }
}

fn run_once(plan: &Plan, job: Job, steer: &steer::Steer) -> Result<(Outcome, bool), Error> {
    let before = finish::before(plan)?;
    let (mut jar, streams) = start::start(plan, job, &before.obeyed)?;
    let wants_compiling = jar.wants_compiling;
    let watched = watch::watch(plan, &mut jar, streams, steer);
    // Whatever happened while watching, the jar is emptied before anything else is done.
    let emptied = jar.quiet();
    let watched = watched?;
    Ok((
        finish::finish(plan, jar, before, watched, emptied?)?,
        wants_compiling,
    ))
}
