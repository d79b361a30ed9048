//! Copying and comparing the content of files, holes kept, never more than was promised.

use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, fstat, ftruncate, seek};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

/// What is read at a time.
const PIECE: usize = 64 << 10;

/// Which side of a copy failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyError {
    /// The source could not be read.
    Read(Errno),
    /// The source is shorter or longer than it was.
    Changed,
    /// The destination took no more.
    Write(Errno),
}

/// Copies exactly `size` bytes; parts of the source that are holes stay holes.
pub(super) fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>, size: u64) -> Result<(), CopyError> {
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < size {
        let Some((start, end)) = next_data(from, at, size).map_err(CopyError::Read)? else {
            break;
        };
        at = start;
        while at < end {
            let want = buffer.len().min(usize::try_from(end - at).unwrap_or(PIECE));
            let got = retry_on_intr(|| pread(from, &mut buffer[..want], at)).map_err(CopyError::Read)?;
            if got == 0 {
                return Err(CopyError::Changed);
            }
            write_all(to, &buffer[..got], at).map_err(CopyError::Write)?;
            at += got as u64;
        }
    }
    check_size(from, size)?;
    ftruncate(to, size).map_err(CopyError::Write)
}

/// The next stretch of data from `at` on, within `size`; nothing if only holes remain.
fn next_data(fd: BorrowedFd<'_>, at: u64, size: u64) -> Result<Option<(u64, u64)>, Errno> {
    let start = match seek(fd, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // A file system without holes: all of it is data.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, size))),
        Err(cause) => return Err(cause),
    };
    if start >= size {
        return Ok(None);
    }
    let end = seek(fd, SeekFrom::Hole(start))?.min(size);
    Ok(Some((start, end)))
}

pub(super) fn write_all(fd: BorrowedFd<'_>, mut data: &[u8], mut at: u64) -> Result<(), Errno> {
    while !data.is_empty() {
        let written = retry_on_intr(|| pwrite(fd, data, at))?;
        if written == 0 {
            return Err(Errno::IO);
        }
        data = &data[written..];
        at += written as u64;
    }
    Ok(())
}

/// Reads exactly `size` bytes.
pub(super) fn read(fd: BorrowedFd<'_>, size: u64) -> Result<Vec<u8>, CopyError> {
    let size = usize::try_from(size).map_err(|_| CopyError::Read(Errno::FBIG))?;
    let mut data = Vec::new();
    data.try_reserve_exact(size)
        .map_err(|_| CopyError::Read(Errno::NOMEM))?;
    data.resize(size, 0);
    let mut at = 0;
    while at < size {
        match retry_on_intr(|| pread(fd, &mut data[at..], at as u64)).map_err(CopyError::Read)? {
            0 => return Err(CopyError::Changed),
            got => at += got,
        }
    }
    check_size(fd, size as u64)?;
    Ok(data)
}

/// Another size than promised means that somebody still writes; a cut-off end would also pass for a hole.
fn check_size(fd: BorrowedFd<'_>, size: u64) -> Result<(), CopyError> {
    let stat = fstat(fd).map_err(CopyError::Read)?;
    if u64::try_from(stat.st_size) == Ok(size) {
        Ok(())
    } else {
        Err(CopyError::Changed)
    }
}

/// Whether two files of `size` bytes hold the same.
pub(super) fn equal(one: BorrowedFd<'_>, other: BorrowedFd<'_>, size: u64) -> Result<bool, Errno> {
    let (mut left, mut right) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = 0;
    while at < size {
        // Where both are holes there is nothing to compare.
        let data = |fd| next_data(fd, at, size).map(|next| next.map_or(size, |(start, _)| start));
        at = data(one)?.min(data(other)?);
        let want = PIECE.min(usize::try_from(size - at).unwrap_or(PIECE));
        if fill(one, &mut left[..want], at)? != want || fill(other, &mut right[..want], at)? != want {
            return Ok(false);
        }
        if left[..want] != right[..want] {
            return Ok(false);
        }
        at += want as u64;
    }
    Ok(true)
}

fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < buffer.len() {
        match retry_on_intr(|| pread(fd, &mut buffer[filled..], at + filled as u64))? {
            0 => break,
            got => filled += got,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests;
