//! Bodies outside the stream: memory that nobody can change any more, handed over as a descriptor.

use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{FileType, MemfdFlags, SealFlags};
use rustix::io::Errno;
use thiserror::Error;

use super::ALIGN;
use super::parts::size;

/// Exactly these: nobody can change, shrink or grow it, nor seal it further.
fn seals() -> SealFlags {
    SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE
}

/// Why a descriptor is no body.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BufferError {
    /// It is a pipe, a device, a file of the disk.
    #[error("the descriptor of a body is no memfd")]
    NotMemory,
    /// It can still be changed, or has seals that say nothing of use.
    #[error("the memfd of a body has the seals {found:#x}, not exactly {:#x}", seals().bits())]
    Seals {
        /// What it has.
        found: u32,
    },
    /// Its size is not the one that the frame names.
    #[error("the memfd of a body has {found} bytes, not {named}")]
    Size {
        /// What it has.
        found: u64,
        /// What the frame says.
        named: u64,
    },
    /// It is a hole: whoever reads it pays for memory that its sender never had.
    #[error("the memfd of a body has {held} bytes in memory for a size of {size}")]
    Sparse {
        /// What is there.
        held: u64,
        /// What it claims.
        size: u64,
    },
    /// The kernel refused.
    #[error("{operation} a memfd: {cause}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the kernel said.
        cause: Errno,
    },
}

fn system(operation: &'static str) -> impl Fn(Errno) -> BufferError {
    move |cause| BufferError::System { operation, cause }
}

/// A sealed memfd with these parts, and its size; `None` if that would be over the cap.
pub fn sealed_buffer(parts: &[&[u8]]) -> Result<Option<(OwnedFd, u64)>, BufferError> {
    let lengths: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
    let Some(size) = size(&lengths) else {
        return Ok(None);
    };
    let fd = rustix::fs::memfd_create("belljar", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
        .map_err(system("make"))?;
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
    rustix::fs::fcntl_add_seals(&fd, seals()).map_err(system("seal"))?;
    Ok(Some((fd, size)))
}

/// Checks that a descriptor is a body of exactly `size` bytes that are there and cannot change.
pub fn check_buffer(fd: BorrowedFd<'_>, size: u64) -> Result<(), BufferError> {
    let found = match rustix::fs::fcntl_get_seals(fd) {
        Ok(found) => found,
        // Only files of memory have seals.
        Err(_) => return Err(BufferError::NotMemory),
    };
    if found != seals() {
        return Err(BufferError::Seals { found: found.bits() });
    }
    let stat = rustix::fs::fstat(fd).map_err(system("look at"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(BufferError::NotMemory);
    }
    let length = u64::try_from(stat.st_size).unwrap_or(0);
    if length != size {
        return Err(BufferError::Size {
            found: length,
            named: size,
        });
    }
    let held = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    if held < length {
        return Err(BufferError::Sparse { held, size: length });
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
    use std::os::fd::AsFd;

    use super::*;

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
        assert_eq!(check(&memfd(&bytes, 100_000, seals())), Ok(()));
        for missing in [
            SealFlags::SEAL,
            SealFlags::SHRINK,
            SealFlags::GROW,
            SealFlags::WRITE,
        ] {
            let fd = memfd(&bytes, 100_000, seals().difference(missing));
            assert!(
                matches!(check(&fd), Err(BufferError::Seals { .. })),
                "{missing:?}"
            );
        }
        let more = memfd(&bytes, 100_000, seals() | SealFlags::FUTURE_WRITE);
        assert!(matches!(check(&more), Err(BufferError::Seals { .. })));
        for size in [99_999, 100_001] {
            let fd = memfd(&bytes, size, seals());
            assert_eq!(
                check(&fd),
                Err(BufferError::Size {
                    found: size,
                    named: 100_000
                })
            );
        }
        let hole = memfd(b"x", 100_000, seals());
        assert!(matches!(check(&hole), Err(BufferError::Sparse { .. })));
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert_eq!(check(&reader), Err(BufferError::NotMemory));
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(100_000).unwrap();
        assert_eq!(check(&file.into()), Err(BufferError::NotMemory));
    }
}
