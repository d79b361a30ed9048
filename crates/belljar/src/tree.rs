//! Source files of the caller's own that a guest can import: packed into one parcel, read-only in every jar.
//!
//! The first part has the names, each ended by a zero byte; then comes the content of each file. Nothing is kept on a disk,
//! and nobody asks for a tree by its name: whoever wants one shown brings all of it.

use std::os::fd::AsFd;

use sha2::Digest as _;
use thiserror::Error;

use crate::parcel::{BufferError, read_buffer};
use crate::parcel::{Content, Parcel};

/// Where a guest sees it; the first place where it looks for modules.
pub const INSIDE: &str = "/own";
/// Most files of a tree.
pub const MAX_FILES: usize = 20_000;
/// Most bytes of a tree.
pub const MAX_BYTES: u64 = 256 << 20;
/// Longest name, and longest part of one: the kernel takes no longer ones.
const MAX_NAME: usize = 4000;
const MAX_PART: usize = 255;
/// What a file takes beside its content, in a file system in memory.
const BLOCK: u64 = 4096;

/// Files and what they hold. Cheap to clone where it is large.
#[derive(Debug, Clone)]
pub struct Tree {
    names: Vec<String>,
    parcel: Parcel,
}

/// Why something is no tree.
#[derive(Debug, Error)]
pub enum TreeError {
    /// There are not as many names as contents.
    #[error("a tree has {names} names for {files} files")]
    Count {
        /// Names.
        names: usize,
        /// Contents.
        files: usize,
    },
    /// It is too large.
    #[error("a tree has {files} files of {bytes} bytes, and the most is {MAX_FILES} of {MAX_BYTES}")]
    Size {
        /// Files.
        files: usize,
        /// Bytes of all of them.
        bytes: u64,
    },
    /// A name that leads elsewhere, or nowhere.
    #[error("a tree cannot have a file named {0:?}")]
    Name(String),
    /// Its memory cannot be read.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

impl Tree {
    /// Reads the names and checks them; the contents are anything.
    pub fn new(parcel: Parcel) -> Result<Self, TreeError> {
        let lengths = parcel.lengths();
        let (files, bytes) = (lengths.len().saturating_sub(1), lengths.iter().sum());
        if files > MAX_FILES || bytes > MAX_BYTES {
            return Err(TreeError::Size { files, bytes });
        }
        let list = parcel.clone().first(1).read()?.pop().unwrap_or_default();
        let list = String::from_utf8(list).map_err(|error| TreeError::Name(error.to_string()))?;
        let names: Vec<String> = list.split_terminator('\0').map(str::to_owned).collect();
        if names.len() != files {
            return Err(TreeError::Count {
                names: names.len(),
                files,
            });
        }
        match names.iter().find(|name| !is_plain(name)) {
            Some(name) => Err(TreeError::Name(name.clone())),
            None => Ok(Self { names, parcel }),
        }
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.names.len()
    }

    /// How much memory they take in a jar.
    pub fn bytes(&self) -> u64 {
        let contents = self.parcel.lengths().iter().skip(1);
        contents
            .map(|length| length.next_multiple_of(BLOCK) + BLOCK)
            .sum()
    }

    /// The same for the same files with the same contents, and for nothing else.
    pub fn digest(&self) -> Result<String, TreeError> {
        let mut all = sha2::Sha256::new();
        for (name, content) in self.each() {
            all.update((name.len() as u64).to_le_bytes());
            all.update(name);
            all.update(sha2::Sha256::digest(content?));
        }
        Ok(all.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Every name with a copy of its content.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, Result<Vec<u8>, BufferError>)> {
        let mut end = self.parcel.lengths().first().copied().unwrap_or_default();
        let contents = self.parcel.lengths().iter().skip(1);
        self.names.iter().zip(contents).map(move |(name, length)| {
            let start = end.next_multiple_of(64);
            end = start + length;
            let place = start as usize..end as usize;
            let content = match self.parcel.content() {
                Content::Inline(bytes) => Ok(bytes[place].to_vec()),
                Content::Memory(fd, _) => read_buffer(fd.as_fd(), place),
            };
            (name.as_str(), content)
        })
    }

    /// What carries it to another process of ours.
    pub(crate) fn parcel(&self) -> &Parcel {
        &self.parcel
    }
}

/// Whether a name stays below the folder that it is looked up in.
fn is_plain(name: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && part.len() <= MAX_PART;
    name.len() <= MAX_NAME && name.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(parts: &[&[u8]]) -> Result<Tree, TreeError> {
        Tree::new(Parcel::of(parts).unwrap().unwrap())
    }

    #[test]
    fn names_and_contents_are_read_again() {
        let large = vec![b'x'; 100_000];
        for content in [b"pass".as_slice(), &large] {
            let tree = tree(&[b"a.py\0b/c.txt\0", content, b""]).unwrap();
            let read: Vec<(&str, Vec<u8>)> = tree
                .each()
                .map(|(name, content)| (name, content.unwrap()))
                .collect();
            assert_eq!(read, [("a.py", content.to_vec()), ("b/c.txt", Vec::new())]);
            assert_eq!(tree.files(), 2);
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "",
            "/a",
            "a//b",
            "../a",
            "a/..",
            "./a",
            "a/",
            "a/./b",
            &"x".repeat(256),
        ] {
            let names = format!("{name}\0");
            let refused = tree(&[names.as_bytes(), b""]).unwrap_err();
            assert!(matches!(refused, TreeError::Name(_)), "{name}: {refused}");
        }
        assert!(matches!(
            tree(&[b"a\0b\0", b""]).unwrap_err(),
            TreeError::Count { names: 2, files: 1 }
        ));
        assert!(matches!(tree(&[b"\xff\0", b""]).unwrap_err(), TreeError::Name(_)));
    }

    #[test]
    fn a_digest_is_of_names_and_contents() {
        let digest = |parts: &[&[u8]]| tree(parts).unwrap().digest().unwrap();
        let one = digest(&[b"a\0b\0", b"1", b"2"]);
        assert_eq!(one, digest(&[b"a\0b\0", b"1", b"2"]));
        for other in [
            digest(&[b"a\0c\0", b"1", b"2"]),
            digest(&[b"a\0b\0", b"12", b""]),
            digest(&[b"a\0", b"1"]),
        ] {
            assert_ne!(one, other);
        }
    }
}
