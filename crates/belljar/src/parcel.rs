//! Raw data that the engine carries and never reads: parts in memory, or in a sealed memfd that is handed on as it is.

mod buffer;
mod parts;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::wire::{ALIGN, INLINE};

pub use buffer::{BufferError, check_buffer, read_buffer, sealed_buffer};
pub use parts::{MAX_PARTS, Parts, PartsError, cut, join};

/// Some raw parts, each at a multiple of [`ALIGN`] bytes. Cheap to clone where it is large.
#[derive(Debug, Clone)]
pub struct Parcel {
    lengths: Vec<u64>,
    content: Content,
}

/// Where the parts are.
#[derive(Debug, Clone)]
pub enum Content {
    /// Here.
    Inline(Vec<u8>),
    /// In a sealed memfd of so many bytes.
    Memory(Arc<OwnedFd>, u64),
}

/// Why something is no parcel.
#[derive(Debug, thiserror::Error)]
pub enum ParcelError {
    /// Its lengths do not fit its content.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// Its descriptor is no sealed memfd.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

impl Parcel {
    /// Parts of these lengths in these bytes, which they fill.
    pub fn inline(lengths: Vec<u64>, bytes: Vec<u8>) -> Result<Self, ParcelError> {
        cut(&lengths, bytes.len() as u64)?;
        Ok(Self {
            lengths,
            content: Content::Inline(bytes),
        })
    }

    /// Parts of these lengths in a descriptor, which they fill. It is checked here, whoever it comes from.
    pub fn memory(lengths: Vec<u64>, fd: OwnedFd, size: u64) -> Result<Self, ParcelError> {
        cut(&lengths, size)?;
        check_buffer(fd.as_fd(), size)?;
        Ok(Self {
            lengths,
            content: Content::Memory(Arc::new(fd), size),
        })
    }

    /// As [`Parcel::memory`], for one that another process of ours has checked: parts may end before the memfd does.
    pub(crate) fn memory_of_ours(lengths: Vec<u64>, fd: OwnedFd, size: u64) -> Self {
        Self {
            lengths,
            content: Content::Memory(Arc::new(fd), size),
        }
    }

    /// These parts, in memory or in a memfd, as their size demands; `None` if they are over a cap.
    pub fn of(parts: &[&[u8]]) -> Result<Option<Self>, ParcelError> {
        let lengths = parts.iter().map(|part| part.len() as u64).collect();
        if parts.iter().map(|part| part.len() as u64 + ALIGN).sum::<u64>() < INLINE {
            return Ok(join(parts).map(|bytes| Self {
                lengths,
                content: Content::Inline(bytes),
            }));
        }
        Ok(sealed_buffer(parts)?.map(|(fd, size)| Self {
            lengths,
            content: Content::Memory(Arc::new(fd), size),
        }))
    }

    /// The first so many parts alone. A memfd stays as it is: what follows them is not spoken of.
    pub fn first(mut self, count: usize) -> Self {
        self.lengths.truncate(count);
        if let Content::Inline(bytes) = &mut self.content {
            let end = self
                .lengths
                .iter()
                .fold(0, |end: u64, length| end.next_multiple_of(ALIGN) + length);
            bytes.truncate(end as usize);
        }
        self
    }

    /// Takes a parcel apart.
    pub fn into_parts(self) -> (Vec<u64>, Content) {
        (self.lengths, self.content)
    }

    /// Lengths of the parts.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// Where they are.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// A copy of each part.
    pub fn read(&self) -> Result<Vec<Vec<u8>>, BufferError> {
        let mut end = 0u64;
        self.lengths
            .iter()
            .map(|length| {
                let start = end.next_multiple_of(ALIGN);
                end = start + length;
                let place = start as usize..end as usize;
                match &self.content {
                    Content::Inline(bytes) => Ok(bytes[place].to_vec()),
                    Content::Memory(fd, _) => read_buffer(fd.as_fd(), place),
                }
            })
            .collect()
    }
}

impl Content {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Memory(_, size) => *size,
        }
    }

    /// Its descriptor, if it is in one.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Inline(_) => None,
            Self::Memory(fd, _) => Some(fd.as_fd()),
        }
    }
}

/// Two in memory are the same if they hold the same; two memfds only if they are one and the same.
impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.lengths == other.lengths
            && match (&self.content, &other.content) {
                (Content::Inline(one), Content::Inline(two)) => one == two,
                (Content::Memory(one, _), Content::Memory(two, _)) => Arc::ptr_eq(one, two),
                _ => false,
            }
    }
}

impl Eq for Parcel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_again_wherever_they_are() {
        let large = vec![7; 100_000];
        for parts in [vec![b"a".as_slice(), b"", b"bc"], vec![b"a", &large]] {
            let parcel = Parcel::of(&parts).unwrap().unwrap();
            assert_eq!(parcel.read().unwrap(), parts);
            assert_eq!(parcel.content().descriptor().is_some(), parts.len() == 2);
            assert_eq!(parcel.first(1).read().unwrap(), parts[..1]);
        }
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        assert!(Parcel::inline(vec![3], b"abc".to_vec()).is_ok());
        assert!(Parcel::inline(vec![4], b"abc".to_vec()).is_err());
        let (fd, size) = sealed_buffer(&[b"abc"]).unwrap().unwrap();
        assert!(Parcel::memory(vec![3], fd.try_clone().unwrap(), size).is_ok());
        assert!(Parcel::memory(vec![3], fd.try_clone().unwrap(), size + 1).is_err());
        assert!(Parcel::memory(vec![2], fd, size).is_err());
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        assert!(Parcel::memory(vec![3], pipe, 3).is_err());
    }
}
