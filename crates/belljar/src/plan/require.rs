//! What a host must have, and the next step where it does not.

use super::Refusal;
use crate::hint::{Hint, Setting};
use crate::host::{Host, Userns};
use crate::outcome::{Isolation, State};
use crate::policy::{Layer, Policy, Tier, WorkdirMode};

/// Kernel mechanisms without which nothing is built.
pub(super) fn mechanisms(policy: &Policy, host: &Host) -> Result<(), Refusal> {
    if !host.seccomp {
        return Err(Refusal::new(
            "this kernel has no system-call filters (seccomp)",
            "use a kernel built with CONFIG_SECCOMP_FILTER",
        ));
    }
    if !matches!(host.arch.as_str(), "x86_64" | "aarch64") {
        return Err(Refusal::new(
            format!("there is no system-call list for {}", host.arch),
            "belljar runs on x86_64 and aarch64",
        ));
    }
    // First what may forbid the rest: a container that refuses namespaces refuses these calls as well.
    user_namespaces(host)?;
    if !host.mount_api {
        return Err(Refusal::new(
            format!(
                "kernel {}.{} cannot make a whole tree read-only (mount_setattr)",
                host.kernel.0, host.kernel.1
            ),
            "use kernel 5.12 or later",
        ));
    }
    let draft = policy
        .workdir
        .as_ref()
        .is_some_and(|workdir| matches!(workdir.mode, WorkdirMode::Draft | WorkdirMode::Apply));
    if draft && !host.overlay {
        return Err(Refusal::new(
            format!(
                "kernel {}.{} cannot draft changes (overlayfs with a tmpfs upper layer)",
                host.kernel.0, host.kernel.1
            ),
            Hint::from("use kernel 6.6 or later, or copy the folder and pass the copy with ")
                .set(Setting::Workdir),
        ));
    }
    let writes = policy
        .mounts
        .iter()
        .any(|mount| mount.access == crate::policy::Access::ReadWrite)
        || policy
            .workdir
            .as_ref()
            .is_some_and(|workdir| workdir.mode == WorkdirMode::Write);
    if host.privileged && writes && !host.idmap {
        return Err(Refusal::new(
            "started as root, a writable folder needs an id-mapped mount, which this kernel lacks",
            "use kernel 5.12 or later, or start belljar as the folder's owner",
        ));
    }
    Ok(())
}

fn user_namespaces(host: &Host) -> Result<(), Refusal> {
    let inside = |fix: &str| match &host.container {
        Some(container) => format!("inside {container}: {fix}"),
        None => fix.to_owned(),
    };
    let (missing, fix) = match host.userns {
        Userns::Works => return Ok(()),
        Userns::Off => ("user namespaces are switched off", "sysctl -w user.max_user_namespaces=15000".to_owned()),
        Userns::Sysctl => {
            ("user namespaces are not for plain users here", "sysctl -w kernel.unprivileged_userns_clone=1".to_owned())
        }
        Userns::AppArmor => (
            "AppArmor takes the capabilities away in user namespaces",
            "install a profile for the belljar binary that allows `userns`; `belljar doctor` prints it with the commands"
                .to_owned(),
        ),
        Userns::Denied => (
            "something outside refuses user namespaces",
            match &host.container {
                Some(_) => inside("start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined"),
                None => "allow them where this process is confined: a unit's RestrictNamespaces=, ProtectHostname= or SystemCallFilter=, an AppArmor profile without `userns`".into(),
            },
        ),
        Userns::ProcMasked => (
            "a fresh /proc cannot be mounted because the outer one is masked",
            match &host.container {
                Some(_) => inside("start the container with --security-opt systempaths=unconfined (podman: --security-opt unmask=ALL)"),
                None => "take ProtectKernelTunables=, ProtectKernelLogs= and ProcSubset= out of the unit that this runs in".into(),
            },
        ),
    };
    Err(Refusal::new(missing, fix))
}

/// What the policy itself asks for.
pub(super) fn layers(policy: &Policy, isolation: &Isolation) -> Result<(), Refusal> {
    if isolation.tier < policy.require.tier {
        return Err(Refusal::new(
            "this host cannot give the tier `sealed`",
            "run `belljar doctor` for what is missing",
        ));
    }
    for layer in &policy.require.layers {
        let enforcement = isolation.layers.get(layer);
        if enforcement.is_none_or(|enforcement| enforcement.state != State::Full) {
            let detail = enforcement.map_or("absent", |enforcement| &enforcement.detail);
            return Err(Refusal::new(
                format!(
                    "the policy requires the layer `{}` in full, and here it is: {detail}",
                    layer.name()
                ),
                fix_for(*layer),
            ));
        }
    }
    Ok(())
}

fn fix_for(layer: Layer) -> Hint {
    let way = match layer {
        Layer::Cgroup => "run `belljar doctor` for what would give this user a cgroup",
        Layer::Landlock => "use kernel 6.12 or later with `landlock` in the lsm= list",
        Layer::Privileges => "start belljar as a user without supplementary groups",
        Layer::Namespaces
        | Layer::Root
        | Layer::Seccomp
        | Layer::Rlimits
        | Layer::Descriptors
        | Layer::Clock => return "run `belljar doctor` for what is missing".into(),
    };
    Hint::from(way)
        .say(format!(", or leave `{}` out of ", layer.name()))
        .set(Setting::RequireLayers)
}

/// The tier that a host can give.
pub(super) fn tier(host: &Host) -> Tier {
    if host.userns == Userns::Works {
        Tier::Sealed
    } else {
        Tier::Screened
    }
}
