//! Whether a process may leave its cgroup for one of its own. What an administrator limits stays limited: a service with
//! `MemoryMax=` is not left.

use std::path::Path;

use super::detect::{Read, locate};

/// Files that limit, and what they say where they do not.
const LIMITS: [(&str, &str); 6] = [
    ("memory.max", "max"),
    ("memory.high", "max"),
    ("memory.swap.max", "max"),
    ("cpu.max", "max"),
    ("cpuset.cpus", ""),
    ("io.max", ""),
];
/// What systemd gives every unit, and every user's slice, of the tasks that the machine can have, in hundredths.
const DEFAULT_TASKS: [u64; 2] = [15, 33];

/// The first limit that a process in `own` would no longer be held to in a cgroup below `slice`.
pub(super) fn limit(own: &str, slice: &str, read: Read<'_>) -> Option<String> {
    let shared = |group: &Path| Path::new(slice).starts_with(group);
    let left = Path::new(own).ancestors().take_while(|group| !shared(group));
    for group in left {
        let Some(folder) = locate(&group.to_string_lossy(), read) else {
            return Some(format!(
                "what limits {}, which is not to be seen",
                group.display()
            ));
        };
        let says = |file: &str| read(&folder.join(file)).map(|text| text.trim().to_owned());
        let told = |file: &str, value: &str| Some(format!("{} = {value}", folder.join(file).display()));
        for (file, free) in LIMITS {
            if let Some(value) = says(file).filter(|value| value.split(' ').next() != Some(free)) {
                return told(file, &value);
            }
        }
        let file = "pids.max";
        if let Some(value) = says(file).filter(|value| value != "max" && !is_default(value, read)) {
            return told(file, &value);
        }
    }
    None
}

/// Whether a limit on tasks is the one that every unit has, which nobody chose for this one.
fn is_default(value: &str, read: Read<'_>) -> bool {
    let number = |path: &str| read(path.as_ref())?.trim().parse::<u64>().ok();
    let (Some(value), Some(pids), Some(threads)) = (
        value.parse::<u64>().ok(),
        number("/proc/sys/kernel/pid_max"),
        number("/proc/sys/kernel/threads-max"),
    ) else {
        return false;
    };
    let most = pids.min(threads);
    DEFAULT_TASKS
        .iter()
        .any(|hundredths| (most * hundredths / 100).abs_diff(value) <= 1)
}
