//! Writes a draft into the host's folder, as the calling user.
//!
//! Everything is checked before anything is written: a draft that was not read in full, or a folder that somebody
//! else changed meanwhile, is refused as a whole. Then deletions, folders, files and links, each file under a
//! temporary name that is renamed over the old one, so that no reader ever sees half of one.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Gid, Mode, RenameFlags, Uid, fchmod, fchown, fsync, mkdirat, renameat, renameat_with,
};
use rustix::fs::{Stat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::beneath::{Folder, is_folder, look};
use super::content::{CopyError, copy};
use super::cursor::Cursor;
use super::draft::{Action, DraftChange, DraftChanges, Stamp};
use super::obeyed::Obeyed;
use super::scan::Kind;
use super::trust::{TrustClass, trust_class};
use super::{FilesError, display};
use crate::error::{Hinted, next_step};
use crate::hint::{Hint, Setting};
use crate::outcome::{DraftStep, Step, Was};

mod select;

/// How a draft is applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Overwrite what somebody else changed meanwhile.
    pub force: bool,
    /// Protected paths to apply nevertheless; a folder stands for all in it.
    pub allow: Vec<PathBuf>,
    /// Wait until each file is on the disk.
    pub sync: bool,
    /// When the run began: what changed on the host after it counts as changed by somebody else.
    pub since: Option<SystemTime>,
    /// The folder's path on the host.
    pub folder: PathBuf,
    /// What tools obey in it, whatever it is called.
    pub obeyed: Obeyed,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// New files, folders and links, escaped.
    pub created: Vec<String>,
    /// Files and links that were replaced.
    pub modified: Vec<String>,
    /// What was removed.
    pub deleted: Vec<String>,
    /// Applied paths that tools on the host act on, and how.
    pub notable: BTreeMap<String, String>,
    /// What was left out, and why.
    pub skipped: BTreeMap<String, String>,
}

/// Why a draft was not applied, or not in full.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Some of the draft could not be read; nothing was written.
    #[error("apply the draft: it was not read in full, so nothing was written{}", next_step(self.hint()))]
    NotWhole,
    /// Somebody else changed the same paths; nothing was written.
    #[error("apply the draft: changed meanwhile on the host: {}; nothing was written{}", .paths.join(", "), next_step(self.hint()))]
    Conflict {
        /// The paths, escaped.
        paths: Vec<String>,
    },
    /// The folder could not be opened; nothing was written.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// It failed midway.
    #[error("{}; {} changes were written, {} were not{}", cause.message(), count(.written), .remaining.len(), next_step(self.hint()))]
    Incomplete {
        /// What failed.
        cause: FilesError,
        /// What had been written.
        written: Box<Applied>,
        /// What had not, the failed one first, escaped.
        remaining: Vec<String>,
    },
}

impl Hinted for ApplyError {
    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NotWhole => {
                Hint::from("let the run change fewer or smaller files, or let it write the folder itself: ")
                    .set(Setting::Workdir)
                    .say(" without ")
                    .set(Setting::Draft)
                    .say(" and ")
                    .set(Setting::Apply)
            }
            Self::Conflict { .. } => "run it again, on the folder as it is now".into(),
            Self::Files(error) => return error.hint(),
            Self::Incomplete { .. } => "look at the folder, and run it again once the cause is gone".into(),
        })
    }
}

fn count(applied: &Applied) -> usize {
    applied.created.len() + applied.modified.len() + applied.deleted.len()
}

