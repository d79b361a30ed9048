//! Groups on the real kernel, of whichever version has memory, pids and cpu here. Where no group can be made, each test
//! is skipped, and a tree of version 2 is tried by itself, with controllers or without.

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{CgroupError, Group, Hierarchy, Limits, Owner, detect, sweep};
use rustix::event::{PollFd, Timespec, poll};

#[path = "../../../tests/jar/skips.rs"]
mod skips;

/// The hierarchy of this host, if it has every controller.
fn whole(test: &str) -> Option<Hierarchy> {
    let found = detect();
    let is_whole = match &found {
        Hierarchy::V1 {
            memory, pids, cpu, ..
        } => memory.is_some() && pids.is_some() && cpu.is_some(),
        Hierarchy::V2 { controllers, .. } => ["memory", "pids", "cpu"]
            .iter()
            .all(|name| controllers.iter().any(|controller| controller == name)),
        Hierarchy::None { .. } | Hierarchy::Scope { .. } => false,
    };
    if !is_whole {
        skip(test);
    }
    is_whole.then_some(found)
}

/// That root can make no group is another matter than that nobody gave one to a plain user.
fn skip(test: &str) {
    let is_root = rustix::process::getuid().is_root();
    skips::skip(if is_root { "cgroup" } else { "user_cgroup" }, test);
}

fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Owner::current()
        .unwrap()
        .name(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A shell that waits for a line before it runs the script, so that it can be moved first.
fn waiting(script: &str) -> Child {
    let script = format!("read line; {script}");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

fn go(child: &mut Child) -> std::process::ExitStatus {
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    child.wait().unwrap()
}

/// Version 1 kills the process that is too big, and the shell tells of it; version 2 kills the shell too.
fn is_killed(status: std::process::ExitStatus) -> bool {
    status.code() == Some(137) || status.signal() == Some(libc::SIGKILL)
}

fn paths(group: &Group) -> Vec<PathBuf> {
    group.paths().map(Path::to_owned).collect()
}

fn ready(event: &belljar_linux::cgroup::OomEvent, wait: Duration) -> bool {
    let mut fds = [PollFd::new(event, event.poll_flags())];
    let wait = Timespec {
        tv_sec: wait.as_secs() as i64,
        tv_nsec: wait.subsec_nanos().into(),
    };
    poll(&mut fds, Some(&wait)).unwrap() == 1
}

/// Holds 96 MiB for a moment.
const HUNGRY: &str = "head -c 96m /dev/zero | tail -c 96m";

#[test]
fn memory_limit_kills_and_the_event_fires() {
    let Some(hierarchy) = whole("memory_limit_kills_and_the_event_fires") else {
        return;
    };
    let limits = Limits {
        memory: Some(32 << 20),
        ..Limits::default()
    };
    let group = Group::create(&hierarchy, &name(), &limits).unwrap();
    assert!(group.enforced().memory);
    // Version 2 has no such file where the kernel does not count swap.
    assert!(group.enforced().no_swap || matches!(hierarchy, Hierarchy::V2 { .. }));
    assert!(!group.enforced().pids && !group.enforced().cpu);
    let event = group.oom_event().unwrap().unwrap();
    assert!(!ready(&event, Duration::ZERO));

    let mut child = waiting(HUNGRY);
    group.enter(child.id()).unwrap();
    let status = go(&mut child);
    assert!(is_killed(status), "{status:?}");
    assert!(ready(&event, Duration::from_secs(2)));
    assert!(event.take());
    assert!(!ready(&event, Duration::ZERO));

    let stats = group.stats();
    assert!(stats.oom_kills >= 1, "{stats:?}");
    let peak = stats.memory_peak.unwrap();
    assert!((16 << 20..=32 << 20).contains(&peak), "{stats:?}");
    let made = paths(&group);
    group.remove().unwrap();
    assert!(made.iter().all(|path| !path.exists()));
}

#[test]
fn memory_below_the_limit_is_left_alone() {
    let Some(hierarchy) = whole("memory_below_the_limit_is_left_alone") else {
        return;
    };
    let limits = Limits {
        memory: Some(256 << 20),
        ..Limits::default()
    };
    let group = Group::create(&hierarchy, &name(), &limits).unwrap();
    let event = group.oom_event().unwrap().unwrap();
    let mut child = waiting(HUNGRY);
    group.enter(child.id()).unwrap();
    assert!(go(&mut child).success());
    assert!(!ready(&event, Duration::ZERO));
    let stats = group.stats();
    assert_eq!(stats.oom_kills, 0);
    assert!(stats.memory_peak.unwrap() > 90 << 20, "{stats:?}");
    group.remove().unwrap();
}

#[test]
fn pids_limit_denies_forks() {
    let Some(hierarchy) = whole("pids_limit_denies_forks") else {
        return;
    };
    let run = |tasks: u64| {
        let limits = Limits {
            pids: Some(tasks),
            ..Limits::default()
        };
        let group = Group::create(&hierarchy, &name(), &limits).unwrap();
        assert!(group.enforced().pids);
        let mut child = waiting("for i in 1 2 3 4 5 6; do sleep 0.2 & done; wait");
        group.enter(child.id()).unwrap();
        let status = go(&mut child);
        group.kill().unwrap();
        let stats = group.stats();
        group.remove().unwrap();
        (status.success(), stats)
    };
    let (held, stats) = run(4);
    assert!(!held && stats.pids_denied >= 1, "{stats:?}");
    let (free, stats) = run(20);
    assert!(free && stats.pids_denied == 0, "{stats:?}");
    assert!(stats.pids_peak.is_none_or(|peak| peak >= 7), "{stats:?}");
}

#[test]
fn cpu_limit_throttles() {
    let Some(hierarchy) = whole("cpu_limit_throttles") else {
        return;
    };
    let run = |cpus: f64| {
        let group = Group::create(
            &hierarchy,
            &name(),
            &Limits {
                cpus: Some(cpus),
                ..Limits::default()
            },
        )
        .unwrap();
        assert!(group.enforced().cpu);
        let mut child = waiting("exec timeout 0.5 sh -c 'while :; do :; done'");
        group.enter(child.id()).unwrap();
        go(&mut child);
        let stats = group.stats();
        group.remove().unwrap();
        stats.throttled_usec.unwrap()
    };
    // So little that the limit is reached on a busy machine too.
    let held = run(0.05);
    assert!(held > 50_000, "{held}");
    assert_eq!(run(8.0), 0);
}

/// Makes the command enter the group by itself, between fork and exec.
fn enter_by_itself(command: &mut Command, group: &Group) -> Vec<OwnedFd> {
    let fds = group.procs_fds().unwrap();
    let raw: Vec<i32> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let enter = move || {
        // SAFETY: write is async-signal-safe, the buffer is static, and the caller keeps the descriptors open.
        let all = raw
            .iter()
            .all(|fd| unsafe { libc::write(*fd, b"0".as_ptr().cast(), 1) } == 1);
        if all {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    };
    // SAFETY: the closure calls nothing but write.
    unsafe { command.pre_exec(enter) };
    fds
}

#[test]
fn a_child_enters_by_writing_0_to_a_passed_descriptor() {
    let Some(hierarchy) = whole("a_child_enters_by_writing_0_to_a_passed_descriptor") else {
        return;
    };
    let limits = Limits {
        memory: Some(32 << 20),
        pids: Some(16),
        cpus: Some(1.0),
        ..Limits::default()
    };
    let name = name();
    let group = Group::create(&hierarchy, &name, &limits).unwrap();
    let is_v2 = matches!(hierarchy, Hierarchy::V2 { .. });
    assert_eq!(group.clone_fd().is_some(), is_v2);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat /proc/self/cgroup"]);
    let fds = enter_by_itself(&mut command, &group);
    // The fourth counts processor time, where that is mounted apart.
    let trees_of_1 = match &hierarchy {
        Hierarchy::V1 { cpu, cpuacct, .. } if cpuacct.is_some() && cpuacct != cpu => 4,
        _ => 3,
    };
    assert_eq!(fds.len(), if is_v2 { 1 } else { trees_of_1 });
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let trees: &[&str] = if is_v2 {
        &["0::"]
    } else {
        &[":memory:", ":pids:", ":cpu:"]
    };
    for tree in trees {
        let line = text.lines().find(|line| line.contains(tree)).unwrap();
        assert!(line.ends_with(&format!("/{name}")), "{line}");
    }
    // `tasks` moves a thread, yet the memory of the whole process is charged to the group.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", HUNGRY])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let fds = enter_by_itself(&mut command, &group);
    assert!(is_killed(command.status().unwrap()));
    drop(fds);
    assert!(group.stats().oom_kills >= 1);
    group.remove().unwrap();
}

#[test]
fn kill_ends_every_process_and_leaves_others_alone() {
    let Some(hierarchy) = whole("kill_ends_every_process_and_leaves_others_alone") else {
        return;
    };
    let group = Group::create(
        &hierarchy,
        &name(),
        &Limits {
            pids: Some(64),
            ..Limits::default()
        },
    )
    .unwrap();
    let mut outside = Command::new("/bin/sleep").arg("60").spawn().unwrap();
    let mut inside = waiting("for i in 1 2 3 4 5; do sleep 60 & done; wait");
    group.enter(inside.id()).unwrap();
    inside.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let procs = paths(&group)[0].join("cgroup.procs");
    let count = || std::fs::read_to_string(&procs).unwrap().lines().count();
    let deadline = Instant::now() + Duration::from_secs(5);
    while count() < 6 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count(), 6);
    group.kill().unwrap();
    assert_eq!(count(), 0);
    assert_eq!(inside.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert_eq!(outside.try_wait().unwrap(), None);
    outside.kill().unwrap();
    outside.wait().unwrap();
    group.remove().unwrap();
}

#[test]
fn a_busy_group_is_not_removed_and_says_so() {
    let Some(hierarchy) = whole("a_busy_group_is_not_removed_and_says_so") else {
        return;
    };
    // An owner of an earlier boot time, so that the sweep cannot take the groups of tests that run beside this one.
    let gone = Owner {
        start: 1,
        ..Owner::current().unwrap()
    };
    let only = match hierarchy.clone() {
        Hierarchy::V1 { pids, .. } => Hierarchy::V1 {
            memory: None,
            pids,
            cpu: None,
            cpuacct: None,
            cpuset: None,
        },
        other => other,
    };
    let swept = || sweep(&only, &|pid, start| (pid, start) != (gone.pid, gone.start)).unwrap();

    let group = Group::create(
        &hierarchy,
        &gone.name(0),
        &Limits {
            pids: Some(8),
            ..Limits::default()
        },
    )
    .unwrap();
    let made = paths(&group);
    let mut child = waiting("true");
    group.enter(child.id()).unwrap();
    let before = Instant::now();
    let error = group.remove().unwrap_err();
    assert!(before.elapsed() >= Duration::from_millis(150));
    assert!(
        matches!(
            &error,
            CgroupError::Io {
                operation: "remove",
                ..
            }
        ),
        "{error}"
    );
    assert!(made[0].exists());
    assert_eq!(swept(), 0);
    go(&mut child);
    assert_eq!(swept(), 1);
    assert!(!made[0].exists());
}

#[test]
fn a_taken_name_removes_only_what_was_made() {
    let Some(hierarchy) = whole("a_taken_name_removes_only_what_was_made") else {
        return;
    };
    // On version 1 the last controller to be made refuses, and the first must not stay behind; version 2 has one folder.
    let (taken, first) = match &hierarchy {
        Hierarchy::V1 {
            memory: Some(memory),
            cpu: Some(cpu),
            ..
        } => (cpu, Some(memory)),
        Hierarchy::V2 { base, .. } => (base, None),
        _ => unreachable!("a whole hierarchy"),
    };
    let name = name();
    std::fs::create_dir(taken.join(&name)).unwrap();
    let limits = Limits {
        memory: Some(64 << 20),
        cpus: Some(1.0),
        ..Limits::default()
    };
    let error = Group::create(&hierarchy, &name, &limits).unwrap_err();
    assert!(matches!(error, CgroupError::Exists { .. }), "{error}");
    assert!(first.is_none_or(|first| !first.join(&name).exists()));
    assert!(taken.join(&name).exists());
    std::fs::remove_dir(taken.join(&name)).unwrap();
}

/// A group in the version 2 tree. A hybrid host has an empty one: no limits to be had, but all else is real.
fn v2(test: &str) -> Option<Group> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let base = mounts
        .lines()
        .find(|line| line.contains(" - cgroup2 "))
        .and_then(|line| line.split(' ').nth(4));
    let Some(base) = base.filter(|base| rustix::fs::access(*base, rustix::fs::Access::WRITE_OK).is_ok())
    else {
        skip(test);
        return None;
    };
    let hierarchy = Hierarchy::V2 {
        base: base.into(),
        controllers: Vec::new(),
    };
    let group = Group::create(
        &hierarchy,
        &name(),
        &Limits {
            pids: Some(4),
            ..Limits::default()
        },
    )
    .unwrap();
    assert!(!group.enforced().pids);
    Some(group)
}

#[test]
fn v2_groups_are_entered_killed_and_removed() {
    let Some(group) = v2("v2_groups_are_entered_killed_and_removed") else {
        return;
    };
    let mut child = waiting("while :; do sh -c :; done");
    group.enter(child.id()).unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while group.stats().cpu_usec == Some(0) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(group.stats().cpu_usec.unwrap() > 0);
    group.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    let made = paths(&group);
    group.remove().unwrap();
    assert!(!made[0].exists());
}

#[test]
fn v2_children_are_born_in_the_group() {
    let Some(group) = v2("v2_children_are_born_in_the_group") else {
        return;
    };
    let args = libc::clone_args {
        // libc's constant is 32 bits wide and so 0.
        flags: 0x2_0000_0000,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: group.clone_fd().unwrap().as_raw_fd() as u64,
        // SAFETY: every field is a number for which 0 means "not used".
        ..unsafe { std::mem::zeroed() }
    };
    // SAFETY: without CLONE_VM this is a fork; `args` is a live clone_args of the size given.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    if pid == 0 {
        // SAFETY: alarm takes a number; its signal ends the child if this test fails before it kills it.
        unsafe { libc::alarm(10) };
        loop {
            // SAFETY: pause takes nothing; the child does nothing else until it is killed.
            unsafe { libc::pause() };
        }
    }
    assert!(pid > 0, "{}", std::io::Error::last_os_error());
    let procs = std::fs::read_to_string(paths(&group)[0].join("cgroup.procs")).unwrap();
    assert_eq!(procs.trim(), pid.to_string());
    group.kill().unwrap();
    let pid = rustix::process::Pid::from_raw(pid as i32);
    let (_, status) = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty())
        .unwrap()
        .unwrap();
    assert_eq!(status.terminating_signal(), Some(libc::SIGKILL));
    group.remove().unwrap();
}

#[test]
fn a_plain_user_beside_root_gets_none_and_a_reason() {
    if !rustix::process::getuid().is_root() {
        return skips::skip("root", "a_plain_user_beside_root_gets_none_and_a_reason");
    }
    let Some(of_root) = whole("a_plain_user_beside_root_gets_none_and_a_reason") else {
        return;
    };
    // The raw call changes the ids of this thread alone, and the thread ends with the test.
    let found = std::thread::spawn(|| {
        // SAFETY: setresuid takes three plain numbers.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(changed, 0);
        detect()
    });
    let Hierarchy::None { reason } = found.join().unwrap() else {
        panic!("a plain user may write cgroups")
    };
    match of_root {
        Hierarchy::V1 { .. } => assert!(reason.contains("is not writable; run as root"), "{reason}"),
        _ => assert!(reason.contains("to this user"), "{reason}"),
    }
}
