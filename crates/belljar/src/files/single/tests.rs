use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::super::testing::{descriptors, jar, nest, open, paths, unnest};
use super::super::{Bounds, scan};
use super::*;

#[test]
fn a_file_is_read_up_to_its_cap() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("d")).unwrap();
    std::fs::write(dir.path().join("d/f"), "12345").unwrap();
    std::fs::set_permissions(dir.path().join("d/f"), PermissionsExt::from_mode(0o0)).unwrap();
    std::fs::set_permissions(dir.path().join("d"), PermissionsExt::from_mode(0o0)).unwrap();
    let fd = open(dir.path());
    for folder in [Folder::jar(fd.as_fd()), Folder::jar(fd.as_fd()).without_openat2()] {
        assert_eq!(read_file(folder, Path::new("d/f"), 5).unwrap(), b"12345");
        assert_eq!(read_file(folder, Path::new("./d//f"), 5).unwrap(), b"12345");
        assert!(matches!(
            read_file(folder, Path::new("d/f"), 4),
            Err(FilesError::TooLarge { size: 5, cap: 4, .. })
        ));
        assert!(matches!(
            read_file(folder, Path::new("d"), 4),
            Err(FilesError::NotAFile { kind: "folder", .. })
        ));
        assert!(matches!(
            read_file(folder, Path::new("none"), 4),
            Err(FilesError::System {
                cause: Errno::NOENT,
                ..
            })
        ));
    }
}

#[test]
fn nothing_outside_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let jar = dir.path().join("jar");
    std::fs::create_dir(&jar).unwrap();
    std::fs::write(dir.path().join("secret"), "secret").unwrap();
    symlink("../secret", jar.join("link")).unwrap();
    symlink("..", jar.join("up")).unwrap();
    rustix::fs::mknodat(open(&jar), "pipe", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let fd = open(&jar);
    for folder in [Folder::jar(fd.as_fd()), Folder::jar(fd.as_fd()).without_openat2()] {
        for path in ["../secret", "/etc/passwd", "a/../../secret", "", ".", "a\0b"] {
            assert!(
                matches!(
                    read_file(folder, Path::new(path), 99),
                    Err(FilesError::BadPath { .. })
                ),
                "{path}"
            );
        }
        assert!(matches!(
            read_file(folder, Path::new("link"), 99),
            Err(FilesError::NotAFile { .. })
        ));
        assert!(matches!(
            read_file(folder, Path::new("pipe"), 99),
            Err(FilesError::NotAFile { .. })
        ));
        assert!(matches!(
            read_file(folder, Path::new("up/secret"), 99),
            Err(FilesError::System { .. })
        ));
    }
}

#[test]
fn a_huge_hole_is_refused_before_memory_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::File::create(dir.path().join("hole"))
        .unwrap()
        .set_len(1 << 43)
        .unwrap();
    let fd = open(dir.path());
    let read = |cap| read_file(Folder::jar(fd.as_fd()), Path::new("hole"), cap);
    assert!(matches!(read(1 << 30), Err(FilesError::TooLarge { .. })));
}

#[test]
fn a_path_longer_than_any_path_is_read_and_written() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    nest(dir.path(), 3_000, "dd");
    let fd = open(dir.path());
    let deep = "dd/".repeat(3_000);
    let folder = Folder::jar(fd.as_fd());
    write_file(folder, Path::new(&format!("{deep}more/new")), b"x", 0o644, None).unwrap();
    assert_eq!(
        read_file(folder, Path::new(&format!("{deep}more/new")), 9).unwrap(),
        b"x"
    );
    unnest(dir.path());
}

#[test]
fn a_file_is_written_once_and_never_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let jar = dir.path().join("jar");
    std::fs::create_dir(&jar).unwrap();
    symlink("..", jar.join("up")).unwrap();
    symlink("../made", jar.join("link")).unwrap();
    let fd = open(&jar);
    for folder in [Folder::jar(fd.as_fd()), Folder::jar(fd.as_fd()).without_openat2()] {
        let _ = std::fs::remove_dir_all(jar.join("a"));
        write_file(folder, Path::new("a/b/in.csv"), b"1,2", 0o4751, None).unwrap();
        assert_eq!(std::fs::read(jar.join("a/b/in.csv")).unwrap(), b"1,2");
        assert_eq!(
            std::fs::metadata(jar.join("a/b/in.csv")).unwrap().mode() & 0o7777,
            0o751
        );
        for path in ["a/b/in.csv", "up/made", "link", "../made"] {
            assert!(
                write_file(folder, Path::new(path), b"evil", 0o644, None).is_err(),
                "{path}"
            );
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Root only: a plain user cannot take on other ids, and gets an error that says so.
#[test]
fn a_file_is_written_as_the_guest() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let fd = open(dir.path());
    let written = write_file(
        Folder::jar(fd.as_fd()),
        Path::new("a/f"),
        b"x",
        0o644,
        Some((4321, 1234)),
    );
    if !rustix::process::geteuid().is_root() {
        assert!(matches!(
            written,
            Err(FilesError::System {
                cause: Errno::PERM,
                ..
            })
        ));
        return;
    }
    written.unwrap();
    for name in ["a", "a/f"] {
        let meta = std::fs::metadata(dir.path().join(name)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (4321, 1234));
    }
    std::fs::write(dir.path().join("own"), "").unwrap();
    assert_eq!(
        std::fs::metadata(dir.path().join("own")).unwrap().uid(),
        0,
        "only while it is written"
    );
}

#[test]
fn descriptors_are_given_back() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f"), "x").unwrap();
    let fd = open(dir.path());
    let read = || read_file(Folder::jar(fd.as_fd()), Path::new("f"), 9).unwrap();
    let before = descriptors();
    for _ in 0..2_000 {
        read();
    }
    // Other tests of this process open some meanwhile, never thousands.
    assert!(descriptors() < before + 1_000);
}

/// In a tmpfs that a user namespace owns, host root may create nothing under its own id.
#[test]
fn a_jar_is_written_and_read_through_its_descriptor() {
    let fd = jar("mkdir d && echo left > d/f && chmod 000 d/f d . && ln -s /etc/passwd link");
    let folder = Folder::jar(fd.as_fd());
    assert_eq!(read_file(folder, Path::new("d/f"), 99).unwrap(), b"left\n");
    let root = rustix::process::geteuid().is_root();
    let ids = root.then_some((4321, 1234));
    if root {
        let denied = write_file(folder, Path::new("in/data"), b"x", 0o644, None);
        assert!(
            matches!(
                denied,
                Err(FilesError::System {
                    cause: Errno::OVERFLOW,
                    ..
                })
            ),
            "{denied:?}"
        );
    }
    write_file(folder, Path::new("in/data"), b"x", 0o644, ids).unwrap();
    assert_eq!(read_file(folder, Path::new("in/data"), 99).unwrap(), b"x");
    assert!(matches!(
        read_file(folder, Path::new("link"), 99),
        Err(FilesError::NotAFile { .. })
    ));
    let listing = scan(folder, &Bounds::default()).unwrap();
    assert_eq!(paths(&listing), ["d", "d/f", "in", "in/data", "link"]);
    assert!(listing.skipped.is_empty());
}
