//! PID 1 of a jar: builds the room, starts the guest, reaps, and reports how it ended.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use belljar_linux::signals::SignalFd;
use belljar_linux::{descriptors, inherit, privileges, process, seccomp, signals};

use super::clerk::Clerk;
use super::report::{Report, send};
use super::root::{Root, open_folder};
use super::{Name, Room, guest, open_sources};
use crate::plan::{Hand, Namespace, Step};

const SIGCHLD: i32 = 17;

/// A failed step: what was being done, and the error.
pub(crate) type Failure = (String, io::Error);

/// The whole life of a jar's init. Runs in a copy of the warden; the code it gives means nothing.
pub(crate) fn init(mut room: Room<'_>) -> i32 {
    let ready = begin(&room).and_then(|()| {
        // Before there are two who would each have to: nobody here needs more than what is held already.
        if room.plan.drops_privileges() {
            step("empty the bounding set", privileges::unbound())?;
        }
        // Before anything else: it has the network to make, which takes the longest.
        let guest = step("start the guest's process", guest::start(&room))?;
        let built = settle(&mut room, || guest.take_ids()).and_then(|root| build(&room, root, &guest));
        if matches!(&built, Err((_, error)) if error.kind() == io::ErrorKind::BrokenPipe) {
            guest.speak();
        }
        built.map(|list| (guest, list))
    });
    match ready {
        Ok((guest, list)) => {
            // The numbers that these hold belong to nobody in a moment; they must not be closed again.
            let (room, guest, list) = (
                ManuallyDrop::new(room),
                ManuallyDrop::new(guest),
                ManuallyDrop::new(list),
            );
            serve(&room, &guest, &list)
        }
        Err((step, error)) => {
            let errno = error
                .raw_os_error()
                .unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
            send(room.report.as_fd(), &Report::Failed { step, errno }, &[]);
            1
        }
    }
}

/// Waits for the warden to have set up ids and limits, and takes them on.
pub(crate) fn prepare(room: &mut Room<'_>) -> Result<Root, Failure> {
    begin(room)?;
    settle(room, || Ok(()))
}

fn begin(room: &Room<'_>) -> Result<(), Failure> {
    // Without this the warden's end would stay open here, and its death would go unnoticed.
    step(
        "let go of the warden's socket",
        descriptors::close(room.warden.as_raw_fd()),
    )?;
    // Before the group, which takes no process of a real-time rank.
    step("take on an ordinary rank", inherit::ordinary())
}

fn settle(room: &mut Room<'_>, heard: impl FnOnce() -> io::Result<()>) -> Result<Root, Failure> {
    step("hear from the warden", hear(room.report.as_fd()))?;
    step("tell the guest's process of its ids", heard())?;
    signals::unblock();
    signals::ignore_pipe();
    step(
        "start a session",
        rustix::process::setsid().map(drop).map_err(io::Error::from),
    )?;
    step("become the guest's user", take_ids(room))?;
    // A copy of the warden has the caller's variables and arguments, and everyone in the jar may read the latter.
    step(
        "forget the caller's variables and arguments",
        process::forget_start(b"belljar init"),
    )?;
    step("hide the jar's init", privileges::hide())?;
    // After the change of user, which would clear it.
    step(
        "die with the warden",
        process::die_with_parent(room.report.as_fd()),
    )?;
    step("make mounts private", belljar_linux::mount::make_private())?;
    if room.sources.trees.is_empty() {
        room.sources = open_sources(room.plan, None)
            .map_err(|(path, error)| (format!("open {} for the jar", path.display()), error))?;
    }
    Ok(Root::new(std::mem::take(&mut room.sources)))
}

/// Carries out the steps of the plan, and lets the guest go when all are done. The guest's process seals itself as soon
/// as every path is there that its rules name; both are sealed and the room is complete before a single byte of the
/// guest's runs.
fn build(room: &Room<'_>, mut root: Root, guest: &guest::Guest) -> Result<Option<OwnedFd>, Failure> {
    let (mut sealing, mut list) = (None, None);
    for (position, operation) in room.plan.steps().iter().enumerate() {
        if let Some(errno) = room.plan.fault(operation.name()) {
            return Err((set_up(operation), io::Error::from_raw_os_error(errno)));
        }
        // A terminal is among the paths, and comes with the last step of the root.
        if matches!(operation, Step::Mask { .. }) && room.job.terminal.is_none() {
            sealing = Some(let_seal(room, guest, None)?);
        }
        let done = match operation {
            step if !step.is_for(Hand::Init) => Ok(()),
            Step::Hostname { name } => rustix::system::sethostname(name.as_bytes()).map_err(io::Error::from),
            // Before this list, or when nothing is left to build.
            Step::Cgroup { .. }
            | Step::Namespaces { .. }
            | Step::Ids { .. }
            | Step::Privileges
            | Step::Landlock(_)
            | Step::Descriptors
            | Step::Seccomp { .. } => Ok(()),
            _ => root.step(position, operation, room),
        };
        done.map_err(|error| (set_up(operation), error))?;
        if matches!(operation, Step::Proc) {
            let handed = root.hand_over_host().and_then(|host| guest.detach_host(host));
            step("hand over the host's root", handed)?;
            list = step("open the list of locks", Clerk::list(room.plan))?;
        }
    }
    let terminal = match room.job.terminal {
        Some(_) => Some(step("open a terminal in the jar", guest::Terminal::open())?),
        None => None,
    };
    let sealing = match sealing {
        Some(sealing) => sealing,
        None => let_seal(room, guest, terminal.as_ref())?,
    };
    let path = room.plan.current_dir();
    let workdir = open_folder(path).map_err(|error| (format!("open {}", path.display()), error))?;
    if room.plan.has_own(Namespace::Network) {
        step("join the network namespace", guest.join_network())?;
    }
    step("enter the cgroup", enter(room, &sealing.groups))?;
    for operation in room.plan.steps_for(Hand::Init) {
        let done = match operation {
            Step::Privileges => privileges::drop_held(),
            Step::Landlock(rules) => guest::confine(sealing.ruleset.as_ref(), rules.abi),
            _ => Ok(()),
        };
        done.map_err(|error| (set_up(operation), error))?;
    }
    step("let the guest run", guest.run())?;
    let master = terminal.as_ref().map(|terminal| terminal.master.as_fd());
    let (handed, fds): (Vec<Name>, Vec<BorrowedFd<'_>>) = [
        (Name::Guest, Some(guest.process.as_fd())),
        (Name::Workdir, Some(workdir.as_fd())),
        (Name::Upper, root.upper.as_ref().map(AsFd::as_fd)),
        (Name::Terminal, master),
    ]
    .into_iter()
    .filter_map(|(name, fd)| Some((name, fd?)))
    .unzip();
    send(room.report.as_fd(), &Report::Started { handed }, &fds);
    Ok(list)
}

