//! The commands that name a program, and how its arguments are told from belljar's own.

use std::ffi::OsString;

use clap::Args;

use super::flags::{Collecting, PolicyFlags, Printing};
use super::many::Many;

// What `run` takes.
#[derive(Debug, Args)]
#[command(
    override_usage = "belljar run [OPTIONS] SCRIPT [ARGS]...\n       belljar run [OPTIONS] -c CODE [ARGS]...\n       belljar run [OPTIONS] -m MODULE [ARGS]...\n       belljar run [OPTIONS] - [ARGS]...\n       belljar run [OPTIONS] --each SCRIPT... [-- ARGS...]"
)]
pub struct Run {
    #[command(flatten)]
    pub python: Python,
    #[command(flatten)]
    pub many: Many,
    #[command(flatten)]
    pub policy: PolicyFlags,
    #[command(flatten)]
    pub collecting: Collecting,
    #[command(flatten)]
    pub printing: Printing,
}

// What `plan` takes: all that `run` takes, so that one word can be changed for the other.
#[derive(Debug, Args)]
#[command(override_usage = "belljar plan [OPTIONS] [SCRIPT | -c CODE | -m MODULE] [ARGS]...")]
pub struct Plan {
    #[command(flatten)]
    pub python: Python,
    #[command(flatten)]
    pub many: Many,
    #[command(flatten)]
    pub policy: PolicyFlags,
    #[command(flatten)]
    pub collecting: Collecting,
    #[command(flatten)]
    pub printing: Printing,
}

// What `exec` takes.
#[derive(Debug, Args)]
#[command(override_usage = "belljar exec [OPTIONS] [--] CMD [ARGS]...")]
pub struct Exec {
    /// The program, which must exist in the jar, and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, num_args = 0..)]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub policy: PolicyFlags,
    #[command(flatten)]
    pub collecting: Collecting,
    #[command(flatten)]
    pub printing: Printing,
}

// What `shell` takes.
#[derive(Debug, Args)]
pub struct ShellArgs {
    #[command(flatten)]
    pub policy: PolicyFlags,
    #[command(flatten)]
    pub collecting: Collecting,
    /// Leave out belljar's own lines
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// Trace what belljar does, to stderr (-vv for more)
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
}

// A Python program and its arguments. As with python itself, whatever follows the program is the program's own: a
// value list that takes hyphens (`-c`, `-m`) or a trailing positional swallows the rest unread.
#[derive(Debug, Args)]
pub struct Python {
    /// A script, or `-` for code from stdin, and its arguments
    #[arg(value_name = "SCRIPT", trailing_var_arg = true, num_args = 0..)]
    script: Vec<OsString>,
    /// Run CODE; further words are its arguments
    #[arg(short = 'c', value_name = "CODE", allow_hyphen_values = true, num_args = 1.., conflicts_with = "module")]
    code: Option<Vec<OsString>>,
    /// Run a module, as `python -m` does; further words are its arguments
    #[arg(short = 'm', value_name = "MODULE", allow_hyphen_values = true, num_args = 1..)]
    module: Option<Vec<OsString>>,
}

/// Where a Python program comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(OsString),
    /// Standard input.
    Stdin,
    /// The command line.
    Code(OsString),
    /// A module that the guest finds.
    Module(OsString),
}

impl Python {
    /// The scripts of `--each`, and the arguments of every one; an error names what is no script.
    pub fn split_each(self) -> Result<(Vec<OsString>, Vec<OsString>), &'static str> {
        if self.code.is_some() {
            return Err("-c CODE");
        }
        if self.module.is_some() {
            return Err("-m MODULE");
        }
        let mut scripts = self.script;
        let args = match scripts.iter().position(|word| word == "--") {
            Some(place) => scripts.split_off(place).split_off(1),
            None => Vec::new(),
        };
        if scripts.iter().any(|word| word == "-") {
            return Err("- (code from stdin)");
        }
        Ok((scripts, args))
    }

    /// The script, if the program is one.
    pub fn file(&self) -> Option<Source> {
        let named = self.code.is_none() && self.module.is_none();
        let script = self.script.first().filter(|script| named && *script != "-")?;
        Some(Source::File(script.clone()))
    }

    /// The program and its arguments; `None` when none was named.
    pub fn split(self) -> Option<(Source, Vec<OsString>)> {
        // `-cCODE` in one word leaves its arguments to the positional.
        let with = |mut values: Vec<OsString>, rest: Vec<OsString>| {
            let first = values.remove(0);
            values.extend(rest);
            (first, values)
        };
        if let Some(code) = self.code {
            let (code, args) = with(code, self.script);
            return Some((Source::Code(code), args));
        }
        if let Some(module) = self.module {
            let (module, args) = with(module, self.script);
            return Some((Source::Module(module), args));
        }
        if self.script.is_empty() {
            return None;
        }
        let (script, args) = with(self.script, Vec::new());
        let source = if script == "-" {
            Source::Stdin
        } else {
            Source::File(script)
        };
        Some((source, args))
    }
}
