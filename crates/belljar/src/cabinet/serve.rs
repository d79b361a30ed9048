//! A cabinet's warden: opens what only the host can give, starts the builder, and ends everything when the engine is gone.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use belljar_linux::cgroup::{self, CgroupError, Group, Owner};
use belljar_linux::{caller, descriptors, process, rlimits, userns};
use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::Told;
use super::builder::builder;
use super::message::tell;
use crate::error::Error;
use crate::files::Obeyed;
use crate::init::{Ids, Room, ids, namespaces, open_sources};
use crate::jar::{Steering, hierarchy, settle_scope, sweep, sweep_after};
use crate::job::{Job, Program};
use crate::plan::Plan;
use crate::runtime::Runtime;
use crate::talk::Opening;
use crate::tree::Tree;

/// Memory that a cabinet, and its templates, may have beside what a jar may: pages that workers copy on their way stay theirs.
const MORE_MEMORY: u64 = 256 << 20;
/// Processes of a cabinet that are in no jar yet: builder, keeper, and inits on their way.
const CABINET_PIDS: u64 = 256;

/// Has the guest runtime compiled, which takes a jar.
type Compile = fn(&Plan, Steering) -> Result<(), Error>;

/// Holds a cabinet until its engine is gone.
pub(crate) fn hold(
    mut opening: Opening,
    keeper: OwnedFd,
    tree: Option<Tree>,
    engine: &UnixStream,
    compile: Compile,
) -> Result<(), Error> {
    let settled = settle_scope(&mut opening.plan);
    match settled.and_then(|()| open(&opening, keeper.as_fd(), tree, engine, compile)) {
        Ok(()) => Ok(()),
        Err(error) => {
            let errno = match &error {
                Error::Setup { source, .. } => source.raw_os_error().unwrap_or_default(),
                _ => 0,
            };
            let step = match &error {
                Error::Setup { step, .. } => step.clone(),
                error => error.to_string(),
            };
            tell(keeper.as_fd(), Told::Broken { step, errno });
            Err(error)
        }
    }
}

fn open(
    opening: &Opening,
    keeper: BorrowedFd<'_>,
    tree: Option<Tree>,
    engine: &UnixStream,
    compile: Compile,
) -> Result<(), Error> {
    let plan = &opening.plan;
    let engine_process = caller::peer(engine.as_fd());
    rlimits::most_files().map_err(|error| Error::setup("allow descriptors", error))?;
    belljar_linux::signals::keep_children();
    let steering = engine.try_clone().map(Steering::Socket);
    compile(
        plan,
        steering.map_err(|error| Error::setup("watch the engine", error))?,
    )?;
    let ids = ids(plan)?;
    let sources = match ids {
        Some(map) if map.own => {
            belljar_linux::privileges::drop_groups()
                .map_err(|error| Error::setup("drop supplementary groups", error))?;
            open_sources(plan, Some((map.host.host_uid, map.host.host_gid))).map_err(|(path, error)| {
                Error::setup(format!("open {} for the cabinet", path.display()), error)
            })?
        }
        _ => Default::default(),
    };
    let groups = make_groups(opening)?;
    let (report, builders) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| Error::setup("make a socket pair", error))?;
    let runtime = Runtime::whole(plan);
    let runtime = runtime.files();
    let mut job = Job::new(Program::Module(String::new()));
    job.tree = tree;
    let null = || {
        rustix::fs::open(
            "/dev/null",
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )
        .map_err(|error| Error::setup("open /dev/null", error))
    };
    let room = Room {
        plan,
        job: &job,
        runtime: &runtime,
        sources,
        // Nothing of the host is written by warm jobs.
        obeyed: &Obeyed::default(),
        report: builders,
        warden: report.as_fd(),
        streams: [null()?, null()?, null()?],
        enters_group: !groups.is_empty(),
        control: None,
    };
    let child =
        process::start(namespaces(plan), || builder(room, keeper, &opening.spec)).map_err(|source| {
            Error::Setup {
                step: "start a cabinet".into(),
                source,
                hint: Some("`belljar doctor` says why".into()),
            }
        })?;
    let settled = settle(&child, ids, &groups, report.as_fd());
    if settled.is_ok() {
        wait(engine.as_fd(), child.as_fd());
    }
    child
        .kill()
        .and_then(|()| child.wait().map(drop))
        .map_err(|error| Error::setup("end the cabinet", error))?;
    for group in groups {
        group
            .remove()
            .map_err(|error| Error::setup("remove the cabinet's cgroup", io::Error::other(error)))?;
    }
    if let (Ok(engine), Some(hierarchy)) = (engine_process, hierarchy(plan))
        && is_gone(engine.pidfd.as_fd(), engine.pid)
    {
        // It could not remove the groups that it made for workers, and they are empty now.
        sweep_after(hierarchy, engine.pid);
    }
    settled
}

