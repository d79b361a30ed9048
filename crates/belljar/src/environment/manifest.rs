//! What every file of an environment was when it was built, to notice when one is not that any more.
//!
//! A check compares what the kernel says of each file and folder: size, times, number. Whoever changes a file changes one of
//! them; the time of the last change cannot be set back. Linking a file into another environment moves that time too, so
//! when nothing else differs the content decides.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat};
use sha2::{Digest, Sha256};

use super::parts;
use super::tree::Folder;

const MAGIC: &[u8; 8] = b"belljar1";
/// How deep the folder is that holds the packages: `lib/pythonX.Y/site-packages`.
const PACKAGES: usize = 3;

/// All folders of an environment, as they were.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Where all names are: every cold start reads thousands of them, and copies none.
    text: Vec<u8>,
    /// Parents first.
    folders: Vec<KnownFolder>,
}

/// Where in the text a name is.
type Name = Range<usize>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownFolder {
    path: Name,
    /// Moves when something is put into it or taken out.
    modified: i64,
    files: Vec<KnownFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownFile {
    name: Name,
    marks: Marks,
    /// Of its content, or of where it leads.
    hash: [u8; 32],
}

/// What the kernel says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    mode: u32,
    size: u64,
    inode: u64,
    modified: i64,
    /// Moves with every change, also of the others and of its links.
    changed: i64,
}

/// What a check found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Everything is as it was.
    Same,
    /// Everything is as it was, but the marks of some files moved; the manifest knows the new ones.
    Moved,
    /// These files or folders are not what they were.
    Changed(Vec<PathBuf>),
}

