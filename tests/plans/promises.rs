//! What holds for every plan on every host, pretended or made up by chance.

use belljar::host::{Cgroup, Userns};
use belljar::outcome::State;
use belljar::plan::{Namespace, Resource, Step};
use belljar::policy::{Access, Layer, Network, Tier};
use belljar::{Host, Plan, Policy};
use proptest::prelude::*;

use crate::{hosts, policies};

#[test]
fn plan_is_never_silently_weaker() {
    let mut sealed = 0;
    for (host_name, host) in hosts::all() {
        for (policy_name, policy) in policies::all() {
            sealed += usize::from(holds(&policy, &host, &format!("{policy_name} on {host_name}")));
        }
    }
    assert!(sealed > 100, "only {sealed} plans were looked at");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn plan_on_any_host_is_never_silently_weaker(host in any_host(), policy in 0..policies::all().len()) {
        let (name, policy) = policies::all().swap_remove(policy);
        holds(&policy, &host, name);
    }
}

fn any_host() -> impl Strategy<Value = Host> {
    let names = hosts::all().len();
    let userns = prop_oneof![
        8 => Just(Userns::Works),
        1 => Just(Userns::Off),
        1 => Just(Userns::AppArmor),
        1 => Just(Userns::Sysctl),
        1 => Just(Userns::Denied),
        1 => Just(Userns::ProcMasked),
    ];
    // Each part from another of the pretended hosts, so that combinations nobody thought of come up.
    let parts = (0..names, 0..names, 0..names, 0..names);
    (parts, userns, 0u32..12, any::<[bool; 5]>(), 1u32..300).prop_map(
        |((base, cgroup, system, groups), userns, landlock, flags, cpus)| {
            let all = hosts::all();
            let of = |index: usize| all[index].1.clone();
            Host {
                userns,
                landlock,
                cpus,
                cgroup: of(cgroup).cgroup,
                system: of(system).system,
                groups: of(groups).groups,
                privileged: flags[0],
                idmap: flags[1],
                overlay: flags[2],
                mount_api: flags[3] || flags[4],
                ..of(base)
            }
        },
    )
}

/// Checks one plan; `true` if there was one.
fn holds(policy: &Policy, host: &Host, case: &str) -> bool {
    let plan = match Plan::resolve(policy, host, &policies::interpreter(policy)) {
        Ok(plan) => plan,
        Err(refusal) => {
            assert!(
                !refusal.missing.is_empty() && !refusal.fix.in_flags().is_empty(),
                "{case}: {refusal}"
            );
            return false;
        }
    };
    assert_eq!(plan.isolation().tier, Tier::Sealed, "{case}");
    assert_eq!(host.userns, Userns::Works, "{case}");
    layers_are_told(&plan, policy, case);
    walls_are_there(&plan, policy, case);
    order_is_safe(&plan, case);
    limits_hold(&plan, policy, host, case);
    nothing_else_is_shown(&plan, policy, case);
    packages_are_hidden(&plan, policy, host, case);
    true
}

fn layers_are_told(plan: &Plan, policy: &Policy, case: &str) {
    for layer in Layer::ALL {
        let enforcement = plan.isolation().layers.get(&layer);
        let enforcement = enforcement.unwrap_or_else(|| panic!("{case}: nothing is said of {layer:?}"));
        assert!(!enforcement.detail.is_empty(), "{case}: {layer:?}");
        if policy.require.layers.contains(&layer) {
            assert_eq!(enforcement.state, State::Full, "{case}: {layer:?}");
        }
        // A layer that is said to be there has a step that makes it.
        let made = plan.steps().iter().any(|step| step.layer() == layer);
        assert!(
            made || enforcement.state != State::Full,
            "{case}: {layer:?} is only said"
        );
    }
}

fn walls_are_there(plan: &Plan, policy: &Policy, case: &str) {
    let kinds = plan.steps().iter().find_map(|step| match step {
        Step::Namespaces { kinds } => Some(kinds.clone()),
        _ => None,
    });
    let kinds = kinds.unwrap_or_default();
    for kind in [
        Namespace::User,
        Namespace::Mount,
        Namespace::Pid,
        Namespace::Ipc,
        Namespace::Uts,
        Namespace::Cgroup,
    ] {
        assert!(kinds.contains(&kind), "{case}: no {kind:?} namespace");
    }
    assert_eq!(
        kinds.contains(&Namespace::Network),
        policy.network != Network::Host,
        "{case}"
    );
    for name in [
        "ids",
        "root",
        "proc",
        "scratch",
        "pivot",
        "privileges",
        "rlimits",
        "descriptors",
        "seccomp",
    ] {
        let count = plan.steps().iter().filter(|step| step.name() == name).count();
        assert_eq!(count, 1, "{case}: {name}");
    }
    for step in plan.steps() {
        match step {
            Step::Ids {
                host_uid, host_gid, ..
            } if *host_uid == 0 || *host_gid == 0 => {
                let privileges = plan.isolation().layers[&Layer::Privileges].state;
                assert_eq!(
                    privileges,
                    State::Partial,
                    "{case}: the guest is root and nobody says so"
                );
            }
            Step::Seccomp { internet, .. } => {
                assert!(
                    !internet || policy.network != Network::None,
                    "{case}: internet sockets without a network"
                );
            }
            _ => {}
        }
    }
}

