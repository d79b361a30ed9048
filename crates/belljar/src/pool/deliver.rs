//! One job to one parked worker: its files, its limits, its frame.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use belljar_linux::cgroup::Limits;
use rustix::process::{Pid, Rlimit};
use rustix::thread::CpuSet;

use super::ready::Ready;
use crate::error::{Error, Process};
use crate::files::{self, Folder};
use crate::init::Name;
use crate::jar::{Jar, Outgoing, Run};
use crate::job::{Job, Program};
use crate::plan::Plan;

/// Why a job was not delivered. Nothing of it has run; what is left of the worker is to be emptied.
pub(super) enum Undelivered {
    /// The worker is gone; another one will do, and the job is as it was.
    Dead(Box<Jar>),
    /// No worker could take it.
    Failed(Box<Jar>, Error),
}

/// Gives a worker its job, or as much of it as its socket takes now. `plan` has the job's own limits.
pub(super) fn deliver<'a>(
    plan: &'a Plan,
    mut ready: Ready,
    job: &mut Job,
    frame: &Outgoing,
    ends_with_value: bool,
    clear: Option<&CpuSet>,
) -> Result<(Jar, Run<'a>), Undelivered> {
    if let Err(error) = furnish(plan, &ready.jar, job) {
        return Err(match ready.is_alive() {
            true => Undelivered::Failed(Box::new(ready.jar), error),
            false => Undelivered::Dead(Box::new(ready.jar)),
        });
    }
    let since = Instant::now();
    if let Some(clear) = clear.filter(|_| plan.affinity().is_none()) {
        ready.stand_aside(clear);
    }
    let told = ready.processors();
    let told = told.and_then(|processors| super::frame::frame(plan, job, ends_with_value, Some(processors)));
    let mut outgoing = told.unwrap_or_else(|| frame.clone());
    let voice = ready.jar.worker.voice();
    if voice.is_none_or(|voice| outgoing.send(voice).is_err()) {
        return Err(Undelivered::Dead(Box::new(ready.jar)));
    }
    let mut run = Run::new(plan, job, outgoing, ready.ends);
    (run.since, run.cpu_before, run.ends_with_value) = (since, ready.cpu_usec, ends_with_value);
    Ok((ready.jar, run))
}

/// What must be there before the job: its files, its script, limits that are tighter than those of its pool.
fn furnish(plan: &Plan, jar: &Jar, job: &Job) -> Result<(), Error> {
    for input in &job.files {
        write(jar, Name::Workdir, &input.path, &input.content, 0o644)?;
    }
    if let Program::Script { source, name } = &job.program {
        write(jar, Name::Script, Path::new(name), source, 0o444)?;
    }
    if job.limits.memory.is_some() || job.limits.pids.is_some() {
        tighten(plan, jar)?;
    }
    Ok(())
}

/// Writes through a descriptor of the jar's, as the guest's user: a tmpfs of its user namespace takes no file of another.
fn write(jar: &Jar, folder: Name, path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let folder = jar.handed.get(folder).ok_or_else(|| Error::Lost {
        process: Process::Keeper,
        how: "it sent a worker without its descriptors".into(),
    })?;
    let owner = rustix::fs::fstat(folder)
        .map_err(|error| Error::setup(format!("put {} into the jar", path.display()), error))?;
    let own = rustix::process::geteuid().as_raw() == owner.st_uid;
    let ids = (!own).then_some((owner.st_uid, owner.st_gid));
    Ok(files::write_file(Folder::jar(folder), path, content, mode, ids)?)
}

/// Lowers the limits on memory and processes to those of the plan, by the cgroup or process by process.
fn tighten(plan: &Plan, jar: &Jar) -> Result<(), Error> {
    if let (Some(wanted), Some(group)) = (plan.cgroup(), &jar.group) {
        let limits = Limits {
            memory: Some(wanted.memory),
            pids: Some(wanted.pids),
            ..Limits::default()
        };
        group
            .tighten(&limits)
            .map_err(|error| Error::setup("lower the job's limits", std::io::Error::other(error)))?;
    }
    let pid = Pid::from_raw(jar.worker.pid() as i32);
    for limit in plan.rlimits().iter().filter(|limit| limit.resource.is_a_jobs()) {
        let pair = Rlimit {
            current: Some(limit.soft),
            maximum: Some(limit.hard),
        };
        rustix::process::prlimit(pid, limit.resource.kernel(), pair)
            .map_err(|error| Error::setup("lower the job's limits", error))?;
    }
    Ok(())
}

/// Why this job cannot run on a parked worker of its plan, if it cannot.
pub(super) fn unfit(plan: &Plan, job: &Job) -> Option<&'static str> {
    match &job.program {
        Program::Command(_) | Program::Shell => return Some("the program is not Python"),
        Program::Script { name, .. } if name.as_bytes().contains(&b'/') => {
            return Some("the script's name has folders");
        }
        _ => {}
    }
    if job.terminal.is_some() {
        return Some("a terminal belongs to one run");
    }
    if job
        .current_dir
        .as_deref()
        .is_some_and(|folder| folder != plan.current_dir())
    {
        return Some("the job starts in a folder of its own");
    }
    (!job.files.is_empty() && plan.workdir().is_some()).then_some("the working directory is not a fresh one")
}
