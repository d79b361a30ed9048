//! Learns at once that a group ran out of memory.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFlags};

use super::CgroupError;
use super::folder::{Folder, Tree};

/// A descriptor to poll: readiness for [`OomEvent::poll_flags`] means "look", and [`OomEvent::take`] is the look.
#[derive(Debug)]
pub enum OomEvent {
    /// Version 1: an eventfd. It also fires when the group is removed, and before the kill itself is counted.
    Eventfd(OwnedFd),
    /// Version 2: `memory.events`, which changes on more than OOM kills (at most once in 10 ms).
    Events(OwnedFd),
}

impl OomEvent {
    pub(super) fn new(tree: &dyn Tree, folder: &Folder, v2: bool) -> Result<Self, CgroupError> {
        let file = if v2 { "memory.events" } else { "memory.oom_control" };
        let source = folder
            .reader(file)
            .map_err(|error| CgroupError::io("open", &folder.path.join(file), error))?;
        if v2 {
            let event = OomEvent::Events(source);
            // A change counts from the last read on.
            event.take();
            return Ok(event);
        }
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| CgroupError::io("watch", &folder.path, errno))?;
        // The kernel keeps the registration until the group is removed or the eventfd closed.
        let order = format!("{} {}", event.as_raw_fd(), source.as_raw_fd());
        folder.write(tree, "cgroup.event_control", &order)?;
        Ok(OomEvent::Eventfd(event))
    }

    /// What to poll for.
    pub fn poll_flags(&self) -> PollFlags {
        match self {
            OomEvent::Eventfd(_) => PollFlags::IN,
            OomEvent::Events(_) => PollFlags::PRI,
        }
    }

    /// Whether memory ran out; arms the descriptor again.
    pub fn take(&self) -> bool {
        match self {
            OomEvent::Eventfd(fd) => rustix::io::read(fd, &mut [0u8; 8]).is_ok(),
            OomEvent::Events(fd) => {
                let mut text = [0u8; 512];
                let length = rustix::io::pread(fd, &mut text, 0).unwrap_or(0);
                let text = String::from_utf8_lossy(&text[..length]);
                let kills = text
                    .lines()
                    .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
                kills.is_some_and(|kills| kills > 0)
            }
        }
    }
}

impl AsFd for OomEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            OomEvent::Eventfd(fd) | OomEvent::Events(fd) => fd.as_fd(),
        }
    }
}
