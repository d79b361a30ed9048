//! Something that runs `print(1)`, and how it is started and timed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

/// What everyone runs.
pub const CODE: &str = "print(1)";
/// An account that every system has and that owns nothing.
const NOBODY: u32 = 65534;
const WARM_UPS: usize = 3;

/// Who starts a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    Root,
    Plain,
}

impl User {
    /// Those that this process can start something as.
    pub fn here() -> Vec<Self> {
        if rustix::process::geteuid().is_root() {
            vec![Self::Root, Self::Plain]
        } else {
            vec![Self::Plain]
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Plain => "plain user",
        }
    }

    /// Lets a command run as this user.
    pub fn take_on(self, command: &mut Command) {
        if self == Self::Plain && rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
    }
}

/// What all contenders share: a binary that every user can read, the interpreter, the guest's own environment.
pub struct Stage {
    pub folder: tempfile::TempDir,
    pub belljar: PathBuf,
    pub python: PathBuf,
    pub env: Vec<(String, String)>,
}

impl Stage {
    pub fn new(belljar: &Path, python: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let copy = folder.path().join("belljar");
        fs::copy(belljar, &copy).with_context(|| format!("cannot copy {}", belljar.display()))?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        let python = python
            .canonicalize()
            .with_context(|| format!("cannot find {}", python.display()))?;
        let env = guest_environment(&copy, &python)?;
        Ok(Self {
            folder,
            belljar: copy,
            python,
            env,
        })
    }

    /// A folder that belongs to a user, for what belljar keeps between runs.
    pub fn cache(&self, user: User) -> anyhow::Result<PathBuf> {
        let path = self.room(&format!("cache-{}", user.name().replace(' ', "-")))?;
        if user == User::Plain && rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY))?;
        }
        Ok(path)
    }

    /// A folder of the stage that every user can read.
    pub fn room(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }
}

/// The variables that a guest has, so that the others run with the same.
fn guest_environment(belljar: &Path, python: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let output = Command::new(belljar)
        .arg("exec")
        .arg("--python")
        .arg(python)
        .args(["--", "env", "-0"])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success() && !text.is_empty(),
        "belljar exec -- env failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// Something that runs [`CODE`].
pub struct Contender {
    pub name: &'static str,
    /// What it holds back, in a few words.
    pub holds: &'static str,
    pub user: User,
    pub command: Vec<OsString>,
    pub env: Vec<(String, String)>,
    /// Engines want a name for each run: it is put in place of `{}`.
    pub numbered: bool,
}

impl Contender {
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.user.name())
    }

    /// Runs it a few times; why it cannot, if it cannot.
    pub fn warm_up(&self) -> Result<(), String> {
        let program = Path::new(&self.command[0]);
        if program.is_absolute() && !program.exists() {
            return Err("not installed".into());
        }
        for number in 0..WARM_UPS {
            self.once(usize::MAX - number)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// One run, from the start of the process to its end; what it printed must be right.
    pub fn once(&self, number: usize) -> anyhow::Result<Duration> {
        let mut command = Command::new(&self.command[0]);
        for arg in &self.command[1..] {
            if self.numbered && arg == "{}" {
                command.arg(format!("belljar-bench-{}-{number}", std::process::id()));
            } else {
                command.arg(arg);
            }
        }
        command
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.user.take_on(&mut command);
        let start = Instant::now();
        let output = command.spawn()?.wait_with_output()?;
        let time = start.elapsed();
        if !output.status.success() || output.stdout.trim_ascii() != b"1" {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.lines().rfind(|line| !line.trim().is_empty());
            bail!("{}: {}", output.status, last.unwrap_or("no message"));
        }
        Ok(time)
    }
}
