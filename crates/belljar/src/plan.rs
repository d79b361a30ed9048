//! A policy resolved for a host: an ordered list of steps that the engine carries out, or a refusal.
//!
//! The plan is data. It can be printed, stored and compared, and the engine takes nothing else.

mod display;
mod environment;
mod hands;
mod questions;
mod refusal;
mod report;
mod require;
mod resolve;
mod rlimit;
mod shown;
mod step;
mod tighten;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::Cgroup;
use crate::outcome::Isolation;
use crate::policy::{Limits, Network, Workdir};

pub(crate) use environment::{HOME, MATPLOTLIB};
pub(crate) use hands::Hand;
pub(crate) use questions::SourceKind;
pub use refusal::Refusal;
pub(crate) use resolve::{RUNTIME, SCRIPT};
pub use rlimit::{Resource, Rlimit};
pub use step::{Namespace, Step};
pub use tighten::LooserLimit;

/// What will be built, step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    steps: Vec<Step>,
    isolation: Isolation,
    limits: Limits,
    network: Network,
    interpreter: PathBuf,
    base_interpreter: PathBuf,
    venv: bool,
    env: BTreeMap<String, String>,
    workdir: Option<Workdir>,
    current_dir: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

/// A step that is made to fail, to show that nothing runs when it does. It can only ever make a run fail.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Name of the step, as [`Step::name`] gives it.
    pub step: String,
    /// The error number that it fails with.
    pub errno: i32,
}

impl Plan {
    /// What is done, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Where cgroups are made, for a warden that has obtained what the plan left to it.
    pub(crate) fn cgroup_mut(&mut self) -> Option<&mut Cgroup> {
        self.steps.iter_mut().find_map(|step| match step {
            Step::Cgroup { hierarchy, .. } => Some(hierarchy),
            _ => None,
        })
    }

    /// What is enforced, and how.
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// What the guest may use up.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the guest can reach.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The interpreter, as the guest sees it.
    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    /// The interpreter behind a virtualenv, or the interpreter itself.
    pub fn base_interpreter(&self) -> &Path {
        &self.base_interpreter
    }

    /// Whether a virtualenv is shown.
    pub fn has_venv(&self) -> bool {
        self.venv
    }

    /// The guest's whole environment.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// The variables that a template gets: those that belljar sets itself.
    pub(crate) fn template_env(&self) -> impl Iterator<Item = (&String, &String)> {
        self.env.iter().filter(|(name, _)| environment::is_ours(name))
    }

    /// The variables that only a job gets, because the policy names them.
    pub(crate) fn given_env(&self) -> impl Iterator<Item = (&String, &String)> {
        self.env.iter().filter(|(name, _)| !environment::is_ours(name))
    }

    /// The host folder that takes the place of a fresh /jar.
    pub fn workdir(&self) -> Option<&Workdir> {
        self.workdir.as_ref()
    }

    /// Where the guest starts.
    pub fn current_dir(&self) -> &Path {
        &self.current_dir
    }

    /// For folders that are ours, where no tool of the user's works: what such tools obey elsewhere can be written there.
    pub(crate) fn without_protection(mut self) -> Self {
        self.steps.retain(|step| !matches!(step, Step::Protect { .. }));
        self
    }

    /// Whether this step shall fail, and how.
    pub(crate) fn fault(&self, step: &str) -> Option<i32> {
        self.fault
            .as_ref()
            .filter(|fault| fault.step == step)
            .map(|fault| fault.errno)
    }

    /// The steps, to take a protection out and show that the attack then succeeds.
    #[cfg(feature = "ablation")]
    pub fn steps_mut(&mut self) -> &mut Vec<Step> {
        &mut self.steps
    }

    /// Makes one step fail.
    #[cfg(feature = "ablation")]
    pub fn fail_at(&mut self, step: &str, errno: i32) {
        self.fault = Some(Fault {
            step: step.into(),
            errno,
        });
    }

    /// Changes the guest's environment behind the policy's back.
    #[cfg(feature = "ablation")]
    pub fn env_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.env
    }
}
