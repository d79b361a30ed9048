//! Warm calls beside a process pool, fresh workers beside a bare fork, and what they cost: times, memory, numbers.

mod baseline;
mod burst;
mod memory;
mod neighbours;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use belljar::{Job, Pool, Sandbox};
use serde::{Deserialize, Serialize};

use crate::bench::{Machine, Sample, Stage, User};

/// What `warm` takes.
#[derive(clap::Args)]
pub struct Args {
    /// The release binary
    #[arg(long, default_value = "target/release/belljar")]
    belljar: PathBuf,
    /// The interpreter that everyone runs
    #[arg(long, default_value = "/usr/bin/python3")]
    python: PathBuf,
    /// A virtualenv of that interpreter with numpy and pandas
    #[arg(long)]
    venv: Option<PathBuf>,
    /// Calls of each kind
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Seconds of each sustained run
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Parked workers of the largest pool
    #[arg(long, default_value_t = 500)]
    parked: usize,
    /// Jobs at once beside them
    #[arg(long, default_value_t = 200)]
    running: usize,
    /// Write warm.md and warm.svg into this folder
    #[arg(long)]
    write: Option<PathBuf>,
    /// Only the victim's calls beside neighbours, so many beside each; writes neighbours.md
    #[arg(long)]
    neighbours: Option<usize>,
    /// Only so many callers at once, for a profiler
    #[arg(long)]
    only_callers: Option<usize>,
    /// Measure as whoever calls, and print the figures as data
    #[arg(long)]
    data: bool,
}

/// Between two calls, so that each is a call for itself.
const PAUSE: Duration = Duration::from_millis(3);
/// The steps of a worker's life, in their order.
const STEPS: [&str; 11] = [
    "group", "jar", "queue", "fork", "setns", "seal", "rehearse", "check", "job", "kill", "reap",
];
/// What is called.
const FUNCTION: &str = "lambda x: x + 1";

/// Quantiles of times, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Times {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl From<&Sample> for Times {
    fn from(sample: &Sample) -> Self {
        Self {
            p50: sample.median(),
            p95: sample.quantile(0.95),
            p99: sample.quantile(0.99),
            max: sample.quantile(1.0),
        }
    }
}

/// Callers at once.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Callers {
    count: usize,
    times: Times,
    /// Calls each second.
    rate: f64,
    /// Milliseconds that a processor was busy for each call, by the whole machine.
    cpu: f64,
}

/// Everything that was measured as one user.
#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    user: String,
    /// A hot ProcessPoolExecutor.
    executor: Times,
    /// A call to a parked worker, to its value and to the empty jar.
    value: Times,
    empty: Times,
    /// The same, with numpy and pandas imported.
    packages: Option<(Times, Times)>,
    /// A bare fork and wait, one after the other; fresh workers with jobs, on all processors. Each second.
    forks: f64,
    workers: f64,
    /// Bytes that a parked worker adds, without and with the packages.
    memory: u64,
    memory_packages: Option<u64>,
    /// Callers at once, and what each call took.
    callers: Vec<Callers>,
    /// Workers that were parked and jobs that ran at once.
    parked: usize,
    running: usize,
    /// Mean microseconds of each step.
    steps: Vec<(String, f64)>,
}

/// Measures, prints, and writes the page if asked.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(count) = args.only_callers {
        let callers = burst::callers(&sandbox(args, None)?, count, Duration::from_secs(args.seconds))?;
        println!("{}", serde_json::to_string(&callers)?);
        return Ok(());
    }
    match (args.data, args.neighbours) {
        (true, Some(calls)) => {
            let beside = neighbours::measure(&sandbox(args, None)?, calls)?;
            println!("{}", serde_json::to_string(&beside)?);
            return Ok(());
        }
        (true, None) => {
            println!("{}", serde_json::to_string(&measure(args)?)?);
            return Ok(());
        }
        (false, Some(calls)) => return neighbours::run(args, calls),
        (false, None) => {}
    }
    let machine = Machine::look(args.write.is_some());
    let stage = Stage::new(&args.belljar, &args.python)?;
    let mut all = Vec::new();
    for user in User::here() {
        let output = as_user(&stage, user, |command| {
            if let Some(venv) = &args.venv {
                command.arg("--venv").arg(venv);
            }
            for (name, value) in [
                ("--rounds", args.rounds as u64),
                ("--seconds", args.seconds),
                ("--parked", args.parked as u64),
                ("--running", args.running as u64),
            ] {
                command.arg(name).arg(value.to_string());
            }
        })?;
        let mut figures: Figures = serde_json::from_slice(&output)?;
        figures.user = user.name().into();
        all.push(figures);
    }
    println!("{}", page::tables(&all));
    if let Some(folder) = &args.write {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("warm.md", page::page(&all, &args.python, &machine))?;
        write("warm.svg", page::chart(&all))?;
    }
    Ok(())
}

