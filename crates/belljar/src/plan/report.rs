//! What a plan enforces, said honestly, layer by layer.

use std::collections::BTreeMap;

use super::require::tier;
use super::resolve::{counts_cpus, counts_memory, counts_pids};
use crate::host::{Cgroup, Host};
use crate::outcome::{Enforcement, Isolation, State};
use crate::policy::{Layer, Network, Policy};

/// The first Landlock ABI that has everything we ask for: files, truncation, TCP, devices, scopes.
const LANDLOCK_FULL: u32 = 6;

pub(super) fn isolation(policy: &Policy, host: &Host) -> Isolation {
    let enforced = |layer| match layer {
        Layer::Namespaces => namespaces(policy),
        Layer::Root => full("a root of its own; what it shows of the host is listed below"),
        Layer::Privileges => privileges(host),
        Layer::Seccomp => full("an allow list of system calls"),
        Layer::Landlock => landlock(host),
        Layer::Cgroup => cgroup(host),
        Layer::Rlimits => full("limits of each process"),
        Layer::Descriptors => full("an exact list of open files"),
        Layer::Clock => clock(policy),
    };
    Isolation {
        tier: tier(host),
        layers: BTreeMap::from(Layer::ALL.map(|layer| (layer, enforced(layer)))),
    }
}

fn full(detail: impl Into<String>) -> Enforcement {
    Enforcement {
        state: State::Full,
        detail: detail.into(),
    }
}

fn partial(detail: impl Into<String>) -> Enforcement {
    Enforcement {
        state: State::Partial,
        detail: detail.into(),
    }
}

fn namespaces(policy: &Policy) -> Enforcement {
    match policy.network {
        Network::None => full("all of its own, no network"),
        Network::Loopback => full("all of its own, with a loopback nobody else reaches"),
        Network::Host => partial("all of its own but the network, which is THE HOST'S"),
    }
}

fn privileges(host: &Host) -> Enforcement {
    // Root of a container that may not give the guest another id: outside the jar its files are root's.
    if !host.privileged && (host.uid == 0 || host.gid == 0) {
        return partial(
            "no capabilities; the guest's id on the host is root's, because no other can be given here",
        );
    }
    let supplementary = host.groups.iter().filter(|group| **group != host.gid).count();
    if host.privileged || supplementary == 0 {
        return full("no capabilities, no groups, nothing to gain");
    }
    partial(format!(
        "no capabilities; a plain user cannot drop its {supplementary} supplementary groups"
    ))
}

fn landlock(host: &Host) -> Enforcement {
    match host.landlock {
        0 => Enforcement {
            state: State::Absent,
            detail: "this kernel has no Landlock".into(),
        },
        abi if abi < LANDLOCK_FULL => partial(format!(
            "ABI {abi}: files{}",
            if abi >= 4 { " and TCP" } else { "" }
        )),
        abi => full(format!("ABI {abi}: files, TCP, signals, abstract sockets")),
    }
}

fn cgroup(host: &Host) -> Enforcement {
    let counted: Vec<&str> = [
        ("memory", counts_memory(host)),
        ("processes", counts_pids(host)),
        ("cpu", counts_cpus(host)),
    ]
    .into_iter()
    .filter_map(|(name, counted)| counted.then_some(name))
    .collect();
    match &host.cgroup {
        Cgroup::None { reason } => Enforcement {
            state: State::Absent,
            detail: format!(
                "{reason}; memory, processes and cpus are limited for each process instead, and memory that processes share is not"
            ),
        },
        _ if counted.len() == 3 => full("memory, processes and cpu of the jar as a whole"),
        _ => partial(format!(
            "only {} of the jar as a whole; the rest for each process",
            counted.join(" and ")
        )),
    }
}

fn clock(policy: &Policy) -> Enforcement {
    match policy.limits.timeout {
        Some(timeout) => full(format!("{} s", timeout.as_secs_f64())),
        None => Enforcement {
            state: State::Absent,
            detail: "the policy sets no timeout".into(),
        },
    }
}
