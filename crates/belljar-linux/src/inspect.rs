//! Looking at another process from outside, through /proc: what it holds, where it is and what binds it.
//!
//! Nothing here believes the process: every figure is the kernel's. Plain reads, so that a check costs less than the
//! thing it checks.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RawDir};

use crate::namespaces::Kind;

mod text;

pub use text::Status;

/// Magic of procfs; any other folder would tell what its maker likes.
const PROC_SUPER_MAGIC: i64 = 0x9fa0;

/// Device and inode: two names with the same are the same thing.
pub type Identity = (u64, u64);

/// A mounted procfs. It shows the processes of the pid namespace that it was mounted in, by their numbers there.
#[derive(Debug)]
pub struct Proc {
    folder: OwnedFd,
}

/// One process. Its number may be used again after it is reaped; what is read here then fails (`ESRCH`, `ENOENT`),
/// and never tells of the next one.
#[derive(Debug)]
pub struct Entry {
    folder: OwnedFd,
    pid: i32,
}

/// An open descriptor of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Its number.
    pub number: i32,
    /// What it leads to, as the link says; bytes that are not UTF-8 are replaced.
    pub target: String,
    /// What it leads to.
    pub file: Identity,
}

impl Proc {
    /// Opens a procfs; fails with `EXDEV` when the folder is something else.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self::at(rustix::fs::open(path.as_ref(), flags, Mode::empty())?)
    }

    /// Takes an open folder of procfs; fails with `EXDEV` when it is something else.
    pub fn at(folder: OwnedFd) -> io::Result<Self> {
        if rustix::fs::fstatfs(&folder)?.f_type as i64 != PROC_SUPER_MAGIC {
            return Err(io::Error::from_raw_os_error(libc::EXDEV));
        }
        Ok(Self { folder })
    }

    /// A process by its number in this procfs.
    pub fn entry(&self, pid: i32) -> io::Result<Entry> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.folder, pid.to_string(), flags, Mode::empty())?;
        Ok(Entry { folder, pid })
    }

    /// The numbers of all processes.
    pub fn processes(&self) -> io::Result<Vec<i32>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // A folder is read once: the place in it belongs to the open file.
        numbers(&rustix::fs::openat(&self.folder, ".", flags, Mode::empty())?)
    }

    /// The numbers of the processes whose parent is `parent`, ended ones among them until they are reaped.
    pub fn children(&self, parent: i32) -> io::Result<Vec<i32>> {
        if let Some(found) = self.listed_children(parent) {
            return Ok(found);
        }
        let mut found = Vec::new();
        for pid in self.processes()? {
            // One that has gone in between is nobody's child.
            let Ok(bytes) = read(&self.folder, &format!("{pid}/stat")) else {
                continue;
            };
            if text::parent(&bytes) == Some(parent) {
                found.push(pid);
            }
        }
        Ok(found)
    }

    /// As [`Proc::children`], for a process with one thread: that is one list.
    pub fn children_of_one(&self, parent: i32) -> io::Result<Vec<i32>> {
        match read(&self.folder, &format!("{parent}/task/{parent}/children")) {
            Ok(bytes) => Ok(text::pids(&bytes)),
            Err(_) => self.children(parent),
        }
    }

    /// The kernel's own lists, one for each thread, where they are built in: no walk over all processes.
    fn listed_children(&self, parent: i32) -> Option<Vec<i32>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let tasks = rustix::fs::openat(&self.folder, format!("{parent}/task"), flags, Mode::empty()).ok()?;
        let mut found = Vec::new();
        for thread in numbers(&tasks).ok()? {
            let bytes = read(&tasks, &format!("{thread}/children")).ok()?;
            found.extend(text::pids(&bytes));
        }
        Some(found)
    }
}

impl Entry {
    /// The number that it was opened with.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Its credentials, threads and filters.
    pub fn status(&self) -> io::Result<Status> {
        text::status(&read_at_once(&self.folder, "status")?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Its namespaces, in the order of [`Kind::ALL`]. Needs the right to trace it.
    pub fn namespaces(&self) -> io::Result<Vec<(Kind, Identity)>> {
        self.namespaces_of(&Kind::ALL)
    }

    /// Some of its namespaces, in the order asked for. Needs the right to trace it.
    pub fn namespaces_of(&self, kinds: &[Kind]) -> io::Result<Vec<(Kind, Identity)>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.folder, "ns", flags, Mode::empty())?;
        let one = |kind: &Kind| Ok((*kind, identity(&folder, kind.name())?));
        kinds.iter().map(one).collect()
    }

    /// Its open descriptors in the order of their numbers. Needs the right to trace it.
    pub fn descriptors(&self) -> io::Result<Vec<Descriptor>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.folder, "fd", flags, Mode::empty())?;
        let mut all = numbers(&folder)?;
        all.sort_unstable();
        let one = |number: i32| {
            let name = number.to_string();
            let target = rustix::fs::readlinkat(&folder, &*name, Vec::with_capacity(64))?;
            Ok(Descriptor {
                number,
                target: target.to_string_lossy().into_owned(),
                file: identity(&folder, &name)?,
            })
        };
        all.into_iter().map(one).collect()
    }

    /// What its open descriptors lead to, in the order of their numbers. Needs the right to trace it.
    pub fn files(&self) -> io::Result<Vec<(i32, Identity)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.folder, "fd", flags, Mode::empty())?;
        let mut all = numbers(&folder)?;
        all.sort_unstable();
        let one = |number: i32| Ok((number, identity(&folder, &number.to_string())?));
        all.into_iter().map(one).collect()
    }

    /// The lines of its memory map that it may share with others and change: mapped shared and writable, or shared
    /// and without a name of its own on a disk, which may have been made read-only for the moment. Needs the right to trace it.
    pub fn shared_writable(&self) -> io::Result<Vec<String>> {
        Ok(text::shared(&read(&self.folder, "maps")?))
    }

    /// Its cgroups, a line each, seen from this process's cgroup namespace.
    pub fn cgroup(&self) -> io::Result<String> {
        let bytes = read_at_once(&self.folder, "cgroup")?;
        Ok(String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned())
    }
}

fn identity(folder: &OwnedFd, name: &str) -> rustix::io::Result<Identity> {
    let stat = rustix::fs::statat(folder, name, AtFlags::empty())?;
    Ok((stat.st_dev as u64, stat.st_ino as u64))
}

/// The names in a folder that are numbers.
fn numbers(folder: &OwnedFd) -> io::Result<Vec<i32>> {
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut listed = RawDir::new(folder, &mut space);
    let mut found = Vec::with_capacity(16);
    while let Some(entry) = listed.next() {
        if let Some(number) = entry?
            .file_name()
            .to_str()
            .ok()
            .and_then(|name| name.parse().ok())
        {
            found.push(number);
        }
    }
    Ok(found)
}

/// A whole file that the kernel makes in one piece: where there was room left, nothing more comes.
fn read_at_once(folder: impl AsFd, name: &str) -> io::Result<Vec<u8>> {
    let file = rustix::fs::openat(&folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::with_capacity(8192);
    rustix::io::retry_on_intr(|| rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)))?;
    if bytes.len() < bytes.capacity() {
        return Ok(bytes);
    }
    read(folder, name)
}

/// A whole file. The kernel makes the text anew for each read, so the first one takes as much as it can.
fn read(folder: impl AsFd, name: &str) -> io::Result<Vec<u8>> {
    let file = rustix::fs::openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::with_capacity(4096);
    loop {
        bytes.reserve(4096);
        let room = rustix::buffer::spare_capacity(&mut bytes);
        match rustix::io::read(&file, room) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
