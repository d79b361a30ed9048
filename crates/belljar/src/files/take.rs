//! Reads what a run left into memory, for a caller that wants no folder.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::beneath::Folder;
use super::{FilesError, parse, read_file};
use crate::outcome::{Changes, OutputFile};

/// Most files that are taken.
const MOST: usize = 16 << 10;

/// The regular files among what was created or modified, as long as they have at most `most` bytes together. What is left
/// out is noted with the reason.
pub fn take(folder: Folder<'_>, changes: &mut Changes, most: u64) -> Vec<OutputFile> {
    let (mut taken, mut room) = (Vec::new(), most);
    for path in changes.created.iter().chain(&changes.modified) {
        let Some(name) = parse(path) else { continue };
        if taken.len() >= MOST {
            changes.truncated = true;
            break;
        }
        match read_file(folder, Path::new(&OsString::from_vec(name)), room) {
            Ok(content) => {
                room -= content.len() as u64;
                taken.push(OutputFile {
                    path: path.clone(),
                    content,
                });
            }
            // Folders come with the files in them, and links point to what has a name of its own.
            Err(FilesError::NotAFile { .. }) => {}
            Err(FilesError::TooLarge { size, .. }) => {
                let reason = format!(
                    "its {size} bytes do not fit into the rest of the {most} bytes that you asked for"
                );
                changes.skipped.insert(path.clone(), reason);
            }
            Err(error) => {
                changes.skipped.insert(path.clone(), error.to_string());
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::super::testing::{list, open};
    use super::super::{Listing, changes};
    use super::*;

    #[test]
    fn regular_files_are_taken_within_the_bytes_that_were_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("a"), "12345").unwrap();
        std::fs::write(dir.path().join("d/b\n"), "678").unwrap();
        std::fs::write(dir.path().join("z"), "too large").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let mut changed = changes(&Listing::default(), &list(dir.path()));
        let fd = open(dir.path());
        let taken = take(Folder::jar(fd.as_fd()), &mut changed, 10);
        let mut found: Vec<(&str, &[u8])> = taken
            .iter()
            .map(|file| (file.path.as_str(), file.content.as_slice()))
            .collect();
        found.sort();
        assert_eq!(found, [("a", b"12345".as_slice()), ("d/b\\n", b"678")]);
        assert_eq!(changed.skipped.keys().collect::<Vec<_>>(), ["z"]);
    }
}
