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

/// A host folder and what an overlay over it recorded.
pub(super) struct Overlay {
    _base: tempfile::TempDir,
    pub(super) lower: std::path::PathBuf,
    pub(super) upper: std::path::PathBuf,
}

impl Overlay {
    /// Lets a shell script change `lower` through a real overlay in a user namespace, as a draft does.
    /// Needs user namespaces and an overlayfs with `userxattr` (Linux 5.11).
    pub(super) fn new(prepare: impl FnOnce(&Path), script: &str) -> Self {
        let base = tempfile::tempdir().unwrap();
        let [lower, upper, work, merged] =
            ["lower", "upper", "work", "merged"].map(|name| base.path().join(name));
        for folder in [&lower, &upper, &work, &merged] {
            std::fs::create_dir(folder).unwrap();
        }
        prepare(&lower);
        let setup = format!(
            "cd {base:?} && mount -t overlay draft -o userxattr,lowerdir=lower,upperdir=upper,workdir=work merged && \
             cd merged && {script}",
            base = base.path()
        );
        let output = std::process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-ec", &setup])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self {
            _base: base,
            lower,
            upper,
        }
    }

    pub(super) fn draft(&self) -> super::DraftChanges {
        use std::os::fd::AsFd;
        let (upper, lower) = (open(&self.upper), open(&self.lower));
        let (upper, lower) = (Folder::jar(upper.as_fd()), Folder::host(lower.as_fd()));
        let draft = super::draft_changes(upper, lower, &Bounds::default()).unwrap();
        let old = super::draft_changes(
            upper.without_openat2(),
            lower.without_openat2(),
            &Bounds::default(),
        )
        .unwrap();
        assert_eq!(draft, old, "the same without openat2");
        draft
    }

    pub(super) fn apply(
        &self,
        draft: &super::DraftChanges,
        options: &super::ApplyOptions,
    ) -> Result<super::Applied, super::ApplyError> {
        use std::os::fd::AsFd;
        let (upper, lower) = (open(&self.upper), open(&self.lower));
        super::apply(
            Folder::jar(upper.as_fd()),
            Folder::host(lower.as_fd()),
            draft,
            options,
        )
    }
}

/// Files with their own path as content; a path that ends in a slash is a folder.
pub(super) fn plant(at: &Path, paths: &[&str]) {
    for path in paths {
        let full = at.join(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(&full).unwrap();
        } else {
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(&full, path).unwrap();
        }
    }
}

/// The working folder of a real jar: a tmpfs that a user namespace owns, filled by a shell script, whose processes
/// and mount namespace are gone. As root the guest is another user, as in a jar.
pub(super) fn jar(script: &str) -> OwnedFd {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"];
    let root = rustix::process::geteuid().is_root();
    let guest = ["setpriv", "--reuid", "4321", "--regid", "1234", "--clear-groups"];
    let line: Vec<&str> = if root {
        guest.into_iter().chain(enter).collect()
    } else {
        enter.to_vec()
    };
    // /tmp is hidden by the jar's own file system, so nothing of the host is touched.
    let script =
        format!("mount -t tmpfs jar /tmp && cd /tmp && {{ {script} ; }} >&2 && echo ready && read end");
    let mut child = Command::new(line[0])
        .args(&line[1..])
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    assert_eq!(ready, "ready\n", "the script failed");
    let fd = open(Path::new(&format!("/proc/{}/cwd", child.id())));
    child.kill().unwrap();
    child.wait().unwrap();
    fd
}
