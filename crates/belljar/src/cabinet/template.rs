//! Starting a template: the plan's interpreter by exec, with three capabilities over the cabinet and a filter that leaves
//! them nothing to be used for but walking into jars.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use belljar_linux::process::{self, Namespaces};
use belljar_linux::{descriptors, privileges, seccomp, signals};
use rustix::pipe::PipeFlags;

use super::message::{Preload, TemplateSaid, send, with_buffer};
use crate::init::{Room, enter, set_limits, worker_filter};
use crate::jar::Sampler;
use crate::plan::{RUNTIME, Rlimit};

/// A template's pid: no guest has it. Libraries tell that they were forked by comparing pids, and the first processes of
/// every jar have the same small ones.
const HIGHEST_PID: &str = "/proc/sys/kernel/pid_max";

/// A running template.
pub(super) struct Template {
    pub process: process::Child,
    /// Messages go both ways here.
    pub socket: OwnedFd,
    /// What its imports print.
    pub output: [OwnedFd; 2],
    /// Whether it has done its imports.
    pub ready: bool,
    /// Workers that it was asked for.
    pub forks: u32,
    pub since: Instant,
    /// The end of what it printed, to say why it died.
    pub printed: Vec<u8>,
    /// When it must be ready, or gone.
    pub deadline: Option<Instant>,
    /// Whether it was told to end.
    pub leaving: bool,
    /// What it says that it imports now.
    pub importing: Option<String>,
    /// What its imports have used, where that is limited.
    pub sampler: Option<Sampler>,
    /// Processor time that it had used when it was ready.
    pub cpu_usec: u64,
    /// Whether one with fewer imports takes its place once it is gone.
    pub replaced: bool,
}

/// Starts a template and tells it what to import.
pub(super) fn start(room: &Room<'_>, preload: &[String], groups: &[OwnedFd]) -> io::Result<Template> {
    let (socket, inner) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
    // Pipes, as a job has: what Python remembers of its streams is then right in a worker too.
    let (stdin, end) = pipe()?;
    drop(end);
    let ((stdout, out), (stderr, err)) = (pipe()?, pipe()?);
    // None of these is ever waited for: a hostile template need not read or write.
    for stream in [&stdout, &stderr, &socket] {
        rustix::io::ioctl_fionbio(stream, true)?;
    }
    let (program, argv, env) = command(room)?;
    let table = [
        stdin.as_raw_fd(),
        out.as_raw_fd(),
        err.as_raw_fd(),
        inner.as_raw_fd(),
    ];
    let program_filter = template_filter(room);
    let body = || {
        let error = match become_template(room, groups, &table, &program_filter) {
            Ok(()) => process::exec(&program, &argv, &env, &[]),
            Err(error) => error,
        };
        let reason = format!("{}: {error}", program.to_string_lossy());
        // Descriptor 3 is the way to the keeper, or was not reached.
        let _ = rustix::io::write(rustix::stdio::stderr(), reason.as_bytes());
        127
    };
    let process = match numbered().map(|pid| process::start_numbered(Namespaces::NONE, pid, body)) {
        Some(Ok(process)) => process,
        Some(Err(error)) => return Err(error),
        None => return Err(io::ErrorKind::NotFound.into()),
    };
    let guest = worker_filter(room);
    let first = Preload {
        preload,
        filter_bytes: guest.len() * 8,
        locks: room.plan.locks() > 0,
    };
    send(socket.as_fd(), &first, &[])?;
    if !guest.is_empty() {
        descriptors::send(socket.as_fd(), &bytes(&guest), &[])?;
    }
    Ok(Template {
        process,
        socket,
        output: [stdout, stderr],
        ready: false,
        forks: 0,
        since: Instant::now(),
        printed: Vec::new(),
        deadline: None,
        leaving: false,
        importing: None,
        sampler: None,
        cpu_usec: 0,
        replaced: false,
    })
}

impl Template {
    /// The next thing that it says; `None` when it is gone, and an error when it says nothing now.
    pub(super) fn hear(&self) -> io::Result<Option<TemplateSaid>> {
        with_buffer(|bytes| {
            // Descriptors that a hostile template sends are closed again right here.
            let (length, _) = descriptors::receive(self.socket.as_fd(), bytes)?;
            if length == 0 {
                return Ok(None);
            }
            // What is no message of ours says nothing.
            Ok(Some(serde_json::from_slice(&bytes[..length]).unwrap_or_default()))
        })
    }
}

/// A high number, by chance, so that two templates of a cabinet differ.
fn numbered() -> Option<i32> {
    let most: i32 = std::fs::read_to_string(HIGHEST_PID).ok()?.trim().parse().ok()?;
    let mut chance = [0; 2];
    rustix::rand::getrandom(&mut chance, rustix::rand::GetRandomFlags::empty()).ok()?;
    Some(most - 1 - i32::from(u16::from_le_bytes(chance)) % 4096)
}

fn become_template(
    room: &Room<'_>,
    groups: &[OwnedFd],
    table: &[i32],
    program: &[seccomp::Instruction],
) -> io::Result<()> {
    signals::reset();
    if !groups.is_empty() {
        enter(room, groups)?;
    }
    rustix::process::setsid()?;
    rustix::process::chdir("/")?;
    descriptors::set_table(table, &[])?;
    set_limits(&own_limits(room))?;
    privileges::keep_for_template()?;
    privileges::show()?;
    if program.is_empty() {
        return Ok(());
    }
    seccomp::install(program)
}

/// Of the plan's limits those that a template can have too; a worker gets the others when it is there.
fn own_limits(room: &Room<'_>) -> Vec<Rlimit> {
    let limits = room.plan.rlimits().iter();
    limits
        .filter(|limit| !limit.resource.is_workers_own())
        .copied()
        .collect()
}

/// None where the guest has none either; only a test's plan lacks that step.
fn template_filter(room: &Room<'_>) -> Vec<seccomp::Instruction> {
    let families = match room.plan.filter() {
        None => return Vec::new(),
        Some(filter) if filter.internet => seccomp::Families::Internet,
        Some(_) => seccomp::Families::Local,
    };
    seccomp::template_program(seccomp::Arch::native(), families)
}

fn command(room: &Room<'_>) -> io::Result<(CString, Vec<CString>, Vec<CString>)> {
    use std::os::unix::ffi::OsStrExt;
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let program = text(room.plan.interpreter().as_os_str().as_bytes())?;
    let file = room
        .runtime
        .iter()
        .map(|(name, _)| &**name)
        .find(|name| name.starts_with("template.py"))
        .ok_or(io::ErrorKind::NotFound)?;
    let file = Path::new(RUNTIME).join(file);
    let argv = vec![program.clone(), text(file.as_os_str().as_bytes())?];
    let env = room
        .plan
        .template_env()
        .map(|(name, value)| text(format!("{name}={value}").as_bytes()))
        .collect::<io::Result<_>>()?;
    Ok((program, argv, env))
}

/// The program as the kernel takes it.
fn bytes(program: &[seccomp::Instruction]) -> Vec<u8> {
    program
        .iter()
        .flat_map(|instruction| {
            let [code_low, code_high] = instruction.code.to_ne_bytes();
            let [k0, k1, k2, k3] = instruction.k.to_ne_bytes();
            [
                code_low,
                code_high,
                instruction.jt,
                instruction.jf,
                k0,
                k1,
                k2,
                k3,
            ]
        })
        .collect()
}
