//! Managers that lie, are silent or are somebody else's, and limits that are not left. Real ones are in the virtual machines.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Instant;

use crate::cgroup::detect::{own_group, read};
use crate::cgroup::leave;
use crate::cgroup::scope::{ScopeError, await_move, enter_by};

const WELCOME: &[u8] = b"OK 0123456789abcdef0123456789abcdef\r\n";

/// The signal that a job is done, as far as it is read.
fn done() -> Vec<u8> {
    let mut message = vec![b'l', 4, 1, 1];
    for number in [0u32, 2, 0] {
        message.extend(number.to_le_bytes());
    }
    message
}

/// What becomes of asking a manager that says this and then no more.
fn asked(says: &[u8], closes: bool) -> Result<(), ScopeError> {
    let (ours, mut manager) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    manager.write_all(says).unwrap();
    let kept = (!closes).then_some(manager);
    let result = await_move(&OwnedFd::from(ours), "belljar-1-0.scope", Instant::now());
    drop(kept);
    result
}

#[test]
fn a_manager_that_says_done_and_moves_nobody_is_not_believed() {
    let lie = [WELCOME, &done(), &done()].concat();
    assert!(matches!(asked(&lie, false), Err(ScopeError::Late)));
    // Positive control: a process that is in the unit is told so, whatever was said.
    let own = own_group(&read).expect("a version 2 group");
    let unit = own.rsplit('/').next().unwrap();
    let (ours, _manager) = UnixStream::pair().unwrap();
    await_move(&OwnedFd::from(ours), unit, Instant::now()).unwrap();
}

#[test]
fn a_manager_that_is_silent_or_talks_nonsense_is_given_up() {
    assert!(matches!(asked(b"", false), Err(ScopeError::Late)));
    for nonsense in [
        b"REJECTED EXTERNAL\r\n".to_vec(),
        vec![b'x'; 5000],
        [WELCOME, &[b'x'; 64]].concat(),
    ] {
        let result = asked(&nonsense, false);
        assert!(matches!(result, Err(ScopeError::NoAnswer(_))), "{result:?}");
    }
    let mut endless = [WELCOME, &done()].concat();
    endless[WELCOME.len() + 4..WELCOME.len() + 8].copy_from_slice(&(1u32 << 31).to_le_bytes());
    assert!(matches!(asked(&endless, false), Err(ScopeError::NoAnswer(_))));
    assert!(matches!(asked(WELCOME, true), Err(ScopeError::NoAnswer(_))));
}

#[test]
fn a_socket_that_is_not_the_managers_is_told_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private");
    let uid = rustix::process::geteuid().as_raw();
    assert!(matches!(
        enter_by(path.clone(), uid),
        Err(ScopeError::NoManager { .. })
    ));
    let listener = UnixListener::bind(&path).unwrap();
    // This test is the user, but no service manager; and nobody's manager is another user's.
    for uid in [uid, uid + 1] {
        let result = enter_by(path.clone(), uid);
        assert!(matches!(result, Err(ScopeError::Stranger { .. })), "{result:?}");
        let (mut caller, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        caller.read_to_end(&mut heard).unwrap();
        assert!(heard.is_empty(), "{heard:?}");
    }
}

#[test]
fn a_full_backlog_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    // Nobody accepts, so that even callers that have given up stay in it.
    let mut results = (0..64).map(|_| enter_by(path.clone(), u32::MAX));
    let result = results.find(|result| !matches!(result, Err(ScopeError::Stranger { .. })));
    let result = result.expect("the backlog fills");
    assert!(matches!(result, Err(ScopeError::NoManager { .. })), "{result:?}");
}

const SLICE: &str = "/user.slice/user-1000.slice/user@1000.service/app.slice";
const MOUNT: &str = "1 2 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

/// The limit that a process would leave, where these files say something.
fn left(own: &str, files: &[(&str, &str)]) -> Option<String> {
    let mut all: BTreeMap<String, String> = files
        .iter()
        .map(|(path, text)| (format!("/sys/fs/cgroup/{path}"), format!("{text}\n")))
        .collect();
    all.insert("/proc/self/mountinfo".into(), MOUNT.into());
    all.insert("/proc/sys/kernel/pid_max".into(), "4194304\n".into());
    all.insert("/proc/sys/kernel/threads-max".into(), "15376\n".into());
    leave::limit(own, SLICE, &|path: &Path| all.get(path.to_str()?).cloned())
}

#[test]
fn a_session_is_left_and_a_limited_service_is_not() {
    let session = "/user.slice/user-1000.slice/session-3.scope";
    let free = [
        ("user.slice/user-1000.slice/session-3.scope/memory.max", "max"),
        ("user.slice/user-1000.slice/session-3.scope/cpu.max", "max 100000"),
        ("user.slice/user-1000.slice/session-3.scope/pids.max", "max"),
        // Both hold for the scope of one's own as well.
        ("user.slice/user-1000.slice/pids.max", "5074"),
        ("user.slice/user-1000.slice/memory.max", "4294967296"),
    ];
    assert_eq!(left(session, &free), None);

    let service = "/system.slice/app.service";
    assert_eq!(
        left(service, &[("system.slice/app.service/pids.max", "2306")]),
        None
    );
    for (file, value) in [
        ("system.slice/app.service/memory.max", "1073741824"),
        ("system.slice/app.service/memory.high", "1073741824"),
        ("system.slice/app.service/cpu.max", "50000 100000"),
        ("system.slice/app.service/pids.max", "20"),
        ("system.slice/app.service/cpuset.cpus", "0"),
        ("system.slice/memory.max", "1073741824"),
    ] {
        let limit = left(service, &[(file, value)]);
        assert_eq!(limit, Some(format!("/sys/fs/cgroup/{file} = {value}")));
    }
}

#[test]
fn a_group_that_cannot_be_seen_is_not_left() {
    let own = "/../../other";
    assert!(left(own, &[]).is_some());
}
