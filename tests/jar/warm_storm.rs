//! SIGKILL of anyone at random moments, while jobs run: every job has exactly one answer, what goes with the dead is gone
//! too, and the pool goes on.
//!
//! 50 kills unless `BELLJAR_STORM` says otherwise.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use belljar::outcome::Status;
use belljar::{Error, Job, Pool};
use rustix::process::{Pid, Signal, kill_process};

use crate::glass::{code, jar};
use crate::support::procfs;
use crate::warm_pairs::Chance;
use crate::{ending, leaks};

/// Set in the process that is the engine.
const ENGINE: &str = "BELLJAR_STORM_ENGINE";
/// Callers at once.
const CALLERS: usize = 3;
/// When a pool that has not recovered never will.
const RECOVERED: Duration = Duration::from_secs(120);
const VICTIMS: [&str; 7] = [
    "engine", "warden", "builder", "keeper", "template", "init", "worker",
];

/// What jobs do: nothing, sleep, leave daemons, print, use memory.
fn jobs(number: usize) -> Job {
    code(match number % 5 {
        0 => "print(1)",
        1 => "import time; time.sleep(0.02)",
        2 => {
            "import os, time\nfor _ in range(2):\n    if os.fork() == 0: os.setsid(); time.sleep(60)\ntime.sleep(0.03)"
        }
        3 => "print('x' * 100000)",
        _ => "x = bytearray(8 << 20); import time; time.sleep(0.01)",
    })
}

/// A small program that uses the library: jobs without end, a line for each beginning and each answer.
#[test]
fn the_engine_of_the_storm() {
    if std::env::var_os(ENGINE).is_none() {
        return;
    }
    let (pool, jar) = (Pool::new().expect("a pool"), jar(|_| {}));
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (pool, jar, over) = (&pool, &jar, over.clone());
            scope.spawn(move || {
                for number in 0.. {
                    if over.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    println!("begin {caller}.{number}");
                    let answer = match pool.run(jar, jobs(number)) {
                        Ok(outcome) if outcome.status == Status::Returned => match outcome.cold {
                            None => "warm".to_owned(),
                            Some(reason) => format!("cold {reason}"),
                        },
                        Ok(outcome) => format!("{:?} {:?}", outcome.status, outcome.signal),
                        Err(error @ (Error::Lost { .. } | Error::Setup { .. } | Error::Warden { .. })) => {
                            format!("typed {error}")
                        }
                        Err(error) => format!("wrong {error}"),
                    };
                    println!("end {caller}.{number} {answer}");
                }
            });
        }
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    println!("stats {:?}", pool.stats());
}

/// An engine, and what it has said.
struct Engine {
    process: Child,
    said: Arc<Mutex<Said>>,
    reader: std::thread::JoinHandle<()>,
}

#[derive(Default)]
struct Said {
    /// Answers by job; none while it runs.
    jobs: BTreeMap<String, Vec<String>>,
    warm: usize,
    rest: Vec<String>,
}

