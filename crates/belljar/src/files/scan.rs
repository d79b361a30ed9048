//! What is in a folder: every name, what it is and how large, without opening any file.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, RawDir, Stat, readlinkat};
use rustix::io::Errno;

use super::beneath::{Folder, look};
use super::cursor::Cursor;
use super::{Bounds, FilesError, TextBudget, display};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder; whether every name in it was read.
    Folder {
        /// False if a bound or an error kept some of its names out of the listing.
        complete: bool,
    },
    /// A symbolic link, and its text if that was kept.
    Link {
        /// Where it points, never followed.
        target: Option<Vec<u8>>,
    },
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A character device; number 0 is an overlay's mark for a deletion.
    CharacterDevice {
        /// The device number.
        number: u64,
    },
    /// A block device.
    BlockDevice,
}

impl Kind {
    /// The word for it in reports.
    pub fn word(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder { .. } => "folder",
            Self::Link { .. } => "symbolic link",
            Self::Pipe => "named pipe",
            Self::Socket => "socket",
            Self::CharacterDevice { .. } => "character device",
            Self::BlockDevice => "block device",
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// The bits of a mode that say what it is.
    pub(super) fn type_bits(&self) -> u32 {
        let kind = match self {
            Self::File => FileType::RegularFile,
            Self::Folder { .. } => FileType::Directory,
            Self::Link { .. } => FileType::Symlink,
            Self::Pipe => FileType::Fifo,
            Self::Socket => FileType::Socket,
            Self::CharacterDevice { .. } => FileType::CharacterDevice,
            Self::BlockDevice => FileType::BlockDevice,
        };
        kind.as_raw_mode()
    }
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The folder that it is in, as an index of the listing; none is the root.
    pub parent: Option<u32>,
    /// 1 for what is in the root.
    pub depth: u32,
    /// Its own name, as the guest wrote it.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Bytes that reading it would give.
    pub size: u64,
    /// Blocks of 512 bytes that it takes; fewer than its size needs if it has holes.
    pub blocks: u64,
    /// Permission bits, setuid and the like included.
    pub mode: u32,
    /// Inode number.
    pub inode: u64,
    /// Last change of content, in nanoseconds since 1970.
    pub modified: i128,
    /// Last change of content or of metadata, in nanoseconds since 1970.
    pub changed: i128,
}

impl Entry {
    fn new(parent: Option<u32>, depth: u32, name: Vec<u8>, kind: Kind, stat: &Stat) -> Self {
        Self {
            parent,
            depth,
            name,
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            inode: stat.st_ino,
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether parts of the file are holes that take no space.
    pub fn is_sparse(&self) -> bool {
        self.kind == Kind::File && self.blocks.saturating_mul(512) < self.size
    }
}

pub(super) fn nanoseconds(seconds: impl Into<i128>, rest: impl Into<i128>) -> i128 {
    seconds.into() * 1_000_000_000 + rest.into()
}

/// What was found in a folder, parents before what is in them.
///
/// Entries know their own name and their parent; a path is put together when it is asked for, because the paths of a
/// deep tree take far more memory than the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    entries: Vec<Entry>,
    /// Whether every name in the root was read.
    complete: bool,
    /// What could not be looked at, escaped, and why.
    pub skipped: BTreeMap<String, String>,
    /// Whether a bound kept something out.
    pub truncated: bool,
}

impl Default for Listing {
    /// The listing of an empty folder.
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            complete: true,
            skipped: BTreeMap::new(),
            truncated: false,
        }
    }
}

