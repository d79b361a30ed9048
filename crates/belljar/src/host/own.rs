//! A cgroup for processes of belljar's own. On most machines nobody is given one; whoever asks the service manager is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use belljar_linux::cgroup::{self, ScopeError};

use super::{Cgroup, Host};

/// What asking gave, once for this process.
static ASKED: OnceLock<Result<Cgroup, ScopeError>> = OnceLock::new();
/// What a warden would be given, once for this process.
static TRIED: OnceLock<Cgroup> = OnceLock::new();

/// Moves this process into a cgroup of its own, where it has none that it may divide: for belljar's own processes, and for no
/// program that uses it. From then on [`Host::probe`] finds that cgroup.
///
/// # Errors
///
/// Where none can be had; jars have limits for each process then, and say so.
pub fn own_cgroup() -> Result<&'static Cgroup, &'static ScopeError> {
    ASKED.get_or_init(cgroup::obtain).as_ref()
}

/// What [`own_cgroup`] found to be in the way, added to the reason that is seen from here.
pub(super) fn with_reason(found: Cgroup) -> Cgroup {
    match (found, ASKED.get()) {
        (Cgroup::None { reason }, Some(Err(error))) => Cgroup::None {
            reason: format!("{reason}, and {error}"),
        },
        (found, _) => found,
    }
}

impl Host {
    /// As [`Host::probe`], for jars whose wardens are processes of their own: this process is not moved, each warden is.
    pub(crate) fn probe_for(warden: &Path) -> Self {
        let mut host = Self::probe();
        let unasked = ASKED.get().is_none() && matches!(host.cgroup, Cgroup::None { .. });
        if unasked && cgroup::is_askable() {
            host.cgroup = TRIED.get_or_init(|| tried(warden, host.cgroup)).clone();
        }
        host
    }
}

/// Starts our binary once, to see what a warden is given.
fn tried(warden: &Path, otherwise: Cgroup) -> Cgroup {
    let output = Command::new(warden)
        .arg("cgroup")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match output.map(|output| serde_json::from_slice(&output.stdout)) {
        Ok(Ok(Cgroup::V2 { controllers, .. })) => Cgroup::Scope { controllers },
        Ok(Ok(found)) => found,
        failed => {
            tracing::debug!(?failed, "what cgroup a warden has is not known");
            otherwise
        }
    }
}
