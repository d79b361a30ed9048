//! HV-07, HV-08: the caller's own folder as the working directory, in every mode.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use belljar::Error;
use belljar::Outcome;
use belljar::outcome::Status;
use belljar::policy::{Access, Mount, Workdir, WorkdirMode};
use tempfile::TempDir;

use crate::glass::{code, expect, jar, run_with, told};

/// A project with a bit of everything.
fn project() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path();
    fs::create_dir_all(path.join("src/deep")).expect("folders");
    fs::create_dir_all(path.join(".git/hooks")).expect("folders");
    for (name, text) in [
        ("keep", "kept"),
        ("change", "before"),
        ("remove", "gone"),
        ("src/deep/file", "deep"),
        (".git/config", "[core]\n"),
    ] {
        fs::write(path.join(name), text).expect("a file");
    }
    fs::set_permissions(path.join("keep"), PermissionsExt::from_mode(0o640)).expect("a mode");
    symlink("keep", path.join("link")).expect("a link");
    folder
}

/// What is in a folder, byte for byte.
fn picture(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let meta = fs::symlink_metadata(entry.path()).expect("an entry");
            let content = if meta.is_dir() {
                todo.push(entry.path());
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(entry.path())
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(entry.path()).expect("a file")
            };
            found.insert(
                entry.path(),
                (meta.mode(), meta.ino(), meta.mtime_nsec(), content),
            );
        }
    }
    found
}

fn run(folder: &Path, mode: WorkdirMode, source: &str) -> Result<Outcome, Error> {
    let jar = jar(|policy| {
        policy.workdir = Some(Workdir {
            source: folder.into(),
            target: "/jar".into(),
            mode,
        })
    });
    jar.run_job(code(source))
}

const CHANGE: &str = "\
import os
open('change', 'w').write('after')
os.remove('remove')
open('new', 'w').write('created')
os.mkdir('made'); open('made/in', 'w').write('inside')
os.rename('src/deep/file', 'src/moved')
";

#[track_caller]
fn lists(outcome: &Outcome) {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    let changes = &outcome.changes;
    assert_eq!(
        sorted(&changes.created),
        ["made", "made/in", "new", "src/moved"],
        "{changes:?}"
    );
    assert_eq!(
        sorted(&changes.deleted),
        ["remove", "src/deep/file"],
        "{changes:?}"
    );
    assert!(changes.modified.contains(&"change".to_owned()), "{changes:?}");
    assert!(
        !changes
            .modified
            .iter()
            .any(|path| path == "keep" || path == "link"),
        "{changes:?}"
    );
}

