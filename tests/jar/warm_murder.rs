//! SIGKILL of any process of a cabinet: every job has exactly one answer, and the pool goes on.

use std::time::Duration;

use belljar::outcome::Status;
use belljar::{Error, Outcome, Pool, Sandbox};
use rustix::process::{Pid, Signal, kill_process};

use crate::glass::{code, jar, stdout, told};
use crate::warm::{pool, until};

/// Processes of the cabinets of this process, by what they are.
fn find(what: &str) -> Vec<i32> {
    let ours = std::process::id() as i32;
    let all: Vec<(i32, i32, Vec<i32>)> = std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| status(entry.file_name().to_str()?.parse().ok()?))
        .collect();
    let parent = |pid: i32| {
        all.iter()
            .find(|(other, ..)| *other == pid)
            .map(|(_, parent, _)| *parent)
    };
    let below = |pid: i32| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == ours);
    let outer = all
        .iter()
        .find(|(pid, ..)| *pid == ours)
        .map_or(1, |(_, _, pids)| pids.len());
    all.iter()
        .filter(|(pid, ..)| below(*pid) && *pid != ours)
        .filter(|(_, _, pids)| {
            let (depth, last) = (pids.len() - outer, pids.last().copied().unwrap_or(0));
            match what {
                "warden" => depth == 0,
                "builder" => depth == 1,
                "keeper" => depth == 2 && last == 1,
                "template" => depth == 2 && last != 1,
                "init" => depth == 3 && last == 1,
                _ => depth == 3 && last != 1,
            }
        })
        .map(|(pid, ..)| *pid)
        .collect()
}

/// A process's pid, its parent, and its pids in all namespaces.
fn status(pid: i32) -> Option<(i32, i32, Vec<i32>)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let pids = field("NSpid:")?
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    Some((pid, field("PPid:")?.trim().parse().ok()?, pids.collect()))
}

fn kill(what: &str) -> usize {
    let found = find(what);
    for pid in &found {
        if let Some(pid) = Pid::from_raw(*pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    found.len()
}

/// As [`kill`], and waits until all that goes with it is gone: a job that comes in between is delivered and lost.
fn kill_and_wait(what: &str) -> usize {
    let mut going = find(what);
    if what != "template" {
        going.extend(find("init"));
        going.extend(find("worker"));
    }
    let killed = kill(what);
    until("they are gone", || going.iter().all(|pid| !is_alive(*pid)));
    killed
}

/// A call that reaches a worker which was killed too, before the pool has heard of it, is lost; the pool goes on all the same.
fn goes_on(pool: &Pool, jar: &Sandbox) {
    until("the pool goes on", || {
        match pool.call::<i64>(jar, "lambda: 1", ()) {
            Ok(value) => value == 1,
            Err(Error::Lost { .. }) => false,
            Err(Error::Call(call)) if call.outcome.status == Status::Signalled => false,
            Err(error) => panic!("{error}"),
        }
    });
}

fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

both! {
    fn parked_workers_that_die_are_replaced(_who) {
        for victim in ["worker", "init"] {
            let (pool, jar) = (pool(), jar(|_| {}));
            pool.warm(&jar, 3).expect("workers");
            // A worker whose init is killed lives for a moment longer, and may run a job in it.
            let killed = if victim == "init" { kill_and_wait(victim) } else { kill(victim) };
            assert!(killed >= 3, "control: there are such");
            for number in 0..4i64 {
                assert_eq!(pool.call::<i64>(&jar, "lambda x: x", (number,)).expect("a value"), number, "{victim}");
            }
            assert!(pool.stats().lost >= 1, "{victim}: {:?}", pool.stats());
        }
    }

    fn cabinets_that_die_are_replaced(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        for victim in ["keeper", "builder", "warden", "template"] {
            pool.warm(&jar, 2).expect("workers");
            assert!(kill_and_wait(victim) >= 1, "control: there is a {victim}");
            for number in 0..4i64 {
                assert_eq!(pool.call::<i64>(&jar, "lambda x: x", (number,)).expect("a value"), number, "{victim}");
            }
        }
        let stats = pool.stats();
        assert_eq!((stats.cold, stats.busy, stats.queued), (0, 0, 0), "{stats:?}");
    }

    fn jobs_whose_jar_is_killed_have_one_answer(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        for victim in ["worker", "init", "keeper", "builder", "warden"] {
            let task = pool.spawn(&jar, code("import os, time\nfor _ in range(2):\n    if os.fork() == 0: os.setsid()\nprint('up', flush=True)\ntime.sleep(60)")).expect("a task");
            until("it runs", || pool.stats().busy == 1);
            std::thread::sleep(Duration::from_millis(150));
            assert!(kill(victim) >= 1, "control: there is a {victim}");
            let answer: Result<Outcome, Error> = task.wait();
            match answer {
                Ok(outcome) if victim == "worker" => assert_eq!((outcome.status, outcome.signal), (Status::Signalled, Some(9)), "{}", told(&outcome)),
                Ok(outcome) => assert_eq!(outcome.status, Status::Signalled, "{victim}: {}", told(&outcome)),
                Err(Error::Lost { .. }) if victim != "worker" => {}
                Err(error) => panic!("{victim}: {error}"),
            }
            goes_on(&pool, &jar);
        }
    }

    fn jobs_outlive_their_template(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let task = pool.spawn(&jar, code("import time; time.sleep(0.6); print('lived'); raise SystemExit(4)")).expect("a task");
        until("it runs", || pool.stats().busy == 1);
        std::thread::sleep(Duration::from_millis(100));
        assert!(kill("template") >= 1, "control: there is one");
        let outcome = task.wait().expect("an outcome");
        assert_eq!((stdout(&outcome).as_str(), outcome.status, outcome.exit_code), ("lived\n", Status::Exited, Some(4)), "{}", told(&outcome));
        assert_eq!(pool.call::<i64>(&jar, "lambda: 1", ()).expect("it goes on"), 1);
    }
}
