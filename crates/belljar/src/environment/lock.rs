//! Turns between processes, by files that the kernel unlocks when their holder is gone, however it went.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// One process's turn. The file goes with it.
#[derive(Debug)]
pub(super) struct Turn {
    path: PathBuf,
    _file: File,
}

impl Turn {
    /// Waits for it; `waiting` is called once if that takes time.
    pub(super) fn take(path: PathBuf, waiting: &mut dyn FnMut()) -> io::Result<Self> {
        let mut told = false;
        loop {
            let file = open(&path)?;
            if let Err(Errno::WOULDBLOCK) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
                if !std::mem::replace(&mut told, true) {
                    waiting();
                }
                flock(&file, FlockOperation::LockExclusive)?;
            }
            if is_at(&file, &path)? {
                return Ok(Self { path, _file: file });
            }
            // Whoever had it removed the file: it is another's turn to make one.
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Before it is unlocked: whoever waits finds that its file is gone, and takes a new one.
        let _ = fs::remove_file(&self.path);
    }
}

/// Marks a file as used, until it is closed; `None` where it is gone. Whoever has it for itself only looks, or takes it away, which
/// is done soon.
pub(super) fn share(path: &Path) -> io::Result<Option<File>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    flock(&file, FlockOperation::LockShared)?;
    Ok(is_at(&file, path)?.then_some(file))
}

/// Marks a file as nobody's but ours; `None` where somebody uses it.
pub(super) fn own(path: &Path) -> io::Result<Option<File>> {
    let file = File::open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(is_at(&file, path)?.then_some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    /// Somebody has the file for itself and does something; what a user of it then gets.
    fn shared_after(act: impl FnOnce(&Path)) -> Option<File> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("used");
        fs::write(&path, "").unwrap();
        let looking = own(&path).unwrap().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| tell.send(share(&path).unwrap()).unwrap());
            assert!(told.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
            act(&path);
            drop(looking);
            told.recv().unwrap()
        })
    }

    #[test]
    fn a_look_at_a_file_does_not_make_it_seem_gone() {
        assert!(shared_after(|_| {}).is_some());
    }

    #[test]
    fn what_is_taken_away_meanwhile_is_gone() {
        assert!(shared_after(|path| fs::remove_file(path).unwrap()).is_none());
    }

    #[test]
    fn what_is_used_is_nobodys_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("used");
        fs::write(&path, "").unwrap();
        let users = [share(&path).unwrap().unwrap(), share(&path).unwrap().unwrap()];
        assert!(own(&path).unwrap().is_none());
        drop(users);
        assert!(own(&path).unwrap().is_some());
    }
}
