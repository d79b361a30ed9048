//! Starting, watching and ending processes: clone into namespaces, pidfds, waiting, exec.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::{Pid, Signal};

/// Namespaces for a new process, as clone flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespaces(u64);

impl Namespaces {
    /// No new namespace.
    pub const NONE: Self = Self(0);
    /// User namespace.
    pub const USER: Self = Self(libc::CLONE_NEWUSER as u64);
    /// Mount namespace.
    pub const MOUNT: Self = Self(libc::CLONE_NEWNS as u64);
    /// Pid namespace.
    pub const PID: Self = Self(libc::CLONE_NEWPID as u64);
    /// Network namespace.
    pub const NETWORK: Self = Self(libc::CLONE_NEWNET as u64);
    /// System V IPC and POSIX message queues.
    pub const IPC: Self = Self(libc::CLONE_NEWIPC as u64);
    /// Host name.
    pub const UTS: Self = Self(libc::CLONE_NEWUTS as u64);
    /// View of the cgroup tree.
    pub const CGROUP: Self = Self(libc::CLONE_NEWCGROUP as u64);

    /// Both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A child process, held by its pidfd. Dropping it does not end or reap the child.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    pidfd: OwnedFd,
}

/// How a process ended and what it and its reaped descendants used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// The raw wait status.
    pub status: i32,
    /// Processor time in microseconds, of the process and of the descendants that were reaped.
    pub cpu_usec: u64,
    /// Largest resident set of any one process, in bytes.
    pub max_rss: u64,
}

impl Ended {
    /// The exit code, if it exited.
    pub fn code(&self) -> Option<i32> {
        libc::WIFEXITED(self.status).then(|| libc::WEXITSTATUS(self.status))
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        libc::WIFSIGNALED(self.status).then(|| libc::WTERMSIG(self.status))
    }
}

#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// The size that every kernel with clone3 takes; what comes after it is for newer ones.
const CLONE_ARGS_FIRST: usize = 64;
/// Not in libc at its full width.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Starts a copy of this process in new namespaces, which runs `body` and exits with the code that it gives.
///
/// Fails with `EBUSY` when this process has more than one thread: the copy would inherit the locks of threads that it
/// does not have.
pub fn start(namespaces: Namespaces, body: impl FnOnce() -> i32) -> io::Result<Child> {
    clone(namespaces, None, None, body)
}

/// As [`start`], born in a cgroup of version 2, which spares the kernel the move and its grace period.
pub fn start_in(
    namespaces: Namespaces,
    cgroup: Option<BorrowedFd<'_>>,
    body: impl FnOnce() -> i32,
) -> io::Result<Child> {
    clone(namespaces, cgroup, None, body)
}

/// As [`start`], with a pid of the caller's choice in its own pid namespace: `EEXIST` when it is taken.
///
/// Needs SYS_ADMIN over that pid namespace, which its PID 1 usually has; in a new one the copy is 1 as always.
pub fn start_numbered(namespaces: Namespaces, pid: i32, body: impl FnOnce() -> i32) -> io::Result<Child> {
    clone(namespaces, None, Some(pid), body)
}

