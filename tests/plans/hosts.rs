//! Machines that are not this one.

use std::path::PathBuf;

use belljar::Host;
use belljar::host::{Cgroup, System, Userns};

/// Every pretended host, by name.
pub fn all() -> Vec<(&'static str, Host)> {
    vec![
        ("root", root()),
        ("user", user()),
        (
            "user-in-groups",
            with(user(), |host| host.groups = vec![1000, 27, 998]),
        ),
        ("userns-off", with(user(), |host| host.userns = Userns::Off)),
        ("userns-sysctl", with(user(), |host| host.userns = Userns::Sysctl)),
        (
            "userns-apparmor",
            with(user(), |host| host.userns = Userns::AppArmor),
        ),
        (
            "in-docker",
            with(root(), |host| denied(host, "docker", Userns::Denied)),
        ),
        (
            "in-podman",
            with(user(), |host| denied(host, "podman", Userns::ProcMasked)),
        ),
        ("landlock-absent", with(user(), |host| host.landlock = 0)),
        (
            "landlock-abi-1",
            with(user(), |host| (host.kernel, host.landlock) = ((5, 15), 1)),
        ),
        (
            "landlock-abi-4",
            with(user(), |host| (host.kernel, host.landlock) = ((6, 7), 4)),
        ),
        (
            "landlock-abi-7",
            with(user(), |host| (host.kernel, host.landlock) = ((6, 15), 7)),
        ),
        ("cgroup-v1", with(root(), |host| host.cgroup = v1())),
        (
            "cgroup-v1-without-memory",
            with(root(), |host| host.cgroup = v1_pids_alone()),
        ),
        (
            "cgroup-v2-delegated",
            with(user(), |host| host.cgroup = v2(&["cpu", "memory", "pids"])),
        ),
        (
            "cgroup-v2-without-cpu",
            with(user(), |host| host.cgroup = v2(&["memory", "pids"])),
        ),
        ("kernel-5.10", old_kernel()),
        (
            "kernel-6.1",
            with(user(), |host| {
                (host.kernel, host.landlock, host.overlay) = ((6, 1), 2, false);
            }),
        ),
        ("aarch64", with(user(), |host| host.arch = "aarch64".into())),
        ("riscv64", with(user(), |host| host.arch = "riscv64".into())),
        ("seccomp-absent", with(user(), |host| host.seccomp = false)),
        (
            "root-without-capabilities",
            with(root(), |host| host.privileged = false),
        ),
        ("root-without-idmap", with(root(), |host| host.idmap = false)),
        ("usr-not-merged", with(user(), |host| host.system = not_merged())),
    ]
}

/// A recent server, started by root.
pub fn root() -> Host {
    Host {
        uid: 0,
        gid: 0,
        groups: vec![0],
        privileged: true,
        idmap: true,
        cgroup: v2(&["cpu", "io", "memory", "pids"]),
        ..user()
    }
}

/// A recent laptop, started by its owner, with no cgroup delegated.
pub fn user() -> Host {
    Host {
        kernel: (6, 12),
        arch: "x86_64".into(),
        uid: 1000,
        gid: 1000,
        groups: vec![1000],
        privileged: false,
        userns: Userns::Works,
        landlock: 6,
        seccomp: true,
        cgroup: Cgroup::None {
            reason: "no cgroup is delegated to this user".into(),
        },
        overlay: true,
        mount_api: true,
        idmap: false,
        container: None,
        cpus: 8,
        system: merged(),
    }
}

fn with(mut host: Host, change: impl FnOnce(&mut Host)) -> Host {
    change(&mut host);
    host
}

fn denied(host: &mut Host, container: &str, userns: Userns) {
    host.container = Some(container.into());
    host.userns = userns;
    host.cgroup = Cgroup::None {
        reason: "/sys/fs/cgroup is read-only".into(),
    };
}

fn old_kernel() -> Host {
    Host {
        kernel: (5, 10),
        landlock: 0,
        overlay: false,
        mount_api: false,
        ..user()
    }
}

fn v1() -> Cgroup {
    let folder = |controller: &str| Some(PathBuf::from(format!("/sys/fs/cgroup/{controller}")));
    Cgroup::V1 {
        memory: folder("memory"),
        pids: folder("pids"),
        cpu: folder("cpu"),
        cpuacct: folder("cpuacct"),
        cpuset: folder("cpuset"),
    }
}

fn v1_pids_alone() -> Cgroup {
    Cgroup::V1 {
        memory: None,
        pids: Some("/sys/fs/cgroup/pids".into()),
        cpu: None,
        cpuacct: None,
        cpuset: None,
    }
}

fn v2(controllers: &[&str]) -> Cgroup {
    Cgroup::V2 {
        base: "/sys/fs/cgroup/user.slice/belljar.scope".into(),
        controllers: controllers.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn merged() -> System {
    let links = ["bin", "lib", "lib64", "sbin"];
    System {
        links: links
            .iter()
            .map(|name| ((*name).to_owned(), PathBuf::from(format!("usr/{name}"))))
            .collect(),
        folders: Vec::new(),
        shared: vec![
            "/etc/ssl/certs".into(),
            "/etc/fonts".into(),
            "/etc/ld.so.cache".into(),
        ],
        packages: vec![
            "/usr/lib/python3/dist-packages".into(),
            "/usr/local/lib/python3.12/dist-packages".into(),
        ],
    }
}

fn not_merged() -> System {
    System {
        links: [("lib64".to_owned(), PathBuf::from("lib"))].into(),
        folders: vec!["/bin".into(), "/sbin".into(), "/lib".into()],
        shared: vec!["/etc/ssl/certs".into()],
        packages: vec!["/usr/lib/python3.12/site-packages".into()],
    }
}
