//! A plan on its way to the warden of a cabinet.

use std::os::fd::OwnedFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ParcelHead, VERSION};
use crate::plan::Plan;
use crate::tree::Tree;

/// What a cabinet is for, beside its plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// Modules that the template imports, in this order.
    pub preload: Vec<String>,
    /// Whether somebody named these modules. Otherwise one that a template cannot have is left out, and jobs stay warm.
    pub asked: bool,
    /// Workers after which a template is replaced.
    pub rotate_jobs: u32,
    /// Time after which a template is replaced.
    pub rotate_after: Duration,
}

/// Asks for a cabinet; the keeper's end of the engine's socket comes with it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    version: String,
    /// What every jar of the cabinet is made by.
    pub plan: Plan,
    /// Source files that the plan shows, but for what they hold.
    tree: Option<ParcelHead>,
    /// What the template is.
    pub spec: Spec,
}

impl Opening {
    pub(crate) fn new(plan: &Plan, tree: Option<ParcelHead>, spec: &Spec) -> Self {
        Self {
            version: VERSION.into(),
            plan: plan.clone(),
            tree,
            spec: spec.clone(),
        }
    }

    /// The way to the keeper and the source files, which came with it; `None` when they do not fit.
    pub(crate) fn given(
        &mut self,
        blobs: Vec<Vec<u8>>,
        fds: Vec<OwnedFd>,
    ) -> Option<(OwnedFd, Option<Tree>)> {
        let (mut blobs, mut fds) = (blobs.into_iter(), fds.into_iter());
        let keeper = fds.next()?;
        let tree = match self.tree.take() {
            Some(head) => Some(head.tree(&mut blobs, &mut fds)?),
            None => None,
        };
        Some((keeper, tree))
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.version == VERSION
    }
}
