//! SIGKILL of the warden, the jar's init or the guest at any moment: all of it is gone within a second, and the caller
//! has exactly one answer.

use std::time::{Duration, Instant};

use belljar::outcome::Status;
use belljar::{Error, Outcome, Process};
use rustix::process::{Pid, Signal, kill_process};

use crate::glass::{code, jar, told};
use crate::warm_pairs::Chance;
use crate::{ending, leaks};

/// A guest with children of its own that ignore everything.
const FAMILY: &str = "\
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True: time.sleep(1)
time.sleep(60)";

fn children_of(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The jar's init: the child that is PID 1 to itself. A warden has other helpers for moments.
pub fn init_of(warden: u32) -> Option<u32> {
    children_of(warden).into_iter().find(|pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status
            .lines()
            .any(|line| line.starts_with("NSpid:") && line.ends_with("\t1"))
    })
}

fn guest_of(warden: u32) -> Option<u32> {
    children_of(init_of(warden)?).first().copied()
}

/// Whether it has become the guest's program.
fn is_python(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.starts_with("python")
}

fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills one of the three after a while; gives the answer of the library.
fn murder(victim: &str, after: Duration) -> Result<Outcome, Error> {
    let running = jar(|_| {}).spawn_job(code(FAMILY)).expect("a job");
    std::thread::sleep(after);
    let warden = running.warden_pid();
    let found = match victim {
        "warden" => Some(warden),
        "init" => init_of(warden),
        _ => guest_of(warden),
    };
    // Early on there may be none yet; then the run is ended by its caller.
    match found {
        Some(pid) => kill(pid),
        None => running.kill(),
    }
    let answer = running.wait();
    let left = ending::wait(leaks::family);
    assert_eq!(left, Vec::<String>::new(), "left by the {victim} after {after:?}");
    answer
}

/// Moments spread over the start of a run and its middle, different each time a test runs.
fn moments(count: u64) -> impl Iterator<Item = Duration> {
    let mut chance = Chance::new();
    (0..count).map(move |_| Duration::from_micros(chance.next(120_000) as u64))
}

both! {
    fn lost_init_is_told_by_its_name(_who) {
        let running = jar(|_| {}).spawn_job(code("import time; time.sleep(60)")).expect("a job");
        let since = Instant::now();
        // There is a guest once the jar is built, so that nothing else can have failed.
        while guest_of(running.warden_pid()).is_none_or(|guest| !is_python(guest)) {
            assert!(since.elapsed() < Duration::from_secs(120), "no guest");
            std::thread::sleep(Duration::from_millis(2));
        }
        kill(init_of(running.warden_pid()).expect("an init"));
        match running.wait() {
            Err(Error::Lost { process: Process::JarInit, how }) => assert!(how.contains("0x9"), "{how}"),
            other => panic!("{other:?}"),
        }
    }

    fn killed_warden_takes_everything_along(_who) {
        for after in moments(18) {
            match murder("warden", after) {
                Err(Error::Lost { process: Process::Warden, .. }) => {}
                other => panic!("after {after:?}: {other:?}"),
            }
        }
    }

    fn killed_init_takes_the_guest_along(_who) {
        for after in moments(16) {
            match murder("init", after) {
                Err(Error::Lost { process: Process::JarInit, .. } | Error::Setup { .. }) => {}
                Ok(outcome) if matches!(outcome.status, Status::Signalled | Status::Cancelled) => {}
                other => panic!("after {after:?}: {other:?}"),
            }
        }
    }

    fn killed_guest_is_told_as_killed(_who) {
        for after in moments(16) {
            match murder("guest", after) {
                Ok(outcome) if outcome.status == Status::Signalled && outcome.signal == Some(9) => {}
                Ok(outcome) if outcome.status == Status::Cancelled => {}
                Ok(outcome) => panic!("after {after:?}: {}", told(&outcome)),
                // Before it was the guest: the last step of building had not been done.
                Err(Error::Setup { .. } | Error::Lost { .. }) => {}
                Err(error) => panic!("after {after:?}: {error}"),
            }
        }
    }

    fn caller_may_cancel_at_any_moment_and_twice(_who) {
        for after in moments(12) {
            let running = jar(|_| {}).spawn_job(code(FAMILY)).expect("a job");
            std::thread::sleep(after);
            running.kill();
            running.kill();
            match running.wait() {
                Ok(outcome) => assert_eq!(outcome.status, Status::Cancelled, "after {after:?}: {}", told(&outcome)),
                Err(error) => panic!("after {after:?}: {error}"),
            }
        }
        // Too late: the outcome is what it was.
        let running = jar(|_| {}).spawn_job(code("print('done')")).expect("a job");
        std::thread::sleep(Duration::from_millis(1500));
        running.kill();
        let outcome = running.wait().expect("an outcome");
        assert_eq!(outcome.status, Status::Returned, "{}", told(&outcome));
    }

    fn warden_that_was_stopped_for_a_while_goes_on(_who) {
        let running = jar(|_| {}).spawn_job(code("import time\nfor i in range(30): print(i); time.sleep(0.02)")).expect("a job");
        let warden = Pid::from_raw(i32::try_from(running.warden_pid()).expect("a pid")).expect("a pid");
        for _ in 0..10 {
            kill_process(warden, Signal::STOP).expect("to stop it");
            std::thread::sleep(Duration::from_millis(30));
            kill_process(warden, Signal::CONT).expect("to let it go on");
            std::thread::sleep(Duration::from_millis(15));
        }
        let outcome = running.wait().expect("an outcome");
        assert_eq!(outcome.status, Status::Returned, "{}", told(&outcome));
        assert!(outcome.stdout.text().ends_with("28\n29\n"));
    }

    fn stopped_guest_meets_its_deadline(_who) {
        let jar = jar(|policy| policy.limits.timeout = Some(Duration::from_secs(1)));
        let running = jar.spawn_job(code(FAMILY)).expect("a job");
        std::thread::sleep(Duration::from_millis(300));
        let guest = guest_of(running.warden_pid()).expect("a guest");
        let pid = Pid::from_raw(i32::try_from(guest).expect("a pid")).expect("a pid");
        kill_process(pid, Signal::STOP).expect("to stop it");
        let outcome = running.wait().expect("an outcome");
        assert_eq!(outcome.status, Status::TimedOut, "{}", told(&outcome));
        assert!(outcome.usage.wall_seconds < 2.0);
    }
}
