//! The guest's first process: sealed step by step, then replaced by Python or by the program that the job names.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belljar_linux::seccomp::{self, Arch, Families};
use belljar_linux::{descriptors, privileges, process, signals};
use rustix::process::{Resource, Rlimit as Pair};

use super::Room;
use super::report::{Report, send};
use crate::job::Program;
use crate::plan::{RUNTIME, Rlimit, SCRIPT, Step};

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

/// Starts the guest's first process.
pub(super) fn start(room: &Room<'_>, terminal: Option<&Terminal>) -> io::Result<process::Child> {
    let command = Command::new(room)?;
    process::start(process::Namespaces::NONE, || {
        let table: Vec<RawFd> = match terminal {
            Some(terminal) => vec![terminal.slave.as_raw_fd(); 3],
            None => room
                .streams
                .iter()
                .chain(&room.control)
                .map(AsRawFd::as_raw_fd)
                .collect(),
        };
        match descriptors::set_table(&table, &[room.report.as_raw_fd()]) {
            // The report socket goes with the exec, so that a running guest never has it.
            Ok(kept) => send(kept[0].as_fd(), &seal(room, &command), &[]),
            Err(error) => send(room.report.as_fd(), &failed("set up descriptors", &error), &[]),
        }
        127
    })
}

/// The last steps, in their order: a session first, limits while they can still be set, the filter last, then the
/// guest's program. Comes back only with a failure.
fn seal(room: &Room<'_>, command: &Command) -> Report {
    if let Err(error) = session(room.job.terminal.is_some()) {
        return failed("start the guest's session", &error);
    }
    let folder = room.job.current_dir.as_deref().unwrap_or(room.plan.current_dir());
    if let Err(error) = rustix::process::chdir(folder) {
        return failed(&format!("enter {}", folder.display()), &error.into());
    }
    for step in room.plan.steps() {
        let done = match step {
            Step::Rlimits { limits } => set_limits(limits),
            Step::Affinity { cpus } => pin(*cpus as usize),
            Step::Seccomp { internet, affinity } => {
                let families = if *internet {
                    Families::Internet
                } else {
                    Families::Local
                };
                let options = seccomp::Options {
                    families,
                    tty: room.job.terminal.is_some(),
                    affinity: *affinity,
                    ipc: true,
                };
                filter(&options)
            }
            _ => Ok(()),
        };
        if let Err(error) = done {
            return failed(&step.to_string(), &error);
        }
    }
    let error = process::exec(&command.program, &command.argv, &command.env, &command.path);
    Report::NoProgram {
        errno: number(&error),
    }
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

fn session(terminal: bool) -> io::Result<()> {
    signals::reset();
    rustix::process::setsid()?;
    if terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    // Init hides itself; the guest is an ordinary process to itself.
    privileges::show()
}

fn filter(options: &seccomp::Options) -> io::Result<()> {
    seccomp::install(&seccomp::program(Arch::native(), options))
}

/// Keeps the guest on some processors, spread by chance so that jars do not all share the first one.
fn pin(count: usize) -> io::Result<()> {
    let all = process::processors()?;
    let first = rustix::process::getpid().as_raw_nonzero().get() as usize + std::process::id() as usize;
    let chosen: Vec<usize> = (0..count.min(all.len()))
        .map(|offset| all[(first + offset) % all.len()])
        .collect();
    process::pin(&chosen)
}

fn set_limits(limits: &[Rlimit]) -> io::Result<()> {
    for limit in limits {
        let resource = match limit.name.as_str() {
            "core" => Resource::Core,
            "nofile" => Resource::Nofile,
            "stack" => Resource::Stack,
            "memlock" => Resource::Memlock,
            "sigpending" => Resource::Sigpending,
            "msgqueue" => Resource::Msgqueue,
            "rtprio" => Resource::Rtprio,
            "nice" => Resource::Nice,
            "fsize" => Resource::Fsize,
            "cpu" => Resource::Cpu,
            "data" => Resource::Data,
            "nproc" => Resource::Nproc,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
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
    let boot = room.runtime.first().map_or("boot.py", |(name, _)| name.as_str());
    let (kind, origin) = match &room.job.program {
        Program::Code {
            from_stdin: false, ..
        } => ("code", "-c".into()),
        Program::Code { from_stdin: true, .. } => ("code", "-".into()),
        Program::Script { name, .. } => ("script", Path::new(SCRIPT).join(name).into_os_string()),
        Program::ScriptAt(path) => ("script", path.clone().into_os_string()),
        Program::Module(name) => ("module", name.into()),
        Program::Call { .. } => ("call", "-c".into()),
        Program::Command(_) | Program::Shell => return Ok(Vec::new()),
    };
    Ok(vec![
        text(Path::new(RUNTIME).join(boot).as_os_str())?,
        text(OsStr::new(kind))?,
        text(&origin)?,
    ])
}

fn text(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
