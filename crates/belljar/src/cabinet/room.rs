//! PID 1 of a warm jar: makes what must be fresh, hands over the keys, and is there until the jar ends.
//!
//! The root is the cabinet's, copied with its locks. Only what a guest could leave something in, or learn something from, is
//! new: processes, network, /proc, and every place that can be written.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use belljar_linux::confine::{self, Prepared};
use belljar_linux::mount::{self, Attributes};
use belljar_linux::namespaces::{self, Kind};
use belljar_linux::process::{self, Namespaces};
use belljar_linux::userns::{self, IdMap};
use belljar_linux::{descriptors, inherit, network, privileges, seccomp, signals};

use crate::init::{
    Clerk, Cover, Failure, Handed, Name, Report, folder, open_folder, place, read_only, scratch_part, send,
    set_up, show, step,
};
use crate::plan::{HOME, Hand, Namespace, Plan, SCRIPT, Step};

/// A PID 1 that builds its jar.
pub(super) struct Builds {
    pub init: process::Child,
    /// Init's report comes here.
    pub gate: OwnedFd,
}

/// What a jar's init hands over.
pub(super) struct Keys {
    /// One for each of [`kinds`].
    pub namespaces: Vec<OwnedFd>,
    pub ruleset: Option<OwnedFd>,
    /// What goes on to the engine.
    pub handed: Handed,
}

/// What is the same for all jars of a cabinet, found out once.
pub(super) struct Blueprint<'a> {
    plan: &'a Plan,
    /// What hides each path that is hidden.
    covers: HashMap<PathBuf, Cover>,
    rules: Option<Prepared>,
}

impl<'a> Blueprint<'a> {
    /// Looks at the cabinet, which has its /proc by now.
    pub(super) fn new(plan: &'a Plan) -> io::Result<Self> {
        let masked = plan.masked().iter();
        let covers = masked
            .filter_map(|path| Some((path.clone(), Cover::of(path)?)))
            .collect();
        let mut own = vec![Path::new("/proc"), Path::new(SCRIPT)];
        own.extend(
            plan.scratch()
                .iter()
                .flat_map(|scratch| scratch.targets)
                .map(PathBuf::as_path),
        );
        // Path rules bind to what is there: those for folders of the jar's own are made in the jar.
        let differs = |path: &Path| own.iter().any(|own| path.starts_with(own));
        let rules = plan
            .landlock()
            .map(|rules| Prepared::new(rules, differs))
            .transpose();
        Ok(Self {
            plan,
            covers,
            rules: rules.map_err(io::Error::other)?,
        })
    }

    fn mask(&self, paths: &[PathBuf], locked: &[PathBuf]) -> io::Result<()> {
        // First, because such a bind would cover the masks below it.
        read_only(locked)?;
        for path in paths {
            // What was not there may be there now, when a module of the kernel was loaded; and it may be gone.
            let known = self.covers.get(path).copied();
            let Some(cover) = known.or_else(|| Cover::of(path)) else {
                continue;
            };
            if let Err(error) = cover.put(path) {
                match Cover::of(path) {
                    Some(cover) if known.is_some() => cover.put(path)?,
                    Some(_) => return Err(error),
                    None => {}
                }
            }
        }
        Ok(())
    }
}

/// The namespaces that a worker joins, in this order.
pub(super) fn kinds(plan: &Plan) -> Vec<Kind> {
    let mut kinds = vec![Kind::Pid, Kind::Mnt, Kind::Net, Kind::Ipc, Kind::Uts];
    if plan.has_own(Namespace::Cgroup) {
        kinds.push(Kind::Cgroup);
    }
    // The last one that is joined: it takes the capabilities over the others' owner.
    if plan.counts_by_user() {
        kinds.push(Kind::User);
    }
    kinds
}

/// Starts a jar's PID 1; it enters the given cgroups by itself.
pub(super) fn start(blueprint: &Blueprint<'_>, groups: &[OwnedFd]) -> io::Result<Builds> {
    let (gate, inner) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    let mut kinds = Namespaces::PID
        .and(Namespaces::MOUNT)
        .and(Namespaces::IPC)
        .and(Namespaces::UTS);
    if blueprint.plan.counts_by_user() {
        kinds = kinds.and(Namespaces::USER);
    }
    let init = process::start(kinds, || life(blueprint, &inner, groups))?;
    Ok(Builds { init, gate })
}

