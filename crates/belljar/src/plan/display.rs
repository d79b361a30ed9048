//! A plan as a tree for people.

use std::fmt;

use super::{Plan, Step};
use crate::outcome::State;
use crate::policy::{Access, Layer};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:?} jar for {}",
            self.isolation.tier,
            self.interpreter.display()
        )?;
        let layers: Vec<Layer> = self.isolation.layers.keys().copied().collect();
        for (position, layer) in layers.iter().enumerate() {
            let last = position + 1 == layers.len();
            let enforcement = &self.isolation.layers[layer];
            let mark = match enforcement.state {
                State::Full => "",
                State::Partial => " (partial)",
                State::Absent => " (absent)",
            };
            let (branch, stem) = if last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            writeln!(f, "{branch}{}{mark}: {}", layer.name(), enforcement.detail)?;
            let steps: Vec<&Step> = self.steps.iter().filter(|step| step.layer() == *layer).collect();
            for (position, step) in steps.iter().enumerate() {
                let branch = if position + 1 == steps.len() {
                    "└── "
                } else {
                    "├── "
                };
                writeln!(f, "{stem}{branch}{step}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = crate::plan::display::bytes;
        match self {
            Self::Cgroup {
                memory, pids, cpus, ..
            } => {
                write!(
                    f,
                    "cgroup: {} of memory with its disk, {pids} processes, {cpus} cpu{}",
                    bytes(*memory),
                    if *cpus == 1.0 { "" } else { "s" }
                )
            }
            Self::Namespaces { kinds } => {
                let kinds: Vec<String> = kinds
                    .iter()
                    .map(|kind| format!("{kind:?}").to_lowercase())
                    .collect();
                write!(f, "new namespaces: {}", kinds.join(", "))
            }
            Self::Ids {
                inside,
                host_uid,
                own: false,
                ..
            } => write!(f, "uid {inside}, on the host {host_uid}"),
            Self::Ids { inside, host_uid, .. } => {
                write!(f, "uid {inside}, on the host one of its own from {host_uid} on")
            }
            Self::Hostname { name } => write!(f, "host name {name}"),
            Self::Loopback => write!(f, "its own loopback, up"),
            Self::Root => write!(f, "an empty root"),
            Self::Bind {
                source,
                target,
                access,
                ..
            } => {
                let access = if *access == Access::ReadOnly {
                    "read-only"
                } else {
                    "READ-WRITE"
                };
                if source == target {
                    write!(f, "{} {access}", target.display())
                } else {
                    write!(f, "{} {access}, from {}", target.display(), source.display())
                }
            }
            Self::Protect { target, .. } => {
                write!(f, "{}: .git, .envrc and the like read-only", target.display())
            }
            Self::Keep { target } => write!(f, "{} read-only in its folder", target.display()),
            Self::Hide { target } => write!(f, "{} hidden", target.display()),
            Self::Overlay { source, target } => {
                write!(f, "{} as a draft of {}", target.display(), source.display())
            }
            Self::Folder { path } => write!(f, "{}/", path.display()),
            Self::Symlink { path, target } => write!(f, "{} -> {}", path.display(), target.display()),
            Self::Text { path, .. } => write!(f, "{} (made up)", path.display()),
            Self::Tree {
                target,
                files,
                bytes: size,
                ..
            } => write!(
                f,
                "{} read-only: {files} source files of the caller, {}",
                target.display(),
                bytes(*size)
            ),
            Self::Device { path } => write!(f, "{}", path.display()),
            Self::Proc => write!(f, "a /proc of its own"),
            Self::Mask { paths, .. } => write!(f, "hide {} entries of /proc", paths.len()),
            Self::Scratch {
                size,
                inodes,
                targets,
            } => {
                let targets: Vec<String> = targets
                    .iter()
                    .map(|target| target.display().to_string())
                    .collect();
                write!(
                    f,
                    "{} and {inodes} files for {} together",
                    bytes(*size),
                    targets.join(", ")
                )
            }
            Self::Pivot => write!(f, "the host's root detached, the jar's read-only"),
            Self::Privileges => write!(f, "no capabilities, no groups, no new privileges"),
            Self::Landlock(rules) => write!(
                f,
                "ABI {}: {} paths, {}",
                rules.abi,
                rules.paths.len(),
                if rules.tcp { "TCP" } else { "no TCP" }
            ),
            Self::Rlimits { limits } => {
                let limits: Vec<String> = limits
                    .iter()
                    .map(|limit| {
                        let name = limit.resource.name();
                        if limit.resource.is_bytes() {
                            format!("{name} {}", bytes(limit.soft))
                        } else {
                            format!("{name} {}", limit.soft)
                        }
                    })
                    .collect();
                write!(f, "{}", limits.join(", "))
            }
            Self::Affinity { cpus } => write!(
                f,
                "pinned to {cpus} processor{}",
                if *cpus == 1 { "" } else { "s" }
            ),
            Self::Descriptors => write!(f, "standard streams and the control socket, nothing else"),
            Self::Seccomp { internet, locks, .. } => {
                let sockets = if *internet { "unix, internet" } else { "unix" };
                write!(f, "allow list; sockets: {sockets}; file locks: ")?;
                match locks {
                    0 => f.write_str("none"),
                    most => write!(f, "at most {most}"),
                }
            }
            Self::Deadline { seconds } => write!(f, "ended after {seconds} s"),
        }
    }
}

/// A size for people, in powers of 1024.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = size as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