/// Writes the changes of a draft from its `upper` folder into `lower`.
pub fn apply(
    upper: Folder<'_>,
    lower: Folder<'_>,
    draft: &DraftChanges,
    options: &ApplyOptions,
) -> Result<Applied, ApplyError> {
    if draft.truncated {
        return Err(ApplyError::NotWhole);
    }
    let mut applied = Applied {
        skipped: draft.skipped.clone(),
        ..Applied::default()
    };
    let selected = select::select(&draft.changes, options, &mut applied.skipped);
    let opened = |folder| Cursor::new(folder).map_err(|cause| FilesError::system("open", b".", cause));
    let mut work = Apply {
        upper: opened(upper)?,
        lower: opened(lower)?,
        options,
        applied,
    };
    let conflicts = work.conflicts(&selected);
    if !conflicts.is_empty() && !options.force {
        return Err(ApplyError::Conflict { paths: conflicts });
    }
    let ordered = order(&selected);
    for (at, change) in ordered.iter().enumerate() {
        if let Err(cause) = work.write(change) {
            let remaining = ordered[at..].iter().map(|change| display(&change.path)).collect();
            return Err(ApplyError::Incomplete {
                cause,
                written: Box::new(work.applied),
                remaining,
            });
        }
    }
    Ok(work.applied)
}

/// The same as steps, in their order, for a caller that has the content and applies it later.
pub fn steps(draft: &DraftChanges, options: &ApplyOptions) -> Vec<DraftStep> {
    let mut skipped = BTreeMap::new();
    select::select(&draft.changes, options, &mut skipped);
    let all: Vec<&DraftChange> = draft.changes.iter().collect();
    let step = |change: &&DraftChange| match (change.action, &change.kind) {
        (Action::Delete, _) => Step::Delete,
        (_, Kind::Folder { .. }) => Step::Folder,
        (_, Kind::Link { target }) => Step::Link {
            target: target.clone().unwrap_or_default(),
        },
        _ => Step::File {
            executable: change.mode & 0o100 != 0,
        },
    };
    order(&all)
        .iter()
        .map(|change| {
            let path = display(&change.path);
            DraftStep {
                refused: skipped.get(&path).cloned(),
                path,
                name: change.path.clone(),
                step: step(change),
                was: change.lower.as_ref().map(|stamp| Was {
                    inode: stamp.inode,
                    size: stamp.size,
                    modified: stamp.modified as i64,
                    changed: stamp.changed as i64,
                }),
            }
        })
        .collect()
}

/// Deletions from the inside out, then folders from the outside in, then the rest.
fn order<'a>(changes: &[&'a DraftChange]) -> Vec<&'a DraftChange> {
    let mut deleted: Vec<_> = changes
        .iter()
        .copied()
        .filter(|change| change.action == Action::Delete)
        .collect();
    let mut others: Vec<_> = changes
        .iter()
        .copied()
        .filter(|change| change.action != Action::Delete)
        .collect();
    deleted.sort_by(|one, other| other.path.cmp(&one.path));
    others.sort_by(|one, other| {
        (!one.kind.is_folder(), &one.path).cmp(&(!other.kind.is_folder(), &other.path))
    });
    deleted.append(&mut others);
    deleted
}

fn split(path: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let last = names.pop().unwrap_or_default();
    (names, last)
}

/// Whether a path still has what the draft found there. The time of the inode's change does not count: applying a
/// change to another hard link of the same file moves it.
fn is_as_found(stamp: &Stamp, stat: &Stat) -> bool {
    let now = Stamp::new(stat);
    // A folder is removed only when it is empty, which is check enough; its size and times follow what is in it.
    if stamp.is_folder() {
        return now.is_folder() && now.inode == stamp.inode;
    }
    now == Stamp {
        changed: now.changed,
        ..stamp.clone()
    }
}

struct Apply<'a> {
    upper: Cursor<'a>,
    lower: Cursor<'a>,
    options: &'a ApplyOptions,
    applied: Applied,
}

