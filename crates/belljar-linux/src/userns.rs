//! User namespaces: writing id maps, and namespaces that only carry an id map for a mount.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

use crate::process::{self, Namespaces};

/// Magic of procfs; a map written to anything else would not be one.
const PROC_SUPER_MAGIC: i64 = 0x9fa0;

/// One id inside a namespace, and what it is outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdMap {
    /// The user id inside.
    pub uid: u32,
    /// The group id inside.
    pub gid: u32,
    /// The user id outside.
    pub host_uid: u32,
    /// The group id outside.
    pub host_gid: u32,
}

/// Maps exactly one user and one group of the namespace of `pid`, and forbids setgroups there.
pub fn write_maps(pid: u32, map: IdMap) -> io::Result<()> {
    write_maps_at(&format!("/proc/{pid}"), map)
}

/// As [`write_maps`], of the namespace that this process has just made. The ids outside must be its own.
///
/// The files of a hidden process belong to root: call [`privileges::show`](crate::privileges::show) before, and hide after.
pub fn map_self(map: IdMap) -> io::Result<()> {
    write_maps_at("/proc/self", map)
}

fn write_maps_at(process: &str, map: IdMap) -> io::Result<()> {
    let folder = rustix::fs::open(
        process,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    if rustix::fs::fstatfs(&folder)?.f_type as i64 != PROC_SUPER_MAGIC {
        return Err(io::Error::from_raw_os_error(libc::EXDEV));
    }
    let write = |name: &str, text: &str| -> io::Result<()> {
        let file = rustix::fs::openat(&folder, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, text.as_bytes())?;
        Ok(())
    };
    write("setgroups", "deny")?;
    write("gid_map", &format!("{} {} 1", map.gid, map.host_gid))?;
    write("uid_map", &format!("{} {} 1", map.uid, map.host_uid))
}

/// A user namespace in which `map` holds, as a descriptor; it has no process. For mounts that show files under other ids.
pub fn for_idmap(map: IdMap) -> io::Result<OwnedFd> {
    let parent = rustix::process::getpid();
    let holder = process::start(Namespaces::USER, || {
        // It has a copy of every descriptor of ours: left behind, it would keep our callers waiting for an end.
        let bound = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        if bound.is_err() || rustix::process::getppid() != Some(parent) {
            return 1;
        }
        loop {
            let _ = rustix::thread::nanosleep(&rustix::thread::Timespec {
                tv_sec: 3600,
                tv_nsec: 0,
            });
        }
    })?;
    let made = write_maps(holder.pid(), map).and_then(|()| {
        Ok(rustix::fs::open(
            format!("/proc/{}/ns/user", holder.pid()),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    });
    holder.kill()?;
    holder.wait()?;
    made
}
