//! Bodies outside the stream: memory that nobody can change any more, handed over as a descriptor.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use belljar_linux::memfd::{self, MemfdError};
use rustix::io::Errno;
use thiserror::Error;

use super::parts::size;
use crate::wire::{ALIGN, MAX_MEMORY};

/// Why a descriptor is no body.
#[derive(Debug, Error)]
pub enum BufferError {
    /// It is not memory that can no longer change and is all there.
    #[error("the descriptor of a body: {0}")]
    Memory(#[from] MemfdError),
    /// Its size is not the one that the frame names.
    #[error("the memfd of a body has {found} bytes, not {named}")]
    Size {
        /// What it has.
        found: u64,
        /// What the frame says.
        named: u64,
    },
    /// The kernel refused.
    #[error("cannot {operation} a memfd: {cause}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

fn system<Cause: Into<io::Error>>(operation: &'static str) -> impl Fn(Cause) -> BufferError {
    move |cause| BufferError::System {
        operation,
        cause: cause.into(),
    }
}

/// A sealed memfd with these parts, and its size; `None` if that would be over the cap.
pub fn sealed_buffer(parts: &[&[u8]]) -> Result<Option<(OwnedFd, u64)>, BufferError> {
    let lengths: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
    let Some(size) = size(&lengths) else {
        return Ok(None);
    };
    let fd = memfd::create().map_err(system("make"))?;
    let mut end = 0u64;
    for part in parts {
        let mut at = end.next_multiple_of(ALIGN);
        end = at + part.len() as u64;
        let mut rest = *part;
        while !rest.is_empty() {
            match rustix::io::pwrite(&fd, rest, at) {
                Ok(length) => (rest, at) = (&rest[length..], at + length as u64),
                Err(Errno::INTR) => {}
                Err(cause) => return Err(system("write")(cause)),
            }
        }
    }
    rustix::fs::ftruncate(&fd, size).map_err(system("size"))?;
    memfd::seal(fd.as_fd()).map_err(system("seal"))?;
    Ok(Some((fd, size)))
}

/// Checks that a descriptor is a body of exactly `size` bytes that are there and cannot change.
pub fn check_buffer(fd: BorrowedFd<'_>, size: u64) -> Result<(), BufferError> {
    let found = memfd::check(fd, MAX_MEMORY)?;
    if found != size {
        return Err(BufferError::Size { found, named: size });
    }
    Ok(())
}

/// A copy of one part of a body that was checked.
pub fn read_buffer(fd: BorrowedFd<'_>, part: Range<usize>) -> Result<Vec<u8>, BufferError> {
    let mut bytes = vec![0; part.len()];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(fd, &mut bytes[filled..], (part.start + filled) as u64) {
            Ok(0) => {
                return Err(BufferError::Size {
                    found: (part.start + filled) as u64,
                    named: part.end as u64,
                });
            }
            Ok(length) => filled += length,
            Err(Errno::INTR) => {}
            Err(cause) => return Err(system("read")(cause)),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, SealFlags};

    use super::*;

    fn seals() -> SealFlags {
        SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE
    }

    fn memfd(bytes: &[u8], size: u64, with: SealFlags) -> OwnedFd {
        let fd = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&fd, bytes).unwrap();
        rustix::fs::ftruncate(&fd, size).unwrap();
        rustix::fs::fcntl_add_seals(&fd, with).unwrap();
        fd
    }

    #[test]
    fn a_sealed_buffer_is_read_again() {
        let bytes: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
        let parts = [b"first".as_slice(), &bytes, b"", b"last"];
        let (fd, size) = sealed_buffer(&parts).unwrap().unwrap();
        check_buffer(fd.as_fd(), size).unwrap();
        let lengths = parts.map(|part| part.len() as u64);
        for (place, part) in super::super::cut(&lengths, size).unwrap().into_iter().zip(parts) {
            assert_eq!(place.start % 64, 0);
            assert_eq!(read_buffer(fd.as_fd(), place).unwrap(), part);
        }
        assert!(rustix::io::write(&fd, b"x").is_err(), "it cannot be changed");
    }

    #[test]
    fn everything_else_is_refused() {
        let bytes = [7; 100_000];
        let check = |fd: &OwnedFd| check_buffer(fd.as_fd(), 100_000);
        assert!(check(&memfd(&bytes, 100_000, seals())).is_ok());
        for missing in [
            SealFlags::SEAL,
            SealFlags::SHRINK,
            SealFlags::GROW,
            SealFlags::WRITE,
        ] {
            let fd = memfd(&bytes, 100_000, seals().difference(missing));
            let refused = check(&fd);
            assert!(
                matches!(refused, Err(BufferError::Memory(MemfdError::Seals { .. }))),
                "{missing:?}"
            );
        }
        for other in [99_999, 100_001] {
            let fd = memfd(&bytes, other, seals());
            let refused = check(&fd);
            assert!(matches!(refused, Err(BufferError::Size { found, .. }) if found == other));
        }
        let hole = memfd(b"x", 100_000, seals());
        assert!(matches!(
            check(&hole),
            Err(BufferError::Memory(MemfdError::Sparse { .. }))
        ));
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert!(matches!(
            check(&reader),
            Err(BufferError::Memory(MemfdError::Kind))
        ));
    }
}
