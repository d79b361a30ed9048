//! Where a path of the host leads: one name at a time, each opened from the folder before it, and links read from the
//! descriptor that was looked at.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat};
use rustix::io::Errno;

/// As many as the kernel follows.
const LINKS: usize = 40;

/// Where a path leads. None of these paths has a link on its way.
#[derive(Debug)]
pub(super) struct Trail {
    /// The links, in the order in which they are followed.
    pub links: Vec<PathBuf>,
    /// The end, which may be missing.
    pub end: PathBuf,
    /// What the end is, if it is there.
    pub stat: Option<Stat>,
}

/// Follows an absolute path to its end; nothing where that is a circle, or cannot be looked at.
pub(super) fn follow(path: &Path) -> Option<Trail> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = open("/", flags, Mode::empty()).ok()?;
    let mut way: Vec<(OsString, OwnedFd)> = Vec::new();
    let mut todo = Vec::new();
    push(&mut todo, path.as_os_str());
    let mut links = Vec::new();
    while let Some(name) = todo.pop() {
        if name == ".." {
            way.pop();
            continue;
        }
        let at = way.last().map_or(&root, |(_, fd)| fd);
        let here = |way: &[(OsString, OwnedFd)]| {
            let names = way.iter().map(|(name, _)| name.as_os_str());
            let mut path = PathBuf::from("/");
            path.extend(names.chain([name.as_os_str()]));
            path
        };
        let fd = match openat(at, &name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                let mut end = here(&way);
                // What a guest would have to make, one name after the other.
                end.extend(todo.iter().rev().filter(|name| *name != ".."));
                return Some(Trail {
                    links,
                    end,
                    stat: None,
                });
            }
            Err(_) => return None,
        };
        if FileType::from_raw_mode(fstat(&fd).ok()?.st_mode) != FileType::Symlink {
            way.push((name, fd));
            continue;
        }
        links.push(here(&way));
        if links.len() > LINKS {
            return None;
        }
        let target = OsString::from_vec(readlinkat(&fd, "", Vec::new()).ok()?.into_bytes());
        if target.as_bytes().first() == Some(&b'/') {
            way.clear();
        }
        push(&mut todo, &target);
    }
    let stat = match way.last() {
        Some((_, fd)) => fstat(fd).ok()?,
        None => fstat(&root).ok()?,
    };
    let mut end = PathBuf::from("/");
    end.extend(way.iter().map(|(name, _)| name));
    Some(Trail {
        links,
        end,
        stat: Some(stat),
    })
}

/// Names of a path, to be taken from the end of the list.
fn push(todo: &mut Vec<OsString>, path: &OsStr) {
    let names = path.as_bytes().split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    todo.extend(names.rev().map(|name| OsStr::from_bytes(name).to_os_string()));
}
