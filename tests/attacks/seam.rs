//! One run in a process of its own: the whole of belljar starts as the user who asks for it, never as the test's.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use belljar::job::{Program, Sink, Stdin};
use belljar::warden::{self, Steering};
use belljar::{Host, Job, Outcome, Plan, Policy, Pool, Sandbox};
use serde::{Deserialize, Serialize};

use crate::knobs;
use crate::stage::{SECRET, Stage, Who};
use crate::support::procfs;

/// What the process shall run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub policy: Policy,
    /// Protections to take out of the plan.
    pub knobs: Vec<String>,
    pub source: String,
    /// Any program, instead of the source.
    pub command: Option<String>,
    /// What the guest gets as its one argument.
    pub facts: BTreeMap<String, serde_json::Value>,
    /// The run's own folder on the host.
    pub folder: PathBuf,
    /// Whether this process is the warden itself, as `belljar run` is; otherwise the library starts one.
    pub own_warden: bool,
    /// Whether descriptors are left open, as a careless caller leaves them.
    pub leak: bool,
    /// Whether the guest gets a terminal, behind the one that is this process's standard input.
    pub terminal: bool,
    /// Whether it is a job for a parked worker.
    pub warm: bool,
    /// What the template imports.
    pub preload: Option<String>,
}

/// What the process says when it is done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub outcome: Option<Outcome>,
    pub error: Option<String>,
    /// The process that was the warden.
    pub warden: u32,
    /// Others that make cgroups: the wardens of cabinets.
    #[serde(default)]
    pub others: Vec<u32>,
}

/// The child's side: resolves, changes the plan, runs, reports.
pub fn serve(request: &Path) -> ExitCode {
    let text = std::fs::read(request).expect("the request");
    let request: Request = serde_json::from_slice(&text).expect("a request");
    let mut report = Report {
        warden: std::process::id(),
        ..Report::default()
    };
    match run(&request, &mut report) {
        Ok(outcome) => report.outcome = Some(outcome),
        Err(error) => report.error = Some(error),
    }
    std::fs::write(
        request.folder.join("report"),
        serde_json::to_vec(&report).expect("a report"),
    )
    .expect("report");
    ExitCode::SUCCESS
}

fn run(request: &Request, report: &mut Report) -> Result<Outcome, String> {
    // As the command does, for which this process stands.
    let _ = belljar::host::own_cgroup();
    let mut plan = belljar::prepare(&request.policy, &Host::probe()).map_err(|error| error.to_string())?;
    for knob in &request.knobs {
        knobs::turn(&mut plan, knob, request)?;
    }
    let script = Program::Script {
        source: request.source.clone().into_bytes(),
        name: "attack.py".into(),
    };
    let mut job = Job::new(
        request
            .command
            .as_ref()
            .map_or(script, |command| Program::Command(command.into())),
    );
    job.args = vec![serde_json::to_string(&request.facts).expect("facts").into()];
    let copy = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().map_err(|error| error.to_string());
    use std::os::fd::AsFd;
    // A caller may start us without standard streams; then there is nothing to copy.
    if let Ok(stdin) = copy(std::io::stdin().as_fd()) {
        job.stdin = Stdin::Copy(stdin);
    }
    if let Ok(stdout) = copy(std::io::stdout().as_fd()) {
        job.stdout = Sink::Both(stdout);
    }
    if request.terminal {
        let tty = copy(std::io::stdin().as_fd())?;
        job.terminal = Some(belljar::job::Terminal {
            tty,
            kind: "dumb".into(),
        });
    }
    let leaked = if request.leak {
        leak(&request.folder)?
    } else {
        Vec::new()
    };
    let outcome = if request.warm {
        on_worker(request, plan, job, report)
    } else if request.own_warden {
        warden::run(&plan, job, Steering::Signals)
    } else {
        let running = Sandbox::from_plan(plan).and_then(|sandbox| sandbox.spawn_job(job));
        let running = running.map_err(|error| error.to_string())?;
        report.warden = running.warden_pid();
        running.wait()
    };
    drop(leaked);
    outcome.map_err(|error| error.to_string())
}

