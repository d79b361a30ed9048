use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::super::testing::{descriptors, list, nest, open, paths, unnest};
use super::*;

fn find<'a>(listing: &'a Listing, path: &str) -> &'a Entry {
    let index = listing.indices().find(|&index| listing.display(index) == path);
    listing.entry(index.unwrap_or_else(|| panic!("{path} is not listed")))
}

#[test]
fn everything_is_listed_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let at = open(dir.path());
    std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
    std::fs::write(dir.path().join("a/b/file"), "four").unwrap();
    symlink("/etc/passwd", dir.path().join("link")).unwrap();
    symlink("loop", dir.path().join("loop")).unwrap();
    rustix::fs::mknodat(&at, "pipe", FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    let listing = list(dir.path());
    assert_eq!(
        paths(&listing),
        ["a", "a/b", "a/b/file", "link", "loop", "pipe", "socket"]
    );
    assert_eq!(find(&listing, "a/b/file").size, 4);
    assert_eq!(find(&listing, "a/b").kind, Kind::Folder { complete: true });
    assert_eq!(
        find(&listing, "link").kind,
        Kind::Link {
            target: Some(b"/etc/passwd".to_vec())
        }
    );
    assert_eq!(
        find(&listing, "loop").kind,
        Kind::Link {
            target: Some(b"loop".to_vec())
        }
    );
    assert_eq!(find(&listing, "pipe").kind, Kind::Pipe);
    assert_eq!(find(&listing, "socket").kind, Kind::Socket);
    assert!(!listing.truncated && listing.skipped.is_empty());
}

/// Root only: a plain user makes no device but the overlay's mark for a deletion, and that only on some kernels.
#[test]
fn devices_are_listed_and_not_opened() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = open(dir.path());
    let null = rustix::fs::makedev(1, 3);
    rustix::fs::mknodat(&at, "null", FileType::CharacterDevice, 0o600.into(), null).unwrap();
    rustix::fs::mknodat(&at, "gone", FileType::CharacterDevice, 0o600.into(), 0).unwrap();
    rustix::fs::mknodat(
        &at,
        "disk",
        FileType::BlockDevice,
        0o600.into(),
        rustix::fs::makedev(7, 99),
    )
    .unwrap();
    let listing = list(dir.path());
    assert_eq!(
        find(&listing, "null").kind,
        Kind::CharacterDevice { number: null }
    );
    assert_eq!(find(&listing, "gone").kind, Kind::CharacterDevice { number: 0 });
    assert_eq!(find(&listing, "disk").kind, Kind::BlockDevice);
}

#[test]
fn odd_names_are_kept_as_bytes_and_shown_as_text() {
    let dir = tempfile::tempdir().unwrap();
    let long = [b'n'; 255];
    let names: [&[u8]; 8] = [
        b"\xff\xfe",
        b"a\nb",
        b"\x1b[2J",
        b"-rf",
        b"...",
        b"CON",
        "e\u{301}".as_bytes(),
        &long,
    ];
    for name in names {
        std::fs::write(dir.path().join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    }
    let listing = list(dir.path());
    for name in names {
        let index = listing
            .indices()
            .find(|&index| listing.path(index) == name)
            .expect("listed");
        assert_eq!(
            super::super::parse(&listing.display(index)).as_deref(),
            Some(name)
        );
    }
}

#[test]
fn a_sparse_giant_is_known_by_its_blocks() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::File::create(dir.path().join("hole"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    std::fs::write(dir.path().join("full"), vec![1; 8192]).unwrap();
    let listing = list(dir.path());
    assert!(find(&listing, "hole").is_sparse());
    assert_eq!(find(&listing, "hole").size, 1 << 40);
    assert!(!find(&listing, "full").is_sparse());
}

/// Mode 000 keeps no jar's reader out, and no mode of the host's own files is touched.
/// For root the kernel ignores modes, so there only the listing itself is checked.
#[test]
fn closed_folders_are_opened_in_a_jar_only() {
    let dir = tempfile::tempdir().unwrap();
    let closed = dir.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::write(closed.join("file"), "x").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o0)).unwrap();
    let fd = open(dir.path());
    let host = scan(Folder::host(fd.as_fd()), &Bounds::default()).unwrap();
    assert_eq!(mode(&closed), 0);
    if !rustix::process::geteuid().is_root() {
        assert!(host.skipped.contains_key("closed"));
        assert_eq!(find(&host, "closed").kind, Kind::Folder { complete: false });
    }
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o0)).unwrap();
    let jar = scan(Folder::jar(fd.as_fd()), &Bounds::default()).unwrap();
    assert_eq!(paths(&jar), ["closed", "closed/file"]);
    assert_eq!(find(&jar, "closed").mode, 0, "listed as it was left");
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn ten_thousand_folders_deep() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    nest(dir.path(), 10_000, "d");
    let fd = open(dir.path());
    let bounds = Bounds {
        depth: 20_000,
        ..Bounds::default()
    };
    let listing = scan(Folder::jar(fd.as_fd()), &bounds).unwrap();
    assert_eq!(listing.entries().len(), 10_001);
    let leaf = listing.indices().last().unwrap();
    assert_eq!(
        listing.path(leaf).len(),
        10_000 * 2 + 4,
        "far longer than a path may be"
    );
    assert!(!listing.truncated);
    let shallow = scan(Folder::jar(fd.as_fd()), &Bounds::default()).unwrap();
    assert_eq!(shallow.entries().len(), Bounds::default().depth);
    assert!(shallow.truncated);
    unnest(dir.path());
}