impl Apply<'_> {
    /// The paths that are no longer as the draft found them.
    fn conflicts(&mut self, selected: &[&DraftChange]) -> Vec<String> {
        let replaced: std::collections::HashSet<&[u8]> = selected
            .iter()
            .filter(|change| change.action == Action::Delete)
            .map(|change| &change.path[..])
            .collect();
        let mut paths: Vec<String> = Vec::new();
        for change in selected {
            let (parents, name) = split(&change.path);
            let now = self.lower.seek_names(&parents).and_then(|at| look(at, name));
            let kept = match (&change.lower, now) {
                (Some(stamp), Ok(stat)) => self.is_untouched(stamp, &stat),
                (Some(_), Err(_)) => false,
                // Its deletion is checked on its own.
                (None, Ok(_)) if replaced.contains(&change.path[..]) => true,
                (None, Ok(stat)) => change.kind.is_folder() && is_folder(&stat),
                (None, Err(_)) => true,
            };
            if !kept {
                paths.push(display(&change.path));
            }
        }
        paths.dedup();
        paths
    }

    /// Whether nobody touched a path since the draft was read, nor, if that is known, since the run began.
    fn is_untouched(&self, stamp: &Stamp, stat: &Stat) -> bool {
        let since = self
            .options
            .since
            .and_then(|since| since.duration_since(UNIX_EPOCH).ok());
        let late = since.is_some_and(|since| stamp.changed > since.as_nanos() as i128);
        is_as_found(stamp, stat)
            && (stamp.is_folder() || (Stamp::new(stat).changed == stamp.changed && !late))
    }

    fn write(&mut self, change: &DraftChange) -> Result<(), FilesError> {
        let done = match (change.action, &change.kind) {
            (Action::Delete, kind) => self.delete(change, kind.is_folder()),
            (_, Kind::Folder { .. }) => self.make_folder(change),
            (_, Kind::Link { target }) => self.write_link(change, target.as_deref().unwrap_or_default()),
            _ => self.write_file(change),
        };
        if !done? {
            return Ok(());
        }
        let path = display(&change.path);
        if let (TrustClass::Notable(reason), true) =
            (trust_class(&change.path), change.action != Action::Delete)
        {
            self.applied.notable.insert(path.clone(), reason.into());
        }
        match change.action {
            Action::Create => self.applied.created.push(path),
            Action::Modify => self.applied.modified.push(path),
            Action::Delete => self.applied.deleted.push(path),
        }
        Ok(())
    }

    /// Whether it was done; a folder in which something remains stays.
    fn delete(&mut self, change: &DraftChange, folder: bool) -> Result<bool, FilesError> {
        let (parents, name) = split(&change.path);
        let failed = |cause| FilesError::system("delete", &change.path, cause);
        let at = match self.lower.seek_names(&parents) {
            Ok(at) => at,
            // Gone already, which only a forced draft gets to see.
            Err(Errno::NOENT) => return Ok(false),
            Err(cause) => return Err(failed(cause)),
        };
        if let (Some(stamp), Ok(stat)) = (&change.lower, look(at, name))
            && !is_as_found(stamp, &stat)
            && !self.options.force
        {
            return Err(FilesError::Changed {
                path: display(&change.path),
            });
        }
        let flags = if folder {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        match unlinkat(at, name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(Errno::NOTEMPTY | Errno::EXIST) if folder => {
                self.applied.skipped.insert(
                    display(&change.path),
                    "not deleted: something in it remains".into(),
                );
                Ok(false)
            }
            Err(cause) => Err(failed(cause)),
        }
    }

    fn make_folder(&mut self, change: &DraftChange) -> Result<bool, FilesError> {
        let (parents, name) = split(&change.path);
        let failed = |cause| FilesError::system("make folder", &change.path, cause);
        let at = self.lower.seek_names(&parents).map_err(failed)?;
        match mkdirat(at, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) if look(at, name).is_ok_and(|stat| is_folder(&stat)) => Ok(false),
            Err(cause) => Err(failed(cause)),
        }
    }

    fn write_file(&mut self, change: &DraftChange) -> Result<bool, FilesError> {
        let (parents, name) = split(&change.path);
        let failed = |operation| move |cause| FilesError::system(operation, &change.path, cause);
        let changed = || FilesError::Changed {
            path: display(&change.path),
        };
        let at = self.upper.seek_names(&parents).map(drop);
        at.map_err(failed("open the draft of"))?;
        let source = self
            .upper
            .folder()
            .open_file(self.upper.fd(), name)
            .map_err(failed("open the draft of"))?;
        let (source, stat) = source.ok_or_else(changed)?;
        if u64::try_from(stat.st_size) != Ok(change.size) {
            return Err(changed());
        }
        let at = self.lower.seek_names(&parents).map(drop);
        at.map_err(failed("open the folder of"))?;
        let at = self.lower.fd();
        let old = self.check(at, change, name)?;
        let temporary = temporary_name().map_err(failed("name a copy of"))?;
        let mode = match (&old, change.mode & 0o100 != 0) {
            // Closed until the old mode is set, for it may have been a secret.
            (Some(_), _) => 0o600,
            (None, true) => 0o777,
            (None, false) => 0o666,
        };
        let file = self
            .lower
            .folder()
            .create_file(at, &temporary, mode)
            .map_err(failed("create"))?;
        let written = self.fill(&file, source.as_fd(), change, old.as_ref());
        let placed = written.and_then(|()| self.place(at, &temporary, name, change));
        placed.inspect_err(|_| {
            let _ = unlinkat(at, &temporary[..], AtFlags::empty());
        })?;
        Ok(true)
    }

    fn fill(
        &self,
        file: &OwnedFd,
        source: BorrowedFd<'_>,
        change: &DraftChange,
        old: Option<&Stat>,
    ) -> Result<(), FilesError> {
        let failed = |operation| move |cause| FilesError::system(operation, &change.path, cause);
        copy(source, file.as_fd(), change.size).map_err(|error| match error {
            CopyError::Read(cause) => failed("read the draft of")(cause),
            CopyError::Write(cause) => failed("write")(cause),
            CopyError::Changed => FilesError::Changed {
                path: display(&change.path),
            },
        })?;
        if let Some(old) = old {
            // Root keeps the file its owner's; to anybody else it is their own already, or cannot be given away.
            let _ = fchown(
                file,
                Some(Uid::from_raw(old.st_uid)),
                Some(Gid::from_raw(old.st_gid)),
            );
            fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777)).map_err(failed("set the mode of"))?;
        }
        if self.options.sync {
            fsync(file).map_err(failed("sync"))
        } else {
            Ok(())
        }
    }

    fn write_link(&mut self, change: &DraftChange, target: &[u8]) -> Result<bool, FilesError> {
        let (parents, name) = split(&change.path);
        let failed = |operation| move |cause| FilesError::system(operation, &change.path, cause);
        let at = self.lower.seek_names(&parents).map(drop);
        at.map_err(failed("open the folder of"))?;
        let at = self.lower.fd();
        self.check(at, change, name)?;
        let temporary = temporary_name().map_err(failed("name a copy of"))?;
        symlinkat(target, at, &temporary[..]).map_err(failed("link"))?;
        self.place(at, &temporary, name, change).inspect_err(|_| {
            let _ = unlinkat(at, &temporary[..], AtFlags::empty());
        })?;
        Ok(true)
    }

    /// What is at the path right before it is written, which must still be what the draft found.
    fn check(
        &self,
        at: BorrowedFd<'_>,
        change: &DraftChange,
        name: &[u8],
    ) -> Result<Option<Stat>, FilesError> {
        let now = match look(at, name) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(cause) => return Err(FilesError::system("look at", &change.path, cause)),
        };
        let kept = match (&change.lower, &now) {
            (Some(stamp), Some(stat)) => is_as_found(stamp, stat),
            (None, None) => true,
            _ => false,
        };
        if kept || self.options.force {
            Ok(now)
        } else {
            Err(FilesError::Changed {
                path: display(&change.path),
            })
        }
    }

    /// Gives the finished copy its name.
    fn place(
        &self,
        at: BorrowedFd<'_>,
        from: &[u8],
        to: &[u8],
        change: &DraftChange,
    ) -> Result<(), FilesError> {
        let failed = |cause| FilesError::system("rename", &change.path, cause);
        if change.lower.is_none() && !self.options.force {
            match renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
                // Not every file system can; the check before it was a moment ago.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                result => return result.map_err(failed),
            }
        }
        renameat(at, from, at, to).map_err(failed)
    }
}

/// A name that nobody can have planted a link at.
fn temporary_name() -> Result<Vec<u8>, Errno> {
    let mut random = [0_u8; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!(".belljar-{:016x}", u64::from_ne_bytes(random)).into_bytes())
}

#[cfg(test)]
mod tests;
