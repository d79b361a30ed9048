//! What tools on the host obey by themselves in folders that a guest may write, and all that leads to it: found before
//! the guest starts, so that it can be kept from the guest's hands.
//!
//! A name that is [`Protected`](TrustClass::Protected) counts at any depth. If it is a link, so does every link on the
//! way and the end; so does what links in a protected folder lead to, what a repository's settings name ([`git`]), and
//! every other name of a protected file. Links are followed as the host follows them.

mod git;
mod trail;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use super::display;
use super::trust::{TrustClass, protected_names, trust_class};
use trail::follow;
pub(super) use walk::{Walk, Walked};

/// Names that are looked at in all folders together, each time. A quarter of a second at most.
const NAMES: usize = 250_000;
/// Most places that are kept.
const PLACES: usize = 1_000;
/// Folders of installed packages. Nobody opens an editor or commits there, and they hold most of a project's names.
const PACKAGES: [&[u8]; 3] = [b"node_modules", b"site-packages", b"__pycache__"];
/// Where a repository keeps content, by its hash: most of its names.
const CONTENT: [&[u8]; 4] = [b"objects", b"lfs", b"store", b"pristine"];

/// What tools on the host obey.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Obeyed {
    /// Paths of the host without a link on the way, whether or not they exist, and what makes each one obeyed.
    paths: BTreeMap<PathBuf, String>,
    /// What could not be looked at, or cannot be kept, and why.
    pub notes: BTreeMap<String, String>,
}

impl Obeyed {
    /// The places in a folder that are to be kept, relative to it. What lies in one of them is kept with it.
    pub fn places(&self, folder: &Path) -> Vec<&Path> {
        let mut places: Vec<&Path> = Vec::new();
        // In the order of a map of paths, a folder comes right before what is in it.
        let mut last: Option<&Path> = None;
        for path in self.paths.keys() {
            if last.is_some_and(|last| path.starts_with(last)) {
                continue;
            }
            last = Some(path);
            places.extend(
                path.strip_prefix(folder)
                    .ok()
                    .filter(|rest| !rest.as_os_str().is_empty()),
            );
        }
        places
    }

    /// Why a path of the host is obeyed, if it is, or a folder that it lies in.
    pub fn reason(&self, path: &Path) -> Option<&str> {
        path.ancestors()
            .find_map(|path| self.paths.get(path))
            .map(String::as_str)
    }

    /// The same for a path in `folder`, as a guest wrote it.
    pub fn reason_in(&self, folder: &Path, path: &[u8]) -> Option<&str> {
        self.reason(&folder.join(OsStr::from_bytes(path)))
    }
}

/// Looks through folders of the host, whose paths have no link on the way.
pub fn obeyed(folders: &[&Path]) -> Obeyed {
    let mut search = Search {
        folders,
        found: Obeyed::default(),
        todo: Vec::new(),
        linked: HashSet::new(),
        names: NAMES,
    };
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        search.top(folder);
    }
    search.finish();
    search.found
}

/// A path that is obeyed, and what makes it so.
struct Lead {
    path: PathBuf,
    why: String,
    /// Whether only a file counts: a word of a setting may be anything.
    file: bool,
}

struct Search<'a> {
    folders: &'a [&'a Path],
    found: Obeyed,
    todo: Vec<Lead>,
    /// Files that have several names.
    linked: HashSet<(u64, u64)>,
    /// Names that may still be looked at.
    names: usize,
}

