//! The cold path: starts a jar for one job, holds it, and takes it down.
//!
//! One thread does it all, and others start only when the jar is built. The warden may be the caller itself: a one-shot
//! command is its own warden.

mod remote;
mod serve;
mod start;

use belljar_linux::cgroup::Group;

use self::start::Started;
use crate::error::Error;
use crate::jar::{Steer, Watch, before, hierarchy, outcome, sweep};
use crate::job::Job;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::runtime;

pub use crate::jar::Steering;
pub use serve::serve;

/// Runs one job in a jar of its own, from delivery to the empty jar.
///
/// # Errors
///
/// Only if belljar itself failed; whatever the guest does is an [`Outcome`].
pub fn run(plan: &Plan, job: Job, steering: Steering) -> Result<Outcome, Error> {
    belljar_linux::signals::keep_children();
    let mut steer = Steer::new(steering)?;
    let (outcome, wants_compiling) = run_once(plan, job, &mut steer)?;
    if wants_compiling && outcome.success() {
        // Once for each interpreter, after the job: the next start is a millisecond faster.
        compile(plan, &mut steer);
    }
    Ok(outcome)
}

/// Has the guest runtime compiled and kept, if its source is all there is. Templates start from it again and again.
pub(crate) fn compile_runtime(plan: &Plan, steering: Steering) -> Result<(), Error> {
    if runtime::Runtime::whole(plan).wants_compiling() {
        compile(plan, &mut Steer::new(steering)?);
    }
    Ok(())
}

fn compile(plan: &Plan, steer: &mut Steer) {
    match run_once(plan, runtime::compile_job(plan), steer) {
        Ok((compiled, _)) if compiled.success() => runtime::keep(plan, &compiled.stdout.head),
        failed => tracing::debug!(?failed, "the guest runtime is not compiled"),
    }
}

/// Jar, worker and run begin and end together.
fn run_once(plan: &Plan, job: Job, steer: &mut Steer) -> Result<(Outcome, bool), Error> {
    let looked = before(plan)?;
    let Started {
        mut jar,
        run,
        wants_compiling,
    } = start::start(plan, job, &looked.obeyed)?;
    let mut watch = Watch::new(&mut jar, run, steer, None);
    let watched = watch.listen().and_then(|_| watch.end());
    // Whatever happened while watching, the jar is emptied before anything else is done.
    let emptied = jar.quiet();
    let outcome = outcome(&jar, looked, watched?, emptied?);
    // Folders of wardens that were killed go with ours, and while init is on its way out.
    if let Some(hierarchy) = hierarchy(plan) {
        sweep(hierarchy);
    }
    // Nothing of the jar is left when this is over, whatever it gives.
    let gone = jar.empty();
    let removed = jar.group.map_or(Ok(()), Group::remove);
    let outcome = outcome?;
    gone?;
    removed.map_err(|error| Error::setup("remove the cgroup", std::io::Error::other(error)))?;
    Ok((outcome, wants_compiling))
}
