//! What every file of an environment was when it was built, to notice when one is not that any more.
//!
//! A check compares what the kernel says of each file and folder: size, times, number. Whoever changes a file changes one of
//! them; the time of the last change cannot be set back. Linking a file into another environment moves that time too, so
//! when nothing else differs the content decides.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat};
use sha2::{Digest, Sha256};

use super::parts;
use super::tree::Folder;

const MAGIC: &[u8; 8] = b"belljar1";

/// All folders of an environment, as they were.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    folders: Vec<KnownFolder>,
}

#[derive(Debug, PartialEq, Eq)]
struct KnownFolder {
    path: PathBuf,
    /// Moves when something is put into it or taken out.
    modified: i64,
    files: Vec<KnownFile>,
}

#[derive(Debug, PartialEq, Eq)]
struct KnownFile {
    name: OsString,
    marks: Marks,
    /// Of its content, or of where it leads.
    hash: [u8; 32],
}

/// What the kernel says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    mode: u32,
    size: u64,
    inode: u64,
    modified: i64,
    /// Moves with every change, also of the others and of its links.
    changed: i64,
}

/// What a check found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Everything is as it was.
    Same,
    /// Everything is as it was, but the marks of some files moved; the manifest knows the new ones.
    Moved,
    /// These files or folders are not what they were.
    Changed(Vec<PathBuf>),
}

impl Marks {
    fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
        Self {
            mode: stat.st_mode,
            size: stat.st_size as u64,
            inode: stat.st_ino,
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

impl Manifest {
    /// Of a tree as it is now. Read whole, by several threads.
    pub(super) fn take(root: &Path, folders: &[Folder]) -> io::Result<Self> {
        let root = open_root(root)?;
        let known = parts::each(folders.chunks(parts::size(folders.len())), |folder| {
            let fd = open_folder(&root, &folder.path)?;
            let files = folder.entries.iter().map(|entry| {
                Ok(KnownFile {
                    name: entry.name.clone(),
                    marks: Marks::of(&stat(&fd, &entry.name)?),
                    hash: hash(&fd, &entry.name, entry.link)?,
                })
            });
            Ok(KnownFolder {
                path: folder.path.clone(),
                modified: Marks::of(&rustix::fs::fstat(&fd)?).modified,
                files: files.collect::<io::Result<_>>()?,
            })
        })?;
        Ok(Self { folders: known })
    }

    /// Bytes and number of all files.
    pub(super) fn size(&self) -> (u64, u64) {
        let files = || self.folders.iter().flat_map(|folder| &folder.files);
        (files().map(|file| file.marks.size).sum(), files().count() as u64)
    }

    /// Compares a tree with what it was.
    pub(super) fn check(&mut self, root: &Path) -> io::Result<Verdict> {
        let (root, size) = (open_root(root)?, parts::size(self.folders.len()));
        let found = parts::each(self.folders.chunks_mut(size), |folder| folder.check(&root))?;
        let mut verdict = Verdict::Same;
        for one in found {
            match (&mut verdict, one) {
                (_, Verdict::Same) | (Verdict::Changed(_), Verdict::Moved) => {}
                (Verdict::Changed(all), Verdict::Changed(paths)) => all.extend(paths),
                (_, other) => verdict = other,
            }
        }
        Ok(verdict)
    }

    /// As bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, self.folders.len() as u64);
        for folder in &self.folders {
            put_name(&mut bytes, folder.path.as_os_str());
            put(&mut bytes, folder.modified as u64);
            put(&mut bytes, folder.files.len() as u64);
            for KnownFile { name, marks, hash } in &folder.files {
                put_name(&mut bytes, name);
                for number in [
                    u64::from(marks.mode),
                    marks.size,
                    marks.inode,
                    marks.modified as u64,
                    marks.changed as u64,
                ] {
                    put(&mut bytes, number);
                }
                bytes.extend_from_slice(hash);
            }
        }
        bytes
    }

    /// From bytes; `None` where they are no manifest.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        (take(bytes, MAGIC.len())? == MAGIC).then_some(())?;
        let mut folders = Vec::new();
        for _ in 0..number(bytes)? {
            let path = PathBuf::from(name(bytes)?);
            let modified = number(bytes)? as i64;
            let mut files = Vec::new();
            for _ in 0..number(bytes)? {
                files.push(KnownFile {
                    name: name(bytes)?,
                    marks: Marks {
                        mode: number(bytes)? as u32,
                        size: number(bytes)?,
                        inode: number(bytes)?,
                        modified: number(bytes)? as i64,
                        changed: number(bytes)? as i64,
                    },
                    hash: take(bytes, 32)?.try_into().ok()?,
                });
            }
            folders.push(KnownFolder {
                path,
                modified,
                files,
            });
        }
        bytes.is_empty().then_some(Self { folders })
    }
}

