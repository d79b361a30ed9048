//! Processes with a chosen number, those of others, and what PID 1 does about orphans.

use std::os::fd::{AsFd, OwnedFd};

use belljar_linux::pidfd::{self, Process};
use belljar_linux::process::{self, Namespaces};
use belljar_linux::signals;
use belljar_linux::userns::{self, IdMap};

#[path = "support/alone.rs"]
mod support;

use support::alone;

/// Runs `body` as PID 1 of a new pid namespace, in a user namespace of its own.
fn as_first(body: impl FnOnce()) {
    alone(|| {
        let map = IdMap {
            uid: 1000,
            gid: 1000,
            host_uid: rustix::process::geteuid().as_raw(),
            host_gid: rustix::process::getegid().as_raw(),
        };
        let first = process::start(Namespaces::USER.and(Namespaces::PID), || {
            userns::map_self(map).unwrap();
            body();
            0
        });
        assert_eq!(first.unwrap().wait().unwrap().code(), Some(0));
    });
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn sleep_forever() -> i32 {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
}

#[test]
fn a_process_gets_the_number_that_was_asked_for() {
    as_first(|| {
        let code = |child: process::Child| child.wait().unwrap().code();
        let child = process::start_numbered(Namespaces::NONE, 77, || i32::from(own_pid() != 77)).unwrap();
        assert_eq!((child.pid(), code(child)), (77, Some(0)));
        let inner = Namespaces::PID.and(Namespaces::USER);
        let child = process::start_numbered(inner, 4321, || i32::from(own_pid() != 1)).unwrap();
        assert_eq!((child.pid(), code(child)), (4321, Some(0)));
        let held = process::start_numbered(Namespaces::NONE, 50, sleep_forever).unwrap();
        let taken = process::start_numbered(Namespaces::NONE, 50, || 0).unwrap_err();
        assert_eq!(taken.raw_os_error(), Some(libc::EEXIST));
        held.kill().unwrap();
        held.wait().unwrap();
    });
}

#[test]
fn the_first_process_reaps_orphans_without_waiting() {
    as_first(|| {
        assert_eq!(process::reap_any().unwrap(), None, "no child at all");
        let (read, write) = std::io::pipe().unwrap();
        let parent = process::start(Namespaces::NONE, || {
            process::start(Namespaces::NONE, || 7).unwrap();
            rustix::io::write(&write, b"x").unwrap();
            sleep_forever()
        })
        .unwrap();
        // Killed before it has a child of its own, it would leave no orphan.
        rustix::io::read(&read, &mut [0; 1]).unwrap();
        assert_eq!(process::reap_any().unwrap(), None, "a child that runs");
        parent.kill().unwrap();
        let mut codes = Vec::new();
        let started = std::time::Instant::now();
        while codes.len() < 2 {
            assert!(started.elapsed().as_secs() < 60, "only {codes:?} ended");
            std::thread::sleep(std::time::Duration::from_millis(1));
            if let Some((_, ended)) = process::reap_any().unwrap() {
                assert!(ended.max_rss > 0);
                codes.push((ended.code(), ended.signal()));
            }
        }
        codes.sort_unstable();
        assert_eq!(codes, [(None, Some(libc::SIGKILL)), (Some(7), None)]);
    });
}

#[test]
fn ignored_children_are_reaped_by_the_kernel() {
    as_first(|| {
        signals::auto_reap();
        let child = process::start(Namespaces::NONE, || 3).unwrap();
        let gone = child.wait().unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ECHILD));
        signals::keep_children();
        let child = process::start(Namespaces::NONE, || 3).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3));
    });
}

/// Whether this kernel tells through a pidfd how a process ended.
fn tells() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

#[test]
fn a_process_of_another_is_killed_and_its_end_is_told() {
    alone(|| {
        let child = process::start(Namespaces::NONE, sleep_forever).unwrap();
        let other = Process::open(child.pid() as i32).unwrap();
        assert!(!other.is_ended().unwrap());
        assert_eq!(other.exit_info().unwrap(), None);
        assert_eq!(pidfd::number(other.as_fd()), tells().then_some(child.pid()));
        other.kill().unwrap();
        let ended = child.wait().unwrap();
        assert!(other.is_ended().unwrap());
        assert_eq!(pidfd::number(other.as_fd()), None);
        let told = other.exit_info().unwrap().map(|info| info.status);
        assert_eq!(told, tells().then_some(ended.status));
        other.kill().unwrap();

        let child = process::start(Namespaces::NONE, || 42).unwrap();
        let pidfd: OwnedFd = pidfd::open(child.pid() as i32).unwrap();
        let other = Process::adopt(pidfd, child.pid() as i32);
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(42));
        let told = pidfd::exit_info(other.as_fd()).unwrap().map(|info| info.status);
        assert_eq!(told, tells().then_some(ended.status));
        let gone = pidfd::open(child.pid() as i32).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
    });
}

#[test]
fn the_first_process_knows_when_it_is_alone() {
    as_first(|| {
        let only = process::start(Namespaces::NONE, || 3).unwrap();
        let reaped = process::reap_until(&only).unwrap();
        assert_eq!((reaped.ended.code(), reaped.alone), (Some(3), true));
        // One that leaves a process behind; it goes with this one.
        let (read, write) = std::io::pipe().unwrap();
        let parent = process::start(Namespaces::NONE, || {
            process::start(Namespaces::NONE, sleep_forever).unwrap();
            rustix::io::write(&write, b"x").unwrap();
            4
        })
        .unwrap();
        rustix::io::read(&read, &mut [0; 1]).unwrap();
        let reaped = process::reap_until(&parent).unwrap();
        assert_eq!((reaped.ended.code(), reaped.alone), (Some(4), false));
    });
}
