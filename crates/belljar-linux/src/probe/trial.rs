//! Tries the namespaces and mounts of a jar in a child that lives for the question alone. The child makes system calls
//! on prepared strings and nothing else: the caller may have threads, whose locks nobody in the child would release.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

/// How one step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// It worked.
    Works,
    /// It failed with this errno.
    Failed(i32),
    /// A step before it failed.
    Untried,
}

/// What a child found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// User, mount, pid, network, IPC, UTS and cgroup namespaces, made by one clone.
    pub namespaces: Tried,
    /// Writing the id maps.
    pub maps: Tried,
    /// Making the tree private; the first step that needs a capability inside.
    pub private: Tried,
    /// Calls that a filter may hold back when it lets namespaces pass: the host name, and mounts as descriptors.
    pub calls: Tried,
    /// A fresh /proc.
    pub proc: Tried,
    /// A tmpfs.
    pub tmpfs: Tried,
    /// An overlay with its upper layer on the tmpfs, in which a folder from below can be removed.
    pub overlay: Tried,
    /// A mount shown under other ids; tried only when asked for.
    pub idmap: Tried,
}

const STEPS: usize = 6;
/// A fresh /proc, among the steps.
const PROC: usize = 3;
const UNTRIED: i32 = -1;

fn tried(number: i32) -> Tried {
    match number {
        0 => Tried::Works,
        UNTRIED => Tried::Untried,
        errno => Tried::Failed(errno),
    }
}

/// Tries what a jar needs. `idmap` also tries an idmapped mount, which needs real root.
pub fn trial(with_idmap: bool) -> io::Result<Trial> {
    let (read, write) = pipe()?;
    let (wait_read, wait_write) = pipe()?;
    let maps = Maps::of_this_process();
    let flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP
        | libc::SIGCHLD;
    // SAFETY: a clone without CLONE_VM and with no stack is a fork: the child runs on a copy of this stack, makes
    // system calls alone and leaves with _exit.
    let child = unsafe {
        libc::syscall(
            libc::SYS_clone,
            flags as libc::c_ulong,
            0_usize,
            0_usize,
            0_usize,
            0_usize,
        )
    };
    if child < 0 {
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM);
        let mut none = report(&[UNTRIED; STEPS], Tried::Failed(errno));
        none.idmap = Tried::Untried;
        return Ok(none);
    }
    if child == 0 {
        child_main(
            &maps,
            read.as_raw_fd(),
            write.as_raw_fd(),
            wait_read.as_raw_fd(),
            wait_write.as_raw_fd(),
        );
    }
    drop((write, wait_read));
    let child = child as libc::pid_t;
    let mut bytes = [0; STEPS * 4];
    let answer = File::from(read).read_exact(&mut bytes);
    let mut idmapped = Tried::Untried;
    if with_idmap && answer.is_ok() {
        idmapped = File::open(format!("/proc/{child}/ns/user")).map_or_else(
            |error| failed(&error),
            |userns| idmap(Path::new("/"), &userns.into()),
        );
    }
    // The child waits for this end to close, and then leaves.
    drop(wait_write);
    reap(child);
    answer?;
    let mut steps = [0; STEPS];
    for (step, bytes) in steps.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *step = i32::from_ne_bytes(*bytes);
    }
    let mut trial = report(&steps, Tried::Works);
    trial.idmap = idmapped;
    Ok(trial)
}

fn report(steps: &[i32; STEPS], namespaces: Tried) -> Trial {
    let [maps, private, calls, proc, tmpfs, overlay] = steps.map(tried);
    Trial {
        namespaces,
        maps,
        private,
        calls,
        proc,
        tmpfs,
        overlay,
        idmap: Tried::Untried,
    }
}

/// Tries to show a folder's mount under the ids of a user namespace. Nothing is attached anywhere.
pub fn idmap(path: &Path, userns: &OwnedFd) -> Tried {
    use rustix::mount::{OpenTreeFlags, open_tree};
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = match open_tree(rustix::fs::CWD, path, flags) {
        Ok(tree) => tree,
        Err(errno) => return Tried::Failed(errno.raw_os_error()),
    };
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: userns.as_raw_fd() as u64,
    };
    // SAFETY: the path is a constant string and the attributes live across the call; their size is passed with them.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 {
        Tried::Works
    } else {
        failed(&io::Error::last_os_error())
    }
}

fn failed(error: &io::Error) -> Tried {
    Tried::Failed(error.raw_os_error().unwrap_or(libc::EIO))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

fn reap(child: libc::pid_t) {
    let Some(child) = rustix::process::Pid::from_raw(child) else {
        return;
    };
    let options = rustix::process::WaitOptions::empty();
    while matches!(
        rustix::process::waitpid(Some(child), options),
        Err(rustix::io::Errno::INTR)
    ) {}
}

/// The id maps to write: this process onto itself. Made before the clone, because the child cannot allocate.
struct Maps {
    uid: String,
    gid: String,
}

impl Maps {
    fn of_this_process() -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        Self {
            uid: format!("{uid} {uid} 1\n"),
            gid: format!("{gid} {gid} 1\n"),
        }
    }
}

