//! Host trees that the jar shows, as detached copies: opened before the jar's root hides their paths, and, started as
//! root, before root is given up.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use belljar_linux::mount::{self, Attributes};
use belljar_linux::userns::{self, IdMap};

use crate::plan::{Plan, SourceKind};

/// What is taken from the host, by the position of its step in the plan.
#[derive(Default)]
pub(crate) struct Sources {
    /// Detached copies.
    pub trees: HashMap<usize, OwnedFd>,
}

/// Why a tree could not be opened: which, and the error.
pub(crate) type SourceError = (PathBuf, io::Error);

/// Opens every tree of the plan. `ids` is the guest's host user and group when we are root.
pub(crate) fn open_sources(plan: &Plan, ids: Option<(u32, u32)>) -> Result<Sources, SourceError> {
    let mut views = HashMap::new();
    let mut sources = Sources::default();
    for (position, source) in plan.sources() {
        let attributes = match source.kind {
            SourceKind::Read => Attributes::READ,
            SourceKind::Write => Attributes::WRITE,
            SourceKind::Device => Attributes::DEVICE,
        };
        let path = source.path;
        let tree = if source.named {
            mount::open_unlinked(path).and_then(|opened| mount::detach_opened(opened.as_fd()))
        } else {
            mount::detach(path, true)
        };
        let tree = tree
            .and_then(|tree| fit(tree, attributes, ids.filter(|_| source.own), &mut views))
            .map_err(|error| (path.to_path_buf(), error))?;
        sources.trees.insert(position, tree);
    }
    Ok(sources)
}

/// Gives a detached copy what its step says.
fn fit(
    tree: OwnedFd,
    attributes: Attributes,
    ids: Option<(u32, u32)>,
    views: &mut HashMap<(u32, u32), OwnedFd>,
) -> io::Result<OwnedFd> {
    if attributes == Attributes::DEVICE {
        check_device(&tree)?;
    }
    if let Some((host_uid, host_gid)) = ids {
        let stat = rustix::fs::fstat(&tree)?;
        let owner = (stat.st_uid, stat.st_gid);
        if let std::collections::hash_map::Entry::Vacant(entry) = views.entry(owner) {
            entry.insert(userns::for_idmap(IdMap {
                uid: owner.0,
                gid: owner.1,
                host_uid,
                host_gid,
            })?);
        }
        match mount::map_ids(tree.as_fd(), views[&owner].as_fd()) {
            Ok(()) => {}
            // What everyone may read needs no other ids; a folder that shall be written does.
            Err(_) if attributes.read_only => {}
            Err(error) => return Err(error),
        }
    }
    mount::restrict(tree.as_fd(), attributes)?;
    Ok(tree)
}

/// A device of the jar is a character device of the memory driver, whatever the host has at that path.
fn check_device(tree: &OwnedFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(tree)?;
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if kind == rustix::fs::FileType::CharacterDevice && rustix::fs::major(stat.st_rdev) == 1 {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(
        rustix::io::Errno::NODEV.raw_os_error(),
    ))
}
