//! One file a command.

pub mod doctor;
pub mod each;
pub mod env;
pub mod exec;
pub mod generate;
pub mod plan;
pub mod run;
pub mod shell;

use std::path::PathBuf;

use belljar::job::Collect;
use belljar::policy::WorkdirMode;
use belljar::{Environment, Job, Policy};

use crate::engine;
use crate::exit;
use crate::failure::Failure;
use crate::printer::{Kept, Printer, Weight};
use crate::values::{absolute, plain};

/// Carries a job out and tells how it ended; the exit code.
fn carry_out(
    policy: &Policy,
    environment: Option<&Environment>,
    job: Job,
    printer: Printer,
) -> Result<i32, Failure> {
    carry_out_in(policy, environment, job, printer, || Ok(()))
}

/// As [`carry_out`], with the caller's terminal prepared only while the guest has it: on one that is raw, lines of
/// belljar's own would start where the last one ended.
fn carry_out_in<T>(
    policy: &Policy,
    environment: Option<&Environment>,
    job: Job,
    printer: Printer,
    prepare: impl FnOnce() -> Result<T, Failure>,
) -> Result<i32, Failure> {
    let collect = job.collect.clone();
    if collect.is_some() && policy.workdir.is_some() {
        return Err(no_fresh_jar());
    }
    if !policy.network.has_own_namespace() {
        printer.say(
            Weight::Warning,
            "THE NETWORK IS SHARED: the guest can reach whatever this host can (--network host)",
        );
    }
    let plan = engine::plan(policy, environment)?;
    printer.memory(plan.isolation());
    let prepared = prepare()?;
    let ended = engine::run(&plan, job);
    drop(prepared);
    let outcome = ended?;
    let kept = match (&collect, &policy.workdir) {
        (Some(Collect::Folder(folder)), _) => Kept::Collected(folder),
        (None, Some(workdir)) if workdir.mode == WorkdirMode::Draft => Kept::Drafted,
        (None, Some(workdir)) if workdir.mode == WorkdirMode::Apply => Kept::Applied(&workdir.source),
        _ => Kept::Nothing,
    };
    printer.outcome(&outcome, &policy.limits, kept)?;
    Ok(exit::code(&outcome))
}

fn no_fresh_jar() -> Failure {
    Failure::with_hint(
        "--collect copies files out of a fresh /jar, and --workdir replaces /jar with a folder",
        "leave one of the two out",
    )
}

/// What becomes of the files that a run leaves.
fn collect(typed: Option<std::ffi::OsString>) -> Result<Option<Collect>, Failure> {
    Ok(folder(typed)?.map(Collect::Folder))
}

/// The folder that gets what a run leaves. Looked at before the run: afterwards it would be too late to name another.
fn folder(typed: Option<std::ffi::OsString>) -> Result<Option<PathBuf>, Failure> {
    let Some(typed) = typed else { return Ok(None) };
    let folder = absolute(typed).map_err(|cause| Failure::new(format!("--collect: {cause}")))?;
    let wrong = |problem: &str| {
        let message = format!("--collect {}: {problem}", folder.display());
        Err(Failure::with_hint(message, "name a new or empty folder"))
    };
    // Where a guest could write, it may have put one in the place of a folder.
    for path in folder.ancestors().take(2) {
        if let Ok(leads) = path.read_link() {
            let message = format!("--collect: {} is a link to {}", path.display(), leads.display());
            return Err(Failure::with_hint(
                message,
                "name the target itself if you mean it",
            ));
        }
    }
    match std::fs::read_dir(&folder).map(|mut entries| entries.next().is_some()) {
        Ok(true) => wrong("the folder is not empty"),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => wrong(&plain(&error)),
        Err(_) if !folder.parent().is_some_and(|parent| parent.is_dir()) => {
            wrong("the folder that it would be made in does not exist")
        }
        _ => Ok(Some(folder)),
    }
}