both! {
    fn read_mode_shows_and_keeps(_who) {
        let folder = project();
        let before = picture(folder.path());
        let source = "import errno\nprint(open('keep').read(), open('src/deep/file').read())\nfor path in ('keep', 'fresh', '.git/config'):\n    try: open(path, 'a'); print('WROTE', path)\n    except OSError as e: assert e.errno in (errno.EROFS, errno.EACCES), e";
        let outcome = run(folder.path(), WorkdirMode::Read, source).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.stdout.head, b"kept deep\n");
        assert_eq!(picture(folder.path()), before);
    }

    fn write_mode_changes_the_folder_as_its_owner(_who) {
        let folder = project();
        let outcome = run(folder.path(), WorkdirMode::Write, CHANGE).expect("an outcome");
        expect(&outcome, Status::Returned);
        lists(&outcome);
        assert_eq!(fs::read_to_string(folder.path().join("change")).expect("a file"), "after");
        assert!(!folder.path().join("remove").exists());
        let owner = fs::metadata(folder.path().join("new")).expect("a file");
        assert_eq!((owner.uid(), owner.gid()), (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()));
        let (was, is) = (b"after".to_vec(), fs::read(folder.path().join("change")).expect("a file"));
        assert_eq!(was, is);
    }

    fn write_mode_keeps_what_tools_obey(_who) {
        let folder = project();
        let source = "\
import os
told = []
for path in ('.git/hooks/pre-commit', '.git/config'):
    try: open(path, 'w').write('#!/bin/sh'); told.append(path)
    except OSError: pass
try: os.rename('.git', 'git-moved'); told.append('renamed')
except OSError: pass
print(told)";
        let outcome = run(folder.path(), WorkdirMode::Write, source).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.stdout.head, b"[]\n", "{}", told(&outcome));
        assert_eq!(fs::read_to_string(folder.path().join(".git/config")).expect("a file"), "[core]\n");
        assert!(!folder.path().join(".git/hooks/pre-commit").exists());
    }

    fn writable_mount_keeps_what_tools_obey_unless_it_is_named(_who) {
        let source = "\
for path in ('keep', '.git/hooks/pre-commit'):
    try: open(f'/data/{path}', 'w').write('guest')
    except OSError as error: print(path, error.errno)";
        let hook = ".git/hooks/pre-commit";
        for (names, told_of, planted) in [(vec![""], ".git/hooks/pre-commit 30\n", false), (vec!["", ".git"], "", true)] {
            let folder = project();
            let outcome = run_with(source, |policy| {
                policy.mounts.extend(names.iter().map(|name| Mount {
                    source: folder.path().join(name),
                    target: Path::new("/data").join(name),
                    access: Access::ReadWrite,
                }));
            });
            expect(&outcome, Status::Returned);
            assert_eq!(outcome.stdout.head, told_of.as_bytes(), "{}", told(&outcome));
            assert_eq!(fs::read(folder.path().join("keep")).expect("a file"), b"guest");
            assert_eq!(folder.path().join(hook).exists(), planted, "{names:?}");
        }
    }

    fn write_mode_keeps_what_tools_obey_by_a_link(_who) {
        let folder = project();
        for name in ["dotgit", "dotgit/hooks", "settings", "plain"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        fs::remove_dir_all(folder.path().join(".git")).expect("it was there");
        // Relative, absolute as the host knows it, out of the folder, to the folder itself, and to nothing.
        for (link, target) in [
            (".git", PathBuf::from("dotgit")),
            (".vscode", folder.path().join("settings")),
            (".idea", "/usr".into()),
            (".claude", ".".into()),
            (".envrc", "nothing".into()),
        ] {
            symlink(target, folder.path().join(link)).expect("a link");
        }
        let source = "\
told = []
for path in ('dotgit/hooks/pre-commit', '.git/hooks/pre-commit', 'settings/tasks.json', 'plain/file', 'file'):
    try: open(path, 'w').write('#!/bin/sh'); told.append(path)
    except OSError: pass
print(told)";
        let outcome = run(folder.path(), WorkdirMode::Write, source).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.stdout.text(), "['plain/file', 'file']\n", "{}", told(&outcome));
    }

    fn draft_leaves_the_folder_byte_for_byte(_who) {
        let folder = project();
        let before = picture(folder.path());
        let outcome = run(folder.path(), WorkdirMode::Draft, CHANGE).expect("an outcome");
        expect(&outcome, Status::Returned);
        lists(&outcome);
        assert!(!outcome.changes.applied);
        assert_eq!(picture(folder.path()), before);
        let all = run(folder.path(), WorkdirMode::Draft, "import shutil, os\nfor n in os.listdir('.'): shutil.rmtree(n) if os.path.isdir(n) and not os.path.islink(n) else os.remove(n)\nprint(os.listdir('.'))").expect("an outcome");
        assert_eq!(all.stdout.head, b"[]\n", "{}", told(&all));
        assert_eq!(picture(folder.path()), before, "even when everything is deleted");
        assert!(all.changes.deleted.contains(&"keep".to_owned()), "{:?}", all.changes);
    }

    fn apply_writes_after_a_clean_exit_alone(_who) {
        for bad in ["raise SystemExit(1)", "1/0", "os._exit(3)", "os.kill(os.getpid(), 9)"] {
            let folder = project();
            let before = picture(folder.path());
            let outcome = run(folder.path(), WorkdirMode::Apply, &format!("{CHANGE}{bad}")).expect("an outcome");
            assert!(!outcome.changes.applied, "{bad}: {}", told(&outcome));
            assert_eq!(picture(folder.path()), before, "{bad}");
            lists(&outcome);
        }
        for good in ["", "raise SystemExit(0)", "os._exit(0)"] {
            let folder = project();
            let outcome = run(folder.path(), WorkdirMode::Apply, &format!("{CHANGE}{good}")).expect("an outcome");
            assert!(outcome.changes.applied, "{good}: {}", told(&outcome));
            lists(&outcome);
            let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((read("change"), read("new"), read("made/in"), read("src/moved")), ("after".into(), "created".into(), "inside".into(), "deep".into()));
            assert!(!folder.path().join("remove").exists() && !folder.path().join("src/deep/file").exists());
            assert_eq!(fs::metadata(folder.path().join("keep")).expect("a file").mode() & 0o777, 0o640);
            let owner = fs::metadata(folder.path().join("new")).expect("a file").uid();
            assert_eq!(owner, rustix::process::getuid().as_raw());
        }
    }

    fn apply_leaves_out_what_tools_obey(_who) {
        let folder = project();
        let source = "\
import os
open('.git/hooks/pre-commit', 'w').write('#!/bin/sh')
os.chmod('.git/hooks/pre-commit', 0o755)
os.mkdir('.vscode'); open('.vscode/tasks.json', 'w').write('{}')
open('conftest.py', 'w').write('import os')
open('plain', 'w').write('fine')";
        let outcome = run(folder.path(), WorkdirMode::Apply, source).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert!(outcome.changes.applied);
        assert!(!folder.path().join(".git/hooks/pre-commit").exists());
        assert!(!folder.path().join(".vscode/tasks.json").exists());
        assert_eq!(fs::read_to_string(folder.path().join("plain")).expect("a file"), "fine");
        let changes = &outcome.changes;
        assert!(changes.skipped.contains_key(".git/hooks/pre-commit"), "{changes:?}");
        assert!(changes.notable.contains_key("conftest.py"), "applied, and pointed out: {changes:?}");
    }

    fn links_of_a_draft_are_not_followed(_who) {
        let outside = TempDir::new().expect("a folder");
        fs::write(outside.path().join("target"), "untouched").expect("a file");
        let folder = project();
        symlink(outside.path(), folder.path().join("out")).expect("a link");
        let path = outside.path().display();
        let source = format!("import os\nos.symlink('{path}', 'src/new-link')\nos.remove('out'); os.mkdir('out'); open('out/target', 'w').write('mine')\nos.remove('change'); os.symlink('{path}/target', 'change')");
        let outcome = run(folder.path(), WorkdirMode::Apply, &source).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(fs::read_to_string(outside.path().join("target")).expect("a file"), "untouched");
        assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 1);
        // Inside the jar such a link leads nowhere.
        let follows = run(folder.path(), WorkdirMode::Write, &format!("import os\nprint(os.path.exists('{path}'))")).expect("an outcome");
        assert_eq!(follows.stdout.head, b"False\n");
    }

    fn change_on_both_sides_is_a_conflict(_who) {
        let folder = project();
        let path = folder.path().to_path_buf();
        let source = "import time\nopen('change', 'w').write('guest')\ntime.sleep(2)";
        let jar = jar(|policy| policy.workdir = Some(Workdir { source: path.clone(), target: "/jar".into(), mode: WorkdirMode::Apply }));
        let running = jar.spawn_job(code(source)).expect("a job");
        std::thread::sleep(std::time::Duration::from_millis(1200));
        fs::write(path.join("change"), "host").expect("a change by somebody else");
        let error = running.wait().expect_err("a conflict");
        assert!(error.to_string().contains("change"), "{error}");
        assert_eq!(fs::read_to_string(path.join("change")).expect("a file"), "host");
    }

    fn next_run_trusts_nothing_of_the_last(_who) {
        // HV-08: what run 1 put at a mount's target cannot lead run 2's mount elsewhere.
        let folder = project();
        let outside = TempDir::new().expect("a folder");
        fs::write(outside.path().join("data"), "data").expect("a file");
        fs::create_dir(folder.path().join("mnt")).expect("a folder");
        let jar = jar(|policy| {
            policy.workdir = Some(Workdir { source: folder.path().into(), target: "/jar".into(), mode: WorkdirMode::Write });
            policy.mounts.push(Mount { source: outside.path().into(), target: "/jar/mnt".into(), access: Access::ReadOnly });
        });
        let look = "import os\nprint(os.path.exists('/jar/mnt/data'), os.path.exists('/etc/data'), os.path.exists('/etc/passwd'))";
        let shown = jar.run_job(code(look)).expect("an outcome");
        assert_eq!(shown.stdout.text(), "True False True\n", "control: {}", told(&shown));
        let first = run(folder.path(), WorkdirMode::Write, "import os; os.rmdir('mnt'); os.symlink('/etc', 'mnt')").expect("an outcome");
        expect(&first, Status::Returned);
        let error = jar.run_job(code(look)).expect_err("a link where the mount belongs");
        assert!(matches!(error, Error::Setup { .. }), "{error}");
    }
}
