//! From a plan and a job to a running jar.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{self, CgroupError, Group, Hierarchy, OomEvent, Owner};
use belljar_linux::process::{self, Ended, Namespaces};
use belljar_linux::userns::{self, IdMap};
use belljar_linux::{descriptors, privileges};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{Gid, Uid};

use super::foreign::Control;
use super::gate::Closed;
use super::init::{Init, pid_of};
use super::outgoing::Outgoing;
use super::pump::Input;
use super::scope;
use super::stream::Stream;
use crate::error::{Error, Process};
use crate::files::Obeyed;
use crate::jar::{Report, Room, Sources, init, open_sources, receive};
use crate::job::{Job, Live, Sink, Stdin};
use crate::plan::{Namespace, Plan, Step};
use crate::runtime::Runtime;

/// How long a jar may take to be empty after its init was killed. The kernel needs milliseconds; one that takes longer than
/// this is lost, and waited for all the same: what is left of a guest never runs unwatched.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// How long init gets to end the jar by itself before its processes are killed one by one.
pub(crate) const PROMPT: std::time::Duration = std::time::Duration::from_millis(5);

/// A jar that has been started.
pub(crate) struct Jar {
    pub init: Init,
    pub group: Option<Group>,
    /// The way to init.
    pub report: OwnedFd,
    /// The way to the guest runtime.
    pub control: Option<Control>,
    /// What is still to be written to it.
    pub outgoing: Outgoing,
    /// Items that the guest may still send.
    pub leave: u64,
    /// What must turn out true before the job runs, as long as it has not.
    pub gate: Option<Closed>,
    /// When the job was delivered.
    pub since: Instant,
    /// Files that were put into a fresh /jar.
    pub inputs: Vec<crate::job::InputFile>,
    /// A host folder for what is left in a fresh /jar.
    pub collect: Option<crate::job::Collect>,
    /// What was to be executed, for messages.
    pub program: String,
    /// Whether the guest runtime went in as source.
    pub wants_compiling: bool,
    /// How init ended.
    pub ended: Option<Ended>,
    /// When nothing of the guest's was left in it.
    pub emptied: Option<Instant>,
    /// What was there before the job, when Python was.
    pub warm: Option<Warm>,
}

/// A look at what a job does to others, by way of its cgroup; gives when to take the next one, if at all.
pub(crate) type Look = Box<dyn FnMut(&mut Group) -> Option<Duration> + Send>;

/// A worker that was parked in its jar before it was given a job.
pub(crate) struct Warm {
    pub worker: OwnedFd,
    pub workdir: Option<OwnedFd>,
    /// Tells when memory runs out; made when the worker was parked.
    pub memory: Option<OomEvent>,
    /// Processor time that was used up before the job came.
    pub cpu_usec: u64,
    /// Whether a value ends the job: the worker of a call waits for its end then.
    pub ends_with_value: bool,
    /// Called once when the job takes its time: until then nobody else shall want the processor.
    pub late: Option<Box<dyn FnOnce() + Send>>,
    /// Called from time to time while the job runs.
    pub look: Option<Look>,
    /// Takes the cgroup of an empty jar.
    pub bury: Option<Box<dyn FnOnce(Group) + Send>>,
    /// What is only to be closed, which is done with the jar: whoever waits for its value does not wait for that.
    pub rest: Vec<OwnedFd>,
}

/// The caller's ends of everything the guest reads and writes.
pub(crate) struct Streams {
    pub input: Input,
    pub stdout: Stream,
    pub stderr: Stream,
    pub terminal: Option<OwnedFd>,
    pub reader: Option<Live>,
}

