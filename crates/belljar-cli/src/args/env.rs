//! What `belljar env` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::flags::{Building, Printing};
use crate::values;

// What `env` takes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Env {
    #[command(subcommand)]
    pub command: EnvCommand,
}

/// What is done with environments.
#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// List what is there
    List(List),
    /// Build ahead of time: requirements are one environment, and so is every file; several at once
    Build(Build),
    /// Take away what is not needed; never what is in use
    Prune(Prune),
}

impl Env {
    /// What shall be printed.
    pub fn printing(&self) -> Printing {
        match &self.command {
            EnvCommand::List(args) => args.printing,
            EnvCommand::Build(args) => args.printing,
            EnvCommand::Prune(args) => args.printing,
        }
    }
}

// What `env list` takes.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub printing: Printing,
}

// What `env build` takes.
#[derive(Debug, Args)]
pub struct Build {
    /// What one environment shall hold, such as pandas or 'numpy>=2'
    #[arg(value_name = "REQUIREMENT")]
    pub with: Vec<String>,
    /// An environment for a requirements.txt, pyproject.toml or pylock.toml
    #[arg(short = 'r', long = "with-requirements", value_name = "FILE")]
    pub requirements: Vec<PathBuf>,
    /// An environment for what the header of a script asks for
    #[arg(long, value_name = "FILE")]
    pub script: Vec<PathBuf>,
    /// The interpreter: a version such as 3.12, or a path
    #[arg(long, value_name = "VERSION|PATH")]
    pub python: Option<String>,
    #[command(flatten)]
    pub building: Building,
    #[command(flatten)]
    pub printing: Printing,
}

// What `env prune` takes.
#[derive(Debug, Args)]
pub struct Prune {
    /// What was not used for so long, such as 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = values::age)]
    pub older_than: Option<Duration>,
    /// The least recently used, until everything takes no more than this
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub max_size: Option<u64>,
    /// What no request leads to any more; this is what goes when nothing is named
    #[arg(long)]
    pub unused: bool,
    /// Everything, with what was downloaded
    #[arg(long)]
    pub all: bool,
    /// Only tell what would go
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub printing: Printing,
}
