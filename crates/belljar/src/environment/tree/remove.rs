//! Removing a tree that a stranger made: folders that must not be written or entered, and more of them inside each other than a
//! stack or a table of open files could follow.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::cache;

/// Names that are held at a time.
const BATCH: usize = 1024;

/// Removes a tree, or what else has this name; that there is none is no error. No link on the way is followed.
pub(in crate::environment) fn remove(root: &Path) -> io::Result<()> {
    let removed = remove_once(root);
    match removed {
        // Somebody else may remove the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn remove_once(root: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (root.parent(), root.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let above = cache::open_folder(above)?;
    let name = CString::new(name.as_bytes())?;
    if !unlink(above.as_fd(), &name)? {
        empty(above.as_fd(), &name)?;
        rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Takes everything out of a folder. What lies deep is moved up, so that no more than two folders are open at a time.
fn empty(above: BorrowedFd<'_>, name: &CString) -> io::Result<()> {
    let top = open(above, name)?;
    let mut moved = 0;
    loop {
        let names = names(top.as_fd())?;
        if names.is_empty() {
            return Ok(());
        }
        for name in &names {
            if !unlink(top.as_fd(), name)? {
                flatten(top.as_fd(), name, &mut moved)?;
            }
        }
    }
}

/// Removes one folder of the uppermost, and moves the folders in it there.
fn flatten(top: BorrowedFd<'_>, name: &CString, moved: &mut u64) -> io::Result<()> {
    let folder = open(top, name)?;
    loop {
        let names = names(folder.as_fd())?;
        if names.is_empty() {
            break;
        }
        for name in &names {
            if !unlink(folder.as_fd(), name)? {
                lift(folder.as_fd(), name, top, moved)?;
            }
        }
    }
    Ok(rustix::fs::unlinkat(top, name, AtFlags::REMOVEDIR)?)
}

/// Moves a folder to where it has a name that nothing else has.
fn lift(from: BorrowedFd<'_>, name: &CString, top: BorrowedFd<'_>, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match rustix::fs::renameat(from, name, top, format!("removed-{moved}")) {
            // A stranger may have thought of that name.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            done => return Ok(done?),
        }
    }
}

/// Removes what is no folder, and tells whether it was none. A folder becomes one that can be opened and moved.
fn unlink(folder: BorrowedFd<'_>, name: &CString) -> io::Result<bool> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
        return Ok(true);
    }
    if found.st_mode & 0o700 != 0o700 {
        rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
    }
    Ok(false)
}

fn open(at: impl AsFd, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, name, flags, Mode::empty())?)
}

/// Some of the names in a folder.
fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            found.push(entry.file_name().to_owned());
        }
        if found.len() == BATCH {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Deeper than any path can be, and than a table of open files.
    const DEEP: usize = 20_000;

    /// A folder with others inside each other, each with a file; whoever it belongs to may enter none of them.
    fn deep(root: &Path) {
        fs::create_dir(root).unwrap();
        let mut folder = open(rustix::fs::CWD, root).unwrap();
        for number in 0..DEEP {
            // The name that is tried first when one is moved.
            let name = if number % 2 == 0 { "removed-1" } else { "x" };
            rustix::fs::mkdirat(&folder, name, Mode::RWXU).unwrap();
            let below = open(&folder, name).unwrap();
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(&folder, "file", flags, Mode::RUSR).unwrap();
            rustix::fs::fchmod(&folder, Mode::empty()).unwrap();
            folder = below;
        }
    }

    #[test]
    fn trees_deeper_than_a_stack_are_removed() {
        // In memory: a disk may take a millisecond for each folder.
        let stage = tempfile::tempdir_in("/dev/shm").unwrap();
        let (tree, kept) = (stage.path().join("tree"), stage.path().join("kept"));
        deep(&tree);
        fs::write(&kept, "kept").unwrap();
        // As little as a thread of the agent has.
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let removed = tree.clone();
        small
            .spawn(move || remove(&removed))
            .unwrap()
            .join()
            .unwrap()
            .unwrap();
        assert!(!tree.exists() && kept.exists());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let stage = tempfile::tempdir().unwrap();
        let (tree, kept) = (stage.path().join("tree"), stage.path().join("kept"));
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "kept").unwrap();
        for link in ["link", "a/link", "a/b/link"] {
            std::os::unix::fs::symlink(&kept, tree.join(link)).unwrap();
        }
        remove(&tree).unwrap();
        assert!(!tree.exists());
        // Nor is a link on the way.
        std::os::unix::fs::symlink(&kept, stage.path().join("away")).unwrap();
        assert!(remove(&stage.path().join("away/file")).is_err());
        assert!(kept.join("file").exists());
        let link = stage.path().join("alone");
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        remove(&link).unwrap();
        assert!(fs::symlink_metadata(&link).is_err());
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "kept");
        remove(&tree).unwrap();
    }

    #[test]
    fn more_names_than_are_held_at_a_time_are_removed() {
        let stage = tempfile::tempdir().unwrap();
        let tree = stage.path().join("tree");
        for folder in 0..3 {
            fs::create_dir_all(tree.join(format!("{folder}/inner"))).unwrap();
            for file in 0..BATCH {
                fs::write(tree.join(format!("{folder}/{file}")), "").unwrap();
            }
        }
        remove(&tree).unwrap();
        assert!(!tree.exists());
    }
}
