//! A parcel on its way between engine and warden: its lengths in the head, what it holds among the raw parts or as a
//! descriptor.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Blobs;
use crate::error::Error;
use crate::parcel::{Content, Parcel};
use crate::tree::Tree;

/// A parcel, but for what it holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ParcelHead {
    lengths: Vec<u64>,
    memory: Option<u64>,
}

impl ParcelHead {
    /// Takes a parcel apart: its bytes, or its descriptor.
    pub(crate) fn new(parcel: Parcel) -> (Self, Option<Vec<u8>>, Option<Arc<OwnedFd>>) {
        let (lengths, content) = parcel.into_parts();
        let size = content.size();
        let (memory, bytes, fd) = match content {
            Content::Inline(bytes) => (None, Some(bytes), None),
            Content::Memory(fd, _) => (Some(size), None, Some(fd)),
        };
        (Self { lengths, memory }, bytes, fd)
    }

    /// Puts a tree together again, from the next raw part or descriptor.
    pub(crate) fn tree(
        self,
        blobs: &mut impl Iterator<Item = Vec<u8>>,
        fds: &mut impl Iterator<Item = OwnedFd>,
    ) -> Option<Tree> {
        let (bytes, fd) = match self.memory {
            Some(_) => (None, fds.next()),
            None => (blobs.next(), None),
        };
        Tree::new(self.parcel(bytes, fd)?).ok()
    }

    /// Puts a parcel together again.
    pub(crate) fn parcel(self, bytes: Option<Vec<u8>>, fd: Option<OwnedFd>) -> Option<Parcel> {
        match self.memory {
            Some(size) => fd.map(|fd| Parcel::memory_of_ours(self.lengths, fd, size)),
            None => Parcel::inline(self.lengths, bytes.unwrap_or_default()).ok(),
        }
    }
}

/// Takes a tree apart, for a job or for a cabinet.
pub(crate) fn carried(tree: &Tree, blobs: &mut Blobs, fds: &mut Vec<OwnedFd>) -> Result<ParcelHead, Error> {
    let (head, bytes, memory) = ParcelHead::new(tree.parcel().clone());
    blobs.extend(bytes);
    if let Some(memory) = memory {
        let copy = memory.try_clone();
        fds.push(copy.map_err(|error| Error::setup("hand source files to the warden", error))?);
    }
    Ok(head)
}
