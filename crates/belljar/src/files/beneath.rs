//! Opening one name beneath a folder, under rules that a hostile tree cannot bend.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use belljar_linux::beneath::chmod_descriptor;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat};
use rustix::io::Errno;

/// A folder to work in, and the rules for opening what is beneath it.
#[derive(Debug, Clone, Copy)]
pub struct Folder<'fd> {
    fd: BorrowedFd<'fd>,
    unlock: bool,
    modern: bool,
}

impl<'fd> Folder<'fd> {
    /// A folder that belongs to a jar: modes that keep its reader out are changed.
    pub fn jar(fd: BorrowedFd<'fd>) -> Self {
        Self {
            fd,
            unlock: true,
            modern: true,
        }
    }

    /// A folder of the host's user: no mode is changed, what cannot be read is reported.
    pub fn host(fd: BorrowedFd<'fd>) -> Self {
        Self {
            fd,
            unlock: false,
            modern: true,
        }
    }

    /// The same folder, opened as on a kernel without openat2.
    pub fn without_openat2(self) -> Self {
        Self {
            modern: false,
            ..self
        }
    }

    /// Another folder under the same rules.
    pub(super) fn of<'other>(&self, fd: BorrowedFd<'other>) -> Folder<'other> {
        Folder {
            fd,
            unlock: self.unlock,
            modern: self.modern,
        }
    }

    /// A descriptor of the folder itself, readable from its start.
    pub(super) fn open_root(&self) -> Result<OwnedFd, Errno> {
        // A guest may take all modes from the very root of its folder.
        let open = || openat(self.fd, c".", OFlags::DIRECTORY | READ, Mode::empty());
        match open() {
            Err(Errno::ACCESS) if self.unlock => {
                self.unlock(self.fd, &fstat(self.fd)?)?;
                open()
            }
            result => result,
        }
    }

    /// Opens the folder `name` in `at`.
    pub(super) fn open_folder(&self, at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
        let fd = self.open_or_unlock(at, name, OFlags::DIRECTORY | READ)?;
        let stat = fstat(&fd)?;
        // Readable without searchable would list names and open none of them.
        if self.unlock && stat.st_mode & 0o700 != 0o700 {
            let _ = self.unlock(fd.as_fd(), &stat);
        }
        Ok(fd)
    }

    /// Opens the regular file `name` in `at` for reading; nothing if it turns out to be anything else.
    pub(super) fn open_file(
        &self,
        at: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<Option<(OwnedFd, Stat)>, Errno> {
        // Looked at before it is opened, because opening a device may already do something.
        if !is_file(&look(at, name)?) {
            return Ok(None);
        }
        let fd = self.open_or_unlock(at, name, READ)?;
        let stat = fstat(&fd)?;
        Ok(is_file(&stat).then_some((fd, stat)))
    }

    /// Creates the file `name` in `at`, which must not exist in any form.
    pub(super) fn create_file(&self, at: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | COMMON;
        self.open(at, name, flags, Mode::from_raw_mode(mode & 0o777))
    }

    fn open_or_unlock(&self, at: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        match self.open(at, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) if self.unlock => {
                let path = self.open(
                    at,
                    name,
                    OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                    Mode::empty(),
                )?;
                self.unlock(path.as_fd(), &fstat(&path)?)?;
                self.open(at, name, flags, Mode::empty())
            }
            result => result,
        }
    }

    /// Gives the owner back what is needed to read, on exactly this inode, if it is a file or a folder.
    fn unlock(&self, fd: BorrowedFd<'_>, stat: &Stat) -> Result<(), Errno> {
        let more = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => 0o700,
            FileType::RegularFile => 0o400,
            _ => return Err(Errno::ACCESS),
        };
        chmod_descriptor(fd, (stat.st_mode & 0o777) | more).map_err(|_| Errno::ACCESS)
    }

    fn open(&self, at: BorrowedFd<'_>, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        check_name(name)?;
        if self.modern {
            let rules = ResolveFlags::BENEATH
                | ResolveFlags::NO_SYMLINKS
                | ResolveFlags::NO_MAGICLINKS
                | ResolveFlags::NO_XDEV;
            match openat2(at, name, flags, mode, rules) {
                // Filters of older container engines answer the unknown call with EPERM.
                Err(Errno::NOSYS | Errno::PERM) => {}
                result => return result,
            }
        }
        let fd = openat(at, name, flags, mode)?;
        // One plain name and O_NOFOLLOW cannot leave the folder except through a mount.
        let (stat, parent) = (fstat(&fd)?, fstat(at)?);
        let folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if folder && stat.st_dev != parent.st_dev {
            Err(Errno::XDEV)
        } else {
            Ok(fd)
        }
    }
}

