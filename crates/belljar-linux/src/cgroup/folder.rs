//! One folder of a cgroup file system, held by descriptor, and its files.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, FsWord, Mode, OFlags};

use super::CgroupError;

/// Magic numbers of the two cgroup file systems, as statfs tells them.
const CGROUP_SUPER_MAGIC: FsWord = 0x0027_e0eb;
const CGROUP2_SUPER_MAGIC: FsWord = 0x6367_7270;

/// What differs between the kernel's tree and one that a test laid out in a temporary folder.
pub(super) trait Tree {
    /// Whether the descriptor is on a cgroup file system. Writes go nowhere else.
    fn is_cgroupfs(&self, fd: BorrowedFd<'_>) -> bool;
    /// Writes a value with one call.
    fn write(&self, fd: BorrowedFd<'_>, _file: &Path, value: &str) -> rustix::io::Result<()> {
        rustix::io::retry_on_intr(|| rustix::io::write(fd, value.as_bytes())).map(|_| ())
    }
    /// Called after a group was made: the kernel fills the folder by itself.
    fn made(&self, _folder: &Path) {}
    /// Called before a group is removed: the kernel lets its files go by itself.
    fn removing(&self, _folder: &Path) {}
}

/// The kernel's own tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel;

impl Tree for Kernel {
    fn is_cgroupfs(&self, fd: BorrowedFd<'_>) -> bool {
        let magic = rustix::fs::fstatfs(fd).map(|found| found.f_type);
        matches!(magic, Ok(CGROUP_SUPER_MAGIC | CGROUP2_SUPER_MAGIC))
    }
}

/// A folder of the tree.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    pub(super) path: PathBuf,
}

impl Folder {
    /// Opens a folder that is there already.
    pub(super) fn open(tree: &dyn Tree, path: &Path) -> Result<Self, CgroupError> {
        let fd = rustix::fs::open(
            path,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|errno| CgroupError::io("open", path, errno))?;
        if !tree.is_cgroupfs(fd.as_fd()) {
            return Err(CgroupError::NotCgroupfs {
                path: path.to_owned(),
            });
        }
        Ok(Folder {
            fd,
            path: path.to_owned(),
        })
    }

    /// Makes a group below this one; one that is there already is an error, never taken over.
    pub(super) fn make(&self, tree: &dyn Tree, name: &str) -> Result<Self, CgroupError> {
        let path = self.path.join(name);
        rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o755)).map_err(|errno| match errno {
            rustix::io::Errno::EXIST => CgroupError::Exists { path: path.clone() },
            _ => CgroupError::io("make", &path, errno),
        })?;
        tree.made(&path);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Folder { fd, path }),
            Err(errno) => {
                tree.removing(&path);
                let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR);
                Err(CgroupError::io("open", &path, errno))
            }
        }
    }

    /// Removes a group below this one, and first those below that which nobody could: their names are numbers. The kernel
    /// says EBUSY while its last process is still on its way out.
    pub(super) fn remove(&self, tree: &dyn Tree, name: &str, patience: Duration) -> Result<(), CgroupError> {
        tree.removing(&self.path.join(name));
        let mut pause = Duration::from_micros(250);
        let mut waited = Duration::ZERO;
        loop {
            match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => return Ok(()),
                Err(rustix::io::Errno::BUSY) if self.remove_below(name) => {}
                Err(rustix::io::Errno::BUSY) if waited < patience => {
                    let next = pause.min(patience - waited);
                    std::thread::sleep(next);
                    waited += next;
                    pause = (pause * 2).min(Duration::from_millis(32));
                }
                Err(errno) => return Err(CgroupError::io("remove", &self.path.join(name), errno)),
            }
        }
    }

    /// Removes empty groups two levels down; whether there was one.
    fn remove_below(&self, name: &str) -> bool {
        let entries = std::fs::read_dir(self.path.join(name))
            .into_iter()
            .flatten()
            .flatten();
        let numbered = |entry: &std::fs::DirEntry| {
            let name = entry.file_name();
            name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
        };
        let removed = entries
            .filter(numbered)
            .filter(|entry| rustix::fs::rmdir(entry.path()).is_ok());
        removed.count() > 0
    }

    /// Opens a file for writing, after a look that it really is the kernel's.
    pub(super) fn writer(&self, tree: &dyn Tree, file: &str) -> Result<OwnedFd, CgroupError> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, file, flags, Mode::empty())
            .map_err(|errno| CgroupError::io("open", &self.path.join(file), errno))?;
        if !tree.is_cgroupfs(fd.as_fd()) {
            return Err(CgroupError::NotCgroupfs {
                path: self.path.join(file),
            });
        }
        Ok(fd)
    }

    /// Writes a value with one call, as the kernel's parsers need it.
    pub(super) fn write(&self, tree: &dyn Tree, file: &str, value: &str) -> Result<(), CgroupError> {
        let fd = self.writer(tree, file)?;
        let path = self.path.join(file);
        tree.write(fd.as_fd(), &path, value)
            .map_err(|errno| CgroupError::io("write", &path, errno))
    }

    /// Writes a value to a file that older kernels lack; tells whether it is there.
    pub(super) fn write_if_there(
        &self,
        tree: &dyn Tree,
        file: &str,
        value: &str,
    ) -> Result<bool, CgroupError> {
        match self.write(tree, file, value) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for reading.
    pub(super) fn reader(&self, file: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, file, flags, Mode::empty())?)
    }

    /// Reads a file whole.
    pub(super) fn read(&self, file: &str) -> io::Result<String> {
        slurp(&self.reader(file)?)
    }

    /// Reads a file that holds one number.
    pub(super) fn number(&self, file: &str) -> Option<u64> {
        self.read(file).ok()?.trim().parse().ok()
    }

    /// Reads one number of a file of `key value` lines.
    pub(super) fn keyed(&self, file: &str, key: &str) -> Option<u64> {
        let text = self.read(file).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reads a file of the kernel whole. std asks for its size and starts with small reads, for each of which the kernel
/// makes the text anew.
pub(super) fn slurp(fd: &OwnedFd) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(4096);
    loop {
        bytes.reserve(4096);
        let read = || rustix::io::read(fd, rustix::buffer::spare_capacity(&mut bytes));
        if rustix::io::retry_on_intr(read)? == 0 {
            return String::from_utf8(bytes).map_err(io::Error::other);
        }
    }
}
