//! One line for each thing that a jar is made of.

use belljar::host::{Cgroup, Host, Userns};
use serde::Serialize;

use super::fixes::{self, Here};
use crate::failure::Failure;

/// What was found of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// All of it.
    Full,
    /// Less than could be; jars are sealed all the same.
    Partial,
    /// Not there, and no jar without it.
    Missing,
}

/// One thing that a jar is made of.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What was found.
    pub found: Found,
    /// In words.
    pub detail: String,
    /// Lines to read or to paste.
    pub fix: Vec<String>,
}

impl Check {
    fn full(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            found: Found::Full,
            detail: detail.into(),
            fix: Vec::new(),
        }
    }

    fn partial(name: &'static str, detail: impl Into<String>, fix: Vec<String>) -> Self {
        Self {
            name,
            found: Found::Partial,
            detail: detail.into(),
            fix,
        }
    }

    fn missing(name: &'static str, detail: impl Into<String>, fix: Vec<String>) -> Self {
        Self {
            name,
            found: Found::Missing,
            detail: detail.into(),
            fix,
        }
    }
}

/// Everything, most important first.
pub fn all(host: &Host, here: &Here) -> Vec<Check> {
    vec![
        namespaces(host, here),
        mounts(host),
        seccomp(host),
        landlock(host),
        cgroup(host, here),
        groups(host),
        draft(host),
        python(),
    ]
}

fn namespaces(host: &Host, here: &Here) -> Check {
    const NAME: &str = "namespaces";
    let fix = |lines: Vec<String>| fixes::in_container(host, lines);
    match host.userns {
        Userns::Works => Check::full(NAME, "user namespaces work, with all that go with them"),
        // The kernel says alike of all kinds that there are too many.
        Userns::Off => match here.none_of.as_slice() {
            [] => Check::missing(
                NAME,
                "user namespaces are switched off",
                fix(fixes::sysctl("user.max_user_namespaces=15000")),
            ),
            settings => Check::missing(
                NAME,
                format!("namespaces are switched off: {} = 0", settings.join(", ")),
                fix(settings
                    .iter()
                    .flat_map(|setting| fixes::sysctl(&format!("{setting}=15000")))
                    .collect()),
            ),
        },
        Userns::Sysctl => Check::missing(
            NAME,
            "user namespaces are not for plain users here",
            fix(fixes::sysctl("kernel.unprivileged_userns_clone=1")),
        ),
        Userns::AppArmor => Check::missing(
            NAME,
            "AppArmor takes every capability away in user namespaces",
            fixes::apparmor(&here.binary),
        ),
        Userns::Denied => match host.container {
            Some(_) => Check::missing(
                NAME,
                "the container's system-call filter refuses them",
                fixes::container(),
            ),
            None => Check::missing(
                NAME,
                "something that confines this process refuses them: a unit of systemd's, or an AppArmor profile",
                fixes::confined(),
            ),
        },
        Userns::ProcMasked => match host.container {
            Some(_) => Check::missing(
                NAME,
                "a fresh /proc cannot be mounted: the container's own is masked",
                fixes::container(),
            ),
            None => Check::missing(
                NAME,
                "a fresh /proc cannot be mounted: the unit that this runs in hides parts of its own",
                fixes::confined(),
            ),
        },
    }
}

fn mounts(host: &Host) -> Check {
    const NAME: &str = "mounts";
    if !host.mount_api {
        let fix = vec!["# use kernel 5.12 or later (mount_setattr, move_mount)".into()];
        return Check::missing(NAME, "a whole tree cannot be made read-only", fix);
    }
    if host.privileged && !host.idmap {
        let fix = vec!["# use kernel 5.12 or later, or start belljar as a plain user".into()];
        return Check::partial(
            NAME,
            "started as root, folders cannot be shared read-write: no id-mapped mounts",
            fix,
        );
    }
    Check::full(NAME, "private roots, recursively read-only")
}

fn seccomp(host: &Host) -> Check {
    if host.seccomp {
        return Check::full("seccomp", "system-call filters can be loaded");
    }
    let fix = vec!["# use a kernel with CONFIG_SECCOMP_FILTER".into()];
    Check::missing("seccomp", "system-call filters cannot be loaded", fix)
}

fn landlock(host: &Host) -> Check {
    const NAME: &str = "landlock";
    match host.landlock {
        0 => Check::partial(
            NAME,
            "none: the root stands without a second wall",
            fixes::landlock(),
        ),
        abi @ 1..=5 => {
            let fix = vec!["# kernel 6.12 adds scopes for signals and abstract sockets".into()];
            Check::partial(
                NAME,
                format!("ABI {abi}: files{}", if abi >= 4 { " and TCP" } else { "" }),
                fix,
            )
        }
        abi => Check::full(NAME, format!("ABI {abi}: files, TCP, signals, abstract sockets")),
    }
}

fn cgroup(host: &Host, here: &Here) -> Check {
    const NAME: &str = "cgroup";
    let mut missing: Vec<&str> = match &host.cgroup {
        Cgroup::None { reason } => {
            let detail = format!(
                "{reason}; memory, processes and cpus are limited for each process instead, and memory that processes share is not"
            );
            return Check::partial(NAME, detail, fixes::delegation(host, here));
        }
        Cgroup::V1 {
            memory, pids, cpu, ..
        } => {
            let controllers = [("memory", memory), ("pids", pids), ("cpu", cpu)];
            controllers
                .into_iter()
                .filter_map(|(name, folder)| folder.is_none().then_some(name))
                .collect()
        }
        Cgroup::V2 { controllers, .. } | Cgroup::Scope { controllers } => {
            let has = |name: &&str| controllers.iter().any(|other| other == name);
            ["memory", "pids", "cpu"]
                .into_iter()
                .filter(|name| !has(name))
                .collect()
        }
    };
    missing.sort_unstable();
    let version = if matches!(host.cgroup, Cgroup::V1 { .. }) {
        1
    } else {
        2
    };
    if missing.is_empty() {
        return Check::full(
            NAME,
            format!("version {version}: memory, processes and cpu of a jar as a whole"),
        );
    }
    let detail = format!(
        "version {version}, without {}: limited for each process instead",
        missing.join(", ")
    );
    Check::partial(NAME, detail, fixes::delegation(host, here))
}

fn groups(host: &Host) -> Check {
    const NAME: &str = "groups";
    let held = host.groups.iter().filter(|group| **group != host.gid).count();
    if host.privileged || held == 0 {
        return Check::full(NAME, "none that a guest would keep");
    }
    let detail =
        format!("a guest keeps supplementary groups of this user ({held}): a plain user cannot drop them");
    Check::partial(
        NAME,
        detail,
        vec!["# start belljar as a user without supplementary groups".into()],
    )
}

fn draft(host: &Host) -> Check {
    if host.overlay {
        return Check::full("draft", "--draft and --apply work");
    }
    let fix =
        vec!["# use kernel 6.6 or later (overlayfs in user namespaces with a tmpfs upper layer)".into()];
    Check::partial("draft", "--draft and --apply are refused", fix)
}

fn python() -> Check {
    match belljar::python::for_policy(&belljar::Policy::default()).map_err(Failure::from) {
        Ok(found) => Check::full(
            "python",
            format!("{} at {}", found.version, found.base_executable.display()),
        ),
        Err(failure) => {
            let fix = failure.hint.iter().map(|hint| format!("# {hint}")).collect();
            Check::partial("python", failure.message, fix)
        }
    }
}
