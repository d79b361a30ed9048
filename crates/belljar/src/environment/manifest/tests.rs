use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::super::tree;
use super::*;

fn made() -> (tempfile::TempDir, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("deep")).unwrap();
    for name in ["a.py", "deep/b.py", "deep/c.py"] {
        fs::write(root.join(name), name).unwrap();
    }
    symlink("/nowhere", root.join("link")).unwrap();
    let manifest = Manifest::take(root, &tree::walk(root).unwrap()).unwrap();
    (folder, manifest)
}

fn changed(manifest: &mut Manifest, root: &Path) -> Vec<String> {
    match manifest.check(root).unwrap() {
        Verdict::Changed(paths) => paths.iter().map(|path| path.display().to_string()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_nobody_touched_is_the_same() {
    let (folder, manifest) = made();
    let mut manifest = Manifest::decode(manifest.encode()).unwrap();
    assert_eq!(manifest.check(folder.path()).unwrap(), Verdict::Same);
    assert_eq!(manifest.size(), (4 + 9 + 9 + 8, 4));
}

#[test]
fn a_changed_file_is_named_also_when_its_time_is_set_back() {
    let (folder, mut manifest) = made();
    let path = folder.path().join("deep/b.py");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "forgery!!").unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(before)
        .unwrap();
    assert_eq!(changed(&mut manifest, folder.path()), ["deep/b.py"]);
}

#[test]
fn what_is_added_taken_away_or_replaced_is_noticed() {
    let (folder, mut manifest) = made();
    fs::write(folder.path().join("new.py"), "").unwrap();
    assert_eq!(changed(&mut manifest, folder.path()), [""]);
    let (folder, mut manifest) = made();
    fs::remove_file(folder.path().join("deep/c.py")).unwrap();
    assert_eq!(changed(&mut manifest, folder.path()), ["deep", "deep/c.py"]);
    let (folder, mut manifest) = made();
    fs::rename(folder.path().join("deep"), folder.path().join("other")).unwrap();
    symlink("other", folder.path().join("deep")).unwrap();
    assert!(changed(&mut manifest, folder.path()).contains(&"deep".to_owned()));
    let (folder, mut manifest) = made();
    fs::remove_file(folder.path().join("link")).unwrap();
    symlink("/elsewhere", folder.path().join("link")).unwrap();
    assert!(changed(&mut manifest, folder.path()).contains(&"link".to_owned()));
}

#[test]
fn a_link_from_elsewhere_is_no_change_but_moves_the_marks() {
    let (folder, mut manifest) = made();
    fs::hard_link(
        folder.path().join("a.py"),
        folder.path().with_extension("elsewhere"),
    )
    .unwrap();
    assert_eq!(manifest.check(folder.path()).unwrap(), Verdict::Moved);
    assert_eq!(manifest.check(folder.path()).unwrap(), Verdict::Same);
    fs::remove_file(folder.path().with_extension("elsewhere")).unwrap();
}

#[test]
fn the_front_is_what_an_interpreter_reads_when_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("lib/python3.11/site-packages");
    fs::create_dir_all(site.join("lib")).unwrap();
    fs::write(folder.path().join("pyvenv.cfg"), "home = /usr/bin").unwrap();
    fs::write(site.join("lib/__init__.py"), "").unwrap();
    let take = || Manifest::take(folder.path(), &tree::walk(folder.path()).unwrap()).unwrap();
    let mut manifest = take();
    let mut front = Manifest::decode(manifest.front().unwrap().encode()).unwrap();
    fs::write(site.join("lib/__init__.py"), "changed").unwrap();
    assert_eq!(front.check_alone(folder.path()).unwrap(), Verdict::Same);
    assert_eq!(
        changed(&mut manifest, folder.path()),
        ["lib/python3.11/site-packages/lib/__init__.py"]
    );
    fs::write(folder.path().join("pyvenv.cfg"), "home = /elsewhere").unwrap();
    assert!(matches!(
        front.check_alone(folder.path()).unwrap(),
        Verdict::Changed(_)
    ));
    for name in ["lib.pth", "sitecustomize.py", "usercustomize.cpython-311.so"] {
        fs::write(site.join(name), "").unwrap();
        assert!(take().front().is_none(), "{name}");
        fs::remove_file(site.join(name)).unwrap();
    }
    fs::create_dir(site.join("sitecustomize")).unwrap();
    assert!(take().front().is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_a_manifest_or_none(bytes: Vec<u8>, cut: usize) {
        let _ = Manifest::decode([MAGIC.as_slice(), &bytes].concat());
        let _ = Manifest::decode(bytes);
        let real = made().1.encode();
        let cut = cut % real.len();
        prop_assert!(Manifest::decode(real[..cut].to_vec()).is_none());
    }
}
