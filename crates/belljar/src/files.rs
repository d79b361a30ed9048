//! Files that a guest left, read by a host that trusts none of them.
//!
//! Everything starts from a descriptor of a folder that hostile code filled and that is now quiet: every guest
//! process is dead. No path of the guest is ever resolved as a path: each step opens one name beneath the folder it
//! was found in, follows no link, crosses no mount, and looks at what it got before it reads. Only regular files are
//! read. Walks are loops with two descriptors, and every amount has a bound.
//!
//! - [`Folder`]: a descriptor and the rules for opening beneath it.
//! - [`scan`] lists it as a [`Listing`]; [`changes`] compares two; [`collect`] copies one out.
//! - [`read_file`] and [`write_file`] move one file.
//! - [`draft_changes`] reads what an overlay recorded, [`apply`] writes it into the host's folder, and
//!   [`trust_class`] says which paths other tools on the host would obey.
//! - [`obeyed`] finds those in a folder of the host, with all that leads to them; [`notable`] tells which have changed.

mod apply;
mod beneath;
mod changes;
mod collect;
mod content;
mod cursor;
mod draft;
mod name;
mod notable;
mod obeyed;
mod scan;
mod single;
mod take;
#[cfg(test)]
mod testing;
mod trust;

pub use apply::{Applied, ApplyError, ApplyOptions, apply, steps};
pub use beneath::Folder;
pub use changes::changes;
pub use collect::{CollectOptions, Collected, collect};
pub use draft::{Action, DraftChange, DraftChanges, Stamp, draft_changes};
pub use name::{display, parse};
pub use notable::{notable, notable_beyond};
pub use obeyed::{Obeyed, obeyed};
pub use scan::{Entry, Kind, Listing, scan};
pub use single::{read_file, write_file};
pub use take::take;
pub use trust::{TrustClass, trust_class};

use rustix::io::Errno;

use crate::error::{Hinted, next_step};
use crate::hint::Hint;

/// How much of a guest's folder is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Names in all folders together.
    pub entries: usize,
    /// Bytes of all files together, holes counted: whoever reads the copy reads them.
    pub bytes: u64,
    /// Bytes of one file, holes counted.
    pub file_bytes: u64,
    /// Folders below one another.
    pub depth: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            entries: 100_000,
            bytes: 4 << 30,
            file_bytes: 1 << 30,
            depth: 256,
        }
    }
}

/// Why the host could not do what it was asked with a guest's files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// The kernel refused.
    #[error("{operation} {path}: {cause}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// On what, escaped.
        path: String,
        /// What the kernel said.
        cause: Errno,
    },
    /// The path is not a plain relative path.
    #[error("bad path {path}: {reason}")]
    BadPath {
        /// The path, escaped.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Only regular files are read.
    #[error("read {path}: it is a {kind}, not a regular file")]
    NotAFile {
        /// The path, escaped.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// The file is larger than the caller takes.
    #[error("read {path}: its {size} bytes are over the cap of {cap}")]
    TooLarge {
        /// The path, escaped.
        path: String,
        /// Its size.
        size: u64,
        /// The most that was allowed.
        cap: u64,
    },
    /// The file shrank or grew while it was read.
    #[error("read {path}: it changed meanwhile")]
    Changed {
        /// The path, escaped.
        path: String,
    },
    /// The destination has content already.
    #[error("collect into {path}: the folder is not empty{}", next_step(self.hint()))]
    NotEmpty {
        /// The destination.
        path: String,
    },
    /// The destination is a link, which an earlier run may have planted.
    #[error("collect into {path}: it is a symbolic link{}", next_step(self.hint()))]
    LinkedDestination {
        /// The destination.
        path: String,
    },
    /// The folder that the destination is in is a link, which an earlier run may have planted.
    #[error("collect into a folder of {path}: it is a link to {leads}{}", next_step(self.hint()))]
    LinkedParent {
        /// The folder.
        path: String,
        /// Where it leads.
        leads: String,
    },
    /// The destination failed midway and what had been copied could not all be removed again.
    #[error("{}; {} of the copies remain in {destination}{}", cause.message(), left.len(), next_step(self.hint()))]
    Remains {
        /// What failed.
        cause: Box<FilesError>,
        /// Where the copies are.
        destination: String,
        /// The copies that remain, escaped.
        left: Vec<String>,
    },
}

impl Hinted for FilesError {
    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NotEmpty { .. } => "name a new or empty one".into(),
            Self::LinkedDestination { .. } => "name the folder itself".into(),
            Self::LinkedParent { .. } => "name the target itself if you mean it".into(),
            Self::Remains { .. } => "remove them before you try again".into(),
            Self::System { .. }
            | Self::BadPath { .. }
            | Self::NotAFile { .. }
            | Self::TooLarge { .. }
            | Self::Changed { .. } => return None,
        })
    }
}

impl FilesError {
    fn system(operation: &'static str, path: &[u8], cause: Errno) -> Self {
        Self::System {
            operation,
            path: display(path),
            cause,
        }
    }
}

/// Text that a report may still hold: paths multiply with depth, so lists need a bound of their own.
#[derive(Debug)]
struct TextBudget {
    left: usize,
}

impl TextBudget {
    fn new() -> Self {
        Self { left: 16 << 20 }
    }

    /// Takes `bytes`, or says that there is no room for them and stays shut.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left;
        self.left = if fits { self.left - bytes } else { 0 };
        fits
    }
}
