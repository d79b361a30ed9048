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
    /// List all environments
    List(List),
    /// Build environments ahead of time: one for the requirements, and one for each file
    Build(Build),
    /// Remove environments that are no longer needed; those in use stay
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
    /// The packages of one environment, such as pandas or 'numpy>=2'
    #[arg(value_name = "REQUIREMENT")]
    pub with: Vec<String>,
    /// Build an environment for a requirements.txt, pyproject.toml or pylock.toml
    #[arg(short = 'r', long = "with-requirements", value_name = "FILE")]
    pub requirements: Vec<PathBuf>,
    /// Build an environment for the PEP 723 header of a script
    #[arg(long, value_name = "FILE")]
    pub script: Vec<PathBuf>,
    /// Use this interpreter: a version such as 3.12, or a path
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
    /// Remove environments that nobody used for this long, such as 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = values::age)]
    pub older_than: Option<Duration>,
    /// Remove the least recently used environments until all together take at most SIZE
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub max_size: Option<u64>,
    /// Remove environments that no request leads to any more (the default)
    #[arg(long)]
    pub unused: bool,
    /// Remove everything, including downloads
    #[arg(long)]
    pub all: bool,
    /// Only list what would be removed
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub printing: Printing,
}