/// Takes init's report.
pub(super) fn keys(plan: &Plan, gate: BorrowedFd<'_>) -> Result<Keys, Failure> {
    let lost = || ("build a jar".to_owned(), io::ErrorKind::UnexpectedEof.into());
    match crate::init::receive(gate) {
        Ok(Some((Report::Built { handed }, fds))) => {
            let mut handed = Handed::new(handed, fds).ok_or_else(lost)?;
            let namespaces = handed.take(Name::Namespace);
            if namespaces.len() != kinds(plan).len() {
                return Err(lost());
            }
            Ok(Keys {
                namespaces,
                ruleset: handed.take(Name::Ruleset).pop(),
                handed,
            })
        }
        Ok(Some((Report::Failed { step, errno }, _))) => Err((step, io::Error::from_raw_os_error(errno))),
        _ => Err(lost()),
    }
}

/// The life of a jar's init; the code it gives means nothing.
fn life(blueprint: &Blueprint<'_>, gate: &OwnedFd, groups: &[OwnedFd]) -> i32 {
    // A copy of the keeper has every descriptor of its other jars.
    let anchors = blueprint.rules.iter().flat_map(Prepared::descriptors);
    let wanted: Vec<_> = std::iter::once(gate.as_raw_fd())
        .chain(groups.iter().map(AsRawFd::as_raw_fd))
        .chain(anchors.map(|anchor| anchor.as_raw_fd()))
        .collect();
    if descriptors::keep_only(&wanted).is_err() {
        return 1;
    }
    match build(blueprint, gate, groups) {
        Ok(list) => wait(blueprint.plan, gate, list),
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or_default();
            send(gate.as_fd(), &Report::Failed { step, errno }, &[]);
            1
        }
    }
}

fn build(blueprint: &Blueprint<'_>, gate: &OwnedFd, groups: &[OwnedFd]) -> Result<Option<OwnedFd>, Failure> {
    let plan = blueprint.plan;
    step(
        "start a session",
        rustix::process::setsid().map(drop).map_err(Into::into),
    )?;
    if plan.counts_by_user() {
        let inside = plan.ids().map_or(0, |ids| ids.inside);
        let map = IdMap {
            uid: inside,
            gid: inside,
            host_uid: inside,
            host_gid: inside,
        };
        // The files of a hidden process belong to root.
        step("show the jar's init", privileges::show())?;
        step("map the guest's ids", userns::map_self(map))?;
        step("hide the jar's init", privileges::hide())?;
    }
    step("die with the keeper", process::die_with_parent(gate.as_fd()))?;
    for group in groups {
        step(
            "enter the cgroup",
            rustix::io::write(group, b"0").map(drop).map_err(Into::into),
        )?;
    }
    if plan.has_own(Namespace::Cgroup) {
        step("make a view of the cgroups", process::unshare_cgroup())?;
    }
    // Otherwise the keeper gives it an empty one.
    if !plan.leaves_network_empty() {
        step("make a network namespace", process::unshare_network())?;
    }
    let (mut script, mut list, mut shown) = (None, None, HashMap::new());
    for operation in plan.steps() {
        if let Some(errno) = plan.fault(operation.name()) {
            return Err((set_up(operation), io::Error::from_raw_os_error(errno)));
        }
        let done = match operation {
            step if !step.is_for(Hand::Room) => Ok(()),
            Step::Hostname { name } => rustix::system::sethostname(name.as_bytes()).map_err(io::Error::from),
            Step::Loopback => network::loopback_up(),
            Step::Proc => mount::proc(Path::new("/proc")).and_then(|()| {
                list = Clerk::list(plan)?;
                Ok(())
            }),
            Step::Mask { paths, read_only } => blueprint.mask(paths, read_only),
            Step::Scratch {
                size,
                inodes,
                targets,
            } => below(plan, targets).and_then(|found| {
                shown = found;
                script = Some(scratch(*size, *inodes, targets)?);
                Ok(())
            }),
            Step::Bind { target, .. } => match shown.remove(target.as_path()) {
                Some(Some(tree)) => show(&tree, target),
                _ => Ok(()),
            },
            Step::Symlink { path, target } if shown.contains_key(path.as_path()) => {
                place(path, || symlink(target, path))
            }
            // The cabinet's own is there.
            Step::Symlink { .. } => Ok(()),
            // Before this list, or when nothing is left to build.
            Step::Cgroup { .. }
            | Step::Namespaces { .. }
            | Step::Ids { .. }
            | Step::Privileges
            | Step::Landlock(_)
            | Step::Descriptors
            | Step::Seccomp { .. } => Ok(()),
            other => Err(other.left_undone()),
        };
        done.map_err(|error| (set_up(operation), error))?;
    }
    let path = plan.current_dir();
    let workdir = open_folder(path).map_err(|error| (format!("open {}", path.display()), error))?;
    let script = step(
        "make a folder for the script",
        script.ok_or(io::ErrorKind::NotFound.into()),
    )?;
    let rules = blueprint.rules.as_ref().map(Prepared::ruleset).transpose();
    let ruleset = step("make a Landlock ruleset", rules.map_err(io::Error::other))?;
    let namespaces = step("open the jar's namespaces", namespaces::open(&kinds(plan)))?;
    seal(plan, ruleset.as_ref())?;
    let own = namespaces.iter().map(|namespace| (Name::Namespace, namespace));
    let (handed, fds): (Vec<Name>, Vec<BorrowedFd<'_>>) = own
        .chain([(Name::Workdir, &workdir), (Name::Script, &script)])
        .chain(ruleset.iter().map(|ruleset| (Name::Ruleset, ruleset)))
        .map(|(name, fd)| (name, fd.as_fd()))
        .unzip();
    send(gate.as_fd(), &Report::Built { handed }, &fds);
    // All of them are closed at once in a moment.
    std::mem::forget((namespaces, workdir, script, ruleset));
    Ok(list)
}

/// What the cabinet shows inside folders that each jar has afresh, such as a virtualenv in /tmp or a mount at /jar/data: kept,
/// because those folders cover it. A link has nothing to be kept.
fn below<'a>(plan: &'a Plan, targets: &[PathBuf]) -> io::Result<HashMap<&'a Path, Option<OwnedFd>>> {
    let mut found = HashMap::new();
    for (path, is_tree) in plan.shown_below(targets) {
        if !is_tree {
            found.insert(path, None);
        } else if !found.keys().any(|outer| path.starts_with(outer)) {
            // What lies in another comes with it.
            found.insert(path, Some(mount::detach(path, false)?));
        }
    }
    Ok(found)
}

