//! The front for Rust programs: a policy, resolved once, and everything that can be run under it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Digest as _;

use crate::client::{self, Running, find_binary};
use crate::command::Command;
use crate::environment::Environment;
use crate::error::Error;
use crate::host::Host;
use crate::job::{Job, Program};
use crate::outcome::{Outcome, Status};
use crate::plan::Plan;
use crate::policy::{Access, Mount, Network, Policy, Tier, Workdir, WorkdirMode};
use crate::tree::Tree;

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
    /// What a template imports before it makes workers.
    preload: Vec<String>,
    /// Whether somebody named these modules, and they are not an environment's own.
    asked: bool,
    /// Held, so that nobody prunes it while jars show it.
    environment: Option<Environment>,
    /// Source files of the caller's own that jars show.
    tree: Option<Tree>,
    /// What makes two sandboxes the same to a pool.
    digest: OnceLock<Digest>,
}

/// A plan, a preload list and a binary, as one number.
pub(crate) type Digest = [u8; 32];

impl Sandbox {
    /// Starts from the default policy; the builder's methods change it.
    pub fn builder() -> Builder {
        Builder {
            policy: Policy::default(),
            binary: None,
            preload: None,
            environment: None,
            tree: None,
        }
    }

    /// A sandbox under this policy.
    pub fn new(policy: Policy) -> Result<Self, Error> {
        Self::builder().policy(policy).build()
    }

    /// A sandbox that carries out this plan.
    pub fn from_plan(plan: Plan) -> Result<Self, Error> {
        Ok(Self::with_binary(plan, find_binary(None)?))
    }

    /// A sandbox that carries out this plan with this `belljar` binary.
    pub(crate) fn with_binary(plan: Plan, binary: PathBuf) -> Self {
        Self::of(Inner {
            plan,
            binary,
            preload: Vec::new(),
            asked: false,
            environment: None,
            tree: None,
            digest: OnceLock::new(),
        })
    }

    fn of(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The same sandbox, whose workers in a [`Pool`](crate::Pool) import these modules before their job arrives.
    pub fn with_preload<Name: Into<String>>(
        &self,
        modules: impl IntoIterator<Item = Name>,
    ) -> Result<Self, Error> {
        let preload = modules.into_iter().map(Into::into).collect::<Vec<String>>();
        check_modules(&preload)?;
        let Inner {
            plan,
            binary,
            environment,
            tree,
            ..
        } = &*self.inner;
        Ok(Self::of(Inner {
            plan: plan.clone(),
            binary: binary.clone(),
            preload,
            asked: true,
            environment: environment.clone(),
            tree: tree.clone(),
            digest: OnceLock::new(),
        }))
    }

    /// Modules that workers of a pool import before their job arrives.
    pub fn preload(&self) -> &[String] {
        &self.inner.preload
    }

    /// Whether a job runs cold if its worker could not import one of these modules.
    pub(crate) fn asked_for_preload(&self) -> bool {
        self.inner.asked
    }

    /// The environment that the guest sees.
    pub fn environment(&self) -> Option<&Environment> {
        self.inner.environment.as_ref()
    }

    /// The caller's own source files that the guest sees.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        self.inner.tree.as_ref()
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.inner.binary
    }

    /// Whether another sandbox builds the same jars, so that a pool shares workers between both.
    pub fn is_same(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }

    /// The same for sandboxes that build the same jars.
    pub(crate) fn digest(&self) -> Digest {
        *self.inner.digest.get_or_init(|| {
            let Inner {
                plan,
                binary,
                preload,
                asked,
                ..
            } = &*self.inner;
            // A plan is plain data: it always has a JSON form.
            let bytes = serde_json::to_vec(&(plan, binary, preload, asked)).unwrap_or_default();
            sha2::Sha256::digest(bytes).into()
        })
    }

    /// The plan of each run.
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

    /// Runs a script of the host, with arguments. The guest sees only this file.
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

    /// Calls a Python function, given as source, with arguments that serialise to a sequence. Returns its value.
    ///
    /// # Errors
    ///
    /// [`Error::Call`], with the whole outcome, if the function did not return a value of the wanted type.
    pub fn call<Value: DeserializeOwned>(
        &self,
        function: &str,
        args: impl Serialize,
    ) -> Result<Value, Error> {
        value_of(self.run_job(call_job(function, args)?)?)
    }

    /// Any program, shaped like [`std::process::Command`].
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        Command::new(self.clone(), Program::Command(program.as_ref().to_os_string()))
    }

    /// Python with arguments of your choice, such as `-c`, `-m` or a path in the jar; belljar does not interpret them.
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
    pub fn spawn_job(&self, mut job: Job) -> Result<Running, Error> {
        job.tree = self.inner.tree.clone();
        client::start(&self.inner.binary, &self.inner.plan, job)
    }
}

/// Builds a [`Sandbox`]. Each method changes one setting of the default policy.
#[derive(Debug, Clone)]
pub struct Builder {
    policy: Policy,
    binary: Option<PathBuf>,
    preload: Option<Vec<String>>,
    environment: Option<Environment>,
    tree: Option<(Tree, Vec<String>)>,
}

