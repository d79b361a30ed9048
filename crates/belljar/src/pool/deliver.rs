//! One job to one parked worker: its files, its limits, its frame.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use belljar_linux::cgroup::Limits;
use rustix::process::{Pid, Rlimit};
use rustix::thread::CpuSet;

use super::worker::Worker;
use crate::error::Error;
use crate::files::{self, Folder};
use crate::job::{Job, Program, Sink, Stdin};
use crate::plan::Plan;
use crate::warden::foreign::Control;
use crate::warden::init::{Init, pid_of};
use crate::warden::outgoing::Outgoing;
use crate::warden::pump::Input;
use crate::warden::start::{Jar, Streams, Warm};
use crate::warden::stream::Stream;

/// Why a job was not delivered. Nothing of it has run; what is left of the worker is to be emptied.
pub(super) enum Undelivered {
    /// The worker is gone; another one will do, and the job is as it was.
    Dead(Box<Jar>),
    /// No worker could take it.
    Failed(Box<Jar>, Error),
}

/// Gives a worker its job, or as much of it as its socket takes now. `plan` has the job's own limits.
pub(super) fn deliver(
    plan: &Plan,
    mut worker: Worker,
    job: &mut Job,
    frame: &Outgoing,
    ends_with_value: bool,
    clear: Option<&CpuSet>,
) -> Result<(Jar, Streams), Undelivered> {
    if let Err(error) = furnish(plan, &worker, job) {
        return Err(match worker.is_alive() {
            true => Undelivered::Failed(Box::new(worker.unused()), error),
            false => Undelivered::Dead(Box::new(worker.unused())),
        });
    }
    let since = Instant::now();
    if let Some(clear) = clear.filter(|_| plan.affinity().is_none()) {
        worker.stand_aside(clear);
    }
    let told = worker.processors();
    let told = told.and_then(|processors| super::frame::frame(plan, job, ends_with_value, Some(processors)));
    let mut outgoing = told.unwrap_or_else(|| frame.clone());
    if outgoing.send(worker.parked.control.as_fd()).is_err() {
        return Err(Undelivered::Dead(Box::new(worker.unused())));
    }
    let parked = *worker.parked;
    let streams = streams(plan, job, [parked.stdin, parked.stdout, parked.stderr]);
    let jar = Jar {
        init: Init::Kept(parked.init),
        group: worker.group,
        report: parked.report,
        control: Some(Control::new(parked.control)),
        outgoing,
        leave: job.items,
        gate: None,
        since,
        inputs: std::mem::take(&mut job.files),
        collect: job.collect.take(),
        program: "Python".into(),
        wants_compiling: false,
        ended: None,
        emptied: None,
        warm: Some(Warm {
            worker: parked.worker,
            workdir: Some(parked.workdir),
            memory: worker.memory,
            cpu_usec: worker.cpu_usec,
            ends_with_value,
            late: None,
            look: None,
            bury: None,
            rest: vec![parked.script],
        }),
    };
    Ok((jar, streams))
}

/// What must be there before the job: its files, its script, limits that are tighter than those of its pool.
fn furnish(plan: &Plan, worker: &Worker, job: &Job) -> Result<(), Error> {
    for input in &job.files {
        write(&worker.parked.workdir, &input.path, &input.content, 0o644)?;
    }
    if let Program::Script { source, name } = &job.program {
        write(&worker.parked.script, Path::new(name), source, 0o444)?;
    }
    if job.limits.memory.is_some() || job.limits.pids.is_some() {
        tighten(plan, worker)?;
    }
    Ok(())
}

/// Writes through a descriptor of the jar's, as the guest's user: a tmpfs of its user namespace takes no file of another.
fn write(folder: &OwnedFd, path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let owner = rustix::fs::fstat(folder)
        .map_err(|error| Error::setup(format!("put {} into the jar", path.display()), error))?;
    let own = rustix::process::geteuid().as_raw() == owner.st_uid;
    let ids = (!own).then_some((owner.st_uid, owner.st_gid));
    Ok(files::write_file(
        Folder::jar(folder.as_fd()),
        path,
        content,
        mode,
        ids,
    )?)
}

/// Lowers the limits on memory and processes to those of the plan, by the cgroup or process by process.
fn tighten(plan: &Plan, worker: &Worker) -> Result<(), Error> {
    if let (Some(wanted), Some(group)) = (plan.cgroup(), &worker.group) {
        let limits = Limits {
            memory: Some(wanted.memory),
            pids: Some(wanted.pids),
            ..Limits::default()
        };
        group
            .tighten(&limits)
            .map_err(|error| Error::setup("lower the job's limits", std::io::Error::other(error)))?;
    }
    let pid = Pid::from_raw(pid_of(worker.parked.worker.as_fd()) as i32);
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

fn streams(plan: &Plan, job: &mut Job, [stdin, stdout, stderr]: [OwnedFd; 3]) -> Streams {
    let cap = plan.limits().output;
    Streams {
        input: Input::new(std::mem::replace(&mut job.stdin, Stdin::Null), stdin),
        stdout: Stream::new(stdout, std::mem::replace(&mut job.stdout, Sink::Null), cap),
        stderr: Stream::new(stderr, std::mem::replace(&mut job.stderr, Sink::Null), cap),
        terminal: None,
        reader: job.reader.take(),
    }
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
