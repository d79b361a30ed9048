//! Files of requirements: which kind, and how much of it is read.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::{Allow, RequirementError, Requirements, pylock, pyproject, script, text};

const MIB: u64 = 1 << 20;

/// The kinds of file, by name.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Project,
    Lock,
    Script,
}

/// Reads a file that was named.
pub(super) fn read(path: &Path, group: Option<&str>, allow: Allow) -> Result<Requirements, RequirementError> {
    let kind = kind(path)?;
    let bytes = bytes(path, kind)?;
    let text = match (String::from_utf8(bytes), kind) {
        (Ok(text), _) => text,
        // A script may be of another encoding; what matters of it is ASCII.
        (Err(error), Kind::Script) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        (Err(_), _) => return Err(failed(path, io::Error::other("it is not UTF-8"))),
    };
    let all = match kind {
        Kind::Text | Kind::Script if group.is_some() => Err(RequirementError::NoGroup {
            group: super::error::printable(group.unwrap_or_default()),
            known: Vec::new(),
        }),
        Kind::Text => text::read(&text, allow),
        Kind::Project => pyproject::read(&text, group, allow),
        Kind::Lock => pylock::read(&text, group, allow),
        Kind::Script => script::read(&text, allow).and_then(|all| all.ok_or(RequirementError::NoBlock)),
    };
    all.map_err(|problem| RequirementError::In {
        file: path.to_path_buf(),
        problem: Box::new(problem),
    })
}

fn kind(path: &Path) -> Result<Kind, RequirementError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    match (&*name, &*extension) {
        ("pyproject.toml", _) => Ok(Kind::Project),
        ("pylock.toml", _) => Ok(Kind::Lock),
        (name, "toml") if name.starts_with("pylock.") => Ok(Kind::Lock),
        (_, "txt" | "in") => Ok(Kind::Text),
        (_, "py") => Ok(Kind::Script),
        (_, extension) => Err(RequirementError::UnknownFile {
            file: path.to_path_buf(),
            lock: extension == "lock",
        }),
    }
}

/// All of a regular file; a fifo would hold belljar up for ever.
fn bytes(path: &Path, kind: Kind) -> Result<Vec<u8>, RequirementError> {
    // A lock names every file of every package, and a script may hold data.
    let limit = if matches!(kind, Kind::Lock | Kind::Script) {
        16
    } else {
        1
    };
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(|cause| failed(path, cause))?;
    if !file.metadata().map_err(|cause| failed(path, cause))?.is_file() {
        return Err(failed(path, io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    file.take(limit * MIB + 1)
        .read_to_end(&mut bytes)
        .map_err(|cause| failed(path, cause))?;
    if bytes.len() as u64 > limit * MIB {
        return Err(RequirementError::TooLarge {
            file: path.to_path_buf(),
            limit,
        });
    }
    Ok(bytes)
}

fn failed(path: &Path, cause: io::Error) -> RequirementError {
    RequirementError::Read {
        file: path.to_path_buf(),
        cause,
    }
}