/// What can be written: one tmpfs, its parts attached where the cabinet has its own. Gives the script's folder as the
/// engine may write it; the guest sees it read-only.
fn scratch(size: u64, inodes: u64, targets: &[PathBuf]) -> io::Result<OwnedFd> {
    let (size, inodes) = (size.to_string(), inodes.to_string());
    let options = [
        ("size", size.as_str()),
        ("nr_inodes", inodes.as_str()),
        ("mode", "755"),
    ];
    let space = mount::fresh("tmpfs", &options, Attributes::WRITE)?;
    // Any folder that exists will do; the part that belongs there covers it.
    let site = targets.first().ok_or(io::ErrorKind::NotFound)?;
    mount::attach(space.as_fd(), site)?;
    let mut parts = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let part = site.join(number.to_string());
        parts.push(scratch_part(&part, target)?);
    }
    let shelf = site.join("script");
    fs::create_dir(&shelf)?;
    let script = open_folder(&shelf)?;
    let shown = mount::detach(&shelf, false)?;
    mount::restrict(shown.as_fd(), Attributes::READ)?;
    mount::attach(shown.as_fd(), Path::new(SCRIPT))?;
    for (tree, target) in parts.iter().zip(targets) {
        mount::attach(tree.as_fd(), target)?;
    }
    folder(Path::new(HOME))?;
    Ok(script)
}

fn seal(plan: &Plan, ruleset: Option<&OwnedFd>) -> Result<(), Failure> {
    for operation in plan.steps_for(Hand::Room) {
        let done = match operation {
            Step::Privileges => privileges::drop_all(),
            Step::Landlock(rules) => ruleset.map_or(Ok(()), |ruleset| {
                confine::apply(ruleset.as_fd(), rules.abi).map_err(io::Error::other)
            }),
            _ => Ok(()),
        };
        done.map_err(|error| (set_up(operation), error))?;
    }
    Ok(())
}

/// Orphans of the jar are reaped by the kernel; the worker's parent is the template.
fn wait(plan: &Plan, gate: &OwnedFd, list: Option<OwnedFd>) -> i32 {
    let filtered = plan.filter().is_some();
    signals::auto_reap();
    // The kill wakes it up beside a caller that has its value in hand, and its dying takes longer than the call did. A wish:
    // where it is not granted, that caller waits.
    let _ = inherit::patient();
    let list = std::mem::ManuallyDrop::new(list);
    let wanted: Vec<_> = std::iter::once(gate.as_raw_fd())
        .chain(list.as_ref().map(AsRawFd::as_raw_fd))
        .collect();
    let Ok(kept) = descriptors::set_table(&[], &wanted) else {
        return 1;
    };
    if filtered && seccomp::install(&seccomp::init_program(seccomp::Arch::native())).is_err() {
        return 1;
    }
    let mut kept = kept.into_iter();
    let (gate, list) = (kept.next(), kept.next());
    let Some(gate) = gate else {
        return 1;
    };
    // The keeper says one thing here at most: who wants locks. This ends with the keeper.
    if let Some(list) = list {
        return match Clerk::new(plan.locks(), list, gate).serve() {
            Ok(()) => 0,
            Err(_) => 1,
        };
    }
    while !matches!(
        descriptors::receive(gate.as_fd(), &mut [0; 1]),
        Ok((0, _)) | Err(_)
    ) {}
    0
}
