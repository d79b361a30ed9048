//! Policies that are resolved on every pretended host, and the interpreter that they run.

use belljar::Policy;
use belljar::policy::{Access, Layer, Mount, Network, Require, Tier, Workdir, WorkdirMode};
use belljar::python::{Interpreter, Link, Version};

/// Every policy, by name; the first is the default.
pub fn all() -> Vec<(&'static str, Policy)> {
    vec![
        ("default", Policy::default()),
        (
            "network loopback",
            with(|policy| policy.network = Network::Loopback),
        ),
        ("network host", with(|policy| policy.network = Network::Host)),
        (
            "draft of a folder",
            with(|policy| policy.workdir = workdir(WorkdirMode::Draft)),
        ),
        (
            "folder read-write",
            with(|policy| policy.workdir = workdir(WorkdirMode::Write)),
        ),
        (
            "mount read-write",
            with(|policy| policy.mounts = vec![mount(Access::ReadWrite)]),
        ),
        (
            "mount read-only",
            with(|policy| policy.mounts = vec![mount(Access::ReadOnly)]),
        ),
        (
            "requires cgroup",
            with(|policy| policy.require.layers = vec![Layer::Cgroup]),
        ),
        (
            "requires landlock",
            with(|policy| policy.require.layers = vec![Layer::Landlock]),
        ),
        (
            "content with screened",
            with(|policy| policy.require = screened()),
        ),
        ("without the system", with(|policy| policy.system = false)),
        ("site packages", with(|policy| policy.site_packages = true)),
        ("limits of its own", with(limits)),
    ]
}

/// The interpreter of this policy: one in /usr, or, without the system, one that brings what it needs.
pub fn interpreter(policy: &Policy) -> Interpreter {
    let mut python = Interpreter {
        executable: "/usr/bin/python3.12".into(),
        base_executable: "/usr/bin/python3.12".into(),
        version: Version {
            major: 3,
            minor: 12,
            patch: None,
        },
        base_prefix: "/usr".into(),
        prefix: "/usr".into(),
        stdlib: "/usr/lib/python3.12".into(),
        venv: None,
        packages: vec!["/usr/lib/python3/dist-packages".into()],
        shares_packages: false,
        mounts: Vec::new(),
        links: Vec::new(),
        environment: None,
    };
    if !policy.system {
        python.mounts = vec![
            "/usr/bin/python3.12".into(),
            "/usr/lib/python3.12".into(),
            "/usr/lib/libc.so.6".into(),
        ];
        python.links = vec![Link {
            path: "/lib64".into(),
            target: "usr/lib64".into(),
        }];
    }
    python
}

fn with(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

fn workdir(mode: WorkdirMode) -> Option<Workdir> {
    Some(Workdir {
        source: "/home/ada/project".into(),
        target: "/jar".into(),
        mode,
    })
}

fn mount(access: Access) -> Mount {
    Mount {
        source: "/srv/data".into(),
        target: "/data".into(),
        access,
    }
}

fn screened() -> Require {
    Require {
        tier: Tier::Screened,
        layers: Vec::new(),
    }
}

fn limits(policy: &mut Policy) {
    policy.limits.cpus = 2.5;
    policy.limits.cpu_seconds = Some(1.5);
    policy.limits.file_size = Some(1 << 20);
    policy.limits.memory = 64 << 20;
    policy.limits.timeout = None;
}
