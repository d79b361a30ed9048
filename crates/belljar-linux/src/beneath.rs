//! What reading and writing a guest's folder needs beyond rustix: a mode change through an `O_PATH` descriptor, and
//! another user's file system identity for this thread.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Number of fchmodat2, the same on every architecture; libc does not name it everywhere.
const SYS_FCHMODAT2: libc::c_long = 452;

/// Changes the mode of exactly the inode behind `fd`, which may be an `O_PATH` descriptor.
///
/// Needs Linux 6.6 or a mounted /proc. The inode must not be a symbolic link.
pub fn chmod_descriptor(fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    match fchmodat2(fd, mode) {
        // Old kernels lack the call, and container filters answer unknown calls with either errno.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            chmod_by_proc(fd, mode)
        }
        result => result,
    }
}

fn fchmodat2(fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    // SAFETY: the path is a static empty string with its NUL; the descriptor is borrowed for the call; no other pointer.
    let result = unsafe {
        libc::syscall(
            SYS_FCHMODAT2,
            fd.as_raw_fd(),
            c"".as_ptr(),
            mode as libc::c_ulong,
            libc::AT_EMPTY_PATH,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn chmod_by_proc(fd: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::chmod(link, rustix::fs::Mode::from_raw_mode(mode)).map_err(io::Error::from)
}

/// While it lives, this thread creates and opens files as another user and group.
///
/// A tmpfs that a user namespace owns refuses (`EOVERFLOW`) inodes of an id that the namespace does not map, and
/// host root is such an id. Going from root to another id also gives up the file capabilities, until the drop.
#[derive(Debug)]
pub struct FileIdentity {
    uid: libc::uid_t,
    gid: libc::gid_t,
    // The identity belongs to the thread that took it, so the guard must be dropped there.
    _thread: PhantomData<*const ()>,
}

impl FileIdentity {
    /// Takes on `uid` and `gid` for file access; an error means that nothing changed.
    pub fn assume(uid: u32, gid: u32) -> io::Result<Self> {
        let previous = Self {
            uid: set_fsuid(u32::MAX),
            gid: set_fsgid(u32::MAX),
            _thread: PhantomData,
        };
        // The group first: without root's capabilities it could no longer be chosen.
        set_fsgid(gid);
        set_fsuid(uid);
        // These calls report no failure; -1 changes nothing and tells the current id.
        if set_fsgid(u32::MAX) == gid && set_fsuid(u32::MAX) == uid {
            Ok(previous)
        } else {
            drop(previous);
            Err(io::Error::from_raw_os_error(libc::EPERM))
        }
    }
}

impl Drop for FileIdentity {
    fn drop(&mut self) {
        set_fsuid(self.uid);
        set_fsgid(self.gid);
    }
}

fn set_fsuid(uid: u32) -> u32 {
    // SAFETY: takes an integer and returns the previous id; touches no memory of ours.
    unsafe { libc::setfsuid(uid) as u32 }
}

fn set_fsgid(gid: u32) -> u32 {
    // SAFETY: takes an integer and returns the previous id; touches no memory of ours.
    unsafe { libc::setfsgid(gid) as u32 }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn locked_file() -> (tempfile::TempDir, std::path::PathBuf, rustix::fd::OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locked");
        std::fs::write(&path, "x").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o0)).unwrap();
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        (folder, path, fd)
    }

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_path_descriptor_is_enough_to_change_a_mode() {
        let (_folder, path, fd) = locked_file();
        assert_eq!(
            rustix::fs::fchmod(&fd, 0o600.into()),
            Err(rustix::io::Errno::BADF),
            "control: fchmod is not"
        );
        chmod_descriptor(fd.as_fd(), 0o640).unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn proc_serves_where_fchmodat2_is_missing() {
        let (_folder, path, fd) = locked_file();
        chmod_by_proc(fd.as_fd(), 0o600).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    /// Root only: a plain user can take on no identity but its own.
    #[test]
    fn an_identity_holds_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let create = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "x").unwrap();
            let meta = std::fs::metadata(path).unwrap();
            (meta.uid(), meta.gid())
        };
        let own = create("before");
        if own.0 != 0 {
            assert_eq!(
                FileIdentity::assume(0, 0).unwrap_err().raw_os_error(),
                Some(libc::EPERM)
            );
            assert_eq!(create("after"), own);
            return;
        }
        let identity = FileIdentity::assume(4321, 1234).unwrap();
        assert_eq!(create("during"), (4321, 1234));
        drop(identity);
        assert_eq!(create("after"), own);
    }
}