impl Listing {
    /// Every entry, in the order of their indices.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The path of an entry relative to the root, as the guest wrote it.
    pub fn path(&self, index: u32) -> Vec<u8> {
        let mut names: Vec<&[u8]> = Vec::with_capacity(self.entry(index).depth as usize);
        let mut next = Some(index);
        while let Some(index) = next {
            names.push(&self.entry(index).name);
            next = self.entry(index).parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// The path of an entry as text that is safe to print.
    pub fn display(&self, index: u32) -> String {
        display(&self.path(index))
    }

    /// The indices of all entries.
    pub fn indices(&self) -> std::ops::Range<u32> {
        0..self.entries.len() as u32
    }

    pub(super) fn entry(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    /// Whether every name in this folder was read.
    pub(super) fn is_complete(&self, folder: Option<u32>) -> bool {
        match folder {
            None => self.complete,
            Some(index) => self.entry(index).kind == Kind::Folder { complete: true },
        }
    }

    #[cfg(test)]
    pub(super) fn push_for_test(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Bytes of the path and a separator, without putting it together.
    pub(super) fn path_length(&self, index: u32) -> usize {
        let mut length = 0;
        let mut next = Some(index);
        while let Some(index) = next {
            length += self.entry(index).name.len() + 1;
            next = self.entry(index).parent;
        }
        length
    }
}

/// Lists everything beneath `folder`, up to `bounds`.
pub fn scan(folder: Folder<'_>, bounds: &Bounds) -> Result<Listing, FilesError> {
    let cursor = Cursor::new(folder).map_err(|cause| FilesError::system("open", b".", cause))?;
    let mut scan = Scan {
        cursor,
        bounds,
        listing: Listing::default(),
        text: TextBudget::new(),
    };
    scan.read_folder(None)
        .map_err(|cause| FilesError::system("list", b".", cause))?;
    let mut open = scan.folders_from(0);
    while let Some(index) = open.pop() {
        let first = scan.listing.entries.len();
        if let Err(cause) = scan.read_folder(Some(index)) {
            scan.skip(Some(index), b"", cause);
        }
        open.append(&mut scan.folders_from(first));
    }
    Ok(scan.listing)
}

struct Scan<'a> {
    cursor: Cursor<'a>,
    bounds: &'a Bounds,
    listing: Listing,
    text: TextBudget,
}

impl Scan<'_> {
    /// Folders among the entries from `first` on, last name first, so that the one popped next is the nearest.
    fn folders_from(&self, first: usize) -> Vec<u32> {
        let entries = self.listing.entries.iter().enumerate().skip(first);
        entries
            .filter(|(_, entry)| entry.kind.is_folder())
            .map(|(at, _)| at as u32)
            .rev()
            .collect()
    }

    fn read_folder(&mut self, parent: Option<u32>) -> Result<(), Errno> {
        // Incomplete until its last name is known.
        self.set_complete(parent, false);
        let depth = parent.map_or(0, |index| self.listing.entry(index).depth);
        let room = self
            .bounds
            .entries
            .min(u32::MAX as usize - 1)
            .saturating_sub(self.listing.entries.len());
        if depth as usize >= self.bounds.depth {
            self.listing.truncated = true;
            return Ok(());
        }
        let fd = self.cursor.seek(&self.listing, parent)?;
        let (mut names, mut complete) = read_names(fd, room)?;
        self.listing.truncated |= !complete;
        names.sort_unstable();
        for name in names {
            match look(self.cursor.fd(), &name) {
                Ok(stat) => {
                    let kind = self.kind(&name, &stat);
                    self.listing
                        .entries
                        .push(Entry::new(parent, depth + 1, name, kind, &stat));
                }
                Err(cause) => {
                    complete = false;
                    self.skip(parent, &name, cause);
                }
            }
        }
        self.set_complete(parent, complete);
        Ok(())
    }

    fn set_complete(&mut self, folder: Option<u32>, complete: bool) {
        match folder {
            None => self.listing.complete = complete,
            Some(index) => self.listing.entries[index as usize].kind = Kind::Folder { complete },
        }
    }

    fn kind(&mut self, name: &[u8], stat: &Stat) -> Kind {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder { complete: false },
            FileType::Symlink => Kind::Link {
                target: self.target(name, stat),
            },
            FileType::Fifo => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            FileType::CharacterDevice => Kind::CharacterDevice { number: stat.st_rdev },
            _ => Kind::BlockDevice,
        }
    }

    /// The text of a link; a flood of long ones is cut off.
    fn target(&mut self, name: &[u8], stat: &Stat) -> Option<Vec<u8>> {
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        if !self.text.take(size) {
            return None;
        }
        readlinkat(self.cursor.fd(), name, Vec::new())
            .ok()
            .map(|target| target.into_bytes())
    }

    fn skip(&mut self, parent: Option<u32>, name: &[u8], cause: Errno) {
        let length = parent.map_or(0, |index| self.listing.path_length(index)) + name.len();
        // An escaped byte takes up to four.
        if !self.text.take(4 * length) {
            self.listing.truncated = true;
            return;
        }
        let mut path = parent.map(|index| self.listing.path(index)).unwrap_or_default();
        if !path.is_empty() && !name.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        self.listing.skipped.insert(display(&path), cause.to_string());
    }
}

/// Up to `room` names in a folder, and whether these are all.
fn read_names(fd: BorrowedFd<'_>, room: usize) -> Result<(Vec<Vec<u8>>, bool), Errno> {
    let mut buffer = [MaybeUninit::uninit(); 32 << 10];
    let mut names = Vec::new();
    let mut reader = RawDir::new(fd, &mut buffer);
    while let Some(entry) = reader.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == room {
            return Ok((names, false));
        }
        names.push(name.to_vec());
    }
    Ok((names, true))
}

#[cfg(test)]
mod tests;
