//! What `detect_in` finds on the contents of /proc of many hosts.

use std::path::{Path, PathBuf};

use crate::cgroup::{Hierarchy, detect_in};

/// A pretended host: who may write where, what the controllers file says, which folders systemd marked.
#[derive(Default)]
struct Pretended<'a> {
    groups: &'a str,
    mounts: &'a str,
    /// Prefixes of what is writable.
    writable: &'a [&'a str],
    controllers: &'a [(&'a str, &'a str)],
    marked: &'a [&'a str],
}

impl Pretended<'_> {
    fn detect(&self) -> Hierarchy {
        detect_in(
            self.groups,
            self.mounts,
            &|path| self.writable.iter().any(|prefix| path.starts_with(prefix)),
            &|path| {
                let folder = path.parent().filter(|_| path.ends_with("cgroup.controllers"))?;
                let found = self
                    .controllers
                    .iter()
                    .find(|(known, _)| Path::new(known) == folder)?;
                Some(format!("{}\n", found.1))
            },
            &|path| self.marked.iter().any(|known| Path::new(known) == path),
        )
    }

    fn reason(&self) -> String {
        match self.detect() {
            Hierarchy::None { reason } => reason,
            other => panic!("expected none, got {other:?}"),
        }
    }
}

fn v2(base: &str, controllers: &[&str]) -> Hierarchy {
    Hierarchy::V2 {
        base: base.into(),
        controllers: controllers.iter().map(|name| name.to_string()).collect(),
    }
}

const UNIFIED: &str = "\
24 30 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
35 25 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
30 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
";

const SEPARATE: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

const SEPARATE_GROUPS: &str = "\
9:name=systemd:/
8:pids:/
4:memory:/runs/6bbd23
3:cpuset:/
2:cpuacct:/
1:cpu:/
0::/
";

#[test]
fn controllers_on_v1_beside_an_empty_v2_are_taken_from_v1() {
    let host = Pretended {
        groups: SEPARATE_GROUPS,
        mounts: SEPARATE,
        writable: &["/sys"],
        controllers: &[("/sys/fs/cgroup/unified", "")],
        ..Default::default()
    };
    let path = |name: &str| Some(PathBuf::from("/sys/fs/cgroup").join(name));
    let expected = Hierarchy::V1 {
        memory: path("memory/runs/6bbd23"),
        pids: path("pids"),
        cpu: path("cpu"),
        cpuacct: path("cpuacct"),
        cpuset: path("cpuset"),
    };
    assert_eq!(host.detect(), expected);
}

#[test]
fn a_plain_user_on_v1_gets_none_and_learns_which_folder() {
    let host = Pretended {
        groups: SEPARATE_GROUPS,
        mounts: SEPARATE,
        ..Default::default()
    };
    let reason = host.reason();
    assert!(
        reason.starts_with("/sys/fs/cgroup/memory/runs/6bbd23 (cgroup version 1) is not writable"),
        "{reason}"
    );
}

#[test]
fn a_hybrid_host_uses_the_side_with_more_controllers() {
    let host = |controllers| Pretended {
        groups: SEPARATE_GROUPS,
        mounts: SEPARATE,
        writable: &["/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"],
        controllers,
        ..Default::default()
    };
    let rich = host(&[("/sys/fs/cgroup/unified", "cpu memory")]).detect();
    assert_eq!(rich, v2("/sys/fs/cgroup/unified", &["cpu", "memory"]));
    let poor = host(&[("/sys/fs/cgroup/unified", "io")]).detect();
    assert!(
        matches!(
            poor,
            Hierarchy::V1 {
                memory: None,
                pids: Some(_),
                ..
            }
        ),
        "{poor:?}"
    );
}

#[test]
fn cpusets_alone_are_no_reason_to_take_a_side() {
    let host = |controllers| Pretended {
        groups: "0::/a\n",
        mounts: "1 2 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        writable: &["/sys"],
        controllers,
        ..Default::default()
    };
    let with = host(&[("/sys/fs/cgroup/a", "cpuset cpu io")]).detect();
    assert_eq!(with, v2("/sys/fs/cgroup/a", &["cpuset", "cpu"]));
    let reason = host(&[("/sys/fs/cgroup/a", "cpuset io")]).reason();
    assert!(reason.contains("none of the controllers"), "{reason}");
}

