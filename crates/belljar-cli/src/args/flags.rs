//! Flags that several commands share: the policy's keys by the same names, files, and what is printed.
//!
//! Comments on the groups are plain ones: clap would take a doc comment for the description of the command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use belljar::policy::{Amount, Key, Layer, LimitKey, Mount, Network, Tier, Workdir};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::values;

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

/// What the guest may use up: a flag for each limit of the policy's key table.
#[derive(Debug, Clone, Default)]
pub struct Limits(pub BTreeMap<&'static str, Option<Amount>>);

impl Limits {
    fn all() -> impl Iterator<Item = (&'static Key, &'static LimitKey)> {
        Key::all().iter().filter_map(|key| Some((key, key.limit()?)))
    }
}

impl Args for Limits {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Limits (sizes in powers of 1024)");
        Self::all().fold(command, |command, (key, limit)| {
            let default = key.default.trim_matches('"').trim_end_matches(".0");
            let flag = Arg::new(key.name)
                .long(key.flag.trim_start_matches("--"))
                .value_name(limit.value_name())
                .help(format!("{} [default: {default}]", limit.help))
                .value_parser(|text: &str| limit.read(text));
            command.arg(flag)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Limits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Self::all().filter_map(|(key, _)| Some((key.name, *matches.get_one(key.name)?)));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
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
