//! Walking a finished environment on the host. The jar that made it is gone, so nothing moves while we look; what it left
//! is a stranger's all the same: no link is followed, and what is neither file, folder nor link is taken out.

mod remove;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) use remove::remove;

/// More entries than any real environment has.
const MOST: usize = 1 << 20;
/// A tree deeper than this is made to make us fall over.
const DEEPEST: usize = 64;

/// A folder of the tree and what is directly in it, by name.
#[derive(Debug)]
pub(super) struct Folder {
    /// Relative to the root; empty for the root itself.
    pub path: PathBuf,
    /// Files and links, sorted.
    pub entries: Vec<Entry>,
}

/// A file or a link.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: std::ffi::OsString,
    pub link: bool,
    pub size: u64,
}

/// All folders, parents first. Devices, sockets and pipes are removed.
pub(super) fn walk(root: &Path) -> io::Result<Vec<Folder>> {
    let (mut found, mut left, mut count) = (Vec::new(), vec![(PathBuf::new(), 0)], 0);
    while let Some((path, depth)) = left.pop() {
        let (mut entries, mut folders) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(root.join(&path))? {
            let entry = entry?;
            count += 1;
            if count > MOST || depth > DEEPEST {
                return Err(io::Error::other(
                    "it has more, or deeper, folders than any real package",
                ));
            }
            let (kind, name) = (entry.file_type()?, entry.file_name());
            if kind.is_dir() {
                folders.push(path.join(&name));
            } else if kind.is_file() || kind.is_symlink() {
                let metadata = entry.metadata()?;
                entries.push(Entry {
                    name,
                    link: kind.is_symlink(),
                    size: metadata.size(),
                });
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        // Last in, first out: sorted backwards they come in order.
        folders.sort_unstable_by(|one, other| other.cmp(one));
        left.extend(folders.into_iter().map(|path| (path, depth + 1)));
        found.push(Folder { path, entries });
    }
    Ok(found)
}

/// Takes the right to write from everything, and special bits with it. A mode that is right already is left alone: changing it
/// would count as a change to every environment that shares the file.
pub(super) fn make_read_only(root: &Path, folders: &[Folder]) -> io::Result<()> {
    let set = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode));
    for folder in folders {
        let path = root.join(&folder.path);
        for entry in folder.entries.iter().filter(|entry| !entry.link) {
            let path = path.join(&entry.name);
            let mode = fs::symlink_metadata(&path)?.mode() & 0o7777;
            let wanted = if mode & 0o111 != 0 { 0o555 } else { 0o444 };
            if mode != wanted {
                set(&path, wanted)?;
            }
        }
    }
    for folder in folders {
        set(&root.join(&folder.path), 0o555)?;
    }
    Ok(())
}

/// Makes a folder below a root anew, and those on the way where they are missing. What is there and is no folder goes first: a
/// build may have left links, and what we write we write as the user.
pub(super) fn make_anew(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut folder = root.to_path_buf();
    let count = path.components().count();
    for (number, part) in path.components().enumerate() {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() && number + 1 < count => continue,
            Ok(metadata) if metadata.is_dir() => remove(&folder)?,
            Ok(_) => fs::remove_file(&folder)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir(&folder)?;
    }
    Ok(folder)
}
