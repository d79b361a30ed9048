//! Short ways to start a jar.

use std::sync::Mutex;
use std::time::Duration;

use belljar::host::{Cgroup, Host};
use belljar::job::{Job, Program};
use belljar::outcome::Status;
use belljar::{Error, Outcome, Plan, Policy, Pool, Sandbox};

use crate::skips::skip;

/// A jar under the default policy, changed, with a deadline that a hanging test meets soon.
pub fn jar(change: impl FnOnce(&mut Policy)) -> Sandbox {
    let mut policy = Policy::default();
    policy.limits.timeout = Some(Duration::from_secs(20));
    change(&mut policy);
    Sandbox::new(policy).expect("a sandbox")
}

/// A job of Python code.
pub fn code(source: &str) -> Job {
    Job::new(Program::Code {
        source: source.into(),
        from_stdin: false,
    })
}

/// A script with a file of its own, as `multiprocessing` needs it.
pub fn script(source: &str) -> Job {
    Job::new(Program::Script {
        source: source.into(),
        name: "script.py".into(),
    })
}

/// A program with arguments.
pub fn program(words: &[&str]) -> Job {
    let mut job = Job::new(Program::Command(words[0].into()));
    job.args = words[1..].iter().map(Into::into).collect();
    job
}

/// The pool of a test that shall run on parked workers.
static POOL: Mutex<Option<Pool>> = Mutex::new(None);
/// Reasons to run cold that are the job's own or its plan's.
const OWN_REASONS: [&str; 3] = [
    "the program is not Python",
    "a draft belongs to one run",
    "a template is not shown a folder of the host that can be written",
];

/// Runs a test with its jobs on the workers of one pool.
pub fn on_workers(test: impl FnOnce()) {
    *POOL.lock().expect("a lock") = Some(Pool::new().expect("a pool"));
    test();
    // Gone before anyone looks for what is left.
    drop(POOL.lock().expect("a lock").take());
}

/// A job of a test that runs both ways.
pub trait Either {
    /// Cold, or on a worker where the test says so; then for no other reason cold than the job's own.
    fn either(&self, job: Job) -> Result<Outcome, Error>;
}

impl Either for Sandbox {
    fn either(&self, job: Job) -> Result<Outcome, Error> {
        let pool = POOL.lock().expect("a lock").clone();
        let Some(pool) = pool else {
            return self.run_job(job);
        };
        let outcome = pool.run(self, job)?;
        let why = outcome.cold.as_deref();
        assert!(why.is_none_or(|why| OWN_REASONS.contains(&why)), "{why:?}");
        Ok(outcome)
    }
}

/// Runs code under the default policy.
pub fn run(source: &str) -> Outcome {
    jar(|_| {}).either(code(source)).expect("an outcome")
}

/// Runs code under a changed policy.
pub fn run_with(source: &str, change: impl FnOnce(&mut Policy)) -> Outcome {
    jar(change).either(code(source)).expect("an outcome")
}

/// The plan of a policy, to be tampered with.
pub fn plan(change: impl FnOnce(&mut Policy)) -> Plan {
    jar(change).plan().clone()
}

/// Whether the jars that this user starts are limited as a whole: in memory, processes and processors.
pub fn has_cgroup() -> bool {
    match Host::probe().cgroup {
        Cgroup::V1 {
            memory, pids, cpu, ..
        } => memory.is_some() && pids.is_some() && cpu.is_some(),
        Cgroup::V2 { controllers, .. } => {
            let has = |name: &str| controllers.iter().any(|found| found == name);
            has("memory") && has("pids") && has("cpu")
        }
        _ => false,
    }
}

/// The same, with a skip where it is not so.
pub fn needs_cgroup(test: &str) -> bool {
    let here = has_cgroup();
    if !here {
        no_cgroup(test);
    }
    here
}

/// Skips a test that needs a cgroup. That root has none is another matter than that nobody gave one to a plain user.
pub fn no_cgroup(test: &str) {
    let is_root = rustix::process::getuid().is_root();
    skip(if is_root { "cgroup" } else { "user_cgroup" }, test);
}

/// Standard output as text, whole.
pub fn stdout(outcome: &Outcome) -> String {
    assert_eq!(outcome.stdout.dropped, 0);
    String::from_utf8_lossy(&[&outcome.stdout.head[..], &outcome.stdout.tail].concat()).into_owned()
}

/// Fails with all that is known unless the outcome is this.
#[track_caller]
pub fn expect(outcome: &Outcome, status: Status) {
    assert_eq!(outcome.status, status, "{}", told(outcome));
}

/// An outcome for people who look for the reason of a failed test.
pub fn told(outcome: &Outcome) -> String {
    format!(
        "{:?}, limit {:?}, exit code {:?}, signal {:?}\nexception: {}\nstdout: {}\nstderr: {}",
        outcome.status,
        outcome.limit,
        outcome.exit_code,
        outcome.signal,
        outcome.exception.as_ref().map_or("", |error| &error.traceback),
        outcome.stdout.text(),
        outcome.stderr.text()
    )
}
