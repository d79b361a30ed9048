//! First looks at files of an installation or a virtualenv, which a stranger may have made: only regular files are
//! opened, since a fifo would hold belljar up for ever, and only shared objects are taken for libraries, since what is
//! taken is shown in the jar.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The first bytes of every program and shared object.
pub(super) const ELF: [u8; 4] = *b"\x7fELF";

/// Reads the text of a regular file, up to `most` bytes.
pub(super) fn text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether a path leads to a program or a shared object: not to a folder, a key or a document.
pub(super) fn is_object(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == ELF
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}