#[test]
fn a_walk_holds_two_descriptors_at_any_depth() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    nest(dir.path(), 5_000, "d");
    let fd = open(dir.path());
    let mut cursor = Cursor::new(Folder::jar(fd.as_fd())).unwrap();
    let before = descriptors();
    cursor.seek_names(&vec![&b"d"[..]; 5_000]).unwrap();
    // Other tests of this process open some meanwhile, never thousands.
    assert!(descriptors() < before + 1_000);
    let way_back = cursor.seek_names(&[&b"d"[..]; 2]).unwrap();
    let expected = rustix::fs::stat(dir.path().join("d/d")).unwrap().st_ino;
    assert_eq!(rustix::fs::fstat(way_back).unwrap().st_ino, expected);
    unnest(dir.path());
}

/// A folder that was moved away while a walk was in it does not take the walk along.
#[test]
fn the_way_back_leads_to_the_folder_that_was_left() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["jar/a/b/c", "outside"] {
        std::fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    let fd = open(&dir.path().join("jar"));
    let mut cursor = Cursor::new(Folder::jar(fd.as_fd())).unwrap();
    cursor.seek_names(&[b"a", b"b", b"c"]).unwrap();
    std::fs::rename(dir.path().join("jar/a/b/c"), dir.path().join("outside/c")).unwrap();
    let inode = |path| rustix::fs::stat(dir.path().join(path)).unwrap().st_ino;
    let back = cursor.seek_names(&[b"a", b"b"]).unwrap();
    assert_eq!(rustix::fs::fstat(back).unwrap().st_ino, inode("jar/a/b"));
}

#[test]
fn siblings_of_a_deep_chain_are_found_on_the_way_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut path = dir.path().to_path_buf();
    for _ in 0..50 {
        std::fs::create_dir_all(path.join("z/late")).unwrap();
        std::fs::write(path.join("z/late/file"), "x").unwrap();
        path.push("a");
        std::fs::create_dir(&path).unwrap();
    }
    for folder in [
        Folder::jar(open(dir.path()).as_fd()),
        Folder::jar(open(dir.path()).as_fd()).without_openat2(),
    ] {
        let listing = scan(folder, &Bounds::default()).unwrap();
        assert_eq!(listing.entries().len(), 50 * 4);
        assert!(listing.skipped.is_empty());
    }
}

/// RS-07: no more is looked at than the bounds say, however much is there.
#[test]
fn fifty_thousand_names_are_bounded_by_entries() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    for part in 0..50 {
        let folder = dir.path().join(part.to_string());
        std::fs::create_dir(&folder).unwrap();
        for name in 0..1_000 {
            std::fs::write(folder.join(name.to_string()), "").unwrap();
        }
    }
    let fd = open(dir.path());
    for entries in [5_000, 100_000] {
        let listing = scan(
            Folder::jar(fd.as_fd()),
            &Bounds {
                entries,
                ..Bounds::default()
            },
        )
        .unwrap();
        assert_eq!(listing.entries().len(), entries.min(50_050));
        assert_eq!(listing.truncated, entries < 50_050);
    }
}
