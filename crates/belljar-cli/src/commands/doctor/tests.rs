//! What doctor says on hosts that this one is not.

use std::path::PathBuf;

use belljar::host::{Cgroup, Host, Userns};

use super::checks::{self, Found};
use super::fixes::Here;

fn plain_user() -> Host {
    Host {
        kernel: (6, 8),
        arch: "x86_64".into(),
        uid: 1000,
        gid: 1000,
        groups: vec![1000],
        privileged: false,
        userns: Userns::Works,
        landlock: 6,
        seccomp: true,
        cgroup: Cgroup::V2 {
            base: PathBuf::from("/sys/fs/cgroup/user.slice"),
            controllers: ["cpu", "memory", "pids"].map(String::from).to_vec(),
        },
        overlay: true,
        mount_api: true,
        idmap: true,
        container: None,
        cpus: 2,
        ..Host::probe()
    }
}

/// What is said of everything but Python, which is this host's own.
fn report(host: &Host, systemd: bool) -> String {
    let here = Here {
        binary: PathBuf::from("/opt/my tools/belljar"),
        systemd,
        none_of: Vec::new(),
    };
    let mut text = String::new();
    for check in checks::all(host, &here)
        .iter()
        .filter(|check| check.name != "python")
    {
        if check.found != Found::Full {
            text.push_str(&format!("{:?} {}: {}\n", check.found, check.name, check.detail));
            check
                .fix
                .iter()
                .for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
    text
}

#[test]
fn nothing_to_say_of_a_good_host() {
    assert_eq!(report(&plain_user(), true), "");
}

#[test]
fn ubuntu_with_its_apparmor_rule() {
    let host = Host {
        userns: Userns::AppArmor,
        groups: vec![1000, 27],
        ..plain_user()
    };
    insta::assert_snapshot!("apparmor", report(&host, true));
}

#[test]
fn an_ssh_session_without_delegation() {
    let reason = "/sys/fs/cgroup/user.slice is not writable".to_owned();
    let host = Host {
        cgroup: Cgroup::None { reason },
        ..plain_user()
    };
    insta::assert_snapshot!("no_delegation_systemd", report(&host, true));
    insta::assert_snapshot!("no_delegation", report(&host, false));
}

#[test]
fn inside_docker() {
    let host = Host {
        userns: Userns::Denied,
        container: Some("docker".into()),
        cgroup: Cgroup::None {
            reason: "/sys/fs/cgroup is read-only".into(),
        },
        ..plain_user()
    };
    insta::assert_snapshot!("docker", report(&host, false));
    let host = Host {
        userns: Userns::Sysctl,
        ..host
    };
    insta::assert_snapshot!("docker_sysctl", report(&host, false));
}

#[test]
fn an_old_kernel_started_as_root() {
    let host = Host {
        kernel: (5, 10),
        privileged: true,
        uid: 0,
        landlock: 0,
        mount_api: false,
        idmap: false,
        overlay: false,
        cgroup: Cgroup::V1 {
            memory: Some("/sys/fs/cgroup/memory".into()),
            pids: Some("/sys/fs/cgroup/pids".into()),
            cpu: None,
            cpuacct: None,
            cpuset: None,
        },
        ..plain_user()
    };
    insta::assert_snapshot!("old_kernel", report(&host, true));
}