impl KnownFolder {
    fn check(&mut self, root: &OwnedFd) -> io::Result<Verdict> {
        let (mut moved, mut changed) = (false, Vec::new());
        let Ok(fd) = open_folder(root, &self.path) else {
            return Ok(Verdict::Changed(vec![self.path.clone()]));
        };
        if Marks::of(&rustix::fs::fstat(&fd)?).modified != self.modified {
            changed.push(self.path.clone());
        }
        for file in &mut self.files {
            let Ok(found) = stat(&fd, &file.name) else {
                changed.push(self.path.join(&file.name));
                continue;
            };
            let found = Marks::of(&found);
            if found == file.marks {
                continue;
            }
            let same = Marks {
                changed: file.marks.changed,
                ..found
            } == file.marks;
            let link = found.mode & 0o170_000 == 0o120_000;
            if same && hash(&fd, &file.name, link)? == file.hash {
                file.marks = found;
                moved = true;
            } else {
                changed.push(self.path.join(&file.name));
            }
        }
        Ok(match (changed.is_empty(), moved) {
            (false, _) => Verdict::Changed(changed),
            (true, true) => Verdict::Moved,
            (true, false) => Verdict::Same,
        })
    }
}

fn open_root(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(root, flags, Mode::empty())?)
}

fn open_folder(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    // Not read, only looked below: that needs no more than a path.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(root, path, flags, Mode::empty())?)
}

fn stat(folder: &OwnedFd, name: &OsStr) -> io::Result<Stat> {
    Ok(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn hash(folder: &OwnedFd, name: &OsStr, link: bool) -> io::Result<[u8; 32]> {
    if link {
        let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
        return Ok(Sha256::digest(target.as_bytes()).into());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    hash_file(openat(folder.as_fd(), name, flags, Mode::empty())?.into())
}

fn hash_file(mut file: File) -> io::Result<[u8; 32]> {
    let mut sum = Sha256::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sum.finalize().into()),
            count => sum.update(&piece[..count]),
        }
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_name(bytes: &mut Vec<u8>, name: &OsStr) {
    put(bytes, name.len() as u64);
    bytes.extend_from_slice(name.as_bytes());
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?))
}

fn name(bytes: &mut &[u8]) -> Option<OsString> {
    let length = usize::try_from(number(bytes)?).ok()?;
    Some(OsString::from_vec(take(bytes, length)?.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::super::tree;
    use super::*;

    fn made() -> (tempfile::TempDir, Manifest) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("deep")).unwrap();
        for name in ["a.py", "deep/b.py", "deep/c.py"] {
            fs::write(root.join(name), name).unwrap();
        }
        symlink("/nowhere", root.join("link")).unwrap();
        let manifest = Manifest::take(root, &tree::walk(root).unwrap()).unwrap();
        (folder, manifest)
    }

    fn changed(manifest: &mut Manifest, root: &Path) -> Vec<String> {
        match manifest.check(root).unwrap() {
            Verdict::Changed(paths) => paths.iter().map(|path| path.display().to_string()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_nobody_touched_is_the_same() {
        let (folder, manifest) = made();
        let mut manifest = Manifest::decode(&manifest.encode()).unwrap();
        assert_eq!(manifest.check(folder.path()).unwrap(), Verdict::Same);
        assert_eq!(manifest.size(), (4 + 9 + 9 + 8, 4));
    }

    #[test]
    fn a_changed_file_is_named_also_when_its_time_is_set_back() {
        let (folder, mut manifest) = made();
        let path = folder.path().join("deep/b.py");
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "forgery!!").unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(before)
            .unwrap();
        assert_eq!(changed(&mut manifest, folder.path()), ["deep/b.py"]);
    }

    #[test]
    fn what_is_added_taken_away_or_replaced_is_noticed() {
        let (folder, mut manifest) = made();
        fs::write(folder.path().join("new.py"), "").unwrap();
        assert_eq!(changed(&mut manifest, folder.path()), [""]);
        let (folder, mut manifest) = made();
        fs::remove_file(folder.path().join("deep/c.py")).unwrap();
        assert_eq!(changed(&mut manifest, folder.path()), ["deep", "deep/c.py"]);
        let (folder, mut manifest) = made();
        fs::rename(folder.path().join("deep"), folder.path().join("other")).unwrap();
        symlink("other", folder.path().join("deep")).unwrap();
        assert!(changed(&mut manifest, folder.path()).contains(&"deep".to_owned()));
        let (folder, mut manifest) = made();
        fs::remove_file(folder.path().join("link")).unwrap();
        symlink("/elsewhere", folder.path().join("link")).unwrap();
        assert!(changed(&mut manifest, folder.path()).contains(&"link".to_owned()));
    }

    #[test]
    fn a_link_from_elsewhere_is_no_change_but_moves_the_marks() {
        let (folder, mut manifest) = made();
        fs::hard_link(
            folder.path().join("a.py"),
            folder.path().with_extension("elsewhere"),
        )
        .unwrap();
        assert_eq!(manifest.check(folder.path()).unwrap(), Verdict::Moved);
        assert_eq!(manifest.check(folder.path()).unwrap(), Verdict::Same);
        fs::remove_file(folder.path().with_extension("elsewhere")).unwrap();
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_manifest_or_none(bytes: Vec<u8>, cut: usize) {
            let _ = Manifest::decode(&bytes);
            let _ = Manifest::decode(&[MAGIC.as_slice(), &bytes].concat());
            let real = made().1.encode();
            let cut = cut % real.len();
            prop_assert!(Manifest::decode(&real[..cut]).is_none());
        }
    }
}
