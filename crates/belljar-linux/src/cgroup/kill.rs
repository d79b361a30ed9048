//! Ends a group's processes one by one, where the kernel cannot end them all at once.

use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal};

use super::CgroupError;
use super::folder::Folder;

/// Sends SIGKILL until no process is left, or until `patience` is over.
pub(super) fn all(folder: &Folder, patience: Duration) -> Result<(), CgroupError> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_micros(100);
    loop {
        let listed = members(folder)?;
        if listed.is_empty() {
            return Ok(());
        }
        // A pid may be taken over by a stranger between the list and the signal. The pidfd is opened first and the
        // list read again: whoever is in both is the process of the pidfd, or the pidfd's process is dead.
        let open = |pid: &Pid| Some((*pid, rustix::process::pidfd_open(*pid, PidfdFlags::empty()).ok()?));
        let opened: Vec<_> = listed.iter().filter_map(open).collect();
        let still = members(folder)?;
        for (_, pidfd) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
            let _ = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
        }
        if Instant::now() >= deadline {
            return Err(CgroupError::Unkillable {
                path: folder.path.clone(),
                left: still.len(),
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(8));
    }
}

/// The processes of a group, but never this one, nor those of other pid namespaces, which are listed as 0.
fn members(folder: &Folder) -> Result<Vec<Pid>, CgroupError> {
    let text = folder
        .read("cgroup.procs")
        .map_err(|error| CgroupError::io("list", &folder.path, error))?;
    let own = rustix::process::getpid();
    Ok(text
        .split_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .filter(|pid| *pid != own)
        .collect())
}