fn order_is_safe(plan: &Plan, case: &str) {
    let at = |name: &str| plan.steps().iter().position(|step| step.name() == name);
    let pivot = at("pivot");
    for (position, step) in plan.steps().iter().enumerate() {
        if step.layer() == Layer::Root {
            assert!(
                Some(position) <= pivot,
                "{case}: {step} comes after the root is closed"
            );
        }
    }
    let order = [
        "cgroup",
        "namespaces",
        "ids",
        "root",
        "pivot",
        "privileges",
        "landlock",
        "rlimits",
        "seccomp",
    ];
    let found: Vec<usize> = order.iter().filter_map(|name| at(name)).collect();
    assert!(found.is_sorted(), "{case}: {found:?}");
}

fn limits_hold(plan: &Plan, policy: &Policy, host: &Host, case: &str) {
    let counted = |controller: &str| match &host.cgroup {
        Cgroup::None { .. } => false,
        Cgroup::V1 {
            memory, pids, cpu, ..
        } => match controller {
            "memory" => memory.is_some(),
            "pids" => pids.is_some(),
            _ => cpu.is_some(),
        },
        Cgroup::V2 { controllers, .. } | Cgroup::Scope { controllers } => {
            controllers.iter().any(|name| name == controller)
        }
    };
    let limit = |wanted: Resource| {
        plan.steps().iter().find_map(|step| match step {
            Step::Rlimits { limits } => limits
                .iter()
                .find(|limit| limit.resource == wanted)
                .map(|limit| limit.hard),
            _ => None,
        })
    };
    // What no cgroup counts, each process is held to.
    assert_eq!(
        limit(Resource::Data),
        (!counted("memory")).then_some(policy.limits.memory),
        "{case}"
    );
    // Processes are held to it everywhere, and a whole jar to it as well where a cgroup counts them.
    assert_eq!(limit(Resource::Nproc), Some(policy.limits.pids + 1), "{case}");
    let pinned = plan.steps().iter().any(|step| step.name() == "affinity");
    assert_eq!(pinned, !counted("cpu"), "{case}");
    // Exactly 1 keeps cores from a handler behind a pipe; 0 does not.
    assert_eq!(limit(Resource::Core), Some(1), "{case}");
    assert_eq!(limit(Resource::Nofile), Some(policy.limits.open_files), "{case}");
    let deadline = plan.steps().iter().any(|step| step.name() == "deadline");
    assert_eq!(deadline, policy.limits.timeout.is_some(), "{case}");
}

/// Of packages in /usr none is seen, unless the policy says so.
fn packages_are_hidden(plan: &Plan, policy: &Policy, host: &Host, case: &str) {
    for folder in &host.system.packages {
        let steps = plan.steps().iter();
        let shown = steps
            .clone()
            .position(|step| matches!(step, Step::Bind { target, .. } if folder.starts_with(target)));
        let hidden = steps
            .clone()
            .position(|step| matches!(step, Step::Hide { target } if target == folder));
        match shown {
            Some(shown) if !policy.site_packages => assert!(hidden > Some(shown), "{case}: {folder:?}"),
            _ => assert_eq!(hidden, None, "{case}: {folder:?}"),
        }
    }
}

/// Of the host's files the guest may change only what the policy names.
fn nothing_else_is_shown(plan: &Plan, policy: &Policy, case: &str) {
    for step in plan.steps() {
        let Step::Bind {
            source,
            access: Access::ReadWrite,
            ..
        } = step
        else {
            continue;
        };
        let named = policy
            .mounts
            .iter()
            .any(|mount| mount.source == *source && mount.access == Access::ReadWrite)
            || policy
                .workdir
                .as_ref()
                .is_some_and(|workdir| workdir.source == *source);
        assert!(named, "{case}: {} can be written", source.display());
    }
    for (name, value) in plan.env() {
        assert!(!value.starts_with("/home/"), "{case}: {name} tells of the host");
    }
    let text = serde_json::to_string(plan).unwrap();
    for path in ["/etc/shadow", "/root", "/var/run", "docker.sock"] {
        assert!(!text.contains(path), "{case}: {path}");
    }
}