impl Jar {
    /// Ends everything in the jar and waits until it is empty.
    pub(crate) fn empty(&mut self) -> Result<Ended, Error> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        self.init
            .kill()
            .map_err(|error| Error::setup("end the jar", error))?;
        // Init ends the rest itself, once the scheduler gets to it; behind a crowd of busy guests that takes its time.
        if self.emptied.is_none()
            && !self.ends_within(PROMPT)
            && let Some(group) = &self.group
        {
            let _ = group.kill();
        }
        let since = Instant::now();
        let prompt = self.ends_within(PATIENCE);
        if !prompt {
            tracing::error!("a jar is not empty {} s after the kill", PATIENCE.as_secs());
            while !self.ends_within(PATIENCE) {}
        }
        match self
            .init
            .try_wait()
            .map_err(|error| Error::setup("wait for the jar", error))?
        {
            Some(ended) => {
                self.ended = Some(ended);
                self.emptied.get_or_insert_with(Instant::now);
                if prompt {
                    return Ok(ended);
                }
                Err(Error::Lost {
                    process: Process::Jar,
                    how: format!("empty only {} s after the kill", since.elapsed().as_secs()),
                })
            }
            None => Err(Error::Lost {
                process: Process::Jar,
                how: "its end was told, and is not there".into(),
            }),
        }
    }

    /// Ends what is left of the guest. An init that has said that it is alone goes by itself meanwhile: its namespaces take
    /// the kernel longer than all that is left to do here.
    pub(super) fn quiet(&mut self) -> Result<Ended, Error> {
        match self.emptied {
            Some(_) => Ok(self.ended.unwrap_or_default()),
            None => self.empty(),
        }
    }

    /// The way to the guest runtime.
    pub(super) fn voice(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().and_then(Control::get)
    }

    /// The pids below which all of the jar's processes are: a worker's parent is its template, not its jar's init.
    pub(super) fn roots(&self) -> Vec<u32> {
        let worker = self.warm.as_ref().map(|warm| pid_of(warm.worker.as_fd()));
        let all = std::iter::once(self.init.pid()).chain(worker);
        all.filter(|pid| *pid != 0).collect()
    }

    /// Processor time that is not the job's.
    pub(super) fn cpu_before(&self) -> u64 {
        self.warm.as_ref().map_or(0, |warm| warm.cpu_usec)
    }

    /// Waits for init's end, and with it the jar's.
    fn ends_within(&self, patience: std::time::Duration) -> bool {
        let mut poll = [rustix::event::PollFd::new(
            &self.init,
            rustix::event::PollFlags::IN,
        )];
        let timeout = rustix::event::Timespec {
            tv_sec: patience.as_secs() as i64,
            tv_nsec: patience.subsec_nanos().into(),
        };
        loop {
            match rustix::event::poll(&mut poll, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => {}
                ready => return ready == Ok(1),
            }
        }
    }
}

/// Builds the jar and lets it go.
pub(super) fn start(plan: &Plan, mut job: Job, obeyed: &Obeyed) -> Result<(Jar, Streams), Error> {
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
    let (streams, guest_ends) = streams(plan, &mut job)?;
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
    let mut jar = Jar {
        init: Init::Child(child),
        group,
        report,
        control: control.map(Control::new),
        outgoing: outgoing(&job),
        leave: job.items,
        gate: job.gate.take().map(Closed::Unasked),
        since: Instant::now(),
        inputs: std::mem::take(&mut job.files),
        collect: job.collect.take(),
        program: program(&job),
        wants_compiling: runtime.wants_compiling(),
        ended: None,
        emptied: None,
        warm: None,
    };
    match settle(plan, &mut jar, ids) {
        Ok(()) => Ok((jar, streams)),
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
    Ok(())
}

/// Whether the plan has a cgroup, of version 2 or of version 1.
fn has_group(plan: &Plan, v2: bool) -> bool {
    plan.steps().iter().any(|step| {
        matches!(step, Step::Cgroup { hierarchy, .. } if v2 == matches!(hierarchy, Hierarchy::V2 { .. }))
    })
}

fn fault(plan: &Plan, step: &str) -> Result<(), Error> {
    match plan.fault(step) {
        Some(errno) => Err(Error::setup(
            format!("set up {step}"),
            io::Error::from_raw_os_error(errno),
        )),
        None => Ok(()),
    }
}

/// What a job's runtime reads from its socket, where not from files.
fn outgoing(job: &Job) -> Outgoing {
    match job.parcel() {
        Some(parcel) => Outgoing::default().parcel(parcel, job.items),
        None => Outgoing::default(),
    }
}

fn program(job: &Job) -> String {
    match &job.program {
        crate::job::Program::Command(program) => program.to_string_lossy().into_owned(),
        _ => "Python".into(),
    }
}

/// Makes a jar's group, where this process is the jar's warden.
fn make_group(plan: &Plan, more_memory: u64) -> Result<Option<Group>, Error> {
    make_group_of(plan, more_memory, std::process::id())
}

/// Makes a jar's group.
pub(crate) fn make_group_of(plan: &Plan, more_memory: u64, warden: u32) -> Result<Option<Group>, Error> {
    for step in plan.steps() {
        if let Step::Cgroup {
            hierarchy,
            memory,
            pids,
            cpus,
        } = step
        {
            fault(plan, step.name())?;
            let limits = cgroup::Limits {
                memory: Some(memory.saturating_add(more_memory)),
                swap: false,
                pids: Some(*pids),
                cpus: Some(*cpus),
                cpusets: false,
            };
            let name = owner().map(|owner| owner.name(next_number()));
            let group = name.and_then(|name| Group::create(&scope::of(hierarchy, warden), &name, &limits));
            return group
                .map(Some)
                .map_err(|error| Error::setup("make a cgroup", io::Error::other(error)));
        }
    }
    Ok(None)
}

/// This process, looked at once unless it has been forked since.
fn owner() -> Result<Owner, CgroupError> {
    static LAST: Mutex<Option<Owner>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some(owner) if owner.pid == std::process::id() => Ok(owner),
        _ => Ok(*last.insert(Owner::current()?)),
    }
}