/// All that the child does. It reports an errno for each step, waits to be let go, and leaves.
fn child_main(maps: &Maps, read: RawFd, write: RawFd, wait_read: RawFd, wait_write: RawFd) -> ! {
    // SAFETY: these are the child's own copies of the caller's ends, closed once; without this the wait never ends.
    drop(unsafe { OwnedFd::from_raw_fd(read) });
    // SAFETY: as above.
    drop(unsafe { OwnedFd::from_raw_fd(wait_write) });
    let mut steps = [UNTRIED; STEPS];
    let actions: [&dyn Fn() -> i32; STEPS] = [
        &|| write_maps(maps),
        &|| mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE, c""),
        &calls,
        &|| {
            mount(
                c"proc",
                c"/proc",
                c"proc",
                libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                c"",
            )
        },
        &|| {
            mount(
                c"tmpfs",
                c"/proc",
                c"tmpfs",
                libc::MS_NOSUID | libc::MS_NODEV,
                c"size=64k",
            )
        },
        &overlay,
    ];
    for (index, (step, action)) in steps.iter_mut().zip(actions).enumerate() {
        *step = action();
        // A masked /proc stops nothing but itself; every other step is what the next one stands on.
        if *step != 0 && index != PROC {
            break;
        }
    }
    let bytes = steps.map(i32::to_ne_bytes);
    let bytes = bytes.as_flattened();
    // SAFETY: the kernel reads from a live array of this length.
    unsafe { libc::write(write, bytes.as_ptr().cast(), bytes.len()) };
    let mut byte = 0_u8;
    // SAFETY: the kernel writes at most one byte to a live variable; it is end of file that is waited for.
    unsafe { libc::read(wait_read, (&raw mut byte).cast(), 1) };
    // SAFETY: leaves at once, without running the handlers of the process that this is a copy of.
    unsafe { libc::_exit(0) }
}

/// Calls on nothing: where nobody forbids them, the kernel finds fault with what they are given.
fn calls() -> i32 {
    // SAFETY: the name is a string of this length.
    if unsafe { libc::sethostname(c"belljar".as_ptr(), 7) } != 0 {
        return errno();
    }
    let calls = [
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_mount_setattr,
        libc::SYS_pivot_root,
    ];
    for call in calls {
        // SAFETY: no descriptor is -1 and no path is at 0, so that each of these ends with an error and changes nothing.
        let answer = unsafe { libc::syscall(call, -1_i64, 0_usize, -1_i64, 0_usize, 0_usize) };
        // ENOSYS is an old kernel, which is told elsewhere.
        if answer < 0 && matches!(errno(), libc::EPERM | libc::EACCES) {
            return errno();
        }
    }
    0
}

fn write_maps(maps: &Maps) -> i32 {
    let files = [
        (c"/proc/self/setgroups", "deny"),
        (c"/proc/self/uid_map", maps.uid.as_str()),
        (c"/proc/self/gid_map", maps.gid.as_str()),
    ];
    files
        .iter()
        .map(|(path, text)| write_file(path, text))
        .find(|errno| *errno != 0)
        .unwrap_or(0)
}

fn write_file(path: &CStr, text: &str) -> i32 {
    // SAFETY: the path is a string with its zero byte.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return errno();
    }
    // SAFETY: the kernel reads from a live string of this length.
    let written = unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    let result = if written < 0 { errno() } else { 0 };
    // SAFETY: this function opened it, and nobody else has it.
    unsafe { libc::close(file) };
    result
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong, data: &CStr) -> i32 {
    // SAFETY: all four are strings with their zero byte, alive across the call.
    let answer = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    };
    if answer == 0 { 0 } else { errno() }
}

/// An overlay on the tmpfs at /proc. Removing a folder that came from below is what older kernels fail at there.
fn overlay() -> i32 {
    for path in [
        c"/proc/lower",
        c"/proc/lower/old",
        c"/proc/upper",
        c"/proc/work",
        c"/proc/merged",
    ] {
        // SAFETY: the path is a string with its zero byte.
        if unsafe { libc::mkdir(path.as_ptr(), 0o700) } != 0 {
            return errno();
        }
    }
    let data = c"lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work,userxattr";
    let mounted = mount(
        c"overlay",
        c"/proc/merged",
        c"overlay",
        libc::MS_NOSUID | libc::MS_NODEV,
        data,
    );
    if mounted != 0 {
        return mounted;
    }
    // SAFETY: the path is a string with its zero byte.
    if unsafe { libc::rmdir(c"/proc/merged/old".as_ptr()) } == 0 {
        0
    } else {
        errno()
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever this machine allows, steps come in order.
    #[test]
    fn steps_stand_on_each_other() {
        let trial = trial(false).unwrap();
        let chain = [trial.namespaces, trial.maps, trial.private, trial.calls];
        for pair in chain.windows(2) {
            assert_eq!(pair[0] == Tried::Works, pair[1] != Tried::Untried, "{trial:?}");
        }
        assert_eq!(
            trial.calls == Tried::Works,
            trial.proc != Tried::Untried,
            "{trial:?}"
        );
        assert_eq!(trial.idmap, Tried::Untried);
    }

    #[test]
    fn own_user_namespace_cannot_be_a_map() {
        let userns = File::open("/proc/self/ns/user").unwrap().into();
        assert!(matches!(idmap(Path::new("/"), &userns), Tried::Failed(_)));
    }
}
