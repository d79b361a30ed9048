//! What a run changed in a folder that it saw through an overlay: the overlay's upper folder, read against the lower.
//!
//! A deletion is a character device 0/0; a folder that was replaced is marked opaque; a file that was only opened for
//! writing is copied up unchanged. A guest cannot forge these marks: it may make no device, and attributes that it
//! sets under the overlay's own prefix are stored under another name.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Stat, fgetxattr, readlinkat};
use rustix::io::Errno;

use super::beneath::{Folder, is_file, is_folder, look};
use super::content::equal;
use super::cursor::Cursor;
use super::scan::{Entry, Kind, Listing, nanoseconds, scan};
use super::{Bounds, FilesError, TextBudget, display};
use crate::outcome::Changes;

/// What a change does to the host's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Something new.
    Create,
    /// A file of other content, or a link of another target.
    Modify,
    /// Something that goes.
    Delete,
}

/// The state of a path in the host's folder when the draft was read, to notice that somebody else changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Type and permission bits.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// Last change of content, in nanoseconds since 1970.
    pub modified: i128,
    /// Last change of content or of metadata, in nanoseconds since 1970.
    pub changed: i128,
}

impl Stamp {
    pub(super) fn new(stat: &Stat) -> Self {
        Self {
            mode: stat.st_mode,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    pub(super) fn of_entry(entry: &Entry) -> Self {
        Self {
            mode: entry.kind.type_bits() | entry.mode,
            size: entry.size,
            inode: entry.inode,
            modified: entry.modified,
            changed: entry.changed,
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }
}

/// One change that a run made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftChange {
    /// The path relative to the folder, as the guest wrote it.
    pub path: Vec<u8>,
    /// What is done.
    pub action: Action,
    /// What is made, or what goes.
    pub kind: Kind,
    /// Bytes of what is made.
    pub size: u64,
    /// Permission bits of what is made.
    pub mode: u32,
    /// What was there.
    pub lower: Option<Stamp>,
}

/// Everything that a run changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftChanges {
    /// The changes; a path that changed its kind is deleted and created.
    pub changes: Vec<DraftChange>,
    /// What is left out, escaped, and why.
    pub skipped: BTreeMap<String, String>,
    /// Whether a bound kept something out.
    pub truncated: bool,
}

impl DraftChanges {
    /// The same as lists of paths.
    pub fn summary(&self) -> Changes {
        let mut of: BTreeMap<&[u8], Action> = BTreeMap::new();
        for change in &self.changes {
            let replaced = of
                .get(&change.path[..])
                .is_some_and(|action| *action != change.action);
            of.insert(
                &change.path,
                if replaced { Action::Modify } else { change.action },
            );
        }
        let list = |wanted| {
            of.iter()
                .filter(|(_, action)| **action == wanted)
                .map(|(path, _)| display(path))
                .collect()
        };
        Changes {
            created: list(Action::Create),
            modified: list(Action::Modify),
            deleted: list(Action::Delete),
            skipped: self.skipped.clone(),
            truncated: self.truncated,
            ..Changes::default()
        }
    }
}

/// Reads what an overlay with this `upper` and this `lower` folder recorded; nothing is written.
pub fn draft_changes(
    upper: Folder<'_>,
    lower: Folder<'_>,
    bounds: &Bounds,
) -> Result<DraftChanges, FilesError> {
    let listing = scan(upper, bounds)?;
    let opened = |folder| Cursor::new(folder).map_err(|cause| FilesError::system("open", b".", cause));
    let changes = DraftChanges {
        skipped: listing.skipped.clone(),
        // What could not be read might be anything; a draft that misses it is not the whole draft.
        truncated: listing.truncated || !listing.skipped.is_empty(),
        ..DraftChanges::default()
    };
    let mut names = HashMap::with_capacity(listing.entries().len());
    for (index, entry) in listing.indices().zip(listing.entries()) {
        names.insert((entry.parent, &entry.name[..]), index);
    }
    let mut draft = Draft {
        upper: opened(upper)?,
        lower: opened(lower)?,
        bounds,
        listing: &listing,
        names,
        beneath: vec![Beneath::Nothing; listing.entries().len()],
        bytes: 0,
        text: TextBudget::new(),
        changes,
    };
    for index in listing.indices() {
        draft.take(index)?;
    }
    Ok(draft.changes)
}

/// What the lower folder has where the upper has a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beneath {
    /// A folder that shows through; whether empty files may be marks of deletion.
    Shown { marks: bool },
    /// A folder that is hidden as a whole: what the upper lacks is deleted.
    Hidden,
    /// No folder.
    Nothing,
}

type Names<'a> = HashMap<(Option<u32>, &'a [u8]), u32>;

