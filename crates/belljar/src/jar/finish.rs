//! After the jar is empty: figures, files, and the outcome.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use belljar_linux::process::Ended;
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::Jar;
use super::verdict::{Disk, verdict};
use super::watch::{Seen, Watched};
use super::weight::refuse_heavy;
use crate::error::Error;
use crate::files::{self, ApplyOptions, Bounds, CollectOptions, Folder, Listing, Obeyed};
use crate::init::{DRAFT_MODE, Name};
use crate::job::{Collect, InputFile};
use crate::outcome::{Changes, Outcome, OutputFile, Usage};
use crate::plan::Plan;
use crate::policy::WorkdirMode;
use crate::pyerror::{HintContext, PythonError, hint};
use crate::wire::{Frame, Kind};

/// Folders of the host as they were before the run.
#[derive(Default)]
pub(crate) struct Before {
    /// What tools obey in those that the guest writes.
    pub obeyed: Obeyed,
    workdir: Option<Workdir>,
}

/// The caller's folder, if the guest gets to change it.
struct Workdir {
    folder: OwnedFd,
    path: PathBuf,
    mode: u32,
    listing: Option<Listing>,
    since: SystemTime,
}

/// Looks at what the guest gets to change.
pub(crate) fn before(plan: &Plan) -> Result<Before, Error> {
    let written: Vec<&Path> = plan.protected().collect();
    Ok(Before {
        obeyed: files::obeyed(&written),
        workdir: workdir_before(plan)?,
    })
}

