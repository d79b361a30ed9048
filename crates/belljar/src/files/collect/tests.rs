use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::testing::{list, nest, open, unnest};
use super::super::{Bounds, scan};
use super::*;

struct Case {
    jar: tempfile::TempDir,
    out: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        Self {
            jar: tempfile::tempdir().unwrap(),
            out: tempfile::tempdir().unwrap(),
        }
    }

    fn jar(&self, name: &str) -> PathBuf {
        self.jar.path().join(name)
    }

    fn out(&self, name: &str) -> PathBuf {
        self.out.path().join("new").join(name)
    }

    fn collect(&self, bounds: &Bounds) -> Result<Collected, FilesError> {
        let fd = open(self.jar.path());
        let destination = self.out.path().join("new");
        collect(
            Folder::jar(fd.as_fd()),
            &list(self.jar.path()),
            &destination,
            bounds,
            &CollectOptions::default(),
        )
    }
}

#[test]
fn files_and_folders_arrive_without_dangerous_modes() {
    let case = Case::new();
    std::fs::create_dir_all(case.jar("a/empty")).unwrap();
    std::fs::write(case.jar("a/data"), "data").unwrap();
    std::fs::write(case.jar("tool"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(case.jar("tool"), PermissionsExt::from_mode(0o6755)).unwrap();
    std::fs::write(case.jar("closed"), "closed").unwrap();
    std::fs::set_permissions(case.jar("closed"), PermissionsExt::from_mode(0o0)).unwrap();
    std::fs::set_permissions(case.jar("a"), PermissionsExt::from_mode(0o0)).unwrap();
    let collected = case.collect(&Bounds::default()).unwrap();
    assert_eq!((collected.files, collected.folders, collected.bytes), (3, 2, 20));
    assert!(collected.skipped.is_empty() && !collected.truncated);
    assert_eq!(std::fs::read(case.out("a/data")).unwrap(), b"data");
    assert_eq!(std::fs::read(case.out("closed")).unwrap(), b"closed");
    let mode = |name| std::fs::metadata(case.out(name)).unwrap().mode() & 0o7777;
    assert_eq!(mode("tool") & 0o7100, 0o100);
    assert_eq!(mode("closed") & 0o7111, 0);
    assert!(case.out("a/empty").is_dir());
}

/// HV-01: links of every sort stay behind, and what they point at stays unread.
#[test]
fn links_and_special_files_are_reported_and_left() {
    let case = Case::new();
    let secret = case.out.path().join("secret");
    std::fs::write(&secret, "the host's secret").unwrap();
    symlink(&secret, case.jar("file")).unwrap();
    symlink("/", case.jar("root")).unwrap();
    symlink("/proc/self/environ", case.jar("environ")).unwrap();
    symlink("chain", case.jar("chain2")).unwrap();
    symlink("loop", case.jar("loop")).unwrap();
    symlink("\x1b[2Jnowhere", case.jar("dangling")).unwrap();
    rustix::fs::mknodat(
        open(case.jar.path()),
        "pipe",
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(case.jar("socket")).unwrap();
    std::fs::write(case.jar("plain"), "plain").unwrap();
    let collected = case.collect(&Bounds::default()).unwrap();
    assert_eq!(collected.files, 1);
    assert_eq!(collected.skipped.len(), 8);
    assert_eq!(collected.skipped["root"], "symbolic link to /");
    assert_eq!(collected.skipped["dangling"], "symbolic link to \\x1b[2Jnowhere");
    assert_eq!(collected.skipped["pipe"], "named pipe");
    assert_eq!(std::fs::read_dir(case.out("")).unwrap().count(), 1);
}

/// HV-02: even if something still swapped names while they are collected, nothing outside would be read.
#[test]
fn swapping_names_during_the_work_leaks_nothing() {
    let case = Case::new();
    let secret = case.out.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("f"), "SECRET").unwrap();
    std::fs::create_dir(case.jar("d")).unwrap();
    std::fs::write(case.jar("d/f"), "public").unwrap();
    std::fs::write(case.jar("f"), "public").unwrap();
    symlink(&secret, case.jar("link-d")).unwrap();
    symlink(secret.join("f"), case.jar("link-f")).unwrap();
    let fd = open(case.jar.path());
    let stop = AtomicBool::new(false);
    let mut read: Vec<Vec<u8>> = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            while !stop.load(Ordering::Relaxed) {
                for (one, other) in [("d", "link-d"), ("f", "link-f")] {
                    rustix::fs::renameat_with(&fd, one, &fd, other, flags).unwrap();
                }
            }
        });
        for round in 0..600 {
            let mut folder = Folder::jar(fd.as_fd());
            if round % 2 == 1 {
                folder = folder.without_openat2();
            }
            let destination = case.out.path().join(round.to_string());
            let listing = scan(folder, &Bounds::default()).unwrap();
            collect(
                folder,
                &listing,
                &destination,
                &Bounds::default(),
                &CollectOptions::default(),
            )
            .unwrap();
            for name in ["f", "d/f", "link-f", "link-d/f"] {
                read.extend(std::fs::read(destination.join(name)));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(read.iter().all(|data| data == b"public"), "{read:?}");
    assert!(
        read.len() > 50,
        "control: the public files were read {} times",
        read.len()
    );
}

/// HV-04: a hole costs nothing on the way, and what is over a cap is reported.
#[test]
fn holes_stay_holes_and_giants_stay_behind() {
    let case = Case::new();
    let sparse = std::fs::File::create(case.jar("sparse")).unwrap();
    sparse.set_len(900 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 450 << 20).unwrap();
    std::fs::File::create(case.jar("giant"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let collected = case.collect(&Bounds::default()).unwrap();
    assert!(collected.truncated);
    assert!(
        collected.skipped["giant"].contains("over the cap"),
        "{:?}",
        collected.skipped
    );
    let copy = std::fs::File::open(case.out("sparse")).unwrap();
    let meta = copy.metadata().unwrap();
    assert_eq!(meta.len(), 900 << 20);
    assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
    let mut middle = [0; 6];
    std::os::unix::fs::FileExt::read_exact_at(&copy, &mut middle, 450 << 20).unwrap();
    assert_eq!(&middle, b"middle");
}

/// HV-03: a flood of hard links counts every name.
#[test]
fn bytes_are_capped_over_all_files_and_links() {
    let case = Case::new();
    std::fs::write(case.jar("00"), [7; 1000]).unwrap();
    for name in 1..20 {
        std::fs::hard_link(case.jar("00"), case.jar(&format!("{name:02}"))).unwrap();
    }
    let collected = case
        .collect(&Bounds {
            bytes: 5_500,
            ..Bounds::default()
        })
        .unwrap();
    assert_eq!(
        (collected.files, collected.bytes, collected.skipped.len()),
        (5, 5_000, 15)
    );
    assert!(collected.truncated);
    assert_eq!(std::fs::metadata(case.out("00")).unwrap().nlink(), 1);
}

#[test]
fn odd_names_arrive_as_they_are() {
    let case = Case::new();
    let long = [b'n'; 255];
    let names: [&[u8]; 7] = [
        b"\xff",
        b"a\nb",
        b"\x1bc",
        b"-rf",
        "é".as_bytes(),
        "e\u{301}".as_bytes(),
        &long,
    ];
    for name in names {
        std::fs::write(case.jar.path().join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    assert_eq!(case.collect(&Bounds::default()).unwrap().files, 7);
    for name in names {
        assert_eq!(
            std::fs::read(
                case.out
                    .path()
                    .join("new")
                    .join(std::ffi::OsStr::from_bytes(name))
            )
            .unwrap(),
            name
        );
    }
}

#[test]
fn a_deep_tree_is_copied_beyond_what_a_path_can_name() {
    let shm = || tempfile::tempdir_in("/dev/shm").unwrap();
    let case = Case {
        jar: shm(),
        out: shm(),
    };
    nest(case.jar.path(), 3_000, "deeper");
    let bounds = Bounds {
        depth: 4_000,
        ..Bounds::default()
    };
    let fd = open(case.jar.path());
    let listing = scan(Folder::jar(fd.as_fd()), &bounds).unwrap();
    let destination = case.out.path().join("new");
    let collected = collect(
        Folder::jar(fd.as_fd()),
        &listing,
        &destination,
        &bounds,
        &CollectOptions::default(),
    )
    .unwrap();
    assert_eq!((collected.files, collected.folders), (1, 3_000));
    let copy = open(&destination);
    assert_eq!(
        scan(Folder::host(copy.as_fd()), &bounds).unwrap().entries().len(),
        3_001
    );
    unnest(case.jar.path());
    unnest(case.out.path());
}

#[test]
fn a_destination_with_content_is_refused_unless_merged() {
    let case = Case::new();
    std::fs::create_dir(case.jar("d")).unwrap();
    for name in ["mine", "d/theirs"] {
        std::fs::write(case.jar(name), "guest").unwrap();
    }
    std::fs::create_dir_all(case.out("d")).unwrap();
    std::fs::write(case.out("mine"), "host").unwrap();
    assert!(matches!(
        case.collect(&Bounds::default()),
        Err(FilesError::NotEmpty { .. })
    ));
    let fd = open(case.jar.path());
    let options = CollectOptions { merge: true };
    let destination = case.out.path().join("new");
    let collected = collect(
        Folder::jar(fd.as_fd()),
        &list(case.jar.path()),
        &destination,
        &Bounds::default(),
        &options,
    )
    .unwrap();
    assert_eq!(collected.files, 1);
    assert!(collected.skipped.contains_key("mine"));
    assert_eq!(std::fs::read(case.out("mine")).unwrap(), b"host");
    assert_eq!(std::fs::read(case.out("d/theirs")).unwrap(), b"guest");
}

/// HV-08: a link that an earlier run planted in the destination is not written through.
#[test]
fn nothing_is_written_through_a_link_in_the_destination() {
    let case = Case::new();
    let outside = case.out.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(case.jar("d")).unwrap();
    std::fs::write(case.jar("d/f"), "guest").unwrap();
    std::fs::write(case.jar("g"), "guest").unwrap();
    std::fs::create_dir(case.out("")).unwrap();
    symlink(&outside, case.out("d")).unwrap();
    symlink(outside.join("g"), case.out("g")).unwrap();
    let fd = open(case.jar.path());
    let collect_into = |destination: &Path| {
        let options = CollectOptions { merge: true };
        collect(
            Folder::jar(fd.as_fd()),
            &list(case.jar.path()),
            destination,
            &Bounds::default(),
            &options,
        )
    };
    assert_eq!(collect_into(&case.out.path().join("new")).unwrap().files, 0);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    symlink(&outside, case.out.path().join("whole")).unwrap();
    assert!(matches!(
        collect_into(&case.out.path().join("whole")),
        Err(FilesError::LinkedDestination { .. })
    ));
    let below = collect_into(&case.out.path().join("whole/made"));
    assert!(matches!(below, Err(FilesError::LinkedParent { .. })), "{below:?}");
    assert!(!outside.join("made").exists());
    assert_eq!(collect_into(&outside).unwrap().files, 2, "control");
}

/// A full destination: a typed error, and nothing half done remains.
/// Root only: a plain user cannot make a file system that is full without filling the host's.
#[test]
fn a_full_destination_is_left_as_it_was() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let case = Case::new();
    std::fs::create_dir(case.jar("a")).unwrap();
    std::fs::write(case.jar("a/small"), "small").unwrap();
    std::fs::write(case.jar("big"), vec![1; 1 << 20]).unwrap();
    let fd = open(case.jar.path());
    let small = small_file_system(256 << 10);
    let destination = PathBuf::from(format!(
        "/proc/self/fd/{}/made/new",
        std::os::fd::AsRawFd::as_raw_fd(&small)
    ));
    let collect_into = |bounds: &Bounds| {
        collect(
            Folder::jar(fd.as_fd()),
            &list(case.jar.path()),
            &destination,
            bounds,
            &Default::default(),
        )
    };
    let failed = collect_into(&Bounds::default()).unwrap_err();
    assert_eq!(failed.to_string(), format!("write big: {}", Errno::NOSPC));
    assert!(!destination.exists());
    let fits = Bounds {
        file_bytes: 1 << 10,
        ..Bounds::default()
    };
    assert_eq!(collect_into(&fits).unwrap().files, 1, "control");
}

/// A tmpfs that is mounted nowhere.
fn small_file_system(bytes: u64) -> OwnedFd {
    use rustix::mount::*;
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).unwrap();
    fsconfig_set_string(context.as_fd(), "size", bytes.to_string()).unwrap();
    fsconfig_create(context.as_fd()).unwrap();
    fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )
    .unwrap()
}

/// What could not be removed again is named.
#[test]
fn copies_that_cannot_be_removed_are_named() {
    let case = Case::new();
    std::fs::create_dir(case.jar("a")).unwrap();
    std::fs::write(case.jar("a/f"), "x").unwrap();
    let fd = open(case.jar.path());
    let listing = list(case.jar.path());
    let destination = case.out.path().join("new");
    let (target, made) = open_destination(&destination, &CollectOptions::default()).unwrap();
    assert!(made);
    let mut work = Collect {
        from: Cursor::new(Folder::jar(fd.as_fd())).unwrap(),
        to: Cursor::new(Folder::host(target.as_fd())).unwrap(),
        listing: &listing,
        bounds: &Bounds::default(),
        usable: vec![false; listing.entries().len()],
        written: Vec::new(),
        collected: Collected::default(),
        text: TextBudget::new(),
    };
    for index in listing.indices() {
        work.take(index).unwrap();
    }
    std::fs::write(case.out("a/not-ours"), "").unwrap();
    assert_eq!(work.remove(), ["a"]);
    assert!(!case.out("a/f").exists() && case.out("a/not-ours").exists());
}
