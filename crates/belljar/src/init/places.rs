//! Places in what the jar shows of the host. A guest may have written there in an earlier run: nothing is made in such a
//! folder, and no link in it is followed.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use belljar_linux::mount::{self, Attributes};
use rustix::io::Errno;

use super::Room;

/// The places that were used so far.
#[derive(Default)]
pub(super) struct Places {
    pinned: HashSet<PathBuf>,
}

impl Places {
    /// The place at `target`, if it lies in something of the host that an earlier step shows.
    pub(super) fn find(
        &mut self,
        position: usize,
        target: &Path,
        room: &Room<'_>,
    ) -> io::Result<Option<OwnedFd>> {
        let Some((outer, writable)) = room.plan.around(position, target) else {
            return Ok(None);
        };
        if writable {
            self.pin(outer, target)?;
        }
        mount::open_unlinked(target).map(Some)
    }

    /// Makes what is at `target` read-only. A link is covered by itself: it leads where it led, and can be neither renamed
    /// nor replaced.
    pub(super) fn keep(&mut self, position: usize, target: &Path, room: &Room<'_>) -> io::Result<()> {
        let place = match room.plan.around(position, target) {
            None => return Ok(()),
            Some((outer, true)) => self.pin(outer, target).and_then(|()| mount::open_or_link(target)),
            Some((_, false)) => mount::open_or_link(target),
        };
        match place {
            Ok(place) => {
                let tree = mount::detach_opened(place.as_fd())?;
                mount::restrict(tree.as_fd(), Attributes::READ)?;
                mount::attach_over(tree.as_fd(), place.as_fd())
            }
            Err(error) => match Errno::from_io_error(&error) {
                // What init may not reach the guest may not either: both are the guest's user.
                Some(Errno::LOOP | Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Makes mounts of the folders between the two, which can then not be renamed: a guest could move them away with what
    /// is read-only in them, and put another in its place.
    fn pin(&mut self, outer: &Path, target: &Path) -> io::Result<()> {
        let mut between: Vec<&Path> = target
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(outer) && *folder != outer)
            .collect();
        between.reverse();
        for folder in between {
            if self.pinned.insert(folder.to_path_buf()) {
                let place = mount::open_unlinked(folder)?;
                let tree = mount::detach_opened(place.as_fd())?;
                mount::attach_over(tree.as_fd(), place.as_fd())?;
            }
        }
        Ok(())
    }
}
