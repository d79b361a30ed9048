//! Resolves a path as the kernel does, and keeps the symbolic links that it went through: the jar must have them too.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A symbolic link that the jar must have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Link {
    /// Where it is; no part before the last is itself a link.
    pub path: PathBuf,
    /// Where it leads in the end: absolute, and no link itself.
    pub target: PathBuf,
}

/// What the kernel gives up after, too.
const MOST_LINKS: usize = 40;

/// Resolves an absolute path, and adds the links on the way to `links`.
pub(super) fn walk(path: &Path, links: &mut Vec<Link>) -> io::Result<PathBuf> {
    let mut met = Vec::new();
    let resolved = follow(path, &mut met)?;
    // What lies there is another file in every process; a virtualenv of a stranger may well lead there.
    let fleeting = |link: &PathBuf| {
        ["/proc", "/dev", "/sys"]
            .iter()
            .any(|tree| link.starts_with(tree))
    };
    if met.iter().any(fleeting) {
        return Err(io::Error::other("it leads through /proc, /dev or /sys"));
    }
    for link in met {
        let target = follow(&link, &mut Vec::new())?;
        let link = Link { path: link, target };
        if !links.contains(&link) {
            links.push(link);
        }
    }
    Ok(resolved)
}

fn follow(path: &Path, met: &mut Vec<PathBuf>) -> io::Result<PathBuf> {
    let mut left: VecDeque<OsString> = VecDeque::new();
    queue(path, &mut left);
    let mut done = PathBuf::from("/");
    let mut count = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        done.push(&name);
        // EINVAL is how the kernel says "not a link"; one call then does for lstat and readlink.
        match rustix::fs::readlink(&done, Vec::new()) {
            Ok(text) => {
                count += 1;
                if count > MOST_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                met.push(done.clone());
                let text = PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(
                    text.into_bytes(),
                ));
                done.pop();
                if text.is_absolute() {
                    done = PathBuf::from("/");
                }
                queue(&text, &mut left);
            }
            Err(rustix::io::Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(done)
}

/// Puts the parts of a path in front of what is left to walk.
fn queue(path: &Path, left: &mut VecDeque<OsString>) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => left.push_front(name.to_owned()),
            Component::ParentDir => left.push_front("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

/// Whether the system base shows a path.
pub(super) fn in_system(path: &Path) -> bool {
    // Debian's /usr/bin has links into /etc/alternatives, so the base shows that as well.
    const BASE: [&str; 8] = [
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/etc/alternatives",
    ];
    BASE.iter().any(|base| path.starts_with(base))
}

/// Drops what another mount shows already, and the links that lie inside a mount.
pub(super) fn settle(mounts: &mut Vec<PathBuf>, links: &mut Vec<Link>) {
    mounts.sort();
    // Sorted, a folder comes before what lies in it.
    let mut kept: Vec<PathBuf> = Vec::with_capacity(mounts.len());
    for mount in mounts.drain(..) {
        if !kept.iter().any(|outer| mount.starts_with(outer)) {
            kept.push(mount);
        }
    }
    *mounts = kept;
    links.retain(|link| !mounts.iter().any(|mount| link.path.starts_with(mount)));
    links.sort();
    links.dedup();
}
