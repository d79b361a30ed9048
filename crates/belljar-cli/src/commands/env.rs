//! `belljar env`: dependency environments.

mod build;

use belljar::environment::{Entry, Pruned, Pruning};
use serde::Serialize;

use crate::args::{Env, EnvCommand, Prune};
use crate::dependencies;
use crate::failure::Failure;
use crate::printer::{Printer, Weight};

#[derive(Serialize)]
struct Listed {
    folder: String,
    size: u64,
    environments: Vec<Entry>,
}

/// Lists, builds or prunes; the exit code.
pub fn env(args: Env, printer: Printer) -> Result<i32, Failure> {
    match args.command {
        EnvCommand::List(_) => list(printer),
        EnvCommand::Build(args) => build::build(&args, printer),
        EnvCommand::Prune(args) => prune(&args, printer),
    }
}

fn list(printer: Printer) -> Result<i32, Failure> {
    let environments = dependencies::environments()?;
    let listed = Listed {
        folder: environments.folder().display().to_string(),
        size: environments.size(),
        environments: environments.list(),
    };
    match printer.is_json() {
        true => printer.json(&listed),
        false => printer.environments(&listed.folder, listed.size, &listed.environments),
    }
    Ok(0)
}

fn prune(args: &Prune, printer: Printer) -> Result<i32, Failure> {
    let pruned: Pruned = dependencies::environments()?.prune(&Pruning {
        older_than: args.older_than,
        max_size: args.max_size,
        unused: args.unused,
        all: args.all,
        dry_run: args.dry_run,
    })?;
    if printer.is_json() {
        printer.json(&pruned);
        return Ok(0);
    }
    printer.pruned(&pruned, args.dry_run);
    if !pruned.in_use.is_empty() {
        printer.say(Weight::Note, &format!("{} in use, and kept", pruned.in_use.len()));
    }
    Ok(0)
}
