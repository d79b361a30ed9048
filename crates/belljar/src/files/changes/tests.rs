use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::testing::{list, open};
use super::super::{Bounds, Folder, scan};
use super::*;

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("d/sub")).unwrap();
    for name in ["keep", "edit", "mode", "swap", "gone", "d/inner", "d/sub/deep"] {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    dir
}

#[test]
fn an_untouched_folder_has_no_changes() {
    let dir = tree();
    let before = list(dir.path());
    std::fs::read(dir.path().join("keep")).unwrap();
    assert_eq!(changes(&before, &list(dir.path())), Changes::default());
}

#[test]
fn every_kind_of_change_is_told() {
    let dir = tree();
    let before = list(dir.path());
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("edit"), "EDIT").unwrap();
    std::fs::set_permissions(path("mode"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::remove_file(path("swap")).unwrap();
    symlink("keep", path("swap")).unwrap();
    std::fs::remove_file(path("gone")).unwrap();
    std::fs::remove_dir_all(path("d/sub")).unwrap();
    std::fs::create_dir(path("new")).unwrap();
    std::fs::write(path("new/a\x1bb"), "").unwrap();
    let told = changes(&before, &list(dir.path()));
    assert_eq!(told.created, ["new", "new/a\\x1bb"]);
    assert_eq!(told.modified, ["edit", "mode", "swap"]);
    assert_eq!(told.deleted, ["d/sub", "d/sub/deep", "gone"]);
    assert!(!told.truncated);
}

/// Content of the same size, with the old time put back, still shows in the time of the inode's change.
#[test]
fn a_forged_time_does_not_hide_a_change() {
    let dir = tree();
    let before = list(dir.path());
    let path = dir.path().join("edit");
    let old = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&path, "EDIT").unwrap();
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(old)
        .unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().modified().unwrap(),
        old,
        "control"
    );
    assert_eq!(changes(&before, &list(dir.path())).modified, ["edit"]);
}

#[test]
fn a_folder_that_became_a_file_takes_its_content_along() {
    let dir = tree();
    let before = list(dir.path());
    std::fs::remove_dir_all(dir.path().join("d")).unwrap();
    std::fs::write(dir.path().join("d"), "").unwrap();
    let told = changes(&before, &list(dir.path()));
    assert_eq!(told.modified, ["d"]);
    assert_eq!(told.deleted, ["d/inner", "d/sub", "d/sub/deep"]);
    assert!(told.created.is_empty());
}

#[test]
fn nothing_is_claimed_beyond_a_bound() {
    let dir = tree();
    let fd = open(dir.path());
    let whole = list(dir.path());
    let part = scan(
        Folder::jar(fd.as_fd()),
        &Bounds {
            entries: 3,
            ..Bounds::default()
        },
    )
    .unwrap();
    for (before, after) in [(&whole, &part), (&part, &whole)] {
        let told = changes(before, after);
        assert!(told.truncated);
        assert_eq!(
            (told.created.len(), told.modified.len(), told.deleted.len()),
            (0, 0, 0)
        );
    }
}

#[test]
fn a_fresh_jar_starts_from_an_empty_listing() {
    let dir = tree();
    let told = changes(&Listing::default(), &list(dir.path()));
    assert_eq!(told.created.len(), 9);
    assert!(told.modified.is_empty() && told.deleted.is_empty() && !told.truncated);
}

/// The paths of a deep tree are quadratic; the report of one is not.
#[test]
fn a_report_of_deep_paths_is_bounded() {
    let mut deep = Listing::default();
    let name = vec![b'x'; 255];
    let entry = |parent, depth| Entry {
        parent,
        depth,
        name: name.clone(),
        kind: Kind::Folder { complete: true },
        size: 0,
        blocks: 0,
        mode: 0o755,
        inode: u64::from(depth),
        modified: 0,
        changed: 0,
    };
    deep.push_for_test(entry(None, 1));
    for depth in 2..=20_000 {
        deep.push_for_test(entry(Some(depth - 2), depth));
    }
    let told = changes(&Listing::default(), &deep);
    assert!(told.truncated);
    assert!(told.created.iter().map(String::len).sum::<usize>() <= 16 << 20);
    assert!(told.created.len() > 300);
}
