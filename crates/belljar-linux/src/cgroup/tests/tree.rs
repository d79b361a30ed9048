//! Version 2 on a tree laid out as the kernel would: which files are written, with what, in which order.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use crate::cgroup::folder::Tree;
use crate::cgroup::owner::sweep_in;
use crate::cgroup::{CgroupError, Enforced, Group, Hierarchy, Limits, Owner};

/// Files that the kernel puts into a new group.
const FILES: [&str; 9] = [
    "cgroup.procs",
    "cgroup.kill",
    "memory.max",
    "memory.swap.max",
    "memory.oom.group",
    "memory.events",
    "pids.max",
    "cpu.max",
    "cpuset.cpus",
];

/// A tree in a temporary folder. Of the kernel's rules it keeps one: no controllers while the base holds processes.
#[derive(Clone)]
struct Laid {
    base: PathBuf,
    without: &'static str,
    writes: Arc<Mutex<Vec<String>>>,
    _folder: Arc<tempfile::TempDir>,
}

impl Laid {
    fn new(procs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().to_owned();
        std::fs::write(base.join("cgroup.procs"), procs).unwrap();
        std::fs::write(base.join("cgroup.subtree_control"), "").unwrap();
        Laid {
            base,
            without: "",
            writes: Arc::default(),
            _folder: Arc::new(folder),
        }
    }

    fn hierarchy(&self) -> Hierarchy {
        let controllers = ["cpu", "memory", "pids"].map(str::to_owned).to_vec();
        Hierarchy::V2 {
            base: self.base.clone(),
            controllers,
        }
    }

    fn create(&self, name: &str, limits: &Limits) -> Result<Group, CgroupError> {
        Group::create_in(Box::new(self.clone()), &self.hierarchy(), name, limits)
    }

    fn writes(&self) -> Vec<String> {
        std::mem::take(&mut *self.writes.lock().unwrap())
    }
}

impl Tree for Laid {
    fn is_cgroupfs(&self, _fd: BorrowedFd<'_>) -> bool {
        true
    }

    fn write(&self, _fd: BorrowedFd<'_>, file: &Path, value: &str) -> rustix::io::Result<()> {
        let shown = file.strip_prefix(&self.base).unwrap().display().to_string();
        let procs = self.base.join("cgroup.procs");
        let here = std::fs::read_to_string(&procs).unwrap();
        self.writes.lock().unwrap().push(format!("{shown}={value}"));
        match shown.as_str() {
            "cgroup.subtree_control" if !here.is_empty() => return Err(Errno::BUSY),
            "cgroup.subtree_control" => std::fs::write(file, value.replace('+', "")).unwrap(),
            "supervisor/cgroup.procs" if value == "404" => {
                std::fs::write(&procs, here.replace("404\n", "")).unwrap();
                return Err(Errno::SRCH);
            }
            "supervisor/cgroup.procs" => {
                std::fs::write(&procs, here.replace(&format!("{value}\n"), "")).unwrap()
            }
            _ if value == "1024" => return Err(Errno::INVAL),
            _ => std::fs::write(file, value).unwrap(),
        }
        Ok(())
    }

    fn made(&self, folder: &Path) {
        for file in FILES.iter().filter(|file| **file != self.without) {
            std::fs::write(folder.join(file), "").unwrap();
        }
    }

    fn removing(&self, folder: &Path) {
        for file in FILES {
            let _ = std::fs::remove_file(folder.join(file));
        }
    }
}

const LIMITS: Limits = Limits {
    memory: Some(64 << 20),
    swap: false,
    pids: Some(32),
    cpus: Some(0.5),
    cpusets: false,
};

#[test]
fn limits_are_written_in_order_and_only_in_the_new_group() {
    let tree = Laid::new("");
    let group = tree.create("belljar-1", &LIMITS).unwrap();
    let expected = [
        "cgroup.subtree_control=+memory +pids +cpu",
        "belljar-1/memory.max=67108864",
        "belljar-1/memory.swap.max=0",
        "belljar-1/memory.oom.group=1",
        "belljar-1/pids.max=32",
        "belljar-1/cpu.max=50000 100000",
    ];
    assert_eq!(tree.writes(), expected);
    assert_eq!(
        group.enforced(),
        Enforced {
            memory: true,
            no_swap: true,
            pids: true,
            cpu: true
        }
    );

    group.enter(77).unwrap();
    group.kill().unwrap();
    assert_eq!(
        tree.writes(),
        ["belljar-1/cgroup.procs=77", "belljar-1/cgroup.kill=1"]
    );
    group.remove().unwrap();
    assert!(!tree.base.join("belljar-1").exists());

    // Controllers that are on already are left alone.
    tree.create("belljar-2", &Limits::default()).unwrap();
    assert_eq!(tree.writes(), [""; 0]);
}

