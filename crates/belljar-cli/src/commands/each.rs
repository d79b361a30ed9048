//! `belljar run --each`: many scripts in one command, each in a jar of its own, on warm workers.
//!
//! This process is an engine here, not a warden: it may have threads, and never forks a guest.

mod crew;
mod scripts;
mod watch;

use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

use belljar::policy::WorkdirMode;
use belljar::pool::PoolStats;
use belljar::{Outcome, Policy, Pool};

use crate::args::{Many, Run};
use crate::failure::Failure;
use crate::printer::{Printer, Weight};
use crate::values::plain;
use crate::{dependencies, engine, exit, settings};

use crew::Crew;
pub use scripts::Script;
use watch::Signals;

/// Most scripts at once: each takes a thread and about twenty descriptors.
const MOST: u64 = 1024;

/// What became of a script.
#[derive(Debug)]
pub enum Ended {
    /// It ran.
    Ran(Box<Outcome>),
    /// belljar could not run it, or not take what it left.
    Failed(Failure),
    /// Everything was cancelled before its turn.
    NotBegun,
}

impl Ended {
    /// Whether it ran to its end with exit code 0.
    pub fn is_clean(&self) -> bool {
        matches!(self, Self::Ran(outcome) if outcome.success())
    }
}

/// Everything that there is to tell at the end.
#[derive(Debug)]
pub struct Report {
    /// The scripts, in the order given, and what became of each.
    pub scripts: Vec<(Script, Ended)>,
    /// Whether the caller ended it.
    pub cancelled: bool,
    /// From the first script's turn to the last one's end.
    pub wall: Duration,
    /// How many ran at once.
    pub jobs: usize,
    /// What the pool did.
    pub pool: PoolStats,
}

/// Runs each script in a jar; the exit code.
pub fn each(args: Run, printer: Printer) -> Result<i32, Failure> {
    let (names, guest_args) = args.python.split_each().map_err(|what| unfit(what, "scripts"))?;
    let jobs = jobs(&args.many)?;
    let mut policy = settings::policy(&args.policy)?;
    check(&policy, args.collecting.collect.is_some())?;
    let mut scripts = scripts::read(&names, &policy)?;
    let folder = super::folder(args.collecting.collect)?;
    if !policy.network.has_own_namespace() {
        printer.say(
            Weight::Warning,
            "THE NETWORK IS SHARED: the guests can reach whatever this host can (--network host)",
        );
    }
    let environment = dependencies::environment(&args.policy.dependencies, None, &mut policy, printer)?;
    let preload = (!args.many.preload.is_empty()).then_some(args.many.preload.as_slice());
    let sandbox = engine::sandbox(&policy, preload, environment)?;
    printer.memory(sandbox.plan().isolation());
    if let Some(folder) = &folder {
        make_folder(folder)?;
        scripts::name_folders(&mut scripts, folder);
    }
    // Dropped last: until nothing is left, no signal ends this process.
    let signals = Signals::take()?;
    let jobs = jobs.min(scripts.len());
    let pool = Pool::builder().ceiling(jobs).max_workers(2 * jobs + 2).build()?;
    let (crew, ends) = Crew::new(pool, sandbox, scripts::jobs(&mut scripts, &guest_args))?;
    let since = Instant::now();
    let (ended, cancelled) = watch::watch((&crew, ends, &signals), &scripts, jobs, &policy.limits, printer)?;
    let report = Report {
        scripts: scripts.into_iter().zip(ended).collect(),
        cancelled,
        wall: since.elapsed(),
        jobs,
        pool: crew.stats(),
    };
    printer.report(&report, args.many.timings)?;
    Ok(exit::of_all(&report))
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(Failure::new(format!(
            "cannot make {}: {}",
            folder.display(),
            plain(&error)
        ))),
        _ => Ok(()),
    }
}

fn unfit(what: &str, instead: &str) -> Failure {
    Failure::with_hint(
        format!("--each cannot be combined with {what}"),
        format!("it takes {instead}, such as `belljar run --each a.py b.py`"),
    )
}

/// How many scripts run at once.
fn jobs(many: &Many) -> Result<usize, Failure> {
    match many.jobs {
        Some(jobs @ 1..=MOST) => Ok(jobs as usize),
        Some(jobs) => Err(Failure::with_hint(
            format!("--jobs cannot be {jobs}: it is between 1 and {MOST}"),
            "write for example --jobs 4",
        )),
        None => Ok(std::thread::available_parallelism().map_or(1, NonZero::get)),
    }
}

/// What one run can have and several at once cannot.
fn check(policy: &Policy, collects: bool) -> Result<(), Failure> {
    let mode = policy.workdir.as_ref().map(|workdir| workdir.mode);
    let flag = match mode {
        Some(WorkdirMode::Draft) => "--draft",
        Some(WorkdirMode::Apply) => "--apply",
        Some(_) if collects => return Err(super::no_fresh_jar()),
        _ => return Ok(()),
    };
    Err(Failure::with_hint(
        format!(
            "--each cannot be combined with {flag}: the drafts of several scripts would not fit together"
        ),
        "run the scripts one by one",
    ))
}
