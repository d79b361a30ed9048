//! The jar of a build. It sees uv, the interpreter, the index settings, and of the host nothing else; it may write to
//! the new environment and to a cache of ours.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::statvfs;

use super::limits::Clock;
use super::settings::IndexSettings;
use super::{EnvironmentError, INSIDE};
use crate::command::{Child, Stdio};
use crate::host::Host;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::policy::{Access, Limits, Mount, Network, Policy};
use crate::python::{Interpreter, Link};
use crate::sandbox::Sandbox;

/// Where the build's jar sees uv, and the folder with the wheels and what is being built.
const UV: &str = "/uv";
pub(super) const CACHE: &str = "/cache";
/// Where bytecode and caches are put by the jar that makes it.
pub(super) const MADE: &str = "/made";

/// The largest file of a package: the libraries of torch have 2 GiB.
const LARGEST_FILE: u64 = 4 << 30;
/// Code of packages that takes longer than this does without.
const PACKAGES: Duration = Duration::from_secs(120);
const MEMORY: u64 = 2 << 30;
/// What uv says at most: a lock has some hundred bytes for each file of a package.
const MOST_OUTPUT: u64 = 64 << 20;
/// A build that leaves the disk with less than this share of it free is ended.
const FREE: u64 = 100;
const LOOK: Duration = Duration::from_millis(200);

/// What a program in the jar did.
#[derive(Debug)]
pub(super) struct Ran {
    pub outcome: Outcome,
    pub stdout: String,
    pub stderr: String,
    /// Whether we ended it because it filled the disk.
    pub full: bool,
}

/// Runs uv in a jar. What it says on stderr goes to `line` as it comes.
pub(super) struct UvRoom<'a> {
    pub binary: &'a Path,
    pub uv: &'a Path,
    pub interpreter: &'a Interpreter,
    pub settings: &'a IndexSettings,
    /// The folder on the host that is [`CACHE`] in the jar.
    pub cache: &'a Path,
    pub clock: Clock,
    /// The folder in `building` that is the environment, once there is one.
    pub building: Option<&'a str>,
}

impl UvRoom<'_> {
    pub(super) fn run(
        &self,
        args: &[&str],
        input: (&str, &str),
        line: &mut dyn FnMut(&str),
    ) -> Result<Ran, EnvironmentError> {
        let mut policy = policy(network(), self.clock.left());
        let show = |source: &Path, target: &Path, access| Mount {
            source: source.to_path_buf(),
            target: target.to_path_buf(),
            access,
        };
        policy.mounts = vec![
            show(self.uv, Path::new(UV), Access::ReadOnly),
            show(self.cache, Path::new(CACHE), Access::ReadWrite),
        ];
        for path in &self.settings.shown {
            policy.mounts.push(show(path, path, Access::ReadOnly));
        }
        let mut interpreter = self.interpreter.clone();
        // A link and no mount of its own: the kernel links no files from one mount into another.
        interpreter.links.extend(self.building.map(|name| Link {
            path: INSIDE.into(),
            target: Path::new(CACHE).join("building").join(name).join("env"),
        }));
        let sandbox = sandbox(&policy, &interpreter, self.binary)?;
        let mut command = sandbox.command(UV);
        command
            .args([
                "--config-file",
                "/jar/uv.toml",
                "--no-progress",
                "--color",
                "never",
            ])
            .args(args);
        command
            .file("uv.toml", self.settings.file.to_string())
            .file("netrc", self.settings.netrc.as_str())
            .file(input.0, input.1);
        for (name, value) in &self.settings.variables {
            command.env(name, value);
        }
        command
            .env("NETRC", "/jar/netrc")
            .env("UV_CACHE_DIR", format!("{CACHE}/wheels"))
            .env("UV_PYTHON_DOWNLOADS", "never")
            .env("UV_KEYRING_PROVIDER", "disabled");
        command.stdout(Stdio::Piped).stderr(Stdio::Piped);
        watch(command.spawn()?, self.cache, line)
    }
}

/// What a build may reach. Everything that the host can, for now: this is the place where it will be the index alone.
fn network() -> Network {
    Network::Host
}

