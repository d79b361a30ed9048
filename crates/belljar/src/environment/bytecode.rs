//! Bytecode for the files of an environment, made once for each source and shared by all environments that have it.
//!
//! The store is by content: the name of a piece is the hash of where the guest sees the source and of what it says, so a
//! package can only ever bring bytecode for its own text.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::place::Place;
use super::{EnvironmentError, Progress, digest, parts, room, tree};
use crate::outcome::Status;

/// Runs in the jar: no code of a package, only the compiler over its text.
const COMPILE: &str = include_str!("bytecode/compile.py");
/// Generated tables reach some megabytes; more is not worth the wait.
const LARGEST: u64 = 16 << 20;

/// A file that gets bytecode.
struct Source {
    /// In the environment.
    path: PathBuf,
    hash: String,
}

/// Adds bytecode for every source of an environment.
pub(super) fn add(place: &Place<'_>, tell: &mut dyn FnMut(Progress)) -> Result<(), EnvironmentError> {
    let folder = place
        .store
        .part(&format!("bytecode/{}", digest::interpreter(place.interpreter)?))?;
    let sources = sources(place).map_err(EnvironmentError::io("read", place.environment))?;
    let kept = |source: &Source| folder.join(&source.hash[..2]).join(&source.hash);
    let missing: Vec<&Source> = sources.iter().filter(|source| !kept(source).exists()).collect();
    if !missing.is_empty() {
        tell(Progress::Compiling { files: missing.len() });
        make(place, &folder, &missing)?;
    }
    let tag = format!(
        "cpython-{}{}",
        place.interpreter.version.major, place.interpreter.version.minor
    );
    for source in &sources {
        link(&kept(source), &place.environment.join(&source.path), &tag)
            .map_err(EnvironmentError::io("add bytecode for", &source.path))?;
    }
    Ok(())
}

/// Every file that is worth it. Tests of packages are left out: they are half of the text, and guests do not import them.
fn sources(place: &Place<'_>) -> io::Result<Vec<Source>> {
    let site = place.environment.join(place.site);
    let mut paths = Vec::new();
    for folder in tree::walk(&site)? {
        let tests = folder.path.components().any(|part| part.as_os_str() == "tests");
        for entry in folder
            .entries
            .iter()
            .filter(|entry| !entry.link && !tests && entry.size <= LARGEST)
        {
            let path = place.site.join(&folder.path).join(&entry.name);
            // A line for each is what the jar is told.
            let plain = path
                .to_str()
                .is_some_and(|path| path.ends_with(".py") && !path.contains(['\n', '\t']));
            if plain {
                paths.push(path);
            }
        }
    }
    parts::each(paths.chunks(parts::size(paths.len())), |path| source(place, path))
}

fn source(place: &Place<'_>, path: &Path) -> io::Result<Source> {
    let mut hash = Sha256::new();
    hash.update(path.as_os_str().as_encoded_bytes());
    hash.update([0]);
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    let file = File::options()
        .read(true)
        .custom_flags(flags)
        .open(place.environment.join(path))?;
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text)?;
    hash.update(&text);
    Ok(Source {
        path: path.to_path_buf(),
        hash: digest::hex(&hash.finalize()),
    })
}

/// Makes what is missing, in a jar, and takes what came out of it.
fn make(place: &Place<'_>, folder: &Path, missing: &[&Source]) -> Result<(), EnvironmentError> {
    let made = folder.join(format!(".new-{}", crate::cache::unique()));
    fs::create_dir(&made).map_err(EnvironmentError::io("make the folder", &made))?;
    let list: String = missing
        .iter()
        .map(|source| format!("{}\t{}\n", source.hash, source.path.display()))
        .collect();
    let ran = room::python(
        place.binary,
        place.interpreter,
        place.environment,
        &made,
        place.clock,
        COMPILE,
        list,
    );
    let taken = ran.and_then(|ran| {
        // Half of it would be kept for as long as the environment is.
        if ran.outcome.status == Status::TimedOut {
            return Err(place.clock.over());
        }
        if !ran.outcome.success() {
            // Less bytecode is slower imports, nothing worse.
            tracing::warn!(status = ?ran.outcome.status, stderr = %ran.stderr, "bytecode could not be made");
        }
        for source in missing {
            take(
                &made.join(&source.hash),
                &folder.join(&source.hash[..2]),
                &source.hash,
            )
            .map_err(EnvironmentError::io("keep bytecode in", folder))?;
        }
        Ok(())
    });
    let _ = tree::remove(&made);
    taken
}

/// Takes one piece into the store, if the jar made it and it is a file.
fn take(made: &Path, folder: &Path, name: &str) -> io::Result<()> {
    match fs::symlink_metadata(made) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= 4 * LARGEST => {}
        _ => return Ok(()),
    }
    fs::set_permissions(made, fs::Permissions::from_mode(0o444))?;
    fs::create_dir_all(folder)?;
    fs::rename(made, folder.join(name))
}

/// Puts bytecode beside its source, in the place of what the package may have brought.
fn link(kept: &Path, source: &Path, tag: &str) -> io::Result<()> {
    if !kept.exists() {
        return Ok(());
    }
    let (Some(folder), Some(stem)) = (source.parent(), source.file_stem()) else {
        return Ok(());
    };
    let cache = folder.join("__pycache__");
    match fs::create_dir(&cache) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ if !fs::symlink_metadata(&cache)?.is_dir() => return Ok(()),
        _ => {}
    }
    let place = cache.join(format!("{}.{tag}.pyc", stem.to_string_lossy()));
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Ok(()),
        _ => {}
    }
    match fs::hard_link(kept, &place) {
        // A file system has a most number of links to one file; some have none at all.
        Err(_) => fs::copy(kept, &place).map(drop),
        Ok(()) => Ok(()),
    }
}
