//! One file, out of a guest's folder or into it.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use belljar_linux::beneath::FileIdentity;
use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use super::beneath::{Folder, is_folder, look};
use super::content::{self, CopyError};
use super::cursor::Cursor;
use super::{FilesError, display};

/// The content of the regular file at `path` beneath `folder`, if it has at most `cap` bytes.
pub fn read_file(folder: Folder<'_>, path: &Path, cap: u64) -> Result<Vec<u8>, FilesError> {
    let whole = path.as_os_str().as_bytes();
    let (parents, name) = split(whole)?;
    let failed = |cause| FilesError::system("open", whole, cause);
    let mut cursor = Cursor::new(folder).map_err(failed)?;
    let at = cursor.seek_names(&parents).map_err(failed)?;
    let Some((fd, stat)) = folder.open_file(at, name).map_err(failed)? else {
        let kind = if look(at, name).is_ok_and(|stat| is_folder(&stat)) {
            "folder"
        } else {
            "link or special file"
        };
        return Err(FilesError::NotAFile {
            path: display(whole),
            kind,
        });
    };
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > cap {
        return Err(FilesError::TooLarge {
            path: display(whole),
            size,
            cap,
        });
    }
    content::read(fd.as_fd(), size).map_err(|error| match error {
        CopyError::Read(cause) | CopyError::Write(cause) => FilesError::system("read", whole, cause),
        CopyError::Changed => FilesError::Changed { path: display(whole) },
    })
}

/// Creates the file at `path` beneath `folder` with exactly `mode`, and the folders on the way; nothing may be there yet.
///
/// `ids` are the user and group to create it as: root needs the guest's own for a folder that a user namespace owns.
pub fn write_file(
    folder: Folder<'_>,
    path: &Path,
    data: &[u8],
    mode: u32,
    ids: Option<(u32, u32)>,
) -> Result<(), FilesError> {
    let whole = path.as_os_str().as_bytes();
    let (parents, name) = split(whole)?;
    let failed = |operation| move |cause| FilesError::system(operation, whole, cause);
    let _identity = match ids {
        Some((uid, gid)) => Some(
            FileIdentity::assume(uid, gid).map_err(|_| failed("take the guest's ids for")(Errno::PERM))?,
        ),
        None => None,
    };
    let mut cursor = Cursor::new(folder).map_err(failed("open"))?;
    for depth in 0..parents.len() {
        let at = cursor
            .seek_names(&parents[..depth])
            .map_err(failed("open the folder of"))?;
        match mkdirat(at, parents[depth], Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(cause) => return Err(failed("make the folder of")(cause)),
        }
    }
    let at = cursor
        .seek_names(&parents)
        .map_err(failed("open the folder of"))?;
    let fd = folder.create_file(at, name, 0o600).map_err(failed("create"))?;
    content::write_all(fd.as_fd(), data, 0).map_err(failed("write"))?;
    // Set last, so that the caller's umask has no say.
    rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode & 0o777)).map_err(failed("set the mode of"))
}

/// The folders on the way and the last name of a plain relative path.
pub(super) fn split(path: &[u8]) -> Result<(Vec<&[u8]>, &[u8]), FilesError> {
    let bad = |reason| FilesError::BadPath {
        path: display(path),
        reason,
    };
    if path.first() == Some(&b'/') {
        return Err(bad("it is absolute"));
    }
    let mut names: Vec<&[u8]> = path
        .split(|&byte| byte == b'/')
        .filter(|name| *name != b"." && !name.is_empty())
        .collect();
    if names.contains(&&b".."[..]) {
        return Err(bad("it leads upwards"));
    }
    if path.contains(&0) {
        return Err(bad("it has a NUL byte"));
    }
    let last = names.pop().ok_or_else(|| bad("it names nothing"))?;
    Ok((names, last))
}

#[cfg(test)]
mod tests;