const COMMON: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);
const READ: OFlags = OFlags::RDONLY.union(COMMON);

/// What `name` in `at` is, without following it.
pub(super) fn look(at: BorrowedFd<'_>, name: &[u8]) -> Result<Stat, Errno> {
    check_name(name)?;
    statat(at, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(super) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// A name must be one component that stays where it is; the kernel gives no other, and none is taken on trust.
fn check_name(name: &[u8]) -> Result<(), Errno> {
    let bad = name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') || name.contains(&0);
    if bad { Err(Errno::INVAL) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folders(dir: &std::path::Path) -> (OwnedFd, [bool; 2]) {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        (
            rustix::fs::open(dir, flags, Mode::empty()).unwrap(),
            [true, false],
        )
    }

    #[test]
    fn no_link_and_no_way_up_is_followed_with_or_without_openat2() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let dir = tempfile::tempdir().unwrap();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        symlink(outside.path().join("secret"), dir.path().join("file")).unwrap();
        symlink("/proc/self/environ", dir.path().join("magic")).unwrap();
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::write(dir.path().join("plain"), "x").unwrap();
        let (fd, ways) = folders(dir.path());
        for modern in ways {
            let mut folder = Folder::jar(fd.as_fd());
            if !modern {
                folder = folder.without_openat2();
            }
            let at = fd.as_fd();
            assert!(folder.open_folder(at, b"in").is_ok(), "control");
            assert!(folder.open_file(at, b"plain").unwrap().is_some(), "control");
            assert!(folder.open_folder(at, b"out").is_err());
            assert!(folder.open_file(at, b"file").unwrap().is_none());
            assert!(matches!(
                folder.open(at, b"file", READ, Mode::empty()),
                Err(Errno::LOOP)
            ));
            assert!(matches!(
                folder.open(at, b"magic", READ, Mode::empty()),
                Err(Errno::LOOP)
            ));
            for name in [&b".."[..], b".", b"", b"in/..", b"/etc", b"a\0b"] {
                assert_eq!(folder.open_folder(at, name).unwrap_err(), Errno::INVAL);
            }
        }
    }

    #[test]
    fn a_mount_is_not_crossed_with_or_without_openat2() {
        // /proc is a mount on / on every Linux that can run this test.
        let (fd, ways) = folders(std::path::Path::new("/"));
        for modern in ways {
            let folder = Folder {
                modern,
                ..Folder::host(fd.as_fd())
            };
            assert_eq!(folder.open_folder(fd.as_fd(), b"proc").unwrap_err(), Errno::XDEV);
        }
    }

    #[test]
    fn pipes_sockets_and_devices_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (fd, ways) = folders(dir.path());
        rustix::fs::mknodat(&fd, "pipe", FileType::Fifo, 0o600.into(), 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let (dev, _) = folders(std::path::Path::new("/dev"));
        for modern in ways {
            let folder = Folder {
                modern,
                ..Folder::jar(fd.as_fd())
            };
            assert!(folder.open_file(fd.as_fd(), b"pipe").unwrap().is_none());
            assert!(folder.open_file(fd.as_fd(), b"socket").unwrap().is_none());
            assert!(folder.open_file(dev.as_fd(), b"null").unwrap().is_none());
        }
    }
}
