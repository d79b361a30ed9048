//! The guest's first process: sealed step by step, then replaced by Python or by the program that the job names.

use std::ffi::{CString, OsStr};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belljar_linux::seccomp::{self, Arch, Families};
use belljar_linux::{confine, descriptors, mount, network, privileges, process, signals};
use rustix::fs::{Mode, OFlags};
use rustix::process::Rlimit as Pair;

use super::Room;
use super::life::{Failure, enter, take_ids};
use super::report::{Report, send};
use crate::job::Program;
use crate::plan::{Hand, Namespace, RUNTIME, Rlimit, SCRIPT, Step};

/// A terminal of the jar's own.
pub(super) struct Terminal {
    /// The warden's end.
    pub master: OwnedFd,
    /// The guest's end.
    slave: OwnedFd,
}

impl Terminal {
    /// Opens one in the jar's own devpts.
    pub(super) fn open() -> io::Result<Self> {
        use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        unlockpt(&master)?;
        let slave = ioctl_tiocgptpeer(
            &master,
            OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
        )?;
        Ok(Self { master, slave })
    }
}

/// The guest's first process while it is still ours, and the way to it.
pub(super) struct Guest {
    pub process: process::Child,
    pub gate: OwnedFd,
}

/// Starts the guest's first process. It makes the network namespace while init builds the root, takes on all that needs
/// no root meanwhile, detaches the host's, seals itself when the root is there, and runs the guest's program when init is sealed too.
pub(super) fn start(room: &Room<'_>) -> io::Result<Guest> {
    let (gate, inner) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // Opened now: while the guest's process looks into it, init changes the root of both.
    let proc = rustix::fs::open("/proc", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let process = process::start(process::Namespaces::NONE, || {
        let _ = descriptors::close(gate.as_raw_fd());
        let (report, failed) = live(room, inner, &proc);
        if let Some(failed) = failed {
            send(report.as_ref().unwrap_or(&room.report).as_fd(), &failed, &[]);
        }
        127
    })?;
    Ok(Guest { process, gate })
}

impl Guest {
    /// The warden has mapped the ids: let it take on its own.
    pub(super) fn take_ids(&self) -> io::Result<()> {
        descriptors::send(self.gate.as_fd(), b"i", &[]).map(drop)
    }

    /// The host's root is needed no more: let it detach that.
    pub(super) fn detach_host(&self, host: OwnedFd) -> io::Result<()> {
        descriptors::send(self.gate.as_fd(), b"h", &[host.as_fd()]).map(drop)
    }

    /// Joins the network namespace that the guest's process has made; waits for it.
    pub(super) fn join_network(&self) -> io::Result<()> {
        match descriptors::receive(self.gate.as_fd(), &mut [0; 1])? {
            (1, fds) if fds.len() == 1 => process::join_network(fds[0].as_fd()),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Every path is there: let it seal itself.
    pub(super) fn seal(
        &self,
        terminal: Option<&Terminal>,
        ruleset: Option<&OwnedFd>,
        groups: &[OwnedFd],
    ) -> io::Result<()> {
        let slave = terminal.map(|terminal| &terminal.slave);
        let all = slave.into_iter().chain(ruleset).chain(groups);
        let fds: Vec<BorrowedFd<'_>> = all.map(AsFd::as_fd).collect();
        descriptors::send(self.gate.as_fd(), b"s", &fds).map(drop)
    }

    /// It has let go of the gate, because something failed: what it says of that comes before init's own word.
    pub(super) fn speak(&self) {
        let _ = self.process.wait();
    }

    /// Init is sealed: let the guest's program run.
    pub(super) fn run(&self) -> io::Result<()> {
        descriptors::send(self.gate.as_fd(), b"r", &[]).map(drop)
    }
}

/// The life of the guest's process up to its program; comes back only with a failure, and with the socket to report it
/// on once the descriptors have moved. No failure to report means that init is gone.
fn live(room: &Room<'_>, gate: OwnedFd, proc: &OwnedFd) -> (Option<OwnedFd>, Option<Report>) {
    let early = || -> Result<_, Failure> {
        session().map_err(|error| ("start the guest's session".to_owned(), error))?;
        make_network(room, &gate, proc).map_err(|error| ("make a network namespace".to_owned(), error))?;
        let command = Command::new(room).map_err(|error| ("put the command together".to_owned(), error))?;
        Ok((command, filter(room)))
    };
    let (command, filter) = match early() {
        Ok(done) => done,
        // Init has failed at a step of its own and let go of the gate: that is what the warden must hear.
        Err((_, error)) if error.kind() == io::ErrorKind::BrokenPipe => return (None, None),
        Err((step, error)) => return (None, Some(failed(&step, &error))),
    };
    if !matches!(descriptors::receive(gate.as_fd(), &mut [0; 1]), Ok((1, _))) {
        return (None, None);
    }
    if let Err((step, error)) = settle(room) {
        return (None, Some(failed(&step, &error)));
    }
    if room.plan.has_proc() {
        let detached = match descriptors::receive(gate.as_fd(), &mut [0; 1]) {
            Ok((1, mut host)) if host.len() == 1 => mount::detach_host(host.remove(0)),
            _ => return (None, None),
        };
        if let Err(error) = detached {
            return (None, Some(failed("detach the host's root", &error)));
        }
    }
    let mut given = match descriptors::receive(gate.as_fd(), &mut [0; 1]) {
        Ok((1, given)) => given.into_iter(),
        _ => return (None, None),
    };
    let mut next = |wanted: bool| if wanted { given.next() } else { None };
    // Numbers of these three belong to nobody once the table is set; they must not be closed again.
    let slave = ManuallyDrop::new(next(room.job.terminal.is_some()));
    let ruleset = ManuallyDrop::new(next(room.plan.landlock().is_some()));
    let gate = ManuallyDrop::new(gate);
    if let Err(error) = enter(room, given.as_slice()) {
        return (None, Some(failed("enter the cgroup", &error)));
    }
    drop(given);
    let table: Vec<RawFd> = match &*slave {
        Some(slave) => vec![slave.as_raw_fd(); 3],
        None => room
            .streams
            .iter()
            .chain(&room.control)
            .map(AsRawFd::as_raw_fd)
            .collect(),
    };
    let mut kept = vec![room.report.as_raw_fd(), gate.as_raw_fd()];
    kept.extend(ruleset.as_ref().map(AsRawFd::as_raw_fd));
    // What is kept goes with the exec, so that a running guest never has it.
    let mut kept = match descriptors::set_table(&table, &kept) {
        Ok(kept) => kept.into_iter(),
        Err(error) => return (None, Some(failed("set up descriptors", &error))),
    };
    let (report, gate, ruleset) = (kept.next(), kept.next(), kept.next());
    if let Err((step, error)) = seal(room, ruleset.as_ref(), &filter, gate.as_ref()) {
        return (report, Some(failed(&step, &error)));
    }
    drop(ruleset);
    let released = gate.map(|gate| descriptors::receive(gate.as_fd(), &mut [0; 1]));
    if !matches!(released, Some(Ok((1, _)))) {
        return (None, None);
    }
    let error = process::exec(&command.program, &command.argv, &command.env, &command.path);
    (
        report,
        Some(Report::NoProgram {
            errno: number(&error),
        }),
    )
}

fn make_network(room: &Room<'_>, gate: &OwnedFd, proc: &OwnedFd) -> io::Result<()> {
    if !room.plan.has_own(Namespace::Network) {
        return Ok(());
    }
    process::unshare_network()?;
    if room.plan.has_loopback() {
        network::loopback_up()?;
    }
    let namespace = rustix::fs::openat(
        proc,
        "self/ns/net",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    descriptors::send(gate.as_fd(), b"n", &[namespace.as_fd()]).map(drop)
}

/// What needs no root, done while init builds one.
fn settle(room: &Room<'_>) -> Result<(), Failure> {
    take_ids(room).map_err(|error| ("become the guest's user".to_owned(), error))?;
    for step in room.plan.steps_for(Hand::Guest) {
        let result = match step {
            Step::Affinity { cpus } => pin(*cpus as usize),
            _ => Ok(()),
        };
        result.map_err(|error| (super::life::set_up(step), error))?;
    }
    Ok(())
}

/// The last steps, in their order: the filter last.
fn seal(
    room: &Room<'_>,
    ruleset: Option<&OwnedFd>,
    filter: &[seccomp::bpf::Instruction],
    gate: Option<&OwnedFd>,
) -> Result<(), Failure> {
    let done =
        |step: &dyn std::fmt::Display, done: io::Result<()>| done.map_err(|error| (step.to_string(), error));
    if room.job.terminal.is_some() {
        let taken = rustix::process::ioctl_tiocsctty(rustix::stdio::stdin());
        done(&"take the terminal", taken.map_err(io::Error::from))?;
    }
    let folder = room.job.current_dir.as_deref().unwrap_or(room.plan.current_dir());
    done(
        &format_args!("enter {}", folder.display()),
        rustix::process::chdir(folder).map_err(io::Error::from),
    )?;
    for step in room.plan.steps_for(Hand::Guest) {
        let result = match step {
            Step::Privileges => privileges::drop_held(),
            Step::Landlock(rules) => confine(ruleset, rules.abi),
            // Not earlier: descriptors that came with the copy may have higher numbers than the limit allows.
            Step::Rlimits { limits } => set_limits(limits.iter().filter(|limit| !is_open_files(limit))),
            Step::Seccomp { .. } => install(room, filter, gate),
            // Before this list.
            Step::Cgroup { .. }
            | Step::Namespaces { .. }
            | Step::Ids { .. }
            | Step::Loopback
            | Step::Affinity { .. }
            | Step::Descriptors => Ok(()),
            other => Err(other.left_undone()),
        };
        result.map_err(|error| (super::life::set_up(step), error))?;
    }
    // Last: who may have few open files may send none while other jars of the same user have as many under way, and the filter's
    // listener is sent.
    for step in room.plan.steps() {
        if let Step::Rlimits { limits } = step {
            let done = set_limits(limits.iter().filter(|limit| is_open_files(limit)));
            done.map_err(|error| (super::life::set_up(step), error))?;
        }
    }
    Ok(())
}

fn is_open_files(limit: &Rlimit) -> bool {
    limit.resource == crate::plan::Resource::Nofile
}

/// The second wall, with the jar's own terminals where there are some.
pub(super) fn ruleset(room: &Room<'_>, rules: &confine::Rules) -> io::Result<OwnedFd> {
    if room.job.terminal.is_none() {
        return confine::prepare(rules).map_err(io::Error::other);
    }
    let mut rules = rules.clone();
    rules.paths.push(confine::Rule {
        path: "/dev/pts".into(),
        allow: confine::Allow::Write,
    });
    confine::prepare(&rules).map_err(io::Error::other)
}

/// Takes on the ruleset that init has built for both.
pub(super) fn confine(ruleset: Option<&OwnedFd>, abi: u32) -> io::Result<()> {
    let ruleset = ruleset.ok_or(io::ErrorKind::NotFound)?;
    confine::apply(ruleset.as_fd(), abi).map_err(io::Error::other)
}

pub(crate) fn filter(room: &Room<'_>) -> Vec<seccomp::bpf::Instruction> {
    filter_options(room).map_or(Vec::new(), |options| seccomp::program(Arch::native(), &options))
}

/// Puts the filter on. Init gets the listener, where there are locks to ask it for; where something outside forbids a listener,
/// or has one itself, nothing can be locked.
fn install(room: &Room<'_>, filter: &[seccomp::bpf::Instruction], gate: Option<&OwnedFd>) -> io::Result<()> {
    let Some(options) = filter_options(room).filter(|options| options.locks) else {
        return seccomp::install(filter);
    };
    match seccomp::install_listening(filter) {
        Ok(listener) => {
            let gate = gate.ok_or(io::ErrorKind::NotFound)?;
            match descriptors::send(gate.as_fd(), b"l", &[listener.as_fd()]) {
                // Init has failed, and says itself why; nobody lets this process go on.
                Err(error) if is_gone(&error) => Ok(()),
                sent => sent.map(drop),
            }
        }
        Err(error) if can_do_without(&error) => {
            let options = seccomp::Options {
                locks: false,
                ..options
            };
            seccomp::install(&seccomp::program(Arch::native(), &options))
        }
        Err(error) => Err(error),
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}

fn can_do_without(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::BUSY | Errno::INVAL | Errno::NOSYS))
}

/// The same for a worker, which has its template's filter already.
pub(crate) fn worker_filter(room: &Room<'_>) -> Vec<seccomp::bpf::Instruction> {
    filter_options(room).map_or(Vec::new(), |options| {
        seccomp::worker_program(Arch::native(), &options)
    })
}

fn filter_options(room: &Room<'_>) -> Option<seccomp::Options> {
    let filter = room.plan.filter()?;
    let families = if filter.internet {
        Families::Internet
    } else {
        Families::Local
    };
    Some(seccomp::Options {
        families,
        tty: room.job.terminal.is_some(),
        affinity: filter.affinity,
        locks: room.plan.locks() > 0,
        ipc: true,
        disk: room.plan.writes_to_host(),
    })
}

fn failed(step: &str, error: &io::Error) -> Report {
    Report::Failed {
        step: step.to_owned(),
        errno: number(error),
    }
}

fn number(error: &io::Error) -> i32 {
    error
        .raw_os_error()
        .unwrap_or(rustix::io::Errno::INVAL.raw_os_error())
}

/// First of all, so that no key on the caller's terminal reaches a process that is not the guest yet.
fn session() -> io::Result<()> {
    rustix::process::setsid()?;
    signals::reset();
    privileges::hide()
}

/// Keeps the guest on some processors: the one that the scheduler has found for it, and those next to it.
fn pin(count: usize) -> io::Result<()> {
    let all = process::processors()?;
    let now = rustix::thread::sched_getcpu();
    let first = all.iter().position(|cpu| *cpu == now).unwrap_or(0);
    process::pin(&from(&all, first, count))
}

/// Some processors, by chance.
pub(crate) fn choose(count: usize) -> io::Result<Vec<usize>> {
    let all = process::processors()?;
    let mut chance = [0; 2];
    rustix::rand::getrandom(&mut chance, rustix::rand::GetRandomFlags::empty())?;
    let first = usize::from(u16::from_le_bytes(chance));
    Ok(from(&all, first, count))
}

fn from(all: &[usize], first: usize, count: usize) -> Vec<usize> {
    let chosen = (0..count.min(all.len())).map(|offset| all[(first + offset) % all.len()]);
    chosen.collect()
}

pub(crate) fn set_limits<'a>(limits: impl IntoIterator<Item = &'a Rlimit>) -> io::Result<()> {
    for limit in limits {
        let resource = limit.resource.kernel();
        // A host's own limit may be lower already, and only the privileged can raise it: the lower one holds.
        let ceiling = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let pair = Pair {
            current: Some(limit.soft.min(ceiling)),
            maximum: Some(limit.hard.min(ceiling)),
        };
        rustix::process::setrlimit(resource, pair)?;
    }
    Ok(())
}

/// What is executed.
struct Command {
    program: CString,
    argv: Vec<CString>,
    env: Vec<CString>,
    path: Vec<CString>,
}

impl Command {
    fn new(room: &Room<'_>) -> io::Result<Self> {
        let python = room.plan.interpreter().as_os_str();
        let (program, own): (&OsStr, Vec<&OsStr>) = match &room.job.program {
            Program::Command(program) => (program, Vec::new()),
            Program::Shell => (python, vec![OsStr::new("-q")]),
            _ => (python, Vec::new()),
        };
        let mut argv = vec![text(program)?];
        for arg in own {
            argv.push(text(arg)?);
        }
        if room.job.is_python() {
            argv.extend(runtime_args(room)?);
        }
        for arg in &room.job.args {
            argv.push(text(arg)?);
        }
        let mut variables = room.plan.env().clone();
        variables.extend(room.job.env.iter().cloned());
        if let Some(terminal) = &room.job.terminal {
            variables.insert("TERM".into(), terminal.kind.clone());
        }
        let path = variables.get("PATH").map(String::as_str).unwrap_or_default();
        let path = path
            .split(':')
            .map(|folder| text(OsStr::new(folder)))
            .collect::<io::Result<_>>()?;
        let env = variables
            .iter()
            .map(|(name, value)| text(OsStr::new(&format!("{name}={value}"))))
            .collect::<io::Result<_>>()?;
        Ok(Self {
            program: text(program)?,
            argv,
            env,
            path,
        })
    }
}

/// How the guest runtime is told what to run.
fn runtime_args(room: &Room<'_>) -> io::Result<Vec<CString>> {
    let boot = room.runtime.first().map_or("boot.py", |(name, _)| name);
    let (kind, origin) = match &room.job.program {
        Program::Code {
            from_stdin: false, ..
        } => ("code", "-c".into()),
        Program::Code { from_stdin: true, .. } => ("code", "-".into()),
        Program::Script { name, .. } => ("script", Path::new(SCRIPT).join(name).into_os_string()),
        Program::ScriptAt(path) => ("script", path.clone().into_os_string()),
        Program::Module(name) => ("module", name.into()),
        Program::Call { .. } => ("call", "-c".into()),
        Program::Invoke { name, .. } => ("invoke", name.clone()),
        Program::Evaluate { name, .. } => ("evaluate", name.clone()),
        Program::Command(_) | Program::Shell => return Ok(Vec::new()),
    };
    // The runtime waits for the warden's word then.
    let gated = if room.job.gate.is_some() { "+" } else { "" };
    Ok(vec![
        text(Path::new(RUNTIME).join(boot).as_os_str())?,
        text(OsStr::new(&format!("{gated}{kind}")))?,
        text(&origin)?,
    ])
}

fn text(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
