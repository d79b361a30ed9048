//! Memory as a file that can no longer change, to hand large values over without a copy.
//!
//! What arrives from a guest is believed in nothing: not its kind, its seals, its size or that it is there at all.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{FileType, MemfdFlags, SealFlags};

/// Magic of tmpfs; reserved huge pages have another, and escape the limits on memory.
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// What stops every change of contents and size, and of the seals.
const SEALS: SealFlags = SealFlags::WRITE
    .union(SealFlags::GROW)
    .union(SealFlags::SHRINK)
    .union(SealFlags::SEAL);
/// Set by newer kernels on memory that cannot be executed.
const SEAL_EXEC: u32 = 0x20;
const BLOCK: u64 = 512;

/// Why a descriptor is not taken as sealed memory.
#[derive(Debug, thiserror::Error)]
pub enum MemfdError {
    /// The kernel would not tell about it.
    #[error("cannot look at the descriptor: {0}")]
    Look(#[from] io::Error),
    /// A folder, a socket, a device, a file on a disk …
    #[error("not a memfd")]
    Kind,
    /// It can still change.
    #[error("the memfd has seals {found:#x} and not exactly those against every change")]
    Seals {
        /// Those it has.
        found: u32,
    },
    /// More than the caller takes.
    #[error("the memfd has {size} bytes, more than {max}")]
    Size {
        /// What it has.
        size: u64,
        /// What is taken.
        max: u64,
    },
    /// Reading it would use memory that its sender never did.
    #[error("the memfd has {size} bytes, of which {held} are there")]
    Sparse {
        /// What it claims.
        size: u64,
        /// What it uses.
        held: u64,
    },
}

/// A memfd that has been checked: it cannot change, whoever else holds it.
#[derive(Debug)]
pub struct Sealed {
    fd: OwnedFd,
    len: u64,
}

/// A private, writable view of sealed memory: writes stay here.
#[derive(Debug)]
pub struct Map {
    start: NonNull<u8>,
    len: usize,
}

/// A new empty memfd, close-on-exec and not executable where the kernel can say so, for the caller to fill and [`seal`].
pub fn create() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(c"belljar", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(rustix::io::Errno::INVAL) => Ok(rustix::fs::memfd_create(c"belljar", flags)?),
        made => Ok(made?),
    }
}

/// Puts all seals on. Fails with `EBUSY` while it is mapped shared and writable.
pub fn seal(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::fs::fcntl_add_seals(fd, SEALS)?)
}

/// A sealed memfd with these bytes.
pub fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let fd = create()?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(&fd, rest) {
            Ok(written) => rest = &rest[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    seal(fd.as_fd())?;
    Ok(fd)
}

/// The size of a memfd that can no longer change, is all there and is within `max`; an error for anything else.
pub fn check(fd: BorrowedFd<'_>, max: u64) -> Result<u64, MemfdError> {
    let stat = rustix::fs::fstat(fd).map_err(io::Error::from)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || rustix::fs::fstatfs(fd).map_err(io::Error::from)?.f_type as i64 != TMPFS_MAGIC {
        return Err(MemfdError::Kind);
    }
    let found = match rustix::fs::fcntl_get_seals(fd) {
        Ok(seals) => seals.bits(),
        Err(rustix::io::Errno::INVAL) => return Err(MemfdError::Kind),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    if found & !SEAL_EXEC != SEALS.bits() {
        return Err(MemfdError::Seals { found });
    }
    // Asked again: what was said before the seals were seen may have changed since.
    let stat = rustix::fs::fstat(fd).map_err(io::Error::from)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > max {
        return Err(MemfdError::Size { size, max });
    }
    let held = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK);
    if held < size {
        return Err(MemfdError::Sparse { size, held });
    }
    Ok(size)
}

impl Sealed {
    /// Takes a descriptor that passes [`check`].
    pub fn new(fd: OwnedFd, max: u64) -> Result<Self, MemfdError> {
        let len = check(fd.as_fd(), max)?;
        Ok(Self { fd, len })
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Maps all of it, private and writable. The memory is used page by page, as it is read or written.
    pub fn map_private(&self) -> io::Result<Map> {
        let len = usize::try_from(self.len).map_err(|_| io::ErrorKind::InvalidData)?;
        if len == 0 {
            return Ok(Map {
                start: NonNull::dangling(),
                len,
            });
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                protection,
                libc::MAP_PRIVATE,
                self.fd.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Map { start, len })
    }
}

impl AsFd for Sealed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<Sealed> for OwnedFd {
    fn from(sealed: Sealed) -> OwnedFd {
        sealed.fd
    }
}

// SAFETY: a Map owns its mapping alone, as a box owns its bytes.
unsafe impl Send for Map {}
// SAFETY: shared references only read.
unsafe impl Sync for Map {}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped until this is dropped; the file is sealed, so nobody changes or cuts them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the mapping is private, and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: mapped by `map_private` with this length, and nothing refers to it any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}