/// What this program prints when a user runs it for data, with more arguments.
fn as_user(stage: &Stage, user: User, more: impl FnOnce(&mut Command)) -> anyhow::Result<Vec<u8>> {
    eprintln!("measuring as {}", user.name());
    let own = stage.folder.path().join("belljar-dev");
    std::fs::copy(std::env::current_exe()?, &own).context("cannot copy this program")?;
    let mut command = Command::new(&own);
    command.arg("warm").arg("--data");
    command.arg("--belljar").arg(&stage.belljar);
    command.arg("--python").arg(&stage.python);
    more(&mut command);
    command.env("XDG_CACHE_HOME", stage.cache(user)?).current_dir("/");
    command.stderr(std::process::Stdio::inherit());
    user.take_on(&mut command);
    let output = command.output()?;
    ensure!(output.status.success(), "measuring as {} failed", user.name());
    Ok(output.stdout)
}

fn sandbox(args: &Args, venv: Option<&Path>) -> anyhow::Result<Sandbox> {
    let builder = Sandbox::builder().binary(&args.belljar);
    Ok(match venv {
        Some(venv) => builder.venv(venv).preload(["numpy", "pandas"]).build()?,
        None => builder.python(args.python.to_string_lossy()).build()?,
    })
}

fn measure(args: &Args) -> anyhow::Result<Figures> {
    let plain = sandbox(args, None)?;
    let pool = Pool::new()?;
    warm(&pool, &plain, 4)?;
    let packages = match &args.venv {
        Some(venv) => {
            let sandbox = sandbox(args, Some(venv))?;
            warm(&pool, &sandbox, 4)?;
            Some(sandbox)
        }
        None => None,
    };
    let mut executor = baseline::Executor::start(&args.python)?;
    let [
        mut hot,
        mut value,
        mut empty,
        mut value_packages,
        mut empty_packages,
    ] = std::array::from_fn(|_| Sample::default());
    for round in 0..args.rounds {
        std::thread::sleep(PAUSE);
        hot.add(executor.call()?);
        std::thread::sleep(PAUSE);
        value.add(call(&pool, &plain, round)?);
        std::thread::sleep(PAUSE);
        empty.add(outcome(&pool, &plain)?);
        if let Some(packages) = &packages {
            std::thread::sleep(PAUSE);
            value_packages.add(call(&pool, packages, round)?);
            std::thread::sleep(PAUSE);
            empty_packages.add(outcome(&pool, packages)?);
        }
    }
    drop(executor);
    eprintln!("calls done");
    let steps = steps(&pool);
    drop(pool);
    let forks = baseline::forks(&args.python, args.seconds)?;
    let memory = memory::of_a_worker(&plain)?;
    let memory_packages = packages.as_ref().map(memory::of_a_worker).transpose()?;
    eprintln!("memory done");
    let mut callers = Vec::new();
    for count in [1, 8, 64] {
        callers.push(burst::callers(&plain, count, Duration::from_secs(args.seconds))?);
        eprintln!("{count} callers done");
    }
    let workers = callers.iter().map(|callers| callers.rate).fold(0.0, f64::max);
    let (parked, running) = burst::crowd(&plain, args.parked, args.running)?;
    Ok(Figures {
        user: String::new(),
        executor: Times::from(&hot),
        value: Times::from(&value),
        empty: Times::from(&empty),
        packages: packages.map(|_| (Times::from(&value_packages), Times::from(&empty_packages))),
        forks,
        workers,
        memory,
        memory_packages,
        callers,
        parked,
        running,
        steps,
    })
}

/// Has workers ready; that a job would run cold is no figure of this page.
fn warm(pool: &Pool, sandbox: &Sandbox, workers: usize) -> anyhow::Result<()> {
    let warmed = pool.warm(sandbox, workers)?;
    if let Some(reason) = warmed.cold {
        anyhow::bail!("jobs would run cold: {reason}");
    }
    for module in warmed.modules {
        ensure!(module.error.is_none(), "{}: {:?}", module.name, module.error);
    }
    Ok(())
}

/// One call, to its value.
fn call(pool: &Pool, sandbox: &Sandbox, number: usize) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let value: usize = pool.call(sandbox, FUNCTION, (number,))?;
    let time = start.elapsed();
    ensure!(value == number + 1, "a wrong value: {value}");
    Ok(time)
}

/// One call, to the empty jar.
fn outcome(pool: &Pool, sandbox: &Sandbox) -> anyhow::Result<Duration> {
    let program = belljar::job::Program::Call {
        function: FUNCTION.into(),
        arguments: br#"{"args": [1], "kwargs": {}}"#.to_vec(),
    };
    let start = Instant::now();
    let outcome = pool.run(sandbox, Job::new(program))?;
    let time = start.elapsed();
    ensure!(outcome.success(), "a call ended as {:?}", outcome.status);
    Ok(time)
}

fn steps(pool: &Pool) -> Vec<(String, f64)> {
    let value = serde_json::to_value(pool.stats().steps).unwrap_or_default();
    let mean = |name: &str| value[name].as_f64().unwrap_or_default();
    STEPS.map(|name| (name.to_owned(), mean(name))).into()
}
