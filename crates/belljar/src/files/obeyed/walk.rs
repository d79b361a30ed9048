//! Names below a folder of the host, those near the top first, without looking at any file.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, lstat, openat2};

/// Folders below one another.
const DEPTH: usize = 64;

/// What becomes of a folder.
pub(in crate::files) enum Walked {
    /// Its names are looked at too.
    Enter,
    /// They are not.
    Stay,
}

/// What a walk has seen.
pub(in crate::files) struct Seen {
    /// Whether no bound ended it.
    pub whole: bool,
    /// Folders that could not be read.
    pub closed: Vec<PathBuf>,
}

/// How far a walk may go.
pub(in crate::files) struct Walk<'a> {
    /// Names of folders that are not entered.
    pub skip: &'a [&'a [u8]],
    /// Names that may still be looked at.
    pub names: &'a mut usize,
}

impl Walk<'_> {
    /// Tells of every name below `top`; gives whether these were all, but for folders that cannot be read. No link is
    /// followed.
    pub(in crate::files) fn each(self, top: &Path, mut tell: impl FnMut(&Path, FileType) -> Walked) -> Seen {
        let mut seen = Seen {
            whole: true,
            closed: Vec::new(),
        };
        let mut folders = VecDeque::from([(top.to_path_buf(), 0)]);
        let mut buffer = [MaybeUninit::uninit(); 32 << 10];
        while let Some((folder, depth)) = folders.pop_front() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(fd) = openat2(CWD, &folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) else {
                seen.closed.push(folder);
                continue;
            };
            let mut names = RawDir::new(fd, &mut buffer);
            while let Some(Ok(entry)) = names.next() {
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                if *self.names == 0 {
                    seen.whole = false;
                    return seen;
                }
                *self.names -= 1;
                let path = folder.join(OsStr::from_bytes(name));
                let kind = kind(&path, entry.file_type());
                let entered = matches!(tell(&path, kind), Walked::Enter) && !self.skip.contains(&name);
                if kind == FileType::Directory && entered {
                    seen.whole &= depth < DEPTH;
                    if depth < DEPTH {
                        folders.push_back((path, depth + 1));
                    }
                }
            }
        }
        seen
    }
}

/// Not every file system tells it with the name.
fn kind(path: &PathBuf, told: FileType) -> FileType {
    match told {
        FileType::Unknown => lstat(path).map_or(told, |stat| FileType::from_raw_mode(stat.st_mode)),
        known => known,
    }
}
