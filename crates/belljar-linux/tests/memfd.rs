//! Sealed memory, and everything that only looks like it.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

use belljar_linux::memfd::{self, MemfdError, Sealed, check};
use rustix::fs::{MemfdFlags, SealFlags};

const PAGE: u64 = 4096;

fn raw(flags: MemfdFlags, size: u64) -> OwnedFd {
    let fd = rustix::fs::memfd_create(c"test", flags | MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&fd, size).unwrap();
    fd
}

fn filled(size: u64) -> OwnedFd {
    let fd = raw(MemfdFlags::CLOEXEC, 0);
    File::from(fd.try_clone().unwrap())
        .write_all(&vec![7; size as usize])
        .unwrap();
    fd
}

#[test]
fn sealed_bytes_arrive_whole_and_cannot_change() {
    for size in [0usize, 1, 4095, 4096, 4097, 3 << 20] {
        let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let fd = memfd::sealed(&bytes).unwrap();
        assert_eq!(check(fd.as_fd(), size as u64).unwrap(), size as u64);
        assert!(
            rustix::io::pwrite(&fd, b"x", 0).is_err() || size == 0 && rustix::fs::ftruncate(&fd, 1).is_err()
        );
        let sealed = Sealed::new(fd, u64::MAX).unwrap();
        assert_eq!((sealed.len(), sealed.is_empty()), (size as u64, size == 0));
        let (mut one, two) = (sealed.map_private().unwrap(), sealed.map_private().unwrap());
        assert_eq!(&one[..], &bytes[..]);
        one.fill(9);
        assert_eq!(&two[..], &bytes[..], "what is written stays in its own map");
    }
}

#[test]
fn what_can_still_change_is_refused() {
    let all = [
        SealFlags::WRITE,
        SealFlags::GROW,
        SealFlags::SHRINK,
        SealFlags::SEAL,
    ];
    for missing in 0..all.len() {
        let fd = filled(PAGE);
        let seals = (0..all.len()).filter(|at| *at != missing).map(|at| all[at]);
        // The seal against more seals comes last in any case.
        rustix::fs::fcntl_add_seals(&fd, seals.collect()).unwrap();
        assert!(
            matches!(check(fd.as_fd(), PAGE), Err(MemfdError::Seals { .. })),
            "{missing}"
        );
    }
    let unsealed = filled(PAGE);
    assert!(matches!(
        check(unsealed.as_fd(), PAGE),
        Err(MemfdError::Seals { found: 0 })
    ));
    let future = filled(PAGE);
    let only_future = SealFlags::FUTURE_WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&future, only_future).unwrap();
    assert!(matches!(
        check(future.as_fd(), PAGE),
        Err(MemfdError::Seals { .. })
    ));
    let control = filled(PAGE);
    memfd::seal(control.as_fd()).unwrap();
    assert_eq!(check(control.as_fd(), PAGE).unwrap(), PAGE);
}

#[test]
fn holes_are_refused_and_so_is_too_much() {
    let hole = raw(MemfdFlags::CLOEXEC, 1 << 40);
    memfd::seal(hole.as_fd()).unwrap();
    assert!(matches!(
        check(hole.as_fd(), u64::MAX),
        Err(MemfdError::Sparse { held: 0, .. })
    ));
    let partly = filled(3 * PAGE);
    rustix::fs::ftruncate(&partly, 5 * PAGE).unwrap();
    memfd::seal(partly.as_fd()).unwrap();
    assert!(matches!(
        check(partly.as_fd(), u64::MAX),
        Err(MemfdError::Sparse { .. })
    ));
    let large = memfd::sealed(&[1; 100]).unwrap();
    assert!(matches!(
        check(large.as_fd(), 99),
        Err(MemfdError::Size { size: 100, max: 99 })
    ));
    assert_eq!(check(large.as_fd(), 100).unwrap(), 100);
}

#[test]
fn everything_that_is_no_memfd_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, [0; 100]).unwrap();
    let (read, _write) = std::io::pipe().unwrap();
    let mut others: Vec<OwnedFd> = vec![
        File::open(&file).unwrap().into(),
        File::open(folder.path()).unwrap().into(),
        File::open("/dev/zero").unwrap().into(),
        File::open("/proc/self/status").unwrap().into(),
        read.into(),
    ];
    // A file and a folder of tmpfs, which is what a memfd is made of.
    let shared = tempfile::tempdir_in("/dev/shm").unwrap();
    let plain = shared.path().join("file");
    std::fs::write(&plain, [0; 100]).unwrap();
    others.push(File::open(shared.path()).unwrap().into());
    for fd in &others {
        assert!(
            matches!(check(fd.as_fd(), 1 << 20), Err(MemfdError::Kind)),
            "{fd:?}"
        );
    }
    let plain = File::open(plain).unwrap();
    assert!(matches!(
        check(plain.as_fd(), 1 << 20),
        Err(MemfdError::Kind | MemfdError::Seals { .. })
    ));
}

#[test]
fn reserved_huge_pages_are_refused() {
    // Made and sealed without a page of the pool, so it works where the pool is empty.
    let Ok(huge) = rustix::fs::memfd_create(c"huge", MemfdFlags::HUGETLB | MemfdFlags::ALLOW_SEALING) else {
        panic!("this kernel makes no memfd of huge pages")
    };
    memfd::seal(huge.as_fd()).unwrap();
    assert!(matches!(check(huge.as_fd(), u64::MAX), Err(MemfdError::Kind)));
}
