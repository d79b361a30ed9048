//! Copies what a run left into a folder of the host: regular files and folders, nothing that points or acts.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, unlinkat};
use rustix::io::Errno;

use super::beneath::{Folder, is_folder, look};
use super::content::{CopyError, copy};
use super::cursor::Cursor;
use super::scan::{Entry, Kind, Listing};
use super::{Bounds, FilesError, TextBudget, display};

/// How files are collected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectOptions {
    /// Add to a folder that has content; what is there already stays and is reported.
    pub merge: bool,
}

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Regular files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Bytes of the files, holes counted.
    pub bytes: u64,
    /// What was left out, escaped, and why.
    pub skipped: BTreeMap<String, String>,
    /// Whether a bound kept something out.
    pub truncated: bool,
}

/// Copies the files and folders of `listing` from `source` into `destination`, which is made if it is missing.
///
/// Copies get the modes of any new file, and the execute bit if the owner had it; never setuid, owners, times or
/// attributes. If the destination fails midway, what had been copied is removed again.
pub fn collect(
    source: Folder<'_>,
    listing: &Listing,
    destination: &Path,
    bounds: &Bounds,
    options: &CollectOptions,
) -> Result<Collected, FilesError> {
    let (fd, made) = open_destination(destination, options)?;
    let target = Folder::host(fd.as_fd());
    let from = Cursor::new(source).map_err(|cause| FilesError::system("open", b".", cause))?;
    let to = Cursor::new(target).map_err(|cause| FilesError::system("open", name_of(destination), cause))?;
    let mut work = Collect {
        from,
        to,
        listing,
        bounds,
        usable: vec![false; listing.entries().len()],
        written: Vec::new(),
        collected: Collected {
            skipped: listing.skipped.clone(),
            truncated: listing.truncated,
            ..Default::default()
        },
        text: TextBudget::new(),
    };
    for index in listing.indices() {
        if let Err(cause) = work.take(index) {
            let left = work.remove();
            if made && left.is_empty() {
                let _ = std::fs::remove_dir(destination);
            }
            let cause = Box::new(cause);
            let destination = display(name_of(destination));
            return Err(if left.is_empty() {
                *cause
            } else {
                FilesError::Remains {
                    cause,
                    destination,
                    left,
                }
            });
        }
    }
    Ok(work.collected)
}

fn name_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A descriptor of the destination, and whether it was made here.
fn open_destination(path: &Path, options: &CollectOptions) -> Result<(OwnedFd, bool), FilesError> {
    let failed = |operation| move |cause| FilesError::system(operation, name_of(path), cause);
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        if let Ok(leads) = parent.read_link() {
            return Err(FilesError::LinkedParent {
                path: display(name_of(parent)),
                leads: display(name_of(&leads)),
            });
        }
        std::fs::create_dir_all(parent)
            .map_err(|error| failed("make folder")(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    }
    let made = match rustix::fs::mkdir(path, Mode::from_raw_mode(0o777)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(cause) => return Err(failed("make folder")(cause)),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|cause| {
        // With O_DIRECTORY a link is reported as "not a directory".
        match std::fs::symlink_metadata(path) {
            Ok(meta) if meta.is_symlink() => FilesError::LinkedDestination {
                path: display(name_of(path)),
            },
            _ => failed("open folder")(cause),
        }
    })?;
    if !made && !options.merge {
        let mut names = Dir::read_from(&fd).map_err(failed("list"))?;
        let used =
            names.any(|entry| entry.is_ok_and(|entry| !matches!(entry.file_name().to_bytes(), b"." | b"..")));
        if used {
            return Err(FilesError::NotEmpty {
                path: display(name_of(path)),
            });
        }
    }
    Ok((fd, made))
}

struct Collect<'a> {
    from: Cursor<'a>,
    to: Cursor<'a>,
    listing: &'a Listing,
    bounds: &'a Bounds,
    /// Folders that exist in the destination, by index.
    usable: Vec<bool>,
    /// What was made in the destination, in that order.
    written: Vec<u32>,
    collected: Collected,
    text: TextBudget,
}