/// Whether a process that has closed its socket is gone. One that was killed closes it an instant before; on a busy machine, or with
/// much memory to give back, that instant is long, and it has no descriptor at all by then.
fn is_gone(pidfd: BorrowedFd<'_>, pid: u32) -> bool {
    let ends_within = |time: Duration| {
        let time = rustix::event::Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        let mut list = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
        rustix::event::poll(&mut list, Some(&time)) == Ok(1)
    };
    let has_nothing = || {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
        open.is_ok_and(|mut open| open.next().is_none())
    };
    ends_within(Duration::from_millis(5)) || has_nothing() && ends_within(Duration::from_secs(10))
}

/// Gives the builder its ids and its cgroups, its own and that of templates, and lets it go.
fn settle(
    child: &process::Child,
    ids: Option<Ids>,
    groups: &[Group],
    report: BorrowedFd<'_>,
) -> Result<(), Error> {
    if let Some(ids) = ids {
        userns::write_maps(child.pid(), ids.host)
            .map_err(|error| Error::setup("map the guest's ids", error))?;
    }
    descriptors::send(report, b"g", &[]).map_err(|error| Error::setup("let the cabinet go", error))?;
    for group in groups {
        let fds = group
            .procs_fds()
            .map_err(|error| Error::setup("open the cabinet's cgroup", io::Error::other(error)))?;
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let _ = descriptors::send(report, b"c", &fds);
    }
    Ok(())
}

/// Until the engine or the cabinet is gone. The engine says nothing more on this socket.
fn wait(engine: BorrowedFd<'_>, builder: BorrowedFd<'_>) {
    let mut list = [
        PollFd::from_borrowed_fd(engine, PollFlags::IN | PollFlags::RDHUP),
        PollFd::from_borrowed_fd(builder, PollFlags::IN),
    ];
    while matches!(rustix::event::poll(&mut list, None), Err(rustix::io::Errno::INTR)) {}
}

/// One for the cabinet's own processes, and one for templates, whose imports are held to what a job may use. Side by side:
/// on version 2 only leaves hold processes.
fn make_groups(opening: &Opening) -> Result<Vec<Group>, Error> {
    let Some(wanted) = opening.plan.cgroup() else {
        return Ok(Vec::new());
    };
    sweep(wanted.hierarchy);
    let own = cgroup::Limits {
        memory: Some(wanted.memory.saturating_add(MORE_MEMORY)),
        swap: false,
        pids: Some(CABINET_PIDS),
        cpus: Some(wanted.cpus + 1.0),
        // Jobs that want too much are kept on some processors below this one.
        cpusets: true,
    };
    let cores = process::processors().map_or(1, |all| all.len() as u64);
    let templates = cgroup::Limits {
        // The pool makes at most two workers at once for each processor, and an old template serves while another imports.
        pids: Some(wanted.pids + 2 * cores + 1),
        // Less would hold up every worker on its way.
        cpus: Some(wanted.cpus.max(1.0)),
        cpusets: false,
        ..own
    };
    let make = |owner: Owner| -> Result<Vec<Group>, CgroupError> {
        let make = |(number, limits)| Group::create(wanted.hierarchy, &owner.name(number), &limits);
        [(0, own), (1, templates)].into_iter().map(make).collect()
    };
    let groups = Owner::current().and_then(make);
    groups.map_err(|error| Error::setup("make the cabinet's cgroups", io::Error::other(error)))
}
