//! Flags that several commands share: the policy's keys by the same names, files, and what is printed.
//!
//! Comments on the groups are plain ones: clap would take a doc comment for the description of the command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use belljar::policy::{Layer, Mount, Network, Tier, Workdir};
use clap::{ArgAction, Args};

use crate::values::{self, Limit};

// Everything that makes a policy.
#[derive(Debug, Args)]
pub struct PolicyFlags {
    #[command(flatten)]
    pub base: Base,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub folders: Folders,
    #[command(flatten)]
    pub require: Requirements,
    #[command(flatten)]
    pub dependencies: Dependencies,
}

// Where a policy starts, and what the guest finds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policy")]
pub struct Base {
    /// Read a policy from FILE, TOML or a pyproject.toml [env: BELLJAR_POLICY]; no file is read unless named
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Use a profile of the file, or a built-in one: strict, data, jupyter
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// The interpreter: a version such as 3.12, or a path
    #[arg(long, value_name = "VERSION|PATH")]
    pub python: Option<String>,
    /// Show a virtualenv, read-only
    #[arg(long, value_name = "DIR")]
    pub venv: Option<PathBuf>,
    /// What the guest can reach [default: none]
    #[arg(long, value_name = "NETWORK", value_parser = values::network())]
    pub network: Option<Network>,
    /// Set a variable, or pass one on by name; nothing else is inherited
    #[arg(long, value_name = "NAME=VALUE|NAME", value_parser = values::variable)]
    pub env: Vec<(String, Option<String>)>,
    /// Leave /usr out: show only what the interpreter needs
    #[arg(long)]
    pub no_system: bool,
    /// Show packages that are installed in the interpreter itself, or in one of /usr
    #[arg(long)]
    pub site_packages: bool,
    /// Refuse file locks, with ENOLCK
    #[arg(long)]
    pub no_locks: bool,
}

// What the guest may use up.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (sizes in powers of 1024)")]
pub struct Limits {
    /// Wall time, such as 500ms, 30s, 5m, or none [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::time_or_none)]
    pub timeout: Option<Limit<Duration>>,
    /// Memory of all its processes together [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub memory: Option<u64>,
    /// Processors, also as a fraction [default: 1]
    #[arg(long, value_name = "N", value_parser = values::number)]
    pub cpus: Option<f64>,
    /// Processor time of all its processes together [default: none]
    #[arg(long, value_name = "TIME", value_parser = values::time_or_none)]
    pub cpu_seconds: Option<Limit<Duration>>,
    /// Processes and threads [default: 128]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub pids: Option<u64>,
    /// Bytes in /jar, /tmp and /dev/shm together [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub disk: Option<u64>,
    /// Files and folders in /jar, /tmp and /dev/shm together [default: 65536]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub inodes: Option<u64>,
    /// Open files of one process [default: 1024]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub open_files: Option<u64>,
    /// Size of one file [default: none]
    #[arg(long, value_name = "SIZE", value_parser = values::size_or_none)]
    pub file_size: Option<Limit<u64>>,
    /// Bytes of stdout, and as many of stderr [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub output: Option<u64>,
}

// Host folders in the jar.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct Folders {
    /// Show a host file or folder: at the same path and read-only unless told
    #[arg(long, value_name = "SRC[:DST][:ro|rw]", value_parser = values::mount)]
    pub mount: Vec<Mount>,
    /// A host folder as the working directory, writable, in place of a fresh /jar
    #[arg(long, value_name = "DIR[:DST]", value_parser = values::workdir)]
    pub workdir: Option<Workdir>,
    /// List what the run changes in the workdir, and leave the folder as it was
    #[arg(long)]
    pub draft: bool,
    /// As --draft, and write the changes after a clean exit
    #[arg(long)]
    pub apply: bool,
}

// What must be enforced.
#[derive(Debug, Args)]
#[command(next_help_heading = "Isolation")]
pub struct Requirements {
    /// The least tier that is acceptable [default: sealed]
    #[arg(long, value_name = "TIER", value_parser = values::tier())]
    pub require: Option<Tier>,
    /// Refuse to run unless this layer is enforced in full
    #[arg(long, value_name = "LAYER", value_parser = values::layer())]
    pub require_layer: Vec<Layer>,
}

// What the guest can import beyond the standard library.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Dependencies")]
pub struct Dependencies {
    /// A package that the guest can import, such as pandas or 'numpy>=2'; built once, in a jar
    #[arg(long, value_name = "REQUIREMENT", allow_hyphen_values = true)]
    pub with: Vec<String>,
    /// Requirements from a requirements.txt, pyproject.toml, pylock.toml or a script's own header
    #[arg(short = 'r', long = "with-requirements", value_name = "FILE")]
    pub requirements: Vec<PathBuf>,
    #[command(flatten)]
    pub building: Building,
}

// How an environment may be built.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Dependencies")]
pub struct Building {
    /// Of a pyproject.toml: this group or extra, and not its dependencies
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Build packages that have no wheel: their code runs, in the build's jar
    #[arg(long)]
    pub allow_builds: bool,
    /// Take packages from addresses that a requirement names
    #[arg(long)]
    pub allow_urls: bool,
    /// Choose versions anew instead of what was chosen last time
    #[arg(long)]
    pub refresh: bool,
}

// What is taken out of the jar.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct Collecting {
    /// Copy what the run left in a fresh /jar to DIR, a new or empty folder
    #[arg(long, value_name = "DIR")]
    pub collect: Option<OsString>,
}

// What is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Printing {
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// Silence belljar's own lines
    #[arg(short, long)]
    pub quiet: bool,
    /// Trace what belljar does, to stderr (-vv for more; BELLJAR_LOG takes a filter)
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}
