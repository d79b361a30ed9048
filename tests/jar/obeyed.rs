//! HV-07: what tools on the host obey by themselves is kept from a guest's hands, however it is reached. Each attack
//! runs on a project of protected names, and, as the control, on the same one without the dots that make them so.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use belljar::Outcome;
use belljar::outcome::Status;
use belljar::policy::{Access, Mount, Workdir, WorkdirMode};
use tempfile::TempDir;

use crate::glass::{code, expect, jar, told};

/// Links, a repository by a file, hooks by a setting, a repository further down, and a file with two names.
fn project(dot: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path();
    let nested = format!("sub/{dot}git/hooks");
    for name in ["envs", "conf/vscode", "store/git/hooks", "hooks", &nested] {
        fs::create_dir_all(path.join(name)).expect("a folder");
    }
    let config = "[core]\n\thooksPath = hooks\n[include]\n\tpath = ../../more\n";
    for (name, text) in [
        ("envs/dev", "host"),
        ("conf/vscode/tasks.json", "host"),
        ("store/git/config", config),
        ("more", "[x]\n"),
        (&format!("{dot}git"), "gitdir: store/git\n"),
        (&format!("{dot}bashrc"), "host"),
        ("plain", "host"),
    ] {
        fs::write(path.join(name), text).expect("a file");
    }
    for (link, target) in [("envrc", "envs/dev"), ("vscode", "one/vscode")] {
        symlink(target, path.join(format!("{dot}{link}"))).expect("a link");
    }
    symlink("conf", path.join("one")).expect("a link");
    fs::hard_link(path.join(format!("{dot}bashrc")), path.join("same")).expect("a second name");
    folder
}

/// What the attack tries, and tells of when it was done; `plain` is always done.
const ATTACK: &str = "\
import os, sys
done = []
def attempt(name, act):
    try: act(); done.append(name)
    except OSError as error: assert error.errno in (16, 18, 30), (name, error)
def write(name):
    with open(name, 'w') as file: file.write('guest')
def replace(name, target):
    os.symlink(target, 'new'); os.rename('new', name)
for name in ('envs/dev', 'conf/vscode/tasks.json', 'conf/vscode/new', 'store/git/hooks/pre-commit', 'more',
             'hooks/pre-commit', f'sub/{DOT}git/hooks/pre-commit', 'same', f'{DOT}git', 'plain'):
    attempt(name, lambda: write(name))
for name in (f'{DOT}envrc', 'one'):
    attempt(f'replace {name}', lambda: replace(name, 'plain'))
    if os.path.lexists('new'): os.remove('new')
attempt('move', lambda: (os.rename('conf', 'moved'), os.rename('moved', 'conf')))
print(len(done), done[:1] if len(done) == 1 else '')";

/// What the attack wants changed, as the host sees it.
fn looks(folder: &Path, dot: &str) -> Vec<(String, Option<String>)> {
    let nested = format!("sub/{dot}git/hooks/pre-commit");
    let names = [
        "envs/dev",
        "conf/vscode/tasks.json",
        "conf/vscode/new",
        "store/git/hooks/pre-commit",
        "more",
        "hooks/pre-commit",
        &nested,
        &format!("{dot}bashrc"),
        &format!("{dot}git"),
    ];
    let files = names.map(|name| (name.to_owned(), fs::read_to_string(folder.join(name)).ok()));
    let links = [format!("{dot}envrc"), "one".into()].map(|name| {
        let target = fs::read_link(folder.join(&name)).ok();
        (name, target.map(|target| target.display().to_string()))
    });
    files.into_iter().chain(links).collect()
}

fn workdir(folder: &Path, mode: WorkdirMode, source: &str) -> Outcome {
    let jar = jar(|policy| {
        policy.workdir = Some(Workdir {
            source: folder.into(),
            target: "/jar".into(),
            mode,
        });
    });
    jar.run_job(code(source)).expect("an outcome")
}

fn mount(folder: &Path, source: &str) -> Outcome {
    let jar = jar(|policy| {
        policy.mounts.push(Mount {
            source: folder.into(),
            target: "/data".into(),
            access: Access::ReadWrite,
        });
    });
    let source = format!("import os; os.chdir('/data')\n{source}");
    jar.run_job(code(&source)).expect("an outcome")
}

