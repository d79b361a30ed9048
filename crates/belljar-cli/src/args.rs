//! What can be typed: one definition, from which parsing, help, completions and the man page come.

mod env;
mod examples;
mod flags;
mod many;
mod program;

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};
use clap_complete::Shell;

pub use env::{Build, Env, EnvCommand, Prune};
pub use flags::{Building, Dependencies, PolicyFlags, Printing};
pub use many::Many;
pub use program::{Exec, Plan, Run, ShellArgs, Source};

/// What was typed, read.
#[derive(Debug)]
pub enum Typed {
    /// `belljar run`
    Run(Box<Run>),
    /// `belljar exec`
    Exec(Box<Exec>),
    /// `belljar shell`
    Shell(Box<ShellArgs>),
    /// `belljar plan`
    Plan(Box<Plan>),
    /// `belljar env`
    Env(Box<Env>),
    /// `belljar doctor`
    Doctor(Doctor),
    /// `belljar completions`
    Completions(Completions),
    /// `belljar man`
    Man(Man),
    /// `belljar agent`, for clients such as the Python package alone
    Agent(Agent),
    /// `belljar warden`, for the library alone
    Warden,
    /// `belljar cgroup`, for the library alone
    Cgroup,
}

impl Typed {
    /// What shall be printed.
    pub fn printing(&self) -> Printing {
        match self {
            Self::Run(args) => args.printing,
            Self::Exec(args) => args.printing,
            Self::Plan(args) => args.printing,
            Self::Env(args) => args.printing(),
            Self::Doctor(args) => args.printing,
            Self::Shell(args) => Printing {
                json: false,
                quiet: args.quiet,
                verbose: args.verbose,
            },
            Self::Completions(_) | Self::Man(_) | Self::Agent(_) | Self::Warden | Self::Cgroup => {
                Printing::default()
            }
        }
    }
}

// What `doctor` takes.
#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    pub printing: Printing,
}

// What `completions` takes.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell that the completions are for
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl Completions {
    /// The shell, as the generator knows it.
    pub fn shell(&self) -> Shell {
        match self.shell.as_str() {
            "bash" => Shell::Bash,
            "zsh" => Shell::Zsh,
            _ => Shell::Fish,
        }
    }
}

// What `man` takes.
#[derive(Debug, Args)]
pub struct Man {
    /// Print the page of this command
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

// What `agent` takes.
#[derive(Debug, Args)]
pub struct Agent {
    /// The descriptor of the client's socket
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fd: i32,

    /// Jobs that run at once; further jobs wait
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub jobs: usize,
}

/// The whole definition. Each command is filled in only when it is asked for: building all of them takes longer than
/// everything else that this process does before the jar.
pub fn definition() -> Command {
    Command::new("belljar")
        // Whatever the file is called, the help speaks of belljar.
        .bin_name("belljar")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs Python that you did not write: every call gets a fresh process under glass")
        .after_help(examples::BELLJAR)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .styles(crate::printer::HELP)
        .subcommand(command::<Run>(
            "run",
            "Run a script, code or a module in a jar",
            examples::RUN,
        ))
        .subcommand(command::<Exec>(
            "exec",
            "Run any program in a jar",
            examples::EXEC,
        ))
        .subcommand(command::<ShellArgs>(
            "shell",
            "Start interactive Python in a jar",
            examples::SHELL,
        ))
        .subcommand(command::<Plan>(
            "plan",
            "Print what belljar would build, and run nothing",
            examples::PLAN,
        ))
        .subcommand(command::<Env>(
            "env",
            "List, build and prune dependency environments",
            examples::ENV,
        ))
        .subcommand(command::<Doctor>(
            "doctor",
            "Show what this host can enforce, and how to fix what it cannot",
            examples::DOCTOR,
        ))
        .subcommand(command::<Completions>(
            "completions",
            "Print completions for a shell",
            examples::COMPLETIONS,
        ))
        .subcommand(command::<Man>("man", "Print the man page", examples::MAN))
        .subcommand(Command::new("agent").hide(true).defer(Agent::augment_args))
        .subcommand(Command::new("warden").hide(true))
        .subcommand(Command::new("cgroup").hide(true))
}

fn command<A: Args>(name: &'static str, about: &'static str, examples: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .after_help(examples)
        .defer(A::augment_args)
}

/// `belljar help run` is another way to write `belljar run --help`; a command of its own would be in every list.
fn words(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.truncate(2);
        words.push("--help".into());
    }
    words
}

/// Reads what was typed.
pub fn read() -> Result<Typed, clap::Error> {
    let mut matches = definition().try_get_matches_from(words(std::env::args_os().collect()))?;
    let (name, mut found) = matches.remove_subcommand().expect("a command is required");
    let found = &mut found;
    Ok(match name.as_str() {
        "run" => Typed::Run(Box::new(Run::from_arg_matches_mut(found)?)),
        "exec" => Typed::Exec(Box::new(Exec::from_arg_matches_mut(found)?)),
        "shell" => Typed::Shell(Box::new(ShellArgs::from_arg_matches_mut(found)?)),
        "plan" => Typed::Plan(Box::new(Plan::from_arg_matches_mut(found)?)),
        "env" => Typed::Env(Box::new(Env::from_arg_matches_mut(found)?)),
        "doctor" => Typed::Doctor(Doctor::from_arg_matches_mut(found)?),
        "completions" => Typed::Completions(Completions::from_arg_matches_mut(found)?),
        "man" => Typed::Man(Man::from_arg_matches_mut(found)?),
        "agent" => Typed::Agent(Agent::from_arg_matches_mut(found)?),
        "cgroup" => Typed::Cgroup,
        _ => Typed::Warden,
    })
}
