//! The seam to the library: everything that the command asks of it, in one place.

use belljar::outcome::Outcome;
use belljar::plan::Plan;
use belljar::python::Interpreter;
use belljar::warden::{self, Steering};
use belljar::{Host, Job, Policy};

use crate::failure::Failure;

/// The interpreter that a policy asks for.
pub fn interpreter(policy: &Policy) -> Result<Interpreter, Failure> {
    Ok(belljar::python::for_policy(policy)?)
}

/// What will be built for a policy on this host.
pub fn plan(policy: &Policy) -> Result<Plan, Failure> {
    Ok(Plan::resolve(policy, &Host::probe(), &interpreter(policy)?)?)
}

/// What this host can enforce, each thing tried.
pub fn probe_deep() -> Host {
    Host::probe_deep()
}

/// Carries out a job as its own warden.
pub fn run(plan: &Plan, job: Job) -> Result<Outcome, Failure> {
    Ok(warden::run(plan, job, Steering::Signals)?)
}

/// Serves as the warden of a library; the exit code.
pub fn serve() -> i32 {
    warden::serve()
}