both! {
    fn what_leads_to_it_is_kept_in_every_writable_folder(_who) {
        for mounted in [false, true] {
            for (dot, count) in [(".", "1 ['plain']\n"), ("", "13 \n")] {
                let folder = project(dot);
                let before = looks(folder.path(), dot);
                let source = format!("DOT = '{dot}'\n{ATTACK}");
                let outcome = match mounted {
                    true => mount(folder.path(), &source),
                    false => workdir(folder.path(), WorkdirMode::Write, &source),
                };
                expect(&outcome, Status::Returned);
                assert_eq!(outcome.stdout.text(), count, "{dot:?} {}", told(&outcome));
                let after = looks(folder.path(), dot);
                if dot.is_empty() {
                    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "control: {after:?}");
                } else {
                    assert_eq!(before, after);
                    assert!(folder.path().join("conf/vscode").is_dir());
                }
                assert_eq!(fs::read_to_string(folder.path().join("plain")).expect("a file"), "guest");
            }
        }
    }

    fn apply_leaves_out_what_leads_to_it(_who) {
        for (dot, kept) in [(".", true), ("", false)] {
            let folder = project(dot);
            let before = looks(folder.path(), dot);
            // A folder of the host cannot be renamed in a draft, and is deleted instead.
            let source = format!("DOT = '{dot}'\n{ATTACK}\nimport shutil; shutil.rmtree('conf'); os.symlink('plain', 'conf')");
            let outcome = workdir(folder.path(), WorkdirMode::Apply, &source);
            expect(&outcome, Status::Returned);
            assert!(outcome.changes.applied, "{}", told(&outcome));
            assert_eq!(fs::read_to_string(folder.path().join("plain")).expect("a file"), "guest");
            let after = looks(folder.path(), dot);
            if kept {
                assert_eq!(before, after, "{:?}", outcome.changes);
                let reason = &outcome.changes.skipped["envs/dev"];
                assert!(reason.starts_with("protected: .envrc leads to it"), "{reason}");
                assert!(outcome.changes.skipped["hooks/pre-commit"].starts_with("protected: git runs hooks in it"));
            } else {
                // All but a new file in a folder that is gone, and the other name of a file: a rename leaves that as it is.
                let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
                assert_eq!(changed, before.len() - 2, "control: {after:?}");
            }
        }
    }

    fn missing_end_of_a_link_can_be_made_and_is_told(_who) {
        let folder = project(".");
        symlink("made/later", folder.path().join(".idea")).expect("a link");
        symlink("elsewhere", folder.path().join("idea")).expect("a link");
        let source = "import os; os.mkdir('made')\nfor name in ('made/later', 'elsewhere'): open(name, 'w').write('x')";
        let outcome = workdir(folder.path(), WorkdirMode::Write, source);
        expect(&outcome, Status::Returned);
        let notable: Vec<_> = outcome.changes.notable.iter().collect();
        assert_eq!(notable, [(&"made/later".to_owned(), &".idea leads to it".to_owned())]);
    }

    fn notable_names_are_told_of_in_a_flood(_who) {
        let folder = project("");
        fs::create_dir(folder.path().join("tests")).expect("a folder");
        for name in ["tests/Makefile", "Makefile"] {
            fs::write(folder.path().join(name), "all:").expect("a file");
        }
        // The folder that is read first takes all names that are listed; the deadline is not what is tested.
        let source = "\
import os
os.mkdir('aaa')
at = os.open('aaa', os.O_RDONLY)
for number in range(100_000): os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=at))
for name in ('tests/conftest.py', '.mcp.json', 'tests/plain.py'): open(name, 'w').close()";
        let jar = jar(|policy| {
            policy.limits.timeout = None;
            policy.workdir = Some(Workdir { source: folder.path().into(), target: "/jar".into(), mode: WorkdirMode::Write });
        });
        let outcome = jar.run_job(code(source)).expect("an outcome");
        expect(&outcome, Status::Returned);
        let changes = &outcome.changes;
        assert!(changes.truncated && !changes.created.iter().any(|path| path == "tests/conftest.py"), "the flood hides it");
        assert_eq!(changes.notable.keys().collect::<Vec<_>>(), [".mcp.json", "tests/conftest.py"]);
    }

    fn place_that_the_guest_cannot_reach_is_no_hindrance(_who) {
        let folder = project(".");
        let sub = folder.path().join("sub");
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(&sub, Some(12_345), Some(12_345)).expect("given away");
        }
        let write = "open('plain', 'w').write('guest')\nopen('sub/.git/hooks/pre-commit', 'w')";
        for (mode, errno) in [(0o755, 30), (0o100, 30), (0o000, 13)] {
            fs::set_permissions(&sub, PermissionsExt::from_mode(mode)).expect("a mode");
            let outcome = workdir(folder.path(), WorkdirMode::Write, write);
            fs::set_permissions(&sub, PermissionsExt::from_mode(0o755)).expect("a mode");
            let exception = outcome.exception.as_ref().expect("an exception");
            // Root's guest is not the owner of another's folder.
            let expected = if rustix::process::getuid().is_root() && mode != 0o755 { 13 } else { errno };
            assert_eq!(exception.errno, Some(expected), "{mode:o} {}", told(&outcome));
            // What we could not look through either is told.
            let closed = mode != 0o755 && !rustix::process::getuid().is_root();
            assert_eq!(outcome.changes.notable.contains_key("sub"), closed, "{:?}", outcome.changes);
            assert!(!folder.path().join("sub/.git/hooks/pre-commit").exists());
            assert_eq!(fs::read_to_string(folder.path().join("plain")).expect("a file"), "guest", "control");
        }
    }

    fn mode_of_the_folder_itself_is_told(_who) {
        let folder = project("");
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
        let change = "import os; os.chmod('.', 0o711)";
        let draft = workdir(folder.path(), WorkdirMode::Draft, change);
        assert_eq!(draft.changes.skipped["."], "only its mode changed, to 711; modes are not applied");
        let control = workdir(folder.path(), WorkdirMode::Draft, "pass");
        assert_eq!(control.changes, Default::default());
        assert_eq!(workdir(folder.path(), WorkdirMode::Write, "pass").changes, Default::default(), "control");
        assert_eq!(workdir(folder.path(), WorkdirMode::Write, change).changes.modified, ["."]);
    }
}