#[test]
fn processes_of_the_base_are_moved_to_a_leaf_first() {
    // 0 is a process that this pid namespace cannot name; 404 ends while it is being moved.
    let tree = Laid::new("11\n404\n22\n");
    let group = tree
        .create(
            "belljar-1",
            &Limits {
                pids: Some(5),
                ..Limits::default()
            },
        )
        .unwrap();
    let expected = [
        "cgroup.subtree_control=+memory +pids +cpu",
        "supervisor/cgroup.procs=11",
        "supervisor/cgroup.procs=404",
        "supervisor/cgroup.procs=22",
        "cgroup.subtree_control=+memory +pids +cpu",
        "belljar-1/pids.max=5",
    ];
    assert_eq!(tree.writes(), expected);
    assert_eq!(
        group.enforced(),
        Enforced {
            pids: true,
            ..Enforced::default()
        }
    );
}

#[test]
fn a_process_that_cannot_be_moved_is_an_error_and_nothing_is_made() {
    let tree = Laid::new("0\n");
    let error = tree.create("belljar-1", &LIMITS).unwrap_err();
    assert!(matches!(error, CgroupError::Occupied { .. }), "{error}");
    assert!(!tree.writes().iter().any(|write| write.ends_with("procs=0")));
    assert!(!tree.base.join("belljar-1").exists());
}

#[test]
fn a_refused_limit_removes_the_group() {
    let tree = Laid::new("");
    let error = tree
        .create(
            "belljar-1",
            &Limits {
                pids: Some(1024),
                ..LIMITS
            },
        )
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot write cgroup "), "{error}");
    assert!(!tree.base.join("belljar-1").exists());
    // Positive control: the same without the refused value stays.
    let group = tree.create("belljar-1", &LIMITS).unwrap();
    assert!(tree.base.join("belljar-1").exists());
    drop(group);
    assert!(!tree.base.join("belljar-1").exists());
}

#[test]
fn files_that_older_kernels_lack_are_told_or_done_without() {
    let no_swap_file = Laid {
        without: "memory.swap.max",
        ..Laid::new("")
    };
    let group = no_swap_file.create("belljar-1", &LIMITS).unwrap();
    assert_eq!(
        group.enforced(),
        Enforced {
            memory: true,
            no_swap: false,
            pids: true,
            cpu: true
        }
    );
    let no_limit_file = Laid {
        without: "memory.max",
        ..Laid::new("")
    };
    no_limit_file.create("belljar-1", &LIMITS).unwrap_err();
    let no_kill_file = Laid {
        without: "cgroup.kill",
        ..Laid::new("")
    };
    let group = no_kill_file.create("belljar-1", &LIMITS).unwrap();
    no_kill_file.writes();
    group.kill().unwrap();
    assert_eq!(no_kill_file.writes(), [""; 0]);
}

#[test]
fn missing_controllers_are_not_enforced() {
    let tree = Laid::new("");
    let hierarchy = Hierarchy::V2 {
        base: tree.base.clone(),
        controllers: vec!["pids".to_owned()],
    };
    let group = Group::create_in(Box::new(tree.clone()), &hierarchy, "belljar-1", &LIMITS).unwrap();
    assert_eq!(
        tree.writes(),
        ["cgroup.subtree_control=+pids", "belljar-1/pids.max=32"]
    );
    assert_eq!(
        group.enforced(),
        Enforced {
            pids: true,
            ..Enforced::default()
        }
    );
    assert!(group.oom_event().unwrap().is_none());
}