/// What init and the guest's process both take on.
struct Sealing {
    groups: Vec<OwnedFd>,
    ruleset: Option<OwnedFd>,
}

/// Every path is there: builds the rules for both and lets the guest's process seal itself meanwhile.
fn let_seal(
    room: &Room<'_>,
    guest: &guest::Guest,
    terminal: Option<&guest::Terminal>,
) -> Result<Sealing, Failure> {
    let mut ruleset = None;
    for operation in room.plan.steps_for(Hand::Init) {
        if let Step::Landlock(rules) = operation {
            let built = guest::ruleset(room, rules);
            ruleset = Some(built.map_err(|error| (set_up(operation), error))?);
        }
    }
    let groups = if room.enters_group {
        step("hear of the cgroup", groups(room.report.as_fd()))?
    } else {
        Vec::new()
    };
    step(
        "let the guest seal itself",
        guest.seal(terminal, ruleset.as_ref(), &groups),
    )?;
    Ok(Sealing { groups, ruleset })
}

/// A step of the plan as what was being done; the plan itself says what will be there.
pub(crate) fn set_up(step: &Step) -> String {
    format!("set up {step}")
}

/// Reaps until the guest's first process has ended, and says how. When init ends, the kernel ends all that is left.
fn serve(room: &Room<'_>, guest: &guest::Guest, list: &Option<OwnedFd>) -> i32 {
    let mut wanted = vec![room.report.as_raw_fd()];
    if let Some(list) = list {
        wanted.extend([list.as_raw_fd(), guest.gate.as_raw_fd()]);
    }
    let Ok(kept) = descriptors::set_table(&[], &wanted) else {
        return 1;
    };
    let mut kept = kept.into_iter();
    let (report, list, gate) = (kept.next(), kept.next(), kept.next());
    let clerk = list
        .zip(gate)
        .map(|(list, gate)| Clerk::new(room.plan.locks(), list, gate));
    let children = clerk.is_some().then(|| SignalFd::new(&[SIGCHLD])).transpose();
    let (Some(report), Ok(children)) = (report, children) else {
        return 1;
    };
    if room.plan.filter().is_some()
        && seccomp::install(&seccomp::init_program(seccomp::Arch::native())).is_err()
    {
        return 1;
    }
    let reaped = match clerk.zip(children) {
        Some((mut clerk, children)) => {
            process::reap_between(&guest.process, || clerk.serve_beside(&children))
        }
        None => process::reap_until(&guest.process),
    };
    let Ok(process::Reaped { ended, alone }) = reaped else {
        return 1;
    };
    send(
        report.as_fd(),
        &Report::Ended {
            status: ended.status,
            max_rss: ended.max_rss,
            cpu_usec: ended.cpu_usec,
            alone,
        },
        &[],
    );
    0
}

pub(crate) fn step<T>(what: &str, done: io::Result<T>) -> Result<T, Failure> {
    done.map_err(|error| (what.to_owned(), error))
}

/// The warden has made the cgroup meanwhile.
pub(crate) fn groups(report: BorrowedFd<'_>) -> io::Result<Vec<OwnedFd>> {
    match descriptors::receive(report, &mut [0; 1])? {
        (1, groups) => Ok(groups),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Enters the jar's cgroup and, once there, a view of the tree that starts with it. A process that enters by itself
/// spares the kernel a grace period.
pub(crate) fn enter(room: &Room<'_>, groups: &[OwnedFd]) -> io::Result<()> {
    for group in groups {
        rustix::io::write(group, b"0")?;
    }
    if room.plan.has_own(Namespace::Cgroup) {
        process::unshare_cgroup()?;
    }
    Ok(())
}

/// Takes on the guest's user, where the warden had to map another than its own.
pub(super) fn take_ids(room: &Room<'_>) -> io::Result<()> {
    match room.plan.ids() {
        Some(ids) if ids.own => privileges::become_id(ids.inside, ids.inside),
        _ => Ok(()),
    }
}

fn hear(report: BorrowedFd<'_>) -> io::Result<()> {
    match descriptors::receive(report, &mut [0; 1])? {
        (1, _) => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