impl Collect<'_> {
    fn take(&mut self, index: u32) -> Result<(), FilesError> {
        let entry = self.listing.entry(index);
        // Its folder was left out, with a reason that covers it.
        if entry.parent.is_some_and(|parent| !self.usable[parent as usize]) {
            return Ok(());
        }
        match &entry.kind {
            Kind::Folder { .. } => self.take_folder(index, entry),
            Kind::File => self.take_file(index, entry),
            Kind::Link { target } => {
                let target = target.as_deref().map_or("an unread target".into(), display);
                self.skip(index, format!("symbolic link to {target}"));
                Ok(())
            }
            other => {
                self.skip(index, other.word().into());
                Ok(())
            }
        }
    }

    fn take_folder(&mut self, index: u32, entry: &Entry) -> Result<(), FilesError> {
        let at = self.to.seek(self.listing, entry.parent).map(drop);
        at.map_err(|cause| self.failed("open", index, cause))?;
        let at = self.to.fd();
        match mkdirat(at, &entry.name[..], Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                self.written.push(index);
                self.collected.folders += 1;
                self.usable[index as usize] = true;
            }
            Err(Errno::EXIST) if look(at, &entry.name).is_ok_and(|stat| is_folder(&stat)) => {
                self.usable[index as usize] = true;
            }
            Err(cause) => return self.refused(index, "make folder", cause),
        }
        Ok(())
    }

    fn take_file(&mut self, index: u32, entry: &Entry) -> Result<(), FilesError> {
        let size = entry.size;
        if size > self.bounds.file_bytes {
            self.collected.truncated = true;
            self.skip(
                index,
                format!(
                    "{size} bytes are over the cap of {} for a file",
                    self.bounds.file_bytes
                ),
            );
            return Ok(());
        }
        if size > self.bounds.bytes.saturating_sub(self.collected.bytes) {
            self.collected.truncated = true;
            self.skip(
                index,
                format!(
                    "{size} bytes more are over the cap of {} for all",
                    self.bounds.bytes
                ),
            );
            return Ok(());
        }
        let opened = self.from.seek(self.listing, entry.parent).map(drop);
        let opened = opened.and_then(|()| self.from.folder().open_file(self.from.fd(), &entry.name));
        let source = match opened {
            Ok(Some((fd, stat))) if stat.st_ino == entry.inode && stat.st_size as u64 == size => fd,
            Ok(_) => {
                self.skip(index, "changed since it was listed".into());
                return Ok(());
            }
            Err(cause) => {
                self.skip(index, cause.to_string());
                return Ok(());
            }
        };
        let at = self.to.seek(self.listing, entry.parent).map(drop);
        at.map_err(|cause| self.failed("open", index, cause))?;
        let mode = if entry.mode & 0o100 != 0 { 0o777 } else { 0o666 };
        let copied = match self.to.folder().create_file(self.to.fd(), &entry.name, mode) {
            Ok(fd) => {
                self.written.push(index);
                copy(source.as_fd(), fd.as_fd(), size)
            }
            Err(cause) => return self.refused(index, "create", cause),
        };
        match copied {
            Ok(()) => {
                self.collected.files += 1;
                self.collected.bytes += size;
                Ok(())
            }
            Err(CopyError::Write(cause)) => Err(self.failed("write", index, cause)),
            Err(CopyError::Read(cause)) => self.discard(index, entry, cause.to_string()),
            Err(CopyError::Changed) => self.discard(index, entry, "changed while it was read".into()),
        }
    }

    /// Takes back a copy whose source failed, and goes on.
    fn discard(&mut self, index: u32, entry: &Entry, reason: String) -> Result<(), FilesError> {
        let removed = unlinkat(self.to.fd(), &entry.name[..], AtFlags::empty());
        removed.map_err(|cause| self.failed("remove", index, cause))?;
        self.written.pop();
        self.skip(index, reason);
        Ok(())
    }

    /// A name that the destination does not take is left out; any other refusal ends the work.
    fn refused(&mut self, index: u32, operation: &'static str, cause: Errno) -> Result<(), FilesError> {
        let reason = match cause {
            Errno::EXIST => "the destination already has this name, or treats another name as the same",
            Errno::INVAL | Errno::ILSEQ | Errno::NAMETOOLONG => "the destination does not take this name",
            _ => return Err(self.failed(operation, index, cause)),
        };
        self.skip(index, reason.into());
        Ok(())
    }

    fn failed(&self, operation: &'static str, index: u32, cause: Errno) -> FilesError {
        FilesError::system(operation, &self.listing.path(index), cause)
    }

    fn skip(&mut self, index: u32, reason: String) {
        if self.text.left == 0 || !self.text.take(self.listing.path_length(index) + reason.len()) {
            self.collected.truncated = true;
            return;
        }
        self.collected.skipped.insert(self.listing.display(index), reason);
    }

    /// Removes what was made, last first; what remains is returned.
    fn remove(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for index in std::mem::take(&mut self.written).into_iter().rev() {
            let entry = self.listing.entry(index);
            let flags = if entry.kind.is_folder() {
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            let removed = self
                .to
                .seek(self.listing, entry.parent)
                .and_then(|at| unlinkat(at, &entry.name[..], flags));
            if removed.is_err() && self.text.take(self.listing.path_length(index)) {
                left.push(self.listing.display(index));
            }
        }
        left
    }
}

#[cfg(test)]
mod tests;