impl Marks {
    fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
        Self {
            mode: stat.st_mode,
            size: stat.st_size as u64,
            inode: stat.st_ino,
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

impl Manifest {
    /// Of a tree as it is now. Read whole, by several threads.
    pub(super) fn take(root: &Path, folders: &[Folder]) -> io::Result<Self> {
        let root = open_root(root)?;
        let found = parts::each(folders.chunks(parts::size(folders.len())), |folder| {
            let fd = open_folder(&root, &folder.path)?;
            let files = folder.entries.iter().map(|entry| {
                let marks = Marks::of(&stat(&fd, &entry.name)?);
                Ok((marks, hash(&fd, &entry.name, entry.link)?))
            });
            let modified = Marks::of(&rustix::fs::fstat(&fd)?).modified;
            Ok((modified, files.collect::<io::Result<Vec<_>>>()?))
        })?;
        let mut text = Vec::new();
        let mut keep = |name: &OsStr| {
            let start = text.len();
            text.extend_from_slice(name.as_bytes());
            start..text.len()
        };
        let known = folders
            .iter()
            .zip(found)
            .map(|(folder, (modified, files))| KnownFolder {
                path: keep(folder.path.as_os_str()),
                modified,
                files: folder
                    .entries
                    .iter()
                    .zip(files)
                    .map(|(entry, (marks, hash))| KnownFile {
                        name: keep(&entry.name),
                        marks,
                        hash,
                    })
                    .collect(),
            });
        let folders = known.collect();
        Ok(Self { text, folders })
    }

    /// Bytes and number of all files.
    pub(super) fn size(&self) -> (u64, u64) {
        let files = || self.folders.iter().flat_map(|folder| &folder.files);
        (files().map(|file| file.marks.size).sum(), files().count() as u64)
    }

    /// What an interpreter reads when it starts, if it uses nothing of the packages by itself.
    pub(super) fn front(&self) -> Option<Self> {
        let by_itself = |name: &OsStr| {
            let name = name.as_bytes();
            name.ends_with(b".pth")
                || name.starts_with(b"sitecustomize")
                || name.starts_with(b"usercustomize")
        };
        let mut folders = Vec::new();
        for folder in &self.folders {
            let path = Path::new(self.name(&folder.path));
            let depth = path.components().count();
            let holds = || folder.files.iter().any(|file| by_itself(self.name(&file.name)));
            let named = || path.file_name().is_some_and(by_itself);
            if depth == PACKAGES && holds() || depth == PACKAGES + 1 && named() {
                return None;
            }
            if depth <= PACKAGES {
                folders.push(folder.clone());
            }
        }
        let text = self.text.clone();
        Some(Self { text, folders })
    }

    /// Compares a tree with what it was, by several threads.
    pub(super) fn check(&mut self, root: &Path) -> io::Result<Verdict> {
        self.check_by(root, parts::size(self.folders.len()))
    }

    /// Compares a tree with what it was, by this thread.
    pub(super) fn check_alone(&mut self, root: &Path) -> io::Result<Verdict> {
        self.check_by(root, self.folders.len().max(1))
    }

    fn check_by(&mut self, root: &Path, size: usize) -> io::Result<Verdict> {
        let (root, text) = (open_root(root)?, &self.text);
        let found = parts::each(self.folders.chunks_mut(size), |folder| folder.check(&root, text))?;
        Ok(Verdict::of_all(found))
    }

    /// As bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, self.folders.len() as u64);
        for folder in &self.folders {
            put_name(&mut bytes, self.name(&folder.path));
            put(&mut bytes, folder.modified as u64);
            put(&mut bytes, folder.files.len() as u64);
            for KnownFile { name, marks, hash } in &folder.files {
                put_name(&mut bytes, self.name(name));
                for number in [
                    u64::from(marks.mode),
                    marks.size,
                    marks.inode,
                    marks.modified as u64,
                    marks.changed as u64,
                ] {
                    put(&mut bytes, number);
                }
                bytes.extend_from_slice(hash);
            }
        }
        bytes
    }

    /// From bytes; `None` where they are no manifest.
    pub(super) fn decode(text: Vec<u8>) -> Option<Self> {
        let mut bytes = Bytes { all: &text, at: 0 };
        (bytes.take(MAGIC.len())? == MAGIC).then_some(())?;
        let mut folders = Vec::new();
        for _ in 0..bytes.number()? {
            let path = bytes.name()?;
            let modified = bytes.number()? as i64;
            let mut files = Vec::new();
            for _ in 0..bytes.number()? {
                files.push(KnownFile {
                    name: bytes.name()?,
                    marks: Marks {
                        mode: bytes.number()? as u32,
                        size: bytes.number()?,
                        inode: bytes.number()?,
                        modified: bytes.number()? as i64,
                        changed: bytes.number()? as i64,
                    },
                    hash: bytes.take(32)?.try_into().ok()?,
                });
            }
            folders.push(KnownFolder {
                path,
                modified,
                files,
            });
        }
        let whole = bytes.at == text.len();
        whole.then_some(Self { text, folders })
    }

    fn name(&self, name: &Name) -> &OsStr {
        OsStr::from_bytes(&self.text[name.clone()])
    }
}

impl Verdict {
    fn of_all(found: Vec<Self>) -> Self {
        let mut verdict = Self::Same;
        for one in found {
            match (&mut verdict, one) {
                (_, Self::Same) | (Self::Changed(_), Self::Moved) => {}
                (Self::Changed(all), Self::Changed(paths)) => all.extend(paths),
                (_, other) => verdict = other,
            }
        }
        verdict
    }
}

impl KnownFolder {
    fn check(&mut self, root: &OwnedFd, text: &[u8]) -> io::Result<Verdict> {
        let named = |name: &Name| OsStr::from_bytes(&text[name.clone()]);
        let path = Path::new(named(&self.path));
        let (mut moved, mut changed) = (false, Vec::new());
        let Ok(fd) = open_folder(root, path) else {
            return Ok(Verdict::Changed(vec![path.to_path_buf()]));
        };
        if Marks::of(&rustix::fs::fstat(&fd)?).modified != self.modified {
            changed.push(path.to_path_buf());
        }
        for file in &mut self.files {
            let name = named(&file.name);
            let Ok(found) = stat(&fd, name) else {
                changed.push(path.join(name));
                continue;
            };
            let found = Marks::of(&found);
            if found == file.marks {
                continue;
            }
            let same = Marks {
                changed: file.marks.changed,
                ..found
            } == file.marks;
            let link = found.mode & 0o170_000 == 0o120_000;
            if same && hash(&fd, name, link)? == file.hash {
                file.marks = found;
                moved = true;
            } else {
                changed.push(path.join(name));
            }
        }
        Ok(match (changed.is_empty(), moved) {
            (false, _) => Verdict::Changed(changed),
            (true, true) => Verdict::Moved,
            (true, false) => Verdict::Same,
        })
    }
}

fn open_root(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(root, flags, Mode::empty())?)
}

fn open_folder(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    // Not read, only looked below: that needs no more than a path.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(root, path, flags, Mode::empty())?)
}

fn stat(folder: &OwnedFd, name: &OsStr) -> io::Result<Stat> {
    Ok(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn hash(folder: &OwnedFd, name: &OsStr, link: bool) -> io::Result<[u8; 32]> {
    if link {
        let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
        return Ok(Sha256::digest(target.as_bytes()).into());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    hash_file(openat(folder.as_fd(), name, flags, Mode::empty())?.into())
}

fn hash_file(mut file: File) -> io::Result<[u8; 32]> {
    let mut sum = Sha256::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sum.finalize().into()),
            count => sum.update(&piece[..count]),
        }
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_name(bytes: &mut Vec<u8>, name: &OsStr) {
    put(bytes, name.len() as u64);
    bytes.extend_from_slice(name.as_bytes());
}

/// What is read of a manifest, and how far.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.all.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn name(&mut self) -> Option<Name> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)?;
        Some(self.at - length..self.at)
    }
}