impl Engine {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "warm_storm::the_engine_of_the_storm",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ENGINE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an engine");
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let said = Arc::new(Mutex::new(Said::default()));
        let heard = said.clone();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut said = heard.lock().expect("a lock");
                // The harness prints its own words before the first one.
                let line = line.split_once("... ").map_or(line.as_str(), |(_, rest)| rest);
                let mut words = line.splitn(3, ' ');
                match (words.next(), words.next(), words.next()) {
                    (Some("begin"), Some(job), None) => drop(said.jobs.insert(job.into(), Vec::new())),
                    (Some("end"), Some(job), Some(answer)) => {
                        said.warm += usize::from(answer == "warm");
                        said.jobs.entry(job.into()).or_default().push(answer.into());
                    }
                    _ => said.rest.push(line.into()),
                }
            }
        });
        Self {
            process,
            said,
            reader,
        }
    }

    fn warm(&self) -> usize {
        self.said.lock().expect("a lock").warm
    }

    fn told(&self) -> String {
        let said = self.said.lock().expect("a lock");
        let answers = said
            .jobs
            .iter()
            .rev()
            .take(12)
            .map(|(job, answers)| format!("{job} {answers:?}"));
        format!(
            "{} warm; {:?}; {:?}",
            said.warm,
            answers.collect::<Vec<_>>(),
            said.rest
        )
    }

    /// Lets its jobs end, and gives what was said; each job has exactly one answer.
    fn finish(mut self) -> Said {
        drop(self.process.stdin.take());
        let since = Instant::now();
        while self.process.try_wait().expect("to wait").is_none() {
            assert!(
                since.elapsed() < RECOVERED,
                "the engine does not end: {}",
                self.told()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        self.reader.join().expect("its words");
        let said = std::mem::take(&mut *self.said.lock().expect("a lock"));
        for (job, answers) in &said.jobs {
            assert_eq!(answers.len(), 1, "{job}: {answers:?}; {:?}", said.rest);
            assert!(!answers[0].starts_with("wrong"), "{job}: {answers:?}");
        }
        said
    }

    /// Processes of one kind below the engine.
    fn find(&self, what: &str) -> Vec<u32> {
        let outer = procfs::numbers(std::process::id())
            .expect("our own numbers")
            .len();
        let fits = |(pid, numbers): (u32, Vec<u32>)| {
            let (depth, first) = (numbers.len().saturating_sub(outer), numbers.last() == Some(&1));
            let wanted = match what {
                "warden" => (0, false),
                "builder" => (1, true),
                "keeper" => (2, true),
                "template" => (2, false),
                "init" => (3, true),
                _ => (3, false),
            };
            ((depth, first) == wanted && procfs::alive(pid)).then_some(pid)
        };
        let family = procfs::family(self.process.id());
        family.into_iter().filter_map(fits).collect()
    }
}

/// Processes, and when each started.
fn known(pids: Vec<u32>) -> Vec<(u32, u64)> {
    let start = |pid: u32| Some((pid, procfs::started(pid)?));
    pids.into_iter().filter_map(start).collect()
}

/// Waits until none of these is alive.
fn gone(processes: &[(u32, u64)], what: &str) {
    let is_left = |(pid, start): &&(u32, u64)| procfs::alive(*pid) && procfs::started(*pid) == Some(*start);
    let left = ending::wait(|| processes.iter().filter(is_left).map(|(pid, _)| *pid).collect());
    assert_eq!(left, Vec::<String>::new(), "left by the {what}");
}

/// Whether there was somebody to be killed.
fn kill(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

both! {
    fn whoever_is_killed_jobs_have_answers_and_the_pool_goes_on(_who) {
        let kills: usize = std::env::var("BELLJAR_STORM").map_or(50, |text| text.parse().expect("a number"));
        let mut chance = Chance::new();
        let mut engine = Engine::start();
        let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
        let mut done = 0;
        let mut since_kill = Instant::now();
        while done < kills {
            std::thread::sleep(Duration::from_micros(chance.next(60_000) as u64));
            // Each in its turn; only the moment is chance.
            let what = VICTIMS[done * 3 % VICTIMS.len()];
            if what == "engine" {
                let mut family = procfs::descendants(engine.process.id());
                family.push(engine.process.id());
                let family = known(family);
                engine.process.kill().expect("to kill it");
                engine.process.wait().expect("its end");
                gone(&family, "engine");
                assert_eq!(ending::wait(leaks::family), Vec::<String>::new(), "left by the engine");
                engine = Engine::start();
            } else {
                // At some moments there is none.
                let found = engine.find(what);
                let Some(victim) = found.get(chance.next(found.len())).copied() else {
                    assert!(since_kill.elapsed() < RECOVERED, "no {what} to be killed: {}", engine.told());
                    continue;
                };
                let mut family = match what {
                    "warden" | "builder" | "keeper" => procfs::descendants(victim),
                    _ => Vec::new(),
                };
                family.push(victim);
                let family = known(family);
                // One that has ended meanwhile was not killed.
                if !kill(victim) {
                    continue;
                }
                gone(&family, what);
            }
            done += 1;
            since_kill = Instant::now();
            *counted.entry(what).or_default() += 1;
            // Somebody is served on a parked worker again, or still.
            if done % 5 == 0 {
                let (before, since) = (engine.warm(), Instant::now());
                while engine.warm() < before + CALLERS {
                    assert!(since.elapsed() < RECOVERED, "no warm job after {what}: {}", engine.told());
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
        let said = engine.finish();
        println!("{counted:?}; the last engine had {} jobs, {} warm; {:?}", said.jobs.len(), said.warm, said.rest.last());
        assert!(VICTIMS.iter().all(|what| counted.contains_key(what)), "{counted:?}");
        // A killed engine leaves the folders of its cgroups, which the next run sweeps away.
        crate::glass::run("print(1)");
    }
}
