//! From a plan and a job to a running jar.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use belljar_linux::cgroup::Group;
use belljar_linux::process;
use belljar_linux::userns;
use belljar_linux::{descriptors, privileges};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Gid, Uid};

use crate::error::Error;
use crate::files::Obeyed;
use crate::init::{Ids, Report, Room, Sources, ids, init, namespaces, open_sources, receive};
use crate::jar::{Control, Init, Jar, Outgoing, Parent, Run, Worker, fault, has_group, make_group, pipe};
use crate::job::Job;
use crate::plan::Plan;
use crate::runtime::Runtime;

/// A jar of its own for one job, and the job's run.
pub(super) struct Started<'a> {
    pub jar: Jar,
    pub run: Run<'a>,
    /// Whether the guest runtime went in as source.
    pub wants_compiling: bool,
}

/// Builds the jar and lets it go.
pub(super) fn start<'a>(plan: &'a Plan, mut job: Job, obeyed: &Obeyed) -> Result<Started<'a>, Error> {
    // The kernel counts descriptors on their way for all of a user's processes together, and lets nobody send who is
    // over its own limit: with the soft one, one guest of a plain user could keep all its other jars from starting.
    belljar_linux::rlimits::most_files().map_err(|error| Error::setup("allow descriptors", error))?;
    // A group of version 2 takes a child that is born in it; one of version 1 is made while init builds the room.
    let group = if has_group(plan, true) {
        // An init that is born in its group builds the root there, and is charged for what it writes.
        make_group(plan, plan.tree_bytes())?
    } else {
        None
    };
    let ids = ids(plan)?;
    let sources = match ids {
        // Root's view of the host is needed for folders that only root can enter; a plain user's init opens them itself.
        Some(map) if map.own => {
            privileges::drop_groups().map_err(|error| Error::setup("drop supplementary groups", error))?;
            open_sources(plan, Some((map.host.host_uid, map.host.host_gid))).map_err(|(path, error)| {
                Error::setup(format!("open {} for the jar", path.display()), error)
            })?
        }
        _ => Sources::default(),
    };
    let born_in = group.as_ref().and_then(Group::clone_fd);
    let (ends, guest_ends) = streams()?;
    if let Some(map) = ids.filter(|map| map.own) {
        // Programs open their streams anew through /dev/stdout; a pipe of root's would refuse them.
        let owner = (Uid::from_raw(map.host.host_uid), Gid::from_raw(map.host.host_gid));
        for end in &guest_ends {
            rustix::fs::fchown(end, Some(owner.0), Some(owner.1))
                .map_err(|error| Error::setup("give the guest its streams", error))?;
        }
    }
    let (report, init_report) = pair(SocketType::SEQPACKET)?;
    let (control, guest_control) = if job.is_python() {
        let (ours, guests) = pair(SocketType::STREAM)?;
        (Some(ours), Some(guests))
    } else {
        (None, None)
    };
    let runtime = Runtime::cold(plan, &job);
    let runtime_files = runtime.files();
    let room = Room {
        plan,
        job: &job,
        runtime: &runtime_files,
        sources,
        obeyed,
        report: init_report,
        warden: report.as_fd(),
        streams: guest_ends,
        enters_group: has_group(plan, false),
        control: guest_control,
    };
    fault(plan, "namespaces")?;
    let child =
        process::start_in(namespaces(plan), born_in, || init(room)).map_err(|source| Error::Setup {
            step: "start a jar".into(),
            source,
            hint: Some("`belljar doctor` says why".into()),
        })?;
    let wants_compiling = runtime.wants_compiling();
    let worker = Worker {
        process: None,
        control: control.map(Control::new),
        parent: Parent::Init,
    };
    let mut jar = Jar::new(Init::Child(child), group, report, worker);
    let outgoing = outgoing(&job);
    let run = Run::new(plan, &mut job, outgoing, ends);
    match settle(plan, &mut jar, ids) {
        Ok(()) => Ok(Started {
            jar,
            run,
            wants_compiling,
        }),
        Err(error) => {
            jar.empty()?;
            // An init that failed by itself is why nobody was there to be spoken to.
            Err(said(&jar).unwrap_or(error))
        }
    }
}

/// The failure that an init which has ended had told of.
fn said(jar: &Jar) -> Option<Error> {
    while let Ok(Some((report, _))) = receive(jar.report.as_fd()) {
        if let Report::Failed { step, errno } = report {
            return Some(Error::setup(step, io::Error::from_raw_os_error(errno)));
        }
    }
    None
}

/// Gives init its ids, lets it go, and gives it its limits: it waits for both, so that no guest runs without them.
fn settle(plan: &Plan, jar: &mut Jar, ids: Option<Ids>) -> Result<(), Error> {
    if let Some(ids) = ids {
        fault(plan, "ids")?;
        userns::write_maps(jar.init.pid(), ids.host)
            .map_err(|error| Error::setup("map the guest's ids", error))?;
    }
    descriptors::send(jar.report.as_fd(), b"g", &[])
        .map_err(|error| Error::setup("let the jar go", error))?;
    if has_group(plan, false) {
        jar.group = make_group(plan, 0)?;
        let fds = jar.group.as_ref().map_or(Ok(Vec::new()), Group::procs_fds);
        let fds = fds.map_err(|error| Error::setup("open the cgroup", io::Error::other(error)))?;
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        // Init may have failed meanwhile; then it has said so, and that is what counts.
        let _ = descriptors::send(jar.report.as_fd(), b"c", &fds);
    }
    let memory = jar.group.as_ref().map(Group::oom_event).transpose();
    let memory = memory.map_err(|error| Error::setup("watch memory", io::Error::other(error)))?;
    jar.memory = memory.flatten();
    Ok(())
}

/// What a job's runtime reads from its socket, where not from files.
fn outgoing(job: &Job) -> Outgoing {
    let mut outgoing = Outgoing::default();
    if job.gate.is_some() {
        // Nothing is sent before the gate is open.
        outgoing.go();
    }
    match job.parcel() {
        Some(parcel) => outgoing.parcel(parcel, job.items),
        None => outgoing,
    }
}

fn pair(kind: SocketType) -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|error| Error::setup("make a socket pair", error))
}

/// The guest's standard streams: our ends, which do not block, and the guest's.
fn streams() -> Result<([OwnedFd; 3], [OwnedFd; 3]), Error> {
    let (guest_in, to_guest) = pipe()?;
    let (from_out, guest_out) = pipe()?;
    let (from_err, guest_err) = pipe()?;
    let ours = [to_guest, from_out, from_err];
    for end in &ours {
        rustix::io::ioctl_fionbio(end, true)
            .map_err(|error| Error::setup("prepare the guest's streams", error))?;
    }
    Ok((ours, [guest_in, guest_out, guest_err]))
}