impl Search<'_> {
    /// What is in one writable folder, and what of the folders around it may lead there.
    fn top(&mut self, folder: &Path) {
        // By name first: a flood of others cannot hide what is at the top.
        for around in folder.ancestors() {
            for name in protected_names() {
                let path = around.join(name);
                let Ok(found) = path.symlink_metadata() else {
                    continue;
                };
                // Around the folder, only a link or a repository's settings can lead into it.
                let leads = around == folder || found.is_symlink() || is_repository(name.as_ref());
                if leads && !folder.starts_with(&path) {
                    self.lead(path);
                }
            }
            self.drain();
        }
        let walk = Walk {
            skip: &PACKAGES,
            names: &mut self.names,
        };
        let mut leads = Vec::new();
        let seen = walk.each(folder, |path, _| {
            let protected = is_protected(path);
            if protected {
                leads.push(path.to_path_buf());
            }
            // What is in a protected folder is looked at on its own.
            if protected { Walked::Stay } else { Walked::Enter }
        });
        if !seen.whole {
            self.note(
                folder,
                format!("it has more than {NAMES} names: what tools obey among the rest can be written"),
            );
        }
        // Its owner may open it again: what is known by name is kept all the same.
        for closed in seen.closed {
            let names = protected_names().map(|name| closed.join(name));
            leads.extend(names.filter(|path| path.symlink_metadata().is_ok()));
            self.note(
                &closed,
                "it cannot be read: what tools obey further down in it can be written".into(),
            );
        }
        leads.into_iter().for_each(|path| self.lead(path));
        self.drain();
    }

    fn lead(&mut self, path: PathBuf) {
        if !self.found.paths.contains_key(&path) {
            let why = match trust_class(path.file_name().unwrap_or_default().as_bytes()) {
                TrustClass::Protected(reason) => reason.to_owned(),
                _ => "shells run it when they start or enter the folder".to_owned(),
            };
            self.todo.push(Lead {
                path,
                why,
                file: false,
            });
        }
    }

    fn drain(&mut self) {
        while let Some(lead) = self.todo.pop() {
            self.take(&lead);
        }
    }

    /// One path: the links on the way, the end, and what that leads to.
    fn take(&mut self, lead: &Lead) {
        let Some(trail) = follow(&lead.path) else { return };
        let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if lead.file && !trail.stat.as_ref().is_some_and(is_file) {
            return;
        }
        let named = name_in(self.folders, &lead.path);
        let led = |path: &Path| {
            if *path == lead.path {
                lead.why.clone()
            } else {
                format!("{named} leads to it")
            }
        };
        for link in &trail.links {
            self.add(link, led(link));
        }
        let end = trail.end;
        // Everything that a guest may write would be read-only.
        if let Some(folder) = self.folders.iter().find(|folder| folder.starts_with(&end)) {
            if **folder == end {
                let text = "it leads to the folder itself: what tools obey in it can be written";
                self.note(&lead.path, text.into());
            }
            return;
        }
        if !self.add(&end, led(&end)) {
            return;
        }
        let Some(stat) = trail.stat else { return };
        if is_file(&stat) {
            self.count(&stat);
        }
        let repository = lead.path.file_name().is_some_and(is_repository);
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_folder && (repository || self.folders.iter().any(|folder| end.starts_with(folder))) {
            self.inside(&end);
        }
        if repository {
            let worktree = lead.path.parent().unwrap_or(&lead.path);
            let leads = git::leads(worktree, &end);
            self.todo.extend(leads);
        }
    }

    /// Links and files with several names in a folder that is obeyed as a whole.
    fn inside(&mut self, folder: &Path) {
        let walk = Walk {
            skip: &CONTENT,
            names: &mut self.names,
        };
        let (mut links, mut files) = (Vec::new(), Vec::new());
        let seen = walk.each(folder, |path, kind| {
            match kind {
                FileType::Symlink => links.push(path.to_path_buf()),
                FileType::RegularFile => files.push(path.to_path_buf()),
                _ => {}
            }
            Walked::Enter
        });
        if !seen.whole {
            self.note(
                folder,
                format!("it has more than {NAMES} names: what links among the rest lead to can be written"),
            );
        }
        for path in files {
            if let Ok(stat) = rustix::fs::lstat(&path) {
                self.count(&stat);
            }
        }
        for path in links {
            // The link itself is kept with the folder.
            let why = format!("{} leads to it", name_in(self.folders, &path));
            self.todo.push(Lead {
                path,
                why,
                file: false,
            });
        }
    }

    fn count(&mut self, stat: &Stat) {
        if stat.st_nlink > 1 {
            self.linked.insert((stat.st_dev, stat.st_ino));
        }
    }

    /// Whether it is a new one.
    fn add(&mut self, path: &Path, why: String) -> bool {
        // What lies in a folder that is kept is kept and looked at with it.
        if self.found.reason(path).is_some() {
            return false;
        }
        let inside = self.folders.iter().any(|folder| path.starts_with(folder));
        if inside && self.found.paths.len() >= PLACES {
            let folder = self.folders[0];
            self.note(
                folder,
                format!("it has more than {PLACES} places that tools obey: the rest can be written"),
            );
            return false;
        }
        self.found.paths.insert(path.to_path_buf(), why);
        true
    }

    /// Other names of files that are obeyed: a mount keeps one name only.
    fn finish(&mut self) {
        if self.linked.is_empty() {
            return;
        }
        let linked = std::mem::take(&mut self.linked);
        for folder in self.folders {
            let mut names = NAMES;
            let walk = Walk {
                skip: &[],
                names: &mut names,
            };
            let mut same = Vec::new();
            let seen = walk.each(folder, |path, kind| {
                if kind == FileType::RegularFile
                    && rustix::fs::lstat(path).is_ok_and(|stat| linked.contains(&(stat.st_dev, stat.st_ino)))
                {
                    same.push(path.to_path_buf());
                }
                Walked::Enter
            });
            for path in same {
                self.add(&path, "it is another name of a file that tools obey".into());
            }
            if !seen.whole {
                let text =
                    "a file that tools obey has other names, and not all names in the folder were looked at";
                self.note(folder, text.into());
            }
        }
    }

    fn note(&mut self, path: &Path, text: String) {
        self.found.notes.insert(name_in(self.folders, path), text);
    }
}

/// A path as people know it: from the folder that holds it, if one does.
fn name_in(folders: &[&Path], path: &Path) -> String {
    let inside = folders.iter().find_map(|folder| path.strip_prefix(folder).ok());
    match inside {
        Some(rest) if rest.as_os_str().is_empty() => ".".into(),
        found => display(found.unwrap_or(path).as_os_str().as_bytes()),
    }
}

fn is_protected(path: &Path) -> bool {
    let mut names = path.iter().rev().map(OsStr::as_bytes);
    let (last, above) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let class = match above {
        b".config" => trust_class(&[above, last].join(&b'/')),
        _ => trust_class(last),
    };
    matches!(class, TrustClass::Protected(_))
}

fn is_repository(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

#[cfg(test)]
mod tests;
