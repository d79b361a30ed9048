//! The seam to the library: everything that the command asks of it, in one place.

use belljar::client::own_binary;
use belljar::host::own_cgroup;
use belljar::outcome::Outcome;
use belljar::plan::Plan;
use belljar::warden::{self, Steering};
use belljar::{Environment, Host, Job, Policy, Sandbox};
use tracing::{debug, trace};

use crate::failure::Failure;
use crate::printer::Printer;

/// What will be built for a policy on this host.
pub fn plan(policy: &Policy, environment: Option<&Environment>) -> Result<Plan, Failure> {
    let host = probe();
    debug!(?host, "probed");
    let plan = belljar::prepare_in(policy, &host, environment)?;
    debug!(executable = %plan.interpreter().display(), "found Python");
    debug!(tier = ?plan.isolation().tier, steps = plan.steps().len(), "resolved a plan");
    for step in plan.steps() {
        trace!("{step}");
    }
    Ok(plan)
}

/// What this host can enforce, with a cgroup of this process's own where one can be had: it is the warden, or starts them.
fn probe() -> Host {
    if let Err(error) = own_cgroup() {
        debug!(%error, "no cgroup of its own");
    }
    Host::probe()
}

/// What this host can enforce, each thing tried.
pub fn probe_deep() -> Host {
    let _ = own_cgroup();
    Host::probe_deep()
}

/// The cgroup that a warden of this user is given, for the library: printed, and given back at once.
pub fn cgroup(printer: Printer) -> i32 {
    printer.json(&probe().cgroup);
    0
}

/// Carries out a job as its own warden.
pub fn run(plan: &Plan, job: Job) -> Result<Outcome, Failure> {
    let outcome = warden::run(plan, job, Steering::Signals).map_err(explained)?;
    debug!(status = ?outcome.status, limit = ?outcome.limit, usage = ?outcome.usage, "ended");
    Ok(outcome)
}

/// A step that failed is explained by what this host forbids, where trying each thing finds that.
fn explained(error: belljar::Error) -> Failure {
    let failed = matches!(error, belljar::Error::Setup { .. });
    let forbidden = failed.then(|| belljar::prepare(&Policy::default(), &Host::probe_deep()));
    match forbidden {
        Some(Err(refusal @ belljar::Error::Refused(_))) => {
            debug!(%error, "a step failed");
            refusal.into()
        }
        _ => error.into(),
    }
}

/// Jars of a policy for a pool, whose wardens are this very program.
pub fn sandbox(
    policy: &Policy,
    preload: Option<&[String]>,
    environment: Option<Environment>,
) -> Result<Sandbox, Failure> {
    let _ = own_cgroup();
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