struct Draft<'a> {
    upper: Cursor<'a>,
    lower: Cursor<'a>,
    bounds: &'a Bounds,
    listing: &'a Listing,
    names: Names<'a>,
    /// By index of the upper folder.
    beneath: Vec<Beneath>,
    bytes: u64,
    text: TextBudget,
    changes: DraftChanges,
}

impl Draft<'_> {
    fn take(&mut self, index: u32) -> Result<(), FilesError> {
        let entry = self.listing.entry(index);
        let around = entry.parent.map_or(Beneath::Shown { marks: false }, |parent| {
            self.beneath[parent as usize]
        });
        let failed = |this: &Self, cause| this.failed("compare", index, cause);
        let lower = self
            .look_below(entry, around)
            .map_err(|cause| failed(self, cause))?;
        let mark = self.is_mark(entry, around).map_err(|cause| failed(self, cause))?;
        match (&entry.kind, lower) {
            _ if mark => lower.map_or(Ok(()), |stat| self.delete(index, &stat)),
            (Kind::Folder { .. }, lower) => self.take_folder(index, entry, around, lower),
            (Kind::File, lower) => self.take_file(index, entry, lower),
            (Kind::Link { target }, Some(stat)) if matches!(kind_of(&stat), Kind::Link { .. }) => {
                let at = self.lower.fd();
                let same = readlinkat(at, &entry.name[..], Vec::new())
                    .is_ok_and(|old| target.as_deref() == Some(old.as_bytes()));
                if !same {
                    self.add(index, Action::Modify, Some(Stamp::new(&stat)));
                }
                Ok(())
            }
            (Kind::Link { .. }, lower) => self.replace(index, lower),
            (other, _) => {
                self.skip(index, format!("{} is not applied", other.word()));
                Ok(())
            }
        }
    }

    fn take_folder(
        &mut self,
        index: u32,
        entry: &Entry,
        around: Beneath,
        lower: Option<Stat>,
    ) -> Result<(), FilesError> {
        if !lower.is_some_and(|stat| is_folder(&stat)) {
            return self.replace(index, lower);
        }
        let opened = self.upper.seek(self.listing, Some(index)).map(drop);
        opened.map_err(|cause| self.failed("open", index, cause))?;
        let mark = attribute(self.upper.fd(), c"user.overlay.opaque");
        // A folder in a hidden one is a new one, although the lower has the same name.
        let hidden = around == Beneath::Hidden || mark == Some(b'y');
        self.beneath[index as usize] = if hidden {
            Beneath::Hidden
        } else {
            Beneath::Shown {
                marks: mark == Some(b'x'),
            }
        };
        if hidden {
            self.delete_hidden(index, entry)
        } else {
            Ok(())
        }
    }

    fn take_file(&mut self, index: u32, entry: &Entry, lower: Option<Stat>) -> Result<(), FilesError> {
        let left = self
            .bounds
            .bytes
            .saturating_sub(self.bytes)
            .min(self.bounds.file_bytes);
        if entry.size > left {
            self.changes.truncated = true;
            self.skip(index, format!("{} bytes are over the cap of {left}", entry.size));
            return Ok(());
        }
        let Some(stat) = lower.filter(is_file) else {
            self.bytes += entry.size;
            return self.replace(index, lower);
        };
        let same = self
            .same_content(entry, &stat)
            .map_err(|cause| self.failed("compare", index, cause))?;
        if !same {
            self.bytes += entry.size;
            self.add(index, Action::Modify, Some(Stamp::new(&stat)));
        } else if (entry.mode ^ stat.st_mode) & 0o777 != 0 {
            self.skip(
                index,
                format!(
                    "only its mode changed, to {:o}; modes are not applied",
                    entry.mode & 0o777
                ),
            );
        }
        Ok(())
    }

    /// Something new, in the place of what the lower may have there.
    fn replace(&mut self, index: u32, lower: Option<Stat>) -> Result<(), FilesError> {
        if let Some(stat) = lower {
            self.delete(index, &stat)?;
        }
        self.add(index, Action::Create, None);
        Ok(())
    }

    /// What the lower has at the path of an entry; leaves the lower cursor in that folder.
    fn look_below(&mut self, entry: &Entry, around: Beneath) -> Result<Option<Stat>, Errno> {
        if around == Beneath::Nothing {
            return Ok(None);
        }
        match self
            .lower
            .seek(self.listing, entry.parent)
            .and_then(|at| look(at, &entry.name))
        {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    fn is_mark(&mut self, entry: &Entry, around: Beneath) -> Result<bool, Errno> {
        match entry.kind {
            Kind::CharacterDevice { number: 0 } => Ok(true),
            Kind::File if around == (Beneath::Shown { marks: true }) && entry.size == 0 => {
                let at = self.upper.seek(self.listing, entry.parent).map(drop);
                at?;
                let file = self.upper.folder().open_file(self.upper.fd(), &entry.name)?;
                Ok(file.is_some_and(|(fd, _)| attribute(fd.as_fd(), c"user.overlay.whiteout").is_some()))
            }
            _ => Ok(false),
        }
    }

    fn same_content(&mut self, entry: &Entry, lower: &Stat) -> Result<bool, Errno> {
        if u64::try_from(lower.st_size) != Ok(entry.size) {
            return Ok(false);
        }
        self.upper.seek(self.listing, entry.parent)?;
        let Some((new, _)) = self.upper.folder().open_file(self.upper.fd(), &entry.name)? else {
            return Ok(false);
        };
        match self.lower.folder().open_file(self.lower.fd(), &entry.name) {
            Ok(Some((old, _))) => equal(new.as_fd(), old.as_fd(), entry.size),
            // Not readable for us, so nobody can say that it is the same.
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Deletes what a hidden lower folder has and the upper folder in its place has not.
    fn delete_hidden(&mut self, index: u32, entry: &Entry) -> Result<(), FilesError> {
        let at = self.lower.seek(self.listing, entry.parent).map(drop);
        at.map_err(|cause| self.failed("open", index, cause))?;
        // A folder that both have comes with its own turn.
        self.delete_content(index, entry, |names, name| {
            !names.contains_key(&(Some(index), name))
        })
    }

    /// Deletes what the lower has at the path of an entry, with all that is in it.
    fn delete(&mut self, index: u32, stat: &Stat) -> Result<(), FilesError> {
        if is_folder(stat) {
            self.delete_content(index, self.listing.entry(index), |_, _| true)?;
        }
        self.push(
            self.listing.path(index),
            Action::Delete,
            kind_of(stat),
            (0, 0),
            Some(Stamp::new(stat)),
        );
        Ok(())
    }

    /// Deletes the names that `goes` picks, and all beneath them, in the folder of an entry's name where the lower
    /// cursor is.
    fn delete_content(
        &mut self,
        index: u32,
        entry: &Entry,
        goes: impl Fn(&Names<'_>, &[u8]) -> bool,
    ) -> Result<(), FilesError> {
        let opened = self.lower.folder().open_folder(self.lower.fd(), &entry.name);
        let folder = opened.map_err(|cause| self.failed("open", index, cause))?;
        let below = scan(self.lower.folder().of(folder.as_fd()), self.bounds)?;
        self.changes.truncated |= below.truncated || !below.skipped.is_empty();
        let prefix = self.listing.path(index);
        let mut going: Vec<bool> = Vec::with_capacity(below.entries().len());
        for (at, old) in below.indices().zip(below.entries()) {
            let gone = match old.parent {
                None => goes(&self.names, &old.name),
                Some(parent) => going[parent as usize],
            };
            going.push(gone);
            if gone && self.text.left > 0 {
                let path = [&prefix[..], &below.path(at)].join(&b'/');
                self.push(
                    path,
                    Action::Delete,
                    old.kind.clone(),
                    (0, 0),
                    Some(Stamp::of_entry(old)),
                );
            }
        }
        Ok(())
    }

    fn add(&mut self, index: u32, action: Action, lower: Option<Stamp>) {
        let entry = self.listing.entry(index);
        if self.text.left == 0 {
            self.changes.truncated = true;
            return;
        }
        self.push(
            self.listing.path(index),
            action,
            entry.kind.clone(),
            (entry.size, entry.mode),
            lower,
        );
    }

    fn push(
        &mut self,
        path: Vec<u8>,
        action: Action,
        kind: Kind,
        (size, mode): (u64, u32),
        lower: Option<Stamp>,
    ) {
        if !self.text.take(path.len()) {
            self.changes.truncated = true;
            return;
        }
        self.changes.changes.push(DraftChange {
            path,
            action,
            kind,
            size,
            mode,
            lower,
        });
    }

    fn skip(&mut self, index: u32, reason: String) {
        if self.text.left == 0 || !self.text.take(self.listing.path_length(index) + reason.len()) {
            self.changes.truncated = true;
            return;
        }
        self.changes.skipped.insert(self.listing.display(index), reason);
    }

    fn failed(&self, operation: &'static str, index: u32, cause: Errno) -> FilesError {
        FilesError::system(operation, &self.listing.path(index), cause)
    }
}

fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder { complete: true },
        FileType::Symlink => Kind::Link { target: None },
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharacterDevice { number: stat.st_rdev },
        _ => Kind::BlockDevice,
    }
}

/// The first byte of an attribute, if there is one.
fn attribute(fd: BorrowedFd<'_>, name: &CStr) -> Option<u8> {
    let mut value = [0; 1];
    // A longer value is not one that the overlay writes.
    fgetxattr(fd, name, &mut value)
        .ok()
        .filter(|length| *length == 1)
        .map(|_| value[0])
}

#[cfg(test)]
mod tests;
