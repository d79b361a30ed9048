//! `belljar env`: dependency environments.

use belljar::environment::{About, Entry, Pruned, Pruning, Wish};
use belljar::policy::Policy;
use belljar::python;
use belljar::requirement::Requirements;
use serde::Serialize;

use crate::args::{Build, Env, EnvCommand, Prune};
use crate::dependencies;
use crate::failure::Failure;
use crate::printer::{Printer, Weight};

#[derive(Serialize)]
struct Listed {
    folder: String,
    size: u64,
    environments: Vec<Entry>,
}

#[derive(Serialize)]
struct Built {
    environments: Vec<About>,
}

/// Lists, builds or prunes; the exit code.
pub fn env(args: Env, printer: Printer) -> Result<i32, Failure> {
    match args.command {
        EnvCommand::List(_) => list(printer),
        EnvCommand::Build(args) => build(&args, printer),
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

fn build(args: &Build, printer: Printer) -> Result<i32, Failure> {
    let allow = dependencies::allow(&args.building);
    let group = args.building.group.as_deref();
    let mut sets = Vec::new();
    if !args.with.is_empty() {
        sets.push(Requirements::from_list(&args.with, allow)?);
    }
    for path in args.requirements.iter().chain(&args.script) {
        sets.push(Requirements::read(path, group, allow)?);
    }
    if sets.is_empty() {
        return Err(Failure::with_hint(
            "nothing to build",
            "name packages, such as `belljar env build pandas`, or a file with -r or --script",
        ));
    }
    // Every wish is checked before the first is built.
    let mut wishes = Vec::with_capacity(sets.len());
    for requirements in sets {
        let mut policy = Policy {
            python: args.python.clone(),
            ..Policy::default()
        };
        dependencies::choose(requirements.requires_python(), &mut policy)?;
        wishes.push(Wish {
            requirements,
            interpreter: python::find(policy.python.as_deref(), None)?,
            allow,
            refresh: args.building.refresh,
        });
    }
    let (mut built, mut failed) = (Vec::with_capacity(wishes.len()), Vec::new());
    for wish in &wishes {
        // One that cannot be built is no reason not to have the others.
        match dependencies::build(wish, printer) {
            Ok(environment) => built.push(environment.about().clone()),
            Err(failure) => failed.push(failure),
        }
    }
    if let Some(last) = failed.pop() {
        failed
            .iter()
            .for_each(|failure| printer.say(Weight::Error, &failure.to_string()));
        return Err(last);
    }
    match printer.is_json() {
        true => printer.json(&Built { environments: built }),
        false => built.iter().for_each(|about| printer.built(about)),
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
