//! Signals as descriptors, and the default actions of a fresh process.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that arrive as readable messages instead of interrupting. The old mask comes back when it is dropped.
#[derive(Debug)]
pub struct SignalFd {
    fd: OwnedFd,
    before: libc::sigset_t,
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set is initialised above; a bad number is an error that changes nothing.
        unsafe { libc::sigaddset(set.as_mut_ptr(), *signal) };
    }
    // SAFETY: initialised above.
    unsafe { set.assume_init() }
}

impl SignalFd {
    /// Blocks the signals for this thread and opens the descriptor.
    pub fn new(signals: &[i32]) -> io::Result<Self> {
        let set = set_of(signals);
        let mut before = set_of(&[]);
        // SAFETY: both sets are initialised.
        if unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, before })
    }

    /// The next signal that has arrived, if any.
    pub fn next(&self) -> io::Result<Option<i32>> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer is as large as said.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if got == size as isize {
            // SAFETY: plain integers, filled by the kernel.
            let info = unsafe { info.assume_init() };
            return Ok(Some(info.ssi_signo as i32));
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::WouldBlock {
            Ok(None)
        } else {
            Err(error)
        }
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SignalFd {
    fn drop(&mut self) {
        // SAFETY: the mask is the one that sigprocmask gave us.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// Gives every ignored signal its default action and unblocks all, as a program expects to find them. Handlers go by
/// themselves with the exec.
pub fn reset() {
    // A C library keeps some numbers for itself and leaves them as they were inherited, so the kernel is asked.
    let default = KernelAction::default();
    for signal in 1..=64 {
        let mut action = KernelAction::default();
        // SAFETY: a null new action only asks; the out-pointer is valid, and the mask's size is the kernel's.
        let known = unsafe { rt_sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
        if known && action.handler == libc::SIG_IGN {
            // SAFETY: the default action runs no code; numbers that cannot be changed are errors that are ignored.
            unsafe { rt_sigaction(signal, &raw const default, std::ptr::null_mut()) };
        }
    }
    unblock();
}

/// What the kernel keeps for a signal; all zero is the default action.
#[repr(C)]
#[derive(Default)]
struct KernelAction {
    handler: usize,
    flags: libc::c_ulong,
    restorer: usize,
    mask: u64,
}

/// # Safety
///
/// Both pointers are null or valid.
unsafe fn rt_sigaction(signal: i32, new: *const KernelAction, old: *mut KernelAction) -> libc::c_long {
    // SAFETY: as the caller says.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, size_of::<u64>()) }
}

/// Unblocks every signal.
pub fn unblock() {
    let none = set_of(&[]);
    // SAFETY: the set is initialised.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
}

/// Makes this process's PID-1 role robust: no signal from the same namespace does anything without a handler, and
/// a broken pipe is an error, not an end.
pub fn ignore_pipe() {
    // SAFETY: SIG_IGN is always valid.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Makes a write past the limit on file sizes an error, not the end of this process; [`reset`] takes it back for a guest.
pub fn ignore_file_size() {
    // SAFETY: SIG_IGN is always valid.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets the kernel reap children by itself: for a PID 1 that has only orphans, and asks nobody how they ended.
pub fn auto_reap() {
    // SAFETY: SIG_IGN is always valid.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Gives SIGCHLD its default action. Where a caller has ignored it, which is inherited, the kernel reaps children by
/// itself, and how they ended is lost.
pub fn keep_children() {
    // SAFETY: the default action runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}