#[test]
fn a_group_is_kept_on_processors_where_the_controller_is_ours() {
    let tree = Laid::new("");
    let mut without = tree.create("belljar-1", &LIMITS).unwrap();
    tree.writes();
    assert!(!without.keep_on(&[1], None).unwrap());
    assert_eq!(tree.writes(), [""; 0]);
    let hierarchy = Hierarchy::V2 {
        base: tree.base.clone(),
        controllers: vec!["pids".to_owned(), "cpuset".to_owned()],
    };
    let mut with = Group::create_in(Box::new(tree.clone()), &hierarchy, "belljar-2", &LIMITS).unwrap();
    assert_eq!(
        tree.writes(),
        ["cgroup.subtree_control=+cpuset", "belljar-2/pids.max=32"]
    );
    assert!(with.keep_on(&[1, 3], None).unwrap());
    assert!(with.keep_on(&[0], None).unwrap(), "it can be moved");
    assert_eq!(
        tree.writes(),
        ["belljar-2/cpuset.cpus=1,3", "belljar-2/cpuset.cpus=0"]
    );
    let older = Laid {
        without: "cpuset.cpus",
        ..Laid::new("")
    };
    let hierarchy = Hierarchy::V2 {
        base: older.base.clone(),
        controllers: vec!["pids".to_owned(), "cpuset".to_owned()],
    };
    let mut group = Group::create_in(Box::new(older.clone()), &hierarchy, "belljar-1", &LIMITS).unwrap();
    assert!(!group.keep_on(&[1], None).unwrap());
}

#[test]
fn names_and_limits_are_checked_before_anything_is_touched() {
    let tree = Laid::new("");
    for name in [
        "memory.max",
        "belljar-/../x",
        "belljar-..",
        "supervisor",
        "",
        "belljar-a\0b",
    ] {
        let error = tree.create(name, &LIMITS).unwrap_err();
        assert!(matches!(error, CgroupError::Name { .. }), "{name}: {error}");
    }
    for cpus in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = tree
            .create(
                "belljar-1",
                &Limits {
                    cpus: Some(cpus),
                    ..LIMITS
                },
            )
            .unwrap_err();
        assert!(matches!(error, CgroupError::Cpus { .. }), "{cpus}: {error}");
    }
    assert_eq!(tree.writes(), [""; 0]);
}

#[test]
fn a_group_of_someone_else_is_neither_taken_nor_removed() {
    let tree = Laid::new("");
    let _first = tree.create("belljar-1", &LIMITS).unwrap();
    let error = tree.create("belljar-1", &LIMITS).unwrap_err();
    assert!(matches!(error, CgroupError::Exists { .. }), "{error}");
    assert!(tree.base.join("belljar-1/memory.max").exists());
}

#[test]
fn a_folder_that_is_not_on_cgroupfs_is_never_written() {
    let tree = Laid::new("");
    let error = Group::create(&tree.hierarchy(), "belljar-1", &LIMITS).unwrap_err();
    assert!(matches!(error, CgroupError::NotCgroupfs { .. }), "{error}");
    assert!(!tree.base.join("belljar-1").exists());
    assert_eq!(
        std::fs::read_to_string(tree.base.join("cgroup.subtree_control")).unwrap(),
        ""
    );
}

#[test]
fn sweep_takes_only_the_groups_of_dead_owners() {
    let tree = Laid::new("");
    let owner = |namespace, pid, start| {
        Owner {
            namespace,
            pid,
            start,
        }
        .name(0)
    };
    let (dead, reused, live) = (owner(1, 10, 5), owner(1, 20, 5), owner(1, 20, 6));
    let (foreign, strange) = (owner(2, 10, 5), "belljar-by-hand".to_owned());
    for name in [&dead, &reused, &live, &foreign, &strange] {
        std::fs::create_dir(tree.base.join(name)).unwrap();
    }
    let asked = RefCell::new(Vec::new());
    let alive = |pid, start| {
        asked.borrow_mut().push((pid, start));
        (pid, start) == (20, 6)
    };
    assert_eq!(sweep_in(&tree, 1, &tree.hierarchy(), &alive).unwrap(), 2);
    let left = |name: &String| tree.base.join(name).exists();
    assert_eq!(
        [&dead, &reused, &live, &foreign, &strange].map(left),
        [false, false, true, true, true]
    );
    assert_eq!(asked.borrow().len(), 3);
}

#[test]
fn an_owner_is_read_back_from_its_name_and_is_alive() {
    let own = Owner::current().unwrap();
    assert_eq!(Owner::parse(&own.name(7)), Some(own));
    assert!(Owner::is_alive(own.pid, own.start));
    assert!(!Owner::is_alive(own.pid, own.start + 1));
    for name in [
        "belljar-1-2-3",
        "belljar-1-2-3-4-5",
        "belljar-a-2-3-4",
        "other-1-2-3-4",
    ] {
        assert_eq!(Owner::parse(name), None, "{name}");
    }
}