/// A number that no other jar of this process has.
fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

#[derive(Clone, Copy)]
pub(crate) struct Ids {
    pub host: IdMap,
    pub own: bool,
}

pub(crate) fn ids(plan: &Plan) -> Result<Option<Ids>, Error> {
    for step in plan.steps() {
        if let Step::Ids {
            inside,
            host_uid,
            host_gid,
            own,
        } = step
        {
            // 24 random bits above the base: jars that run at once are different users to the kernel's own accounting.
            let offset = if *own { random()? >> 8 } else { 0 };
            let host = IdMap {
                uid: *inside,
                gid: *inside,
                host_uid: host_uid + offset,
                host_gid: host_gid + offset,
            };
            return Ok(Some(Ids { host, own: *own }));
        }
    }
    Ok(None)
}

fn random() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Error::setup("get random bytes", error))?;
    Ok(u32::from_le_bytes(bytes))
}

pub(crate) fn namespaces(plan: &Plan) -> Namespaces {
    let mut all = Namespaces::NONE;
    for step in plan.steps() {
        if let Step::Namespaces { kinds } = step {
            for kind in kinds {
                all = all.and(match kind {
                    Namespace::User => Namespaces::USER,
                    Namespace::Mount => Namespaces::MOUNT,
                    Namespace::Pid => Namespaces::PID,

                    Namespace::Ipc => Namespaces::IPC,
                    Namespace::Uts => Namespaces::UTS,
                    // Made in the jar: the network by the guest's process while init builds the root, the view of
                    // the cgroups by init once it is in its own.
                    Namespace::Network | Namespace::Cgroup => Namespaces::NONE,
                });
            }
        }
    }
    all
}

fn pair(kind: SocketType) -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|error| Error::setup("make a socket pair", error))
}

pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| Error::setup("make a pipe", error))
}

fn streams(plan: &Plan, job: &mut Job) -> Result<(Streams, [OwnedFd; 3]), Error> {
    let cap = plan.limits().output;
    let (guest_in, to_guest) = pipe()?;
    let (from_out, guest_out) = pipe()?;
    let (from_err, guest_err) = pipe()?;
    for ours in [&to_guest, &from_out, &from_err] {
        rustix::io::ioctl_fionbio(ours, true)
            .map_err(|error| Error::setup("prepare the guest's streams", error))?;
    }
    let input = Input::new(std::mem::replace(&mut job.stdin, Stdin::Null), to_guest);
    let stdout = Stream::new(from_out, std::mem::replace(&mut job.stdout, Sink::Null), cap);
    let stderr = Stream::new(from_err, std::mem::replace(&mut job.stderr, Sink::Null), cap);
    let terminal = match &job.terminal {
        Some(terminal) => Some(
            terminal
                .tty
                .try_clone()
                .map_err(|error| Error::setup("take the caller's terminal", error))?,
        ),
        None => None,
    };
    Ok((
        Streams {
            input,
            stdout,
            stderr,
            terminal,
            reader: job.reader.take(),
        },
        [guest_in, guest_out, guest_err],
    ))
}