#[test]
fn wsl2_hybrid_joins_cpu_and_cpuacct_in_one_folder() {
    let host = Pretended {
        groups: "13:pids:/\n12:memory:/\n3:cpu,cpuacct:/\n0::/\n",
        mounts: "\
60 59 0:33 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:2 - cgroup2 cgroup2 rw,nsdelegate
62 59 0:35 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct
65 59 0:38 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:7 - cgroup cgroup rw,memory
71 59 0:44 / /sys/fs/cgroup/pids rw,nosuid,nodev,noexec,relatime shared:13 - cgroup cgroup rw,pids
",
        writable: &["/sys"],
        controllers: &[("/sys/fs/cgroup/unified", "")],
        ..Default::default()
    };
    let Hierarchy::V1 {
        cpu,
        cpuacct,
        memory,
        pids,
        cpuset: None,
    } = host.detect()
    else {
        panic!("{:?}", host.detect())
    };
    assert_eq!(cpu.as_deref(), Some(Path::new("/sys/fs/cgroup/cpu,cpuacct")));
    assert_eq!(cpu, cpuacct);
    assert!(memory.is_some() && pids.is_some());
}

#[test]
fn docker_v1_is_mapped_through_the_root_of_the_mount() {
    let host = |mounts, writable| Pretended {
        groups: "8:pids:/docker/0a1b\n4:memory:/docker/0a1b/inner\n",
        mounts,
        writable,
        ..Default::default()
    };
    let read_only = "\
1 2 0:32 /docker/0a1b /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:11 - cgroup cgroup rw,memory
1 2 0:36 /docker/0a1b /sys/fs/cgroup/pids ro,nosuid,nodev,noexec,relatime master:15 - cgroup cgroup rw,pids
";
    // Root in the container may write every mode, so only the mount's own flag tells.
    let reason = host(read_only, &["/"]).reason();
    assert!(
        reason.contains("/sys/fs/cgroup/memory/inner (cgroup version 1) is mounted read-only"),
        "{reason}"
    );

    let writable = read_only.replace(" ro,", " rw,");
    let found = host(&writable, &["/"]).detect();
    let expected = Hierarchy::V1 {
        memory: Some("/sys/fs/cgroup/memory/inner".into()),
        pids: Some("/sys/fs/cgroup/pids".into()),
        cpu: None,
        cpuacct: None,
        cpuset: None,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_group_outside_of_the_mount_is_not_guessed() {
    let mounts = "1 2 0:32 /docker/0a1b /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    for group in ["/docker/0a1bc", "/", "/../other", "/docker/0a1b/../x"] {
        let groups = format!("4:memory:{group}\n");
        let host = Pretended {
            groups: &groups,
            mounts,
            writable: &["/"],
            ..Default::default()
        };
        assert_eq!(
            host.reason(),
            "no version 1 controller shows this process's cgroup",
            "{group}"
        );
    }
}

#[test]
fn docker_v2_is_mounted_read_only() {
    let mounts = "1 2 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n";
    let host = |mounts| Pretended {
        groups: "0::/\n",
        mounts,
        writable: &["/"],
        controllers: &[("/sys/fs/cgroup", "cpuset cpu io memory pids")],
        ..Default::default()
    };
    let reason = host(mounts).reason();
    assert!(
        reason.starts_with("/sys/fs/cgroup (cgroup2) is mounted read-only"),
        "{reason}"
    );
    let private = mounts.replace(" ro,", " rw,");
    assert_eq!(
        host(&private).detect(),
        v2("/sys/fs/cgroup", &["cpuset", "cpu", "memory", "pids"])
    );
}

#[test]
fn a_session_of_a_user_is_not_delegated() {
    let host = Pretended {
        groups: "0::/user.slice/user-1000.slice/session-3.scope\n",
        mounts: UNIFIED,
        ..Default::default()
    };
    let reason = host.reason();
    assert!(
        reason.ends_with("session-3.scope is not delegated to this user"),
        "{reason}"
    );
}

const MANAGER: &str = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service";
const SCOPE: &str =
    "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/belljar-7-00ff.scope";

/// A plain user, in a group that the user's own manager made: writable, and marked by nobody.
fn below_manager<'a>(groups: &'a str, controllers: &'a [(&'a str, &'a str)]) -> Pretended<'a> {
    Pretended {
        groups,
        mounts: UNIFIED,
        writable: &[MANAGER],
        controllers,
        // By the system manager, on its own unit.
        marked: &[MANAGER],
    }
}

#[test]
fn a_scope_that_belljar_asked_for_is_used() {
    let group = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/belljar-7-00ff.scope\n";
    let host = below_manager(group, &[(SCOPE, "cpu memory pids")]);
    assert_eq!(host.detect(), v2(SCOPE, &["cpu", "memory", "pids"]));
    // From outside: not writable, whatever its name.
    let host = Pretended {
        writable: &[],
        ..host
    };
    assert!(host.reason().contains("not delegated"), "{}", host.reason());
}

#[test]
fn units_of_a_users_own_manager_are_not_known_to_be_delegated() {
    // A desktop terminal, a user service, and what `systemd-run --user --scope -p Delegate=yes` makes: all look alike.
    for unit in ["app-term.scope", "x.service", "run-r1.scope"] {
        let group = format!("0::/user.slice/user-1000.slice/user@1000.service/app.slice/{unit}\n");
        let reason = below_manager(&group, &[]).reason();
        assert!(
            reason.ends_with(&format!("{unit} belongs to systemd and is not delegated")),
            "{reason}"
        );
    }
}

#[test]
fn what_the_system_manager_handed_to_a_user_is_used() {
    const BASE: &str = "/sys/fs/cgroup/system.slice/app.service";
    let host = |writable| Pretended {
        groups: "0::/system.slice/app.service\n",
        mounts: UNIFIED,
        writable,
        controllers: &[("/sys/fs/cgroup/system.slice/app.service", "cpu memory pids")],
        // Before systemd 251 there is no mark.
        marked: &[],
    };
    assert_eq!(host(&[BASE]).detect(), v2(BASE, &["cpu", "memory", "pids"]));
    let reason = host(&[]).reason();
    assert!(
        reason.ends_with("app.service is not delegated to this user"),
        "{reason}"
    );
}

#[test]
fn the_leaf_of_an_earlier_belljar_leads_to_the_folder_above() {
    let group =
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/belljar-7-00ff.scope/supervisor\n";
    let host = |writable| Pretended {
        writable,
        ..below_manager(group, &[(SCOPE, "memory pids")])
    };
    assert_eq!(host(&[MANAGER]).detect(), v2(SCOPE, &["memory", "pids"]));
    // Positive control: where the folder above is not ours, its controllers are not either.
    let leaf = format!("{SCOPE}/supervisor");
    assert!(
        host(&[leaf.as_str()])
            .reason()
            .contains("none of the controllers")
    );
    let top = Pretended {
        groups: "0::/supervisor\n",
        mounts: UNIFIED,
        writable: &["/"],
        controllers: &[("/sys/fs/cgroup", "memory")],
        ..Default::default()
    };
    assert_eq!(top.detect(), v2("/sys/fs/cgroup", &["memory"]));
}

#[test]
fn root_without_systemd_uses_its_own_group() {
    let host = Pretended {
        groups: "0::/\n",
        mounts: UNIFIED,
        writable: &["/"],
        controllers: &[("/sys/fs/cgroup", "cpuset cpu io memory hugetlb pids rdma misc")],
        ..Default::default()
    };
    assert_eq!(
        host.detect(),
        v2("/sys/fs/cgroup", &["cpuset", "cpu", "memory", "pids"])
    );
}

#[test]
fn root_under_systemd_needs_a_delegated_unit() {
    let base = "/sys/fs/cgroup/system.slice/belljar.service";
    let host = |marked| Pretended {
        groups: "0::/system.slice/belljar.service\n",
        mounts: UNIFIED,
        writable: &["/"],
        controllers: &[("/sys/fs/cgroup/system.slice/belljar.service", "cpu memory pids")],
        marked,
    };
    let reason = host(&[]).reason();
    assert!(
        reason.ends_with("belljar.service belongs to systemd and is not delegated"),
        "{reason}"
    );
    assert_eq!(host(&[base]).detect(), v2(base, &["cpu", "memory", "pids"]));
}

#[test]
fn nothing_mounted_says_so() {
    let host = Pretended {
        groups: "0::/\n",
        mounts: "22 27 0:21 / /proc rw,relatime - proc proc rw\n",
        writable: &["/"],
        ..Default::default()
    };
    assert_eq!(host.reason(), "no cgroup file system is mounted");
}

#[test]
fn blanks_in_a_mount_point_are_unescaped() {
    let host = Pretended {
        groups: "4:memory:/\n",
        mounts: "1 2 0:32 / /mnt/my\\040groups rw - cgroup cgroup rw,memory\n",
        writable: &["/mnt/my groups"],
        ..Default::default()
    };
    assert!(
        matches!(host.detect(), Hierarchy::V1 { memory: Some(path), .. } if path == Path::new("/mnt/my groups"))
    );
}