fn clone(
    namespaces: Namespaces,
    cgroup: Option<BorrowedFd<'_>>,
    number: Option<i32>,
    body: impl FnOnce() -> i32,
) -> io::Result<Child> {
    if threads()? != 1 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    let mut pidfd: libc::c_int = -1;
    // Innermost first.
    let numbers: [libc::pid_t; 2] = [1, number.unwrap_or(0)];
    let numbers = match number {
        None => &numbers[..0],
        Some(_) if namespaces.0 & Namespaces::PID.0 != 0 => &numbers[..],
        Some(_) => &numbers[1..],
    };
    let args = CloneArgs {
        flags: namespaces.0 | libc::CLONE_PIDFD as u64 | cgroup.map_or(0, |_| CLONE_INTO_CGROUP),
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        set_tid: if numbers.is_empty() {
            0
        } else {
            numbers.as_ptr() as u64
        },
        set_tid_size: numbers.len() as u64,
        cgroup: cgroup.map_or(0, |cgroup| cgroup.as_raw_fd() as u64),
        ..CloneArgs::default()
    };
    let size = if cgroup.is_some() || number.is_some() {
        size_of::<CloneArgs>()
    } else {
        CLONE_ARGS_FIRST
    };
    // SAFETY: no stack is given, so this forks; the process has one thread, so the copy is whole.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size) };
    match pid {
        0 => exit_now(body()),
        pid if pid > 0 => {
            let pid = Pid::from_raw(pid as i32).ok_or(io::ErrorKind::InvalidData)?;
            // SAFETY: the kernel has just made this descriptor for us.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Child { pid, pidfd })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Threads of this process: the link count of /proc/self/task is one more for each, plus two.
fn threads() -> io::Result<u64> {
    let task = rustix::fs::stat("/proc/self/task")?;
    Ok((task.st_nlink as u64).saturating_sub(2))
}

impl Child {
    /// The child's pid in this process's pid namespace.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    /// Sends SIGKILL. A child that is gone already is not an error.
    pub fn kill(&self) -> io::Result<()> {
        signal(self.pidfd.as_fd(), Signal::KILL)
    }

    /// Reaps the child if it has ended.
    pub fn try_wait(&self) -> io::Result<Option<Ended>> {
        self.wait4(libc::WNOHANG)
    }

    /// Waits until the child has ended and reaps it.
    pub fn wait(&self) -> io::Result<Ended> {
        loop {
            match self.wait4(0) {
                Ok(Some(ended)) => return Ok(ended),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn wait4(&self, options: libc::c_int) -> io::Result<Option<Ended>> {
        Ok(wait_any(self.pid.as_raw_nonzero().get(), options)?.map(|(_, ended)| ended))
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

fn wait_any(pid: i32, options: libc::c_int) -> io::Result<Option<(i32, Ended)>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both out-pointers are valid for writes.
    let got = unsafe { libc::wait4(pid, &raw mut status, options, usage.as_mut_ptr()) };
    match got {
        0 => Ok(None),
        got if got > 0 => {
            // SAFETY: rusage is plain integers, zeroed first and filled by the kernel.
            let usage = unsafe { usage.assume_init() };
            let usec = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
            Ok(Some((
                got,
                Ended {
                    status,
                    cpu_usec: usec(usage.ru_utime) + usec(usage.ru_stime),
                    max_rss: usage.ru_maxrss as u64 * 1024,
                },
            )))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// What PID 1 saw when the process that it waits for had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// How that process ended, with what all that were reaped have used.
    pub ended: Ended,
    /// Whether no other process is left. Nobody but PID 1 could start one then.
    pub alone: bool,
}

/// As PID 1: reaps whatever ends, until `child` itself has ended.
pub fn reap_until(child: &Child) -> io::Result<Reaped> {
    reap(child, 0, || Ok(()))
}

/// The same for one who has other things to do: `meanwhile` comes back when something may have ended.
pub fn reap_between(child: &Child, meanwhile: impl FnMut() -> io::Result<()>) -> io::Result<Reaped> {
    reap(child, libc::WNOHANG, meanwhile)
}

fn reap(
    child: &Child,
    waiting: libc::c_int,
    mut meanwhile: impl FnMut() -> io::Result<()>,
) -> io::Result<Reaped> {
    let (mut status, mut cpu_usec, mut max_rss) = (None, 0, 0);
    loop {
        let options = status.map_or(waiting, |_| libc::WNOHANG);
        let alone = match wait_any(-1, libc::__WALL | options) {
            Ok(Some((pid, ended))) => {
                cpu_usec += ended.cpu_usec;
                max_rss = ended.max_rss.max(max_rss);
                if pid == child.pid.as_raw_nonzero().get() {
                    status = Some(ended.status);
                }
                continue;
            }
            Ok(None) if status.is_none() => {
                meanwhile()?;
                continue;
            }
            Ok(None) => false,
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) && status.is_some() => true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if let Some(status) = status {
            let ended = Ended {
                status,
                cpu_usec,
                max_rss,
            };
            return Ok(Reaped { ended, alone });
        }
    }
}

/// As PID 1: reaps one process that has ended, if there is one; never waits.
pub fn reap_any() -> io::Result<Option<(i32, Ended)>> {
    match wait_any(-1, libc::__WALL | libc::WNOHANG) {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        done => done,
    }
}

/// Sends a signal through a pidfd. A process that is gone already is not an error.
pub fn signal(pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    match rustix::process::pidfd_send_signal(pidfd, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sends the last real-time signal through a pidfd, which no program uses by itself.
pub fn signal_last(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a descriptor, a number, a null info and no flags.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            LAST_SIGNAL,
            none,
            0,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The last real-time signal of the kernel.
const LAST_SIGNAL: libc::c_int = 64;

/// Asks for SIGKILL when the thread that started this process ends, and fails if it has ended already.
///
/// Set it last: a credential change clears it.
pub fn die_with_parent(parent_alive: BorrowedFd<'_>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // A pid namespace hides the parent (getppid is 0), so the other end of a socket tells whether it is still there.
    let mut poll = [rustix::event::PollFd::from_borrowed_fd(
        parent_alive,
        rustix::event::PollFlags::empty(),
    )];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut poll, Some(&now))?;
    if poll[0].revents().contains(rustix::event::PollFlags::HUP) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Replaces this process. A name without a slash is looked for in `path`; returns only on failure.
pub fn exec(program: &CStr, argv: &[CString], env: &[CString], path: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| {
        let mut all: Vec<*const libc::c_char> = list.iter().map(|item| item.as_ptr()).collect();
        all.push(std::ptr::null());
        all
    };
    let (argv, env) = (pointers(argv), pointers(env));
    let run = |file: &CStr| {
        // SAFETY: all strings are NUL-terminated and both arrays end with a null pointer.
        unsafe { libc::execve(file.as_ptr(), argv.as_ptr(), env.as_ptr()) };
        io::Error::last_os_error()
    };
    if program.to_bytes().contains(&b'/') {
        return run(program);
    }
    let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
    for folder in path {
        let mut file = folder.to_bytes().to_vec();
        file.push(b'/');
        file.extend_from_slice(program.to_bytes());
        let Ok(file) = CString::new(file) else { continue };
        let error = run(&file);
        // Something is there but cannot be run: that says more than "not found" of a later folder.
        if error.raw_os_error() != Some(libc::ENOENT) && error.raw_os_error() != Some(libc::ENOTDIR) {
            refused = error;
        }
    }
    refused
}

/// Ends this process at once, without destructors: the only exit of a copied process.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Keeps this process on the given processors.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// The processors that this process may run on.
pub fn processors() -> io::Result<Vec<usize>> {
    processors_of(None)
}

/// The processors that a process may run on; without one, this thread.
pub fn processors_of(pid: Option<Pid>) -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(pid)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// A pidfd's number, for logs.
pub fn number(fd: BorrowedFd<'_>) -> i32 {
    fd.as_raw_fd()
}

/// Gives this process a network namespace of its own.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: a new network namespace changes no memory or descriptor of this process.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Takes this process into a network namespace.
pub fn join_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a descriptor and a flag; no memory of this process changes.
    if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Gives this process a view of the cgroup tree that starts at its own group.
pub fn unshare_cgroup() -> io::Result<()> {
    // SAFETY: a new cgroup namespace changes no memory or descriptor of this process.
    if unsafe { libc::unshare(libc::CLONE_NEWCGROUP) } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Overwrites the variables and arguments that this process was started with, and shows `name` as its command line.
///
/// For a copied process that goes on without exec: `std::env` gives nothing useful afterwards.
pub fn forget_start(name: &[u8]) -> io::Result<()> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The last fields of the line: where arguments and variables start and end.
    let fields: Vec<usize> = stat
        .rsplit_once(')')
        .map_or("", |parts| parts.1)
        .split_whitespace()
        .skip(45)
        .take(4)
        .filter_map(|field| field.parse().ok())
        .collect();
    let &[arguments, arguments_end, variables, variables_end] = fields.as_slice() else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    for (start, end) in [(arguments, arguments_end), (variables, variables_end)] {
        if start == 0 || end < start {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // SAFETY: the kernel put these strings into this process's own stack, below every frame, and the caller gives up
        // what refers to them; a copied process has one thread, so nobody reads them now.
        unsafe { std::ptr::write_bytes(std::ptr::with_exposed_provenance_mut::<u8>(start), 0, end - start) };
    }
    let length = name.len().min((arguments_end - arguments).saturating_sub(1));
    // SAFETY: as above, and `length` is within the arguments.
    unsafe {
        std::ptr::copy_nonoverlapping(
            name.as_ptr(),
            std::ptr::with_exposed_provenance_mut::<u8>(arguments),
            length,
        );
    }
    Ok(())
}
