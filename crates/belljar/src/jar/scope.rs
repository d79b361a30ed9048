//! The cgroups of a plan that leaves them to its warden: the program that uses belljar is not moved, its wardens are.

use std::borrow::Cow;
use std::io;
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{self, Hierarchy};

use crate::error::Error;
use crate::host::own_cgroup;
use crate::plan::Plan;

/// How long a warden may take to have its cgroup; it gives up asking sooner.
const PATIENCE: Duration = Duration::from_secs(2);

/// Obtains what the plan leaves to its warden, which is this process. Without it the limits that were promised would not
/// hold, so nothing runs.
pub(crate) fn settle(plan: &mut Plan) -> Result<(), Error> {
    if let Some(hierarchy @ Hierarchy::Scope { .. }) = plan.cgroup_mut() {
        let found = own_cgroup().map_err(|error| Error::setup("have a cgroup", io::Error::other(error)))?;
        *hierarchy = found.clone();
    }
    Ok(())
}

/// Where groups for jars of another warden are made.
pub(crate) fn of(hierarchy: &Hierarchy, warden: u32) -> Cow<'_, Hierarchy> {
    if !matches!(hierarchy, Hierarchy::Scope { .. }) {
        return Cow::Borrowed(hierarchy);
    }
    let since = Instant::now();
    loop {
        if let Some(found) = cgroup::of_process(warden) {
            return Cow::Owned(found);
        }
        if since.elapsed() > PATIENCE {
            // Making a group there says what is wrong.
            return Cow::Borrowed(hierarchy);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
