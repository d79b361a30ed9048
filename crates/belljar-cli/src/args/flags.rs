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
    /// Read a policy from FILE (TOML or a pyproject.toml); belljar reads no other policy file [env: BELLJAR_POLICY]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Use a profile of the policy file, or a built-in profile: strict, data, jupyter
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Use this interpreter: a version such as 3.12, or a path
    #[arg(long, value_name = "VERSION|PATH")]
    pub python: Option<String>,
    /// Show a virtualenv to the guest, read-only
    #[arg(long, value_name = "DIR")]
    pub venv: Option<PathBuf>,
    /// The network that the guest can reach [default: none]
    #[arg(long, value_name = "NETWORK", value_parser = values::network())]
    pub network: Option<Network>,
    /// Set a variable (NAME=VALUE), or pass on yours (NAME); the guest inherits no others
    #[arg(long, value_name = "NAME=VALUE|NAME", value_parser = values::variable)]
    pub env: Vec<(String, Option<String>)>,
    /// Hide /usr, except for what the interpreter needs
    #[arg(long)]
    pub no_system: bool,
    /// Show packages that are installed in the interpreter itself or in /usr
    #[arg(long)]
    pub site_packages: bool,
    /// Refuse file locks (ENOLCK)
    #[arg(long)]
    pub no_locks: bool,
}

// What the guest may use up.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (sizes in powers of 1024)")]
pub struct Limits {
    /// Wall-clock time, such as 500ms, 30s, 5m, or none [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::time_or_none)]
    pub timeout: Option<Limit<Duration>>,
    /// Memory of all processes together [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub memory: Option<u64>,
    /// Number of processors, such as 2 or 0.5 [default: 1]
    #[arg(long, value_name = "N", value_parser = values::number)]
    pub cpus: Option<f64>,
    /// Processor time of all processes together [default: none]
    #[arg(long, value_name = "TIME", value_parser = values::time_or_none)]
    pub cpu_seconds: Option<Limit<Duration>>,
    /// Number of processes and threads [default: 128]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub pids: Option<u64>,
    /// Size of /jar, /tmp and /dev/shm together [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub disk: Option<u64>,
    /// Number of files and folders in /jar, /tmp and /dev/shm together [default: 65536]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub inodes: Option<u64>,
    /// Number of open files of one process [default: 1024]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub open_files: Option<u64>,
    /// Size of one file [default: none]
    #[arg(long, value_name = "SIZE", value_parser = values::size_or_none)]
    pub file_size: Option<Limit<u64>>,
    /// Size of stdout, and of stderr [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub output: Option<u64>,
}

// Host folders in the jar.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct Folders {
    /// Show a file or folder of the host; by default at the same path, read-only
    #[arg(long, value_name = "SRC[:DST][:ro|rw]", value_parser = values::mount)]
    pub mount: Vec<Mount>,
    /// Use a folder of the host as the working directory, writable, instead of a fresh /jar
    #[arg(long, value_name = "DIR[:DST]", value_parser = values::workdir)]
    pub workdir: Option<Workdir>,
    /// List the changes that the run makes in the workdir, and leave the folder unchanged
    #[arg(long)]
    pub draft: bool,
    /// Like --draft, but write the changes if the program exits with 0
    #[arg(long)]
    pub apply: bool,
}

// What must be enforced.
#[derive(Debug, Args)]
#[command(next_help_heading = "Isolation")]
pub struct Requirements {
    /// The weakest isolation tier that you accept [default: sealed]
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
    /// Install a package for the guest, such as pandas or 'numpy>=2'
    #[arg(long, value_name = "REQUIREMENT", allow_hyphen_values = true)]
    pub with: Vec<String>,
    /// Install the requirements of a requirements.txt, pyproject.toml, pylock.toml or PEP 723 script
    #[arg(short = 'r', long = "with-requirements", value_name = "FILE")]
    pub requirements: Vec<PathBuf>,
    #[command(flatten)]
    pub building: Building,
}

// How an environment may be built.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Dependencies")]
pub struct Building {
    /// Install this dependency group or extra of a pyproject.toml instead of its main dependencies
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Build packages that have no wheel; their build code runs in a jar with a network
    #[arg(long)]
    pub allow_builds: bool,
    /// Allow requirements that name an address (PACKAGE @ URL)
    #[arg(long)]
    pub allow_urls: bool,
    /// Choose the newest versions again, instead of those chosen last time
    #[arg(long)]
    pub refresh: bool,
}

// What is taken out of the jar.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct Collecting {
    /// Copy the files that the run left in /jar to DIR, a new or empty folder
    #[arg(long, value_name = "DIR")]
    pub collect: Option<OsString>,
}

// What is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Printing {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Leave out belljar's own lines
    #[arg(short, long)]
    pub quiet: bool,
    /// Trace what belljar does, to stderr (-vv for more; BELLJAR_LOG takes a filter)
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}
