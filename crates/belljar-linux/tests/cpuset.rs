//! Groups that are kept on some processors, on the real kernel.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{Group, Hierarchy, Limits, Owner, detect, outer_cpuset, sweep};
use belljar_linux::process::processors;
use rustix::process::Pid;
use rustix::thread::CpuSet;

#[path = "../../../tests/jar/skips.rs"]
mod skips;

/// The hierarchy of this host, if groups can be kept on some of its processors.
fn whole(test: &str) -> Option<Hierarchy> {
    let found = detect();
    let is_whole = match &found {
        Hierarchy::V1 { cpu, cpuset, .. } => cpu.is_some() && cpuset.is_some(),
        Hierarchy::V2 { controllers, .. } => ["cpu", "cpuset"]
            .iter()
            .all(|name| controllers.iter().any(|controller| controller == name)),
        Hierarchy::None { .. } | Hierarchy::Scope { .. } => false,
    };
    if !is_whole {
        let is_root = rustix::process::getuid().is_root();
        skips::skip(if is_root { "cgroup" } else { "user_cgroup" }, test);
    }
    is_whole.then_some(found)
}

fn outer(hierarchy: &Hierarchy, name: &str) -> Group {
    let limits = Limits {
        cpusets: true,
        pids: Some(100),
        ..Limits::default()
    };
    Group::create(hierarchy, name, &limits).expect("a group")
}

fn inner(hierarchy: &Hierarchy, number: u64) -> Group {
    let limits = Limits {
        cpus: Some(1.0),
        pids: Some(100),
        ..Limits::default()
    };
    let name = Owner::current().expect("this process").name(number);
    Group::create(hierarchy, &name, &limits).expect("a group")
}

/// A shell whose children come and go, until it is killed or this process is gone: a test that fails leaves no crowd behind.
fn crowd() -> Child {
    let script = "read line; for i in 1 2 3 4 5 6 7 8; do (while kill -0 $PPID; do (:); done) & done; wait";
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("a shell")
}

fn members(group: &Group) -> Vec<Pid> {
    let path = group.paths().next().expect("a folder").join("cgroup.procs");
    let text = std::fs::read_to_string(path).expect("its processes");
    text.lines()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

fn allowed(pid: Pid) -> Option<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(Some(pid)).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

fn end(mut child: Child, group: &Group) {
    let since = Instant::now();
    while !members(group).is_empty() && since.elapsed() < Duration::from_secs(10) {
        let _ = group.kill();
    }
    let _ = child.wait();
}

fn only(cpu: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu);
    set
}

#[test]
fn a_crowd_is_kept_on_one_processor_and_cannot_leave_it() {
    let Some(hierarchy) = whole("a_crowd_is_kept_on_one_processor_and_cannot_leave_it") else {
        return;
    };
    let all = processors().expect("processors");
    let (here, there) = (all[all.len() - 1], all[0]);
    let own = Owner::current().expect("this process");
    let cabinet = outer(&hierarchy, &own.name(0));
    let mut group = inner(&hierarchy, 41);
    let mut child = crowd();
    cabinet.enter(child.id()).expect("in the outer group");
    group.enter(child.id()).expect("in its group");
    drop(child.stdin.take());
    while members(&group).len() < 8 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let shell = Pid::from_child(&child);
    // The control: until then it may be anywhere, and go anywhere.
    assert_eq!(allowed(shell), Some(all.clone()));
    rustix::thread::sched_setaffinity(Some(shell), &only(there)).expect("it may");
    let place = outer_cpuset(&hierarchy, std::process::id());
    assert_eq!(group.keep_on(&[here], place.as_deref()).ok(), Some(true));
    for _ in 0..50 {
        for pid in members(&group) {
            // One that has ended is nowhere.
            let at = allowed(pid).filter(|at| !at.is_empty());
            assert!(at.is_none() || at == Some(vec![here]), "{pid:?} is at {at:?}");
        }
    }
    let refused = rustix::thread::sched_setaffinity(Some(shell), &only(there));
    assert!(
        here == there || refused == Err(rustix::io::Errno::INVAL),
        "{refused:?}"
    );
    // What a process can read of its own place is a number; its own group's name is not in it.
    let line = std::fs::read_to_string(format!("/proc/{}/cgroup", child.id())).expect("its groups");
    if let Some(line) = line.lines().find(|line| line.contains(":cpuset:")) {
        assert!(line.ends_with(&format!("{}/41", own.name(0))), "{line}");
    }
    assert_eq!(
        group.keep_on(&[there], place.as_deref()).ok(),
        Some(true),
        "moved"
    );
    assert_eq!(allowed(shell), Some(vec![there]));
    let made: Vec<_> = group
        .paths()
        .chain(cabinet.paths())
        .map(ToOwned::to_owned)
        .collect();
    end(child, &group);
    group.remove().expect("removed");
    cabinet.remove().expect("removed");
    assert!(made.iter().all(|path| !path.exists()), "{made:?}");
}

#[test]
fn a_group_says_when_it_was_held_back() {
    let Some(hierarchy) = whole("a_group_says_when_it_was_held_back") else {
        return;
    };
    let group = inner(&hierarchy, 42);
    assert_eq!(group.throttled(), Some(0));
    let mut child = crowd();
    group.enter(child.id()).expect("in its group");
    drop(child.stdin.take());
    let since = Instant::now();
    while group.throttled() == Some(0) {
        assert!(since.elapsed() < Duration::from_secs(20), "never held back");
        std::thread::sleep(Duration::from_millis(10));
    }
    end(child, &group);
    group.remove().expect("removed");
}

#[test]
fn what_a_dead_owner_left_below_its_group_goes_with_it() {
    let Some(hierarchy) = whole("what_a_dead_owner_left_below_its_group_goes_with_it") else {
        return;
    };
    let own = Owner::current().expect("this process");
    let dead = Owner {
        pid: own.pid,
        start: own.start + 1,
        ..own
    };
    let mut kept = inner(&hierarchy, 43);
    let left = outer(&hierarchy, &dead.name(0));
    let folder = left.paths().last().expect("a folder").to_owned();
    // Where cpusets are a tree of their own, something lies below it.
    let below = matches!(hierarchy, Hierarchy::V1 { .. }).then_some(folder.as_path());
    assert_eq!(
        kept.keep_on(&[processors().expect("processors")[0]], below).ok(),
        Some(true)
    );
    std::mem::forget(left);
    sweep(&hierarchy, &Owner::is_alive).expect("swept");
    assert!(!folder.exists(), "{}", folder.display());
    kept.remove().expect("removed");
}
