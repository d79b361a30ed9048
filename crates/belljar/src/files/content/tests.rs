use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::*;

fn file(dir: &tempfile::TempDir, name: &str) -> File {
    File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(dir.path().join(name))
        .unwrap()
}

/// HV-04: what grew or shrank since it was measured is noticed, and never read beyond what was promised.
#[test]
fn a_file_that_grew_or_shrank_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (file(&dir, "from"), file(&dir, "to"));
    from.write_all_at(&[7; 100_000], 0).unwrap();
    assert_eq!(copy(from.as_fd(), to.as_fd(), 100_000), Ok(()));
    assert_eq!(std::fs::read(dir.path().join("to")).unwrap(), vec![7; 100_000]);
    assert_eq!(copy(from.as_fd(), to.as_fd(), 99_999), Err(CopyError::Changed));
    assert_eq!(copy(from.as_fd(), to.as_fd(), 100_001), Err(CopyError::Changed));
    assert_eq!(read(from.as_fd(), 99_999), Err(CopyError::Changed));
    assert_eq!(read(from.as_fd(), 100_001), Err(CopyError::Changed));
    assert_eq!(read(from.as_fd(), 100_000), Ok(vec![7; 100_000]));
}

#[test]
fn holes_before_between_and_after_data_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (file(&dir, "from"), file(&dir, "to"));
    let size = 1 << 40;
    from.set_len(size).unwrap();
    for at in [1 << 20, 1 << 30, 3 << 35] {
        from.write_all_at(b"data", at).unwrap();
    }
    copy(from.as_fd(), to.as_fd(), size).unwrap();
    assert_eq!(to.metadata().unwrap().len(), size);
    assert!(to.metadata().unwrap().blocks() * 512 < 1 << 20);
    assert_eq!(equal(from.as_fd(), to.as_fd(), size), Ok(true));
    to.write_all_at(b"D", 3 << 35).unwrap();
    assert_eq!(equal(from.as_fd(), to.as_fd(), size), Ok(false));
}

/// Zeros that are stored and zeros that are a hole read the same.
#[test]
fn a_hole_equals_stored_zeros() {
    let dir = tempfile::tempdir().unwrap();
    let (hole, zeros) = (file(&dir, "hole"), file(&dir, "zeros"));
    hole.set_len(300_000).unwrap();
    zeros.write_all_at(&[0; 300_000], 0).unwrap();
    assert_eq!(equal(hole.as_fd(), zeros.as_fd(), 300_000), Ok(true));
    zeros.write_all_at(&[1], 299_999).unwrap();
    assert_eq!(equal(hole.as_fd(), zeros.as_fd(), 300_000), Ok(false));
}
