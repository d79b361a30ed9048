//! Mounts: detached copies of host trees, their attributes, fresh file systems, and the change of root.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};

/// What a mount allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// No writes.
    pub read_only: bool,
    /// No programs.
    pub no_exec: bool,
    /// Device files may be opened; only for the binds of single devices.
    pub devices: bool,
}

impl Attributes {
    /// Readable and executable: what system folders get.
    pub const READ: Self = Self {
        read_only: true,
        no_exec: false,
        devices: false,
    };
    /// Also writable.
    pub const WRITE: Self = Self {
        read_only: false,
        no_exec: false,
        devices: false,
    };
    /// One device file.
    pub const DEVICE: Self = Self {
        read_only: false,
        no_exec: true,
        devices: true,
    };

    fn bits(self) -> u64 {
        let mut bits = libc::MOUNT_ATTR_NOSUID;
        if self.read_only {
            bits |= libc::MOUNT_ATTR_RDONLY;
        }
        if self.no_exec {
            bits |= libc::MOUNT_ATTR_NOEXEC;
        }
        if !self.devices {
            bits |= libc::MOUNT_ATTR_NODEV;
        }
        bits
    }
}

#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// A detached copy of the tree at `path`, with everything mounted below it. The last component may be a symlink
/// only if `follow` says so.
pub fn detach(path: &Path, follow: bool) -> io::Result<OwnedFd> {
    let mut flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    if !follow {
        flags |= OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    }
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// What is at `path`, for use as a mount's source or place; no link on the way is followed.
pub fn open_unlinked(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?)
}

/// As [`open_unlinked`]; what is at `path` may itself be a link, and is then the link.
pub fn open_or_link(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?)
}

/// As [`detach`], of exactly what `opened` is.
pub fn detach_opened(opened: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(rustix::mount::open_tree(opened, "", flags)?)
}

/// Sets attributes of a tree and of every mount below it.
pub fn restrict(tree: BorrowedFd<'_>, attributes: Attributes) -> io::Result<()> {
    set_attributes(
        tree,
        MountAttr {
            attr_set: attributes.bits(),
            attr_clr: 0,
            propagation: libc::MS_PRIVATE,
            userns_fd: 0,
        },
    )
}

/// Shows a detached tree under the ids of a user namespace.
pub fn map_ids(tree: BorrowedFd<'_>, userns: BorrowedFd<'_>) -> io::Result<()> {
    set_attributes(
        tree,
        MountAttr {
            attr_set: libc::MOUNT_ATTR_IDMAP,
            attr_clr: 0,
            propagation: 0,
            userns_fd: userns.as_raw_fd() as u64,
        },
    )
}

fn set_attributes(tree: BorrowedFd<'_>, attributes: MountAttr) -> io::Result<()> {
    // SAFETY: the path is an empty NUL-terminated string and the struct is passed with its exact size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Makes what is at `path` read-only, this one mount and nothing below.
pub fn lock(path: &Path) -> io::Result<()> {
    let mount = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let attributes = MountAttr {
        attr_set: Attributes::READ.bits(),
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: as in `set_attributes`.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Puts a detached tree at `target`, which must not be a symlink.
pub fn attach(tree: BorrowedFd<'_>, target: &Path) -> io::Result<()> {
    Ok(rustix::mount::move_mount(
        tree,
        "",
        CWD,
        target,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )?)
}

/// Puts a detached tree over exactly what `place` is.
pub fn attach_over(tree: BorrowedFd<'_>, place: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(tree, "", place, "", flags)?)
}

/// A fresh file system, detached.
pub fn fresh(kind: &str, options: &[(&str, &str)], attributes: Attributes) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            rustix::mount::fsconfig_set_flag(context.as_fd(), *key)?;
        } else {
            rustix::mount::fsconfig_set_string(context.as_fd(), *key, *value)?;
        }
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
    flags.set(MountAttrFlags::MOUNT_ATTR_NODEV, !attributes.devices);
    flags.set(MountAttrFlags::MOUNT_ATTR_NOEXEC, attributes.no_exec);
    flags.set(MountAttrFlags::MOUNT_ATTR_RDONLY, attributes.read_only);
    Ok(rustix::mount::fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        flags,
    )?)
}

/// Keeps every later mount of this namespace from reaching others.
pub fn make_private() -> io::Result<()> {
    Ok(rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?)
}

/// Binds one thing that is already in this namespace over another.
pub fn bind(source: &Path, target: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(source, target)?)
}

/// Mounts a fresh procfs at `target`. The classic call: fsopen of proc is refused in more containers.
pub fn proc(target: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("proc", target, "proc", flags, None)?)
}

/// Makes the mount at `root` the root. The old root is the current folder until [`leave_host`], and is not reached by
/// any absolute path.
pub fn enter_root(root: &Path) -> io::Result<()> {
    rustix::process::chdir(root)?;
    rustix::process::pivot_root(".", ".")?;
    Ok(())
}

/// Detaches the old root, with everything mounted in it, so that nothing of it can be reached.
pub fn leave_host() -> io::Result<()> {
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

/// Steps off the old root and gives it, for [`detach_host`].
pub fn step_off_host() -> io::Result<OwnedFd> {
    let host = rustix::fs::open(
        ".",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::process::chdir("/")?;
    Ok(host)
}

/// As [`leave_host`], from another process of the same mount namespace: the kernel waits for a grace period, and the one
/// who builds the root need not.
pub fn detach_host(host: OwnedFd) -> io::Result<()> {
    rustix::process::fchdir(&host)?;
    leave_host()
}