/// Runs Python in a jar without a network; it reads the environment and writes to one folder.
pub(super) fn python(
    binary: &Path,
    interpreter: &Interpreter,
    environment: &Path,
    made: &Path,
    clock: Clock,
    code: &str,
    input: String,
) -> Result<Ran, EnvironmentError> {
    let mut policy = policy(Network::None, clock.left());
    policy.mounts = [
        (environment, INSIDE, Access::ReadOnly),
        (made, MADE, Access::ReadWrite),
    ]
    .map(|(source, target, access)| Mount {
        source: source.to_path_buf(),
        target: target.into(),
        access,
    })
    .to_vec();
    let sandbox = sandbox(&policy, interpreter, binary)?;
    let mut command = sandbox.command(&interpreter.base_executable);
    // Neither site nor the environment's own packages: nothing of theirs is run, only read.
    command.args(["-I", "-S", "-B", "-c", code]);
    command
        .stdin(Stdio::Bytes(input.into_bytes()))
        .stdout(Stdio::Piped)
        .stderr(Stdio::Piped);
    watch(command.spawn()?, made, &mut |_| {})
}

/// As [`python`], with the environment's packages, whose code runs: as a guest that uses them would be.
pub(super) fn packages(
    binary: &Path,
    interpreter: &Interpreter,
    environment: &Path,
    made: &Path,
    code: &str,
) -> Result<Ran, EnvironmentError> {
    let mut policy = policy(Network::None, Some(PACKAGES));
    policy.mounts = vec![Mount {
        source: made.to_path_buf(),
        target: MADE.into(),
        access: Access::ReadWrite,
    }];
    let interpreter = interpreter.clone().inside(environment);
    let sandbox = sandbox(&policy, &interpreter, binary)?;
    let mut command = sandbox.command(&interpreter.executable);
    command
        .args(["-B", "-c", code])
        .stdin(Stdio::Null)
        .stdout(Stdio::Piped)
        .stderr(Stdio::Piped);
    watch(command.spawn()?, made, &mut |_| {})
}

fn policy(network: Network, time: Option<Duration>) -> Policy {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Policy {
        network,
        limits: Limits {
            memory: MEMORY,
            cpus: processors as f64,
            pids: 512,
            open_files: 4096,
            file_size: Some(LARGEST_FILE),
            output: MOST_OUTPUT,
            timeout: time,
            ..Limits::default()
        },
        ..Policy::default()
    }
}

fn sandbox(policy: &Policy, interpreter: &Interpreter, binary: &Path) -> Result<Sandbox, EnvironmentError> {
    let policy = policy.clone().settled().map_err(crate::Error::from)?;
    let plan = Plan::resolve(&policy, &Host::probe(), interpreter).map_err(crate::Error::from)?;
    // Only our own cache is written. uv keeps empty `.git` files there, and a mount over one would keep it from renaming what it has
    // built into that folder.
    Ok(Sandbox::with_binary(
        plan.without_protection(),
        binary.to_path_buf(),
    ))
}

/// Reads what it says until it ends, and ends it before it fills the disk.
fn watch(mut child: Child, disk: &Path, line: &mut dyn FnMut(&str)) -> Result<Ran, EnvironmentError> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (ended, full) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let mut said = String::new();
    let stdout = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = Vec::new();
            stdout.map(|mut file| std::io::Read::read_to_end(&mut file, &mut text));
            text
        });
        let (until, full, kill) = (Arc::clone(&ended), &full, child.killer());
        let watcher = scope.spawn(move || {
            guard(disk, &until, || {
                full.store(true, Ordering::Relaxed);
                kill();
            })
        });
        for text in stderr
            .map(BufReader::new)
            .into_iter()
            .flat_map(|reader| reader.split(b'\n'))
        {
            let Ok(text) = text else { break };
            let text = String::from_utf8_lossy(&text);
            line(text.trim_end());
            said.push_str(&text);
            said.push('\n');
        }
        ended.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        reader.join().unwrap_or_default()
    });
    Ok(Ran {
        outcome: child.wait()?,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: said,
        full: full.load(Ordering::Relaxed),
    })
}

/// Looks at the disk now and then, until told to stop.
fn guard(disk: &Path, until: &AtomicBool, act: impl Fn()) {
    let mut acted = false;
    while !until.load(Ordering::Relaxed) {
        let low = statvfs(disk).is_ok_and(|disk| disk.f_bavail < disk.f_blocks / FREE);
        if low && !std::mem::replace(&mut acted, true) {
            act();
        }
        std::thread::park_timeout(LOOK);
    }
}
