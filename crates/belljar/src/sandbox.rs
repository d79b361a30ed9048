//! The front for Rust programs: a policy, resolved once, and everything that can be run under it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::{self, Running, find_binary};
use crate::command::Command;
use crate::error::Error;
use crate::host::Host;
use crate::job::{Job, Program};
use crate::outcome::{Outcome, Status};
use crate::plan::Plan;
use crate::policy::{Access, Mount, Network, Policy, Tier, Workdir, WorkdirMode};

/// Jars of one policy. Cheap to clone, and safe to share between threads: every run is a process of its own.
///
/// ```
/// # fn main() -> Result<(), belljar::Error> {
/// use std::time::Duration;
/// use belljar::Sandbox;
///
/// let jar = Sandbox::builder().memory(512 << 20).timeout(Duration::from_secs(5)).build()?;
/// let outcome = jar.run("print('hi')")?;
/// assert_eq!(outcome.stdout.text(), "hi\n");
/// let double: i64 = jar.call("lambda x: x * 2", (21,))?;
/// assert_eq!(double, 42);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    plan: Plan,
    binary: PathBuf,
}

impl Sandbox {
    /// A sandbox under the default policy, to be changed from there.
    pub fn builder() -> Builder {
        Builder {
            policy: Policy::default(),
            binary: None,
        }
    }

    /// A sandbox under this policy.
    pub fn new(policy: Policy) -> Result<Self, Error> {
        Builder { policy, binary: None }.build()
    }

    /// A sandbox that carries out this plan.
    pub fn from_plan(plan: Plan) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner {
                plan,
                binary: find_binary(None)?,
            }),
        })
    }

    /// What is built for each run.
    pub fn plan(&self) -> &Plan {
        &self.inner.plan
    }

    /// Runs Python source, as `python -c` would, and captures its output.
    pub fn run(&self, code: impl AsRef<[u8]>) -> Result<Outcome, Error> {
        self.run_job(Job::new(Program::Code {
            source: code.as_ref().to_vec(),
            from_stdin: false,
        }))
    }

    /// Runs a script of the host, with arguments. The guest sees the script alone.
    pub fn run_file<Arg: AsRef<OsStr>>(
        &self,
        path: impl AsRef<Path>,
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<Outcome, Error> {
        let path = path.as_ref();
        let source = std::fs::read(path)
            .map_err(|error| Error::setup(format!("read the script {}", path.display()), error))?;
        let name = path.file_name().unwrap_or(OsStr::new("script.py")).to_os_string();
        let mut job = Job::new(Program::Script { source, name });
        job.args = args.into_iter().map(|arg| arg.as_ref().to_os_string()).collect();
        self.run_job(job)
    }

    /// Calls a Python function, given as source, with arguments that serialise to a sequence; gives its value.
    ///
    /// # Errors
    ///
    /// [`Error::Call`] with the whole outcome when the function did not return a value of the wanted type.
    pub fn call<Value: DeserializeOwned>(
        &self,
        function: &str,
        args: impl Serialize,
    ) -> Result<Value, Error> {
        let args = serde_json::to_value(args).map_err(Error::arguments)?;
        let arguments = serde_json::json!({ "args": args, "kwargs": {} });
        let arguments = serde_json::to_vec(&arguments).map_err(Error::arguments)?;
        let outcome = self.run_job(Job::new(Program::Call {
            function: function.into(),
            arguments,
        }))?;
        if outcome.status != Status::Returned {
            return Err(Error::call(None, outcome));
        }
        // A value that is missing is read as null, so that a function without one can be called for `()` or an option.
        let value = outcome.value.clone().unwrap_or_default();
        serde_json::from_value(value).map_err(|error| Error::call(Some(error), outcome))
    }

    /// Any program, shaped like [`std::process::Command`].
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        Command::new(self.clone(), Program::Command(program.as_ref().to_os_string()))
    }

    /// Python with arguments of its own choice: `-c`, `-m` or a path in the jar are not looked at.
    pub fn python(&self) -> Command {
        Command::new(
            self.clone(),
            Program::Command(self.plan().interpreter().as_os_str().to_os_string()),
        )
    }

    /// Runs one job and waits for its outcome.
    pub fn run_job(&self, job: Job) -> Result<Outcome, Error> {
        self.spawn_job(job)?.wait()
    }

    /// Starts one job.
    pub fn spawn_job(&self, job: Job) -> Result<Running, Error> {
        client::start(&self.inner.binary, &self.inner.plan, job)
    }
}

/// Puts a [`Sandbox`] together. Every method changes one thing of the default policy.
#[derive(Debug, Clone)]
pub struct Builder {
    policy: Policy,
    binary: Option<PathBuf>,
}

impl Builder {
    /// Starts from this policy instead.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Bytes of memory of all its processes together.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.policy.limits.memory = bytes;
        self
    }

    /// Processors, also as a fraction.
    pub fn cpus(mut self, cpus: f64) -> Self {
        self.policy.limits.cpus = cpus;
        self
    }

    /// Processes and threads.
    pub fn pids(mut self, pids: u64) -> Self {
        self.policy.limits.pids = pids;
        self
    }

    /// Bytes in /jar, /tmp and /dev/shm together.
    pub fn disk(mut self, bytes: u64) -> Self {
        self.policy.limits.disk = bytes;
        self
    }

    /// Bytes of standard output, and as many of standard error.
    pub fn output(mut self, bytes: u64) -> Self {
        self.policy.limits.output = bytes;
        self
    }

    /// Wall time, from delivery to the empty jar.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.limits.timeout = Some(timeout);
        self
    }

    /// What the guest can reach.
    pub fn network(mut self, network: Network) -> Self {
        self.policy.network = network;
        self
    }

    /// Shows a host file or folder at the same path, read-only.
    pub fn show(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.mount(path.clone(), path, Access::ReadOnly)
    }

    /// Shows a host file or folder somewhere in the jar.
    pub fn mount(mut self, source: impl Into<PathBuf>, target: impl Into<PathBuf>, access: Access) -> Self {
        self.policy.mounts.push(Mount {
            source: source.into(),
            target: target.into(),
            access,
        });
        self
    }

    /// Puts a host folder in the place of the fresh /jar.
    pub fn workdir(mut self, source: impl Into<PathBuf>, mode: WorkdirMode) -> Self {
        self.policy.workdir = Some(Workdir {
            source: source.into(),
            target: "/jar".into(),
            mode,
        });
        self
    }

    /// Sets one variable of the guest's environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.policy.env.insert(name.into(), value.into());
        self
    }

    /// Takes this interpreter: a version such as `3.12`, or a path.
    pub fn python(mut self, python: impl Into<String>) -> Self {
        self.policy.python = Some(python.into());
        self
    }

    /// Takes this virtualenv.
    pub fn venv(mut self, venv: impl Into<PathBuf>) -> Self {
        self.policy.venv = Some(venv.into());
        self
    }

    /// The least tier that is acceptable.
    pub fn require(mut self, tier: Tier) -> Self {
        self.policy.require.tier = tier;
        self
    }

    /// The `belljar` binary that becomes the warden, instead of the one that is found.
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Checks the policy and resolves it for this host.
    pub fn build(self) -> Result<Sandbox, Error> {
        let binary = find_binary(self.binary.as_deref())?;
        let plan = crate::prepare(&self.policy, &Host::probe())?;
        Ok(Sandbox {
            inner: Arc::new(Inner { plan, binary }),
        })
    }
}