impl Builder {
    /// Starts from this policy instead.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Bytes of memory of all processes together.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.policy.limits.memory = bytes;
        self
    }

    /// Number of processors, such as 2 or 0.5.
    pub fn cpus(mut self, cpus: f64) -> Self {
        self.policy.limits.cpus = cpus;
        self
    }

    /// Number of processes and threads.
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

    /// Wall-clock time, from handing over the job until the jar is empty.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.limits.timeout = Some(timeout);
        self
    }

    /// The network that the guest can reach.
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

    /// Uses a folder of the host as the working directory, instead of a fresh /jar.
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

    /// Uses this interpreter: a version such as `3.12`, or a path.
    pub fn python(mut self, python: impl Into<String>) -> Self {
        self.policy.python = Some(python.into());
        self
    }

    /// Shows this virtualenv to the guest.
    pub fn venv(mut self, venv: impl Into<PathBuf>) -> Self {
        self.policy.venv = Some(venv.into());
        self
    }

    /// Whether the guest sees packages that are installed in the interpreter itself or in /usr.
    pub fn site_packages(mut self, shown: bool) -> Self {
        self.policy.site_packages = shown;
        self
    }

    /// The weakest isolation tier that you accept.
    pub fn require(mut self, tier: Tier) -> Self {
        self.policy.require.tier = tier;
        self
    }

    /// Uses this `belljar` binary as the warden, instead of searching for one.
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Modules that workers of a [`Pool`](crate::Pool) import before their job arrives. The template only imports them;
    /// it never runs code of a job.
    pub fn preload<Name: Into<String>>(mut self, modules: impl IntoIterator<Item = Name>) -> Self {
        self.preload = Some(modules.into_iter().map(Into::into).collect());
        self
    }

    /// Shows this environment to the guest. Workers import its packages before their job arrives, unless
    /// [`preload`](Self::preload) names other modules. A module whose import starts threads is left out, because no
    /// worker can be forked with it.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use belljar::environment::Wish;
    /// use belljar::requirement::{Allow, Requirements};
    /// use belljar::{Environments, Sandbox, python};
    ///
    /// let wish = Wish {
    ///     requirements: Requirements::from_list(["pandas>=2"], Allow::default())?,
    ///     interpreter: python::find(None, None)?,
    ///     allow: Allow::default(),
    ///     refresh: false,
    /// };
    /// let environment = Environments::of_this_user(None)?.get(&wish, &mut |step| eprintln!("{step}"))?;
    /// let jar = Sandbox::builder().environment(environment).build()?;
    /// jar.run("import pandas")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Lets the guest import these source files of yours, read-only. Workers import the modules that the tree names
    /// before their job arrives, unless [`preload`](Self::preload) names others.
    pub fn tree<Name: Into<String>>(mut self, tree: Tree, modules: impl IntoIterator<Item = Name>) -> Self {
        self.tree = Some((tree, modules.into_iter().map(Into::into).collect()));
        self
    }

    /// Checks the policy and resolves it for this host.
    pub fn build(self) -> Result<Sandbox, Error> {
        let binary = find_binary(self.binary.as_deref())?;
        let asked = self.preload.is_some();
        let (tree, own) = self.tree.unzip();
        let preload = self.preload.unwrap_or_else(|| {
            let mut modules = self
                .environment
                .as_ref()
                .map(Environment::modules)
                .unwrap_or_default();
            modules.extend(own.unwrap_or_default());
            modules
        });
        check_modules(&preload)?;
        let mut plan = crate::prepare_in(&self.policy, &Host::probe_for(&binary), self.environment.as_ref())?;
        if let Some(tree) = &tree {
            plan = plan.with_tree(tree)?;
        }
        Ok(Sandbox::of(Inner {
            plan,
            binary,
            preload,
            asked,
            environment: self.environment,
            tree,
            digest: OnceLock::new(),
        }))
    }
}

/// Names are given to an import, so nothing that is no name may be one.
fn check_modules(names: &[String]) -> Result<(), Error> {
    let starts = |character: char| character.is_alphabetic() || character == '_';
    let goes_on = |character: char| character.is_alphanumeric() || character == '_';
    let plain = |part: &str| part.starts_with(starts) && part.chars().all(goes_on);
    let bad = |name: &&String| name.len() > 255 || !name.split('.').all(plain);
    match names.iter().find(bad) {
        Some(name) => Err(Error::Module { name: name.clone() }),
        None => Ok(()),
    }
}

/// The job that calls a function with arguments that serialise to a sequence.
pub(crate) fn call_job(function: &str, args: impl Serialize) -> Result<Job, Error> {
    #[derive(Serialize)]
    struct Arguments<Args> {
        args: Args,
        kwargs: serde_json::Map<String, serde_json::Value>,
    }
    // By way of a value, so that `()` is a list of none and not null.
    let args = match serde_json::to_value(args).map_err(Error::arguments)? {
        serde_json::Value::Null => serde_json::Value::Array(Vec::new()),
        args => args,
    };
    let kwargs = serde_json::Map::new();
    let arguments = serde_json::to_vec(&Arguments { args, kwargs }).map_err(Error::arguments)?;
    Ok(Job::new(Program::Call {
        function: function.into(),
        arguments,
    }))
}

/// The value of a call that has ended.
pub(crate) fn value_of<Value: DeserializeOwned>(outcome: Outcome) -> Result<Value, Error> {
    if outcome.status != Status::Returned {
        return Err(Error::call(None, outcome));
    }
    // A value that is missing is read as null, so that a function without one can be called for `()` or an option.
    let value = outcome.value.clone().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| Error::call(Some(error), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_modules_can_be_preloaded() {
        let check = |name: &str| check_modules(&[name.to_owned()]).is_ok();
        assert!(check("numpy") && check("os.path") && check("_x1") && check("módulo"));
        for name in [
            "",
            ".",
            "a.",
            ".a",
            "a b",
            "a;b",
            "1a",
            "a-b",
            "os\0",
            "../x",
            "a\nimport b",
        ] {
            assert!(!check(name), "{name:?}");
        }
        assert!(!check(&"a".repeat(256)));
    }
}
