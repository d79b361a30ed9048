//! A place in a tree that moves from folder to folder, with two descriptors however deep it is.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::beneath::Folder;
use super::scan::Listing;

/// One folder on the way from the root to the current place.
#[derive(Debug)]
struct Step {
    /// The folder's index in the listing that is walked; unused when walking by names.
    index: u32,
    name: Vec<u8>,
    device: u64,
    inode: u64,
}

/// The current folder of a walk.
#[derive(Debug)]
pub(super) struct Cursor<'fd> {
    folder: Folder<'fd>,
    root: OwnedFd,
    current: Option<OwnedFd>,
    steps: Vec<Step>,
}

impl<'fd> Cursor<'fd> {
    pub(super) fn new(folder: Folder<'fd>) -> Result<Self, Errno> {
        Ok(Self {
            folder,
            root: folder.open_root()?,
            current: None,
            steps: Vec::new(),
        })
    }

    pub(super) fn folder(&self) -> &Folder<'fd> {
        &self.folder
    }

    /// The descriptor of the current folder.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.current.as_ref().unwrap_or(&self.root).as_fd()
    }

    /// Goes to a folder of `listing`; none is the root.
    pub(super) fn seek(&mut self, listing: &Listing, folder: Option<u32>) -> Result<BorrowedFd<'_>, Errno> {
        let mut below = Vec::new();
        let mut next = folder;
        // Climbs from the target until it meets the way that is already open.
        let keep = loop {
            let Some(index) = next else { break 0 };
            let entry = listing.entry(index);
            let depth = entry.depth as usize;
            if self.steps.get(depth - 1).is_some_and(|step| step.index == index) {
                break depth;
            }
            below.push(index);
            next = entry.parent;
        };
        self.climb(keep)?;
        for index in below.into_iter().rev() {
            self.descend(index, &listing.entry(index).name)?;
        }
        Ok(self.fd())
    }

    /// Goes to the folder that `names` lead to from the root.
    pub(super) fn seek_names(&mut self, names: &[&[u8]]) -> Result<BorrowedFd<'_>, Errno> {
        let keep = self
            .steps
            .iter()
            .zip(names)
            .take_while(|(step, name)| step.name == **name)
            .count();
        self.climb(keep)?;
        for name in &names[keep..] {
            self.descend(u32::MAX, name)?;
        }
        Ok(self.fd())
    }

    fn descend(&mut self, index: u32, name: &[u8]) -> Result<(), Errno> {
        let fd = self.folder.open_folder(self.fd(), name)?;
        let stat = fstat(&fd)?;
        self.steps.push(Step {
            index,
            name: name.to_vec(),
            device: stat.st_dev,
            inode: stat.st_ino,
        });
        self.current = Some(fd);
        Ok(())
    }

    fn climb(&mut self, depth: usize) -> Result<(), Errno> {
        while self.steps.len() > depth {
            if depth == 0 {
                self.steps.clear();
                self.current = None;
                return Ok(());
            }
            match self.parent() {
                Some(fd) => {
                    self.steps.pop();
                    self.current = Some(fd);
                }
                None => return self.walk_again(depth),
            }
        }
        Ok(())
    }

    /// The folder above, if `..` still is the very folder that was come from.
    fn parent(&self) -> Option<OwnedFd> {
        let above = self.steps.len().checked_sub(2).map(|at| &self.steps[at])?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(self.fd(), c"..", flags, Mode::empty()).ok()?;
        let stat = fstat(&fd).ok()?;
        (stat.st_dev == above.device && stat.st_ino == above.inode).then_some(fd)
    }

    /// For folders that cannot be searched, or that were moved: from the root, by name, under the same rules.
    fn walk_again(&mut self, depth: usize) -> Result<(), Errno> {
        self.steps.truncate(depth);
        let steps = std::mem::take(&mut self.steps);
        self.current = None;
        for step in steps {
            self.descend(step.index, &step.name)?;
        }
        Ok(())
    }
}
