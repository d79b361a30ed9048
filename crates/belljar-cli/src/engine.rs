//! The seam to the library: everything that the command asks of it, in one place.

use belljar::client::own_binary;
use belljar::outcome::Outcome;
use belljar::plan::Plan;
use belljar::warden::{self, Steering};
use belljar::{Environment, Host, Job, Policy, Sandbox};
use tracing::{debug, trace};

use crate::failure::Failure;

/// What will be built for a policy on this host.
pub fn plan(policy: &Policy, environment: Option<&Environment>) -> Result<Plan, Failure> {
    let host = Host::probe();
    debug!(?host, "probed");
    let plan = belljar::prepare_in(policy, &host, environment)?;
    debug!(executable = %plan.interpreter().display(), "found Python");
    debug!(tier = ?plan.isolation().tier, steps = plan.steps().len(), "resolved a plan");
    for step in plan.steps() {
        trace!("{step}");
    }
    Ok(plan)
}

/// What this host can enforce, each thing tried.
pub fn probe_deep() -> Host {
    Host::probe_deep()
}

/// Carries out a job as its own warden.
pub fn run(plan: &Plan, job: Job) -> Result<Outcome, Failure> {
    let outcome = warden::run(plan, job, Steering::Signals)?;
    debug!(status = ?outcome.status, limit = ?outcome.limit, usage = ?outcome.usage, "ended");
    Ok(outcome)
}

/// Jars of a policy for a pool, whose wardens are this very program.
pub fn sandbox(
    policy: &Policy,
    preload: Option<&[String]>,
    environment: Option<Environment>,
) -> Result<Sandbox, Failure> {
    let mut builder = Sandbox::builder().policy(policy.clone()).binary(own_binary());
    if let Some(environment) = environment {
        builder = builder.environment(environment);
    }
    if let Some(preload) = preload {
        builder = builder.preload(preload);
    }
    Ok(builder.build()?)
}

/// Serves as the warden of a library; the exit code.
pub fn serve() -> i32 {
    warden::serve()
}