/// Runs the job on the one worker of a pool, so that the host knows at whom to look.
fn on_worker(
    request: &Request,
    plan: Plan,
    job: Job,
    report: &mut Report,
) -> Result<Outcome, belljar::Error> {
    let pool = Pool::builder().max_workers(1).build()?;
    let sandbox = Sandbox::from_plan(plan)?.with_preload(&request.preload)?;
    // Parked before the job comes, so that there is never a second one.
    pool.warm(&sandbox, 1)?;
    if request.preload.is_some() {
        // A job before the one that is judged: whatever an import does to jobs, it does to the second one too.
        let mut first = Job::new(job.program.clone());
        first.args = job.args.clone();
        pool.run(&sandbox, first)?;
    }
    let outcome = pool.run(&sandbox, job);
    report.others = procfs::children(std::process::id());
    outcome
}

/// Opens a secret so that every child would inherit it.
fn leak(folder: &Path) -> Result<Vec<std::os::fd::OwnedFd>, String> {
    let open = |path: &Path| -> std::io::Result<std::os::fd::OwnedFd> {
        let file = std::fs::File::open(path)?;
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
        Ok(file.into())
    };
    let opened = [
        folder.join("secret/key"),
        folder.to_path_buf(),
        PathBuf::from("/"),
    ];
    opened
        .iter()
        .map(|path| open(path).map_err(|error| error.to_string()))
        .collect()
}

/// The parent's side: a run under way.
pub struct Live {
    pub child: Child,
    pub folder: PathBuf,
    lines: BufReader<std::process::ChildStdout>,
}

/// Starts a run as this user.
pub fn start(stage: &Stage, who: Who, request: &Request, prefix: &[&str]) -> Result<Live, String> {
    let file = request.folder.join("request");
    std::fs::write(&file, serde_json::to_vec(request).expect("a request"))
        .map_err(|error| error.to_string())?;
    let mut words = prefix.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    words.push(stage.program.display().to_string());
    words.extend(["--seam".into(), file.display().to_string()]);
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env_clear()
        // The system's Python, which both users can reach.
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("BELLJAR_BIN", &stage.belljar)
        .env("API_KEY", SECRET)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("SSH_AUTH_SOCK", "/run/ssh-agent.sock")
        .current_dir(&request.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(id) = who.id() {
        command.uid(id).gid(id);
    }
    let mut child = stage.spawn(&mut command)?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?);
    Ok(Live {
        child,
        folder: request.folder.clone(),
        lines,
    })
}

impl Live {
    /// Reads what the guest prints until it waits for the host, or ends. `true` while it waits.
    pub fn read(&mut self, into: &mut Vec<(String, String)>) -> Result<bool, String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if self
                .lines
                .read_until(b'\n', &mut line)
                .map_err(|error| error.to_string())?
                == 0
            {
                return Ok(false);
            }
            let Ok(value) = serde_json::from_slice::<serde_json::Value>(&line) else {
                continue;
            };
            if value.get("ready").is_some() {
                return Ok(true);
            }
            if let (Some(probe), Some(saw)) = (
                value.get("probe").and_then(|name| name.as_str()),
                value.get("saw"),
            ) {
                let saw = saw.as_str().map_or_else(|| saw.to_string(), str::to_owned);
                into.push((probe.to_owned(), saw));
            }
        }
    }

    /// Lets a waiting guest go on to its end.
    pub fn release(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for the end of the run.
    pub fn finish(mut self, stage: &Stage) -> Result<Report, String> {
        self.release();
        let status = self.child.wait().map_err(|error| error.to_string())?;
        stage.ended(self.child.id());
        let text = std::fs::read(self.folder.join("report"))
            .map_err(|error| format!("no report from the run, which ended with {status}: {error}"))?;
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    }
}
