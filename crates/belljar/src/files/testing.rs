//! What the tests of this module share.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{Bounds, Folder, Listing, scan};

pub(super) fn open(path: &Path) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

pub(super) fn list(path: &Path) -> Listing {
    use std::os::fd::AsFd;
    scan(Folder::jar(open(path).as_fd()), &Bounds::default()).unwrap()
}

pub(super) fn paths(listing: &Listing) -> Vec<String> {
    let mut paths: Vec<String> = listing.indices().map(|index| listing.display(index)).collect();
    paths.sort();
    paths
}

/// A chain of `depth` folders named `name`, far beyond what a path can name.
pub(super) fn nest(path: &Path, depth: usize, name: &str) {
    let mut at = open(path);
    for _ in 0..depth {
        rustix::fs::mkdirat(&at, name, 0o755.into()).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        at = rustix::fs::openat(&at, name, flags, Mode::empty()).unwrap();
    }
    rustix::fs::openat(&at, "leaf", OFlags::CREATE | OFlags::WRONLY, 0o644.into()).unwrap();
}

/// Removes such a chain, which `TempDir` would remove by a recursion as deep as the chain.
pub(super) fn unnest(path: &Path) {
    let status = std::process::Command::new("rm")
        .arg("-rf")
        .arg(path)
        .status()
        .unwrap();
    assert!(status.success());
}

/// The descriptors that this process has open.
pub(super) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