fn workdir_before(plan: &Plan) -> Result<Option<Workdir>, Error> {
    let Some(workdir) = plan.workdir().filter(|workdir| workdir.mode != WorkdirMode::Read) else {
        return Ok(None);
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // As the jar's own source of it is opened: what was planned, or nothing.
    let strict = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let folder = rustix::fs::openat2(rustix::fs::CWD, &workdir.source, flags, Mode::empty(), strict)
        .map_err(|error| Error::setup(format!("open {}", workdir.source.display()), error))?;
    let listing = match workdir.mode {
        WorkdirMode::Write => Some(files::scan(Folder::host(folder.as_fd()), &Bounds::default())?),
        _ => None,
    };
    let stat = rustix::fs::fstat(&folder)
        .map_err(|error| Error::setup(format!("look at {}", workdir.source.display()), error))?;
    Ok(Some(Workdir {
        folder,
        path: workdir.source.clone(),
        mode: stat.st_mode & 0o7777,
        listing,
        since: SystemTime::now(),
    }))
}

/// Everything the host knows of a run in a jar that is empty, put together.
pub(crate) fn outcome(
    jar: &Jar,
    before: Before,
    watched: Watched<'_>,
    init: Ended,
) -> Result<Outcome, Error> {
    let Watched { plan, mut seen, .. } = watched;
    let workdir = jar.handed.get(Name::Workdir);
    refuse_heavy(&mut seen);
    // A slow reader of what was printed is not the guest's time.
    let wall = jar
        .emptied
        .unwrap_or_else(Instant::now)
        .duration_since(watched.since);
    let stats = jar.group.as_ref().map(|group| group.stats());
    let disk = workdir
        .filter(|_| plan.workdir().is_none())
        .map(disk)
        .unwrap_or_default();
    let usage = Usage {
        wall_seconds: wall.as_secs_f64(),
        cpu_seconds: stats
            .and_then(|stats| stats.cpu_usec)
            .unwrap_or(init.cpu_usec.max(seen.cpu_usec))
            .saturating_sub(watched.cpu_before) as f64
            / 1e6,
        cpu_estimated: stats.and_then(|stats| stats.cpu_usec).is_none(),
        memory_peak: stats
            .and_then(|stats| stats.memory_peak)
            .or(Some(init.max_rss.max(seen.max_rss))),
        processes_peak: stats
            .and_then(|stats| stats.pids_peak)
            .map(|peak| peak.saturating_sub(1)),
    };
    let exception = exception(plan, &seen);
    let errno = exception.as_ref().and_then(|exception| exception.errno);
    let peak = usage.memory_peak.unwrap_or(0);
    let decided = verdict(plan, &seen, stats.as_ref(), exception.as_ref(), errno, disk, peak);
    let clean = decided.exit_code == Some(0);
    let collect = watched.collect.as_ref();
    let (mut changes, files) = match (&before.workdir, workdir) {
        (Some(workdir), _) => {
            let upper = jar.handed.get(Name::Upper);
            host_changes(plan, workdir, &before.obeyed, upper, collect, clean)?
        }
        (None, Some(workdir)) if plan.workdir().is_none() => {
            fresh_changes(&watched.inputs, collect, workdir)?
        }
        _ => Default::default(),
    };
    changes.notable.extend(before.obeyed.notes);
    Ok(Outcome {
        status: decided.status,
        limit: decided.limit,
        exit_code: decided.exit_code,
        signal: decided.signal,
        value: seen.frame.as_ref().and_then(value),
        parcel: seen.parcel,
        refused: seen.refused,
        exception,
        stdout: seen.stdout,
        stderr: seen.stderr,
        changes,
        usage,
        isolation: plan.isolation().clone(),
        cold: None,
        files,
    })
}

fn value(frame: &Frame) -> Option<serde_json::Value> {
    (frame.kind == Kind::Returned && !frame.body.is_empty())
        .then(|| serde_json::from_slice(&frame.body).ok())
        .flatten()
}

fn disk(workdir: BorrowedFd<'_>) -> Disk {
    let Ok(space) = rustix::fs::fstatvfs(workdir) else {
        return Disk::default();
    };
    Disk {
        full: space.f_blocks > 0 && space.f_bavail == 0,
        no_inodes: space.f_files > 0 && space.f_favail == 0,
    }
}

/// The guest's exception, with what to do about it in this jar.
fn exception(plan: &Plan, seen: &Seen) -> Option<PythonError> {
    if let (Some(stuck), Some(timeout)) = (&seen.stuck, plan.limits().timeout) {
        return PythonError::from_stack(stuck, timeout);
    }
    let frame = seen.frame.as_ref().filter(|frame| frame.kind == Kind::Raised)?;
    let mut error = PythonError::from_frame(&frame.header)
        .inspect_err(|error| tracing::debug!(%error, "the guest's report is dropped"))
        .ok()?;
    error.hint = hint(&error, &HintContext::from(plan));
    Some(error)
}

impl From<&Plan> for HintContext {
    fn from(plan: &Plan) -> Self {
        let limits = plan.limits();
        Self {
            network: plan.network(),
            memory: limits.memory,
            pids: limits.pids,
            disk: limits.disk,
            open_files: limits.open_files,
            // An environment is one too, and what is missing there is asked for, not installed.
            venv: plan.has_venv() && !plan.interpreter().starts_with(crate::environment::INSIDE),
            workdir: plan.workdir().is_some(),
        }
    }
}

/// What a fresh /jar holds that was not put there, and, if the caller wants it, a copy of it.
fn fresh_changes(
    inputs: &[InputFile],
    collect: Option<&Collect>,
    workdir: BorrowedFd<'_>,
) -> Result<(Changes, Vec<OutputFile>), Error> {
    let folder = Folder::jar(workdir);
    let bounds = Bounds::default();
    let listing = files::scan(folder, &bounds)?;
    let mut changes = files::changes(&Listing::default(), &listing);
    for input in inputs {
        let name = files::display(input.path.as_os_str().as_bytes());
        if let Some(position) = changes.created.iter().position(|created| *created == name) {
            changes.created.remove(position);
            let now = files::read_file(folder, &input.path, input.content.len() as u64 + 1);
            if now.map_or(true, |now| now != input.content) {
                changes.modified.push(name);
            }
        } else if !changes.truncated {
            changes.deleted.push(name);
        }
    }
    match collect {
        Some(Collect::Folder(destination)) => {
            let copied = files::collect(folder, &listing, destination, &bounds, &CollectOptions::default())?;
            changes.skipped.extend(copied.skipped);
            changes.truncated |= copied.truncated;
            Ok((changes, Vec::new()))
        }
        Some(Collect::Take(most)) => {
            let taken = files::take(folder, &mut changes, *most);
            Ok((changes, taken))
        }
        None => Ok((changes, Vec::new())),
    }
}

/// What the guest did to the caller's folder, and, after a clean exit, the draft applied; what is new in a draft that is
/// not applied, if the caller wants it.
fn host_changes(
    plan: &Plan,
    workdir: &Workdir,
    obeyed: &Obeyed,
    upper: Option<BorrowedFd<'_>>,
    collect: Option<&Collect>,
    clean: bool,
) -> Result<(Changes, Vec<OutputFile>), Error> {
    let folder = Folder::host(workdir.folder.as_fd());
    let bounds = Bounds::default();
    if let Some(listing) = &workdir.listing {
        let mut changes = files::changes(listing, &files::scan(folder, &bounds)?);
        let mode = rustix::fs::fstat(&workdir.folder).map(|stat| stat.st_mode & 0o7777);
        if mode.is_ok_and(|mode| mode != workdir.mode) {
            changes.modified.insert(0, ".".into());
        }
        if changes.truncated {
            changes.notable = files::notable_beyond(listing, workdir.since, &workdir.path, obeyed);
        }
        changes
            .notable
            .extend(files::notable(&changes, &workdir.path, obeyed));
        return Ok((changes, Vec::new()));
    }
    let Some(upper) = upper else {
        return Ok(Default::default());
    };
    // Before it is read, which may have to change it.
    let mode = rustix::fs::fstat(upper).map(|stat| stat.st_mode & 0o7777);
    let upper = Folder::jar(upper);
    let draft = files::draft_changes(upper, folder, &bounds)?;
    let mut changes = draft.summary();
    if let Some(mode) = mode.ok().filter(|mode| *mode != DRAFT_MODE) {
        let reason = format!("only its mode changed, to {mode:o}; modes are not applied");
        changes.skipped.insert(".".into(), reason);
    }
    // The guest has written none of it, so what it leads to is what it led to before the run.
    let obeyed = match draft.changes.is_empty() {
        true => Obeyed::default(),
        false => files::obeyed(&[&workdir.path]),
    };
    changes.notable = files::notable(&changes, &workdir.path, &obeyed);
    changes.notable.extend(obeyed.notes.clone());
    let options = ApplyOptions {
        since: Some(workdir.since),
        folder: workdir.path.clone(),
        obeyed,
        ..ApplyOptions::default()
    };
    if clean
        && plan
            .workdir()
            .is_some_and(|workdir| workdir.mode == WorkdirMode::Apply)
    {
        let applied = files::apply(upper, folder, &draft, &options)?;
        changes.skipped.extend(applied.skipped);
        changes.applied = true;
        return Ok((changes, Vec::new()));
    }
    // Nothing else is left of a draft: a caller may look at it, and apply it later.
    let taken = match collect {
        Some(Collect::Take(most)) => {
            changes.draft = files::steps(&draft, &options);
            files::take(upper, &mut changes, *most)
        }
        _ => Vec::new(),
    };
    Ok((changes, taken))
}
