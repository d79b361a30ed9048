//! Packages that are installed in an interpreter itself: out of sight unless somebody asks for them. Judged from what a guest
//! lists, imports and can write, on interpreters that are made for the test and on the system's own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use belljar::host::Host;
use belljar::policy::{Access, Mount, Policy};
use belljar::{Error, Outcome};
use tempfile::TempDir;

use crate::glass::{Either, code, jar, program, stdout, told};

/// An installation of its own: copies of the system's executable and of its library, as far as it is needed.
struct Base {
    _folder: TempDir,
    executable: PathBuf,
    /// Where it looks for packages. Each has a module, a package, a `.pth` file and a `sitecustomize`.
    packages: Vec<PathBuf>,
}

/// What of a library is more than a file and needed here.
const NEEDED: [&str; 7] = [
    "collections",
    "ctypes",
    "encodings",
    "importlib",
    "json",
    "lib-dynload",
    "re",
];

/// Made below `parent`, in a folder whose name says whether it holds an interpreter and nothing else.
fn base(parent: &str, name: &str) -> Base {
    let folder = TempDir::new_in(parent).expect("a folder");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("open to all");
    let system = belljar::python::find(Some("/usr/bin/python3"), None).expect("the system's Python");
    let prefix = folder.path().canonicalize().expect("a folder").join(name);
    let (version, executable) = (
        system.stdlib.file_name().expect("a version"),
        system.base_executable.file_name().expect("a name"),
    );
    let (stdlib, executable) = (
        prefix.join("lib").join(version),
        prefix.join("bin").join(executable),
    );
    fs::create_dir_all(&stdlib).expect("folders");
    fs::create_dir(prefix.join("bin")).expect("a folder");
    fs::copy(&system.base_executable, &executable).expect("a copy");
    let entries = fs::read_dir(&system.stdlib).expect("a library").flatten();
    let needed = entries.map(|entry| entry.path()).filter(|path| {
        let module = path.extension().is_some_and(|end| end == "py") && path.is_file();
        module || NEEDED.iter().any(|name| path.ends_with(name))
    });
    let copied = Command::new("cp").arg("-rL").args(needed).arg(&stdlib).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "a copy of the library"
    );
    let custom = stdlib.join("sitecustomize.py");
    assert!(!custom.exists() || fs::remove_file(custom).is_ok());
    let asked = Command::new(&executable)
        .args([
            "-I",
            "-c",
            "import site; print(*site.getsitepackages(), sep='\\n')",
        ])
        .output()
        .expect("an interpreter");
    let text = String::from_utf8(asked.stdout).expect("text");
    let packages: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
    assert!(!packages.is_empty(), "{}", String::from_utf8_lossy(&asked.stderr));
    packages.iter().for_each(|folder| plant(folder));
    Base {
        _folder: folder,
        executable,
        packages,
    }
}

const PLANTED: [&str; 4] = ["package", "planted.pth", "planted.py", "sitecustomize.py"];

fn plant(folder: &Path) {
    fs::create_dir_all(folder.join("package")).expect("folders");
    for (name, text) in [
        ("package/__init__.py", ""),
        ("planted.pth", "import sys; sys.by_pth = True\n"),
        ("planted.py", ""),
        ("sitecustomize.py", "import sys; sys.by_custom = True\n"),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
}

/// A virtualenv over it.
fn venv(base: &Base, shares: bool) -> PathBuf {
    let venv = base
        ._folder
        .path()
        .canonicalize()
        .expect("a folder")
        .join(format!("venv-{shares}"));
    let version = base.executable.file_name().expect("a name");
    fs::create_dir_all(venv.join("bin")).expect("folders");
    fs::create_dir_all(venv.join("lib").join(version).join("site-packages")).expect("folders");
    symlink(&base.executable, venv.join("bin/python")).expect("a link");
    let home = base.executable.parent().expect("a folder").display();
    let config = format!("home = {home}\ninclude-system-site-packages = {shares}\n");
    fs::write(venv.join("pyvenv.cfg"), config).expect("a file");
    venv
}

/// What is in each folder and whether it can be written, what can be imported, and what ran at the start.
fn probe(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| format!("{folder:?}")).collect();
    format!(
        "\
import importlib.util, os, sys
for folder in [{}]:
    try: print(*sorted(os.listdir(folder)), end=' ')
    except OSError as error: print(error.errno, end=' ')
    try: open(folder + '/written', 'w')
    except OSError as error: print(error.errno)
for name in ['planted', 'package']:
    spec = importlib.util.find_spec(name)
    print(name, spec is not None and spec.origin is not None)
print(hasattr(sys, 'by_pth'), hasattr(sys, 'by_custom'))",
        folders.join(", ")
    )
}

/// What [`probe`] prints when nothing is there, and when all of it is.
fn answers(base: &Base) -> (String, String) {
    let each = |line: String| line.repeat(base.packages.len());
    let nothing = each(" 30\n".into()) + "planted False\npackage False\nFalse False\n";
    let all = each(format!("{} 30\n", PLANTED.join(" "))) + "planted True\npackage True\nTrue True\n";
    (nothing, all)
}

#[track_caller]
fn look(base: &Base, change: impl FnOnce(&mut Policy)) -> Outcome {
    let sandbox = jar(|policy| {
        policy.python = Some(base.executable.to_string_lossy().into_owned());
        change(policy);
    });
    sandbox.either(code(&probe(&base.packages))).expect("an outcome")
}

fn at_its_path(path: PathBuf, access: Access) -> Mount {
    Mount {
        source: path.clone(),
        target: path,
        access,
    }
}

both_ways! {
    fn packages_of_an_interpreter_are_out_of_sight(_who) {
        // Below /tmp, which each jar has afresh, and elsewhere; with all of its prefix shown, and in pieces.
        for (parent, name) in [("/tmp", "python"), ("/tmp", "base"), ("/var/tmp", "python"), ("/var/tmp", "base")] {
            let mut base = base(parent, name);
            if name == "base" {
                // Of such a prefix the library is all that is shown.
                let stdlib = |folder: &PathBuf| folder.to_string_lossy().contains("/lib/python3.");
                base.packages.retain(|folder| stdlib(folder) && !folder.to_string_lossy().contains("/local/"));
            }
            let (nothing, all) = answers(&base);
            for system in [true, false] {
                let outcome = look(&base, |policy| policy.system = system);
                assert_eq!(stdout(&outcome), nothing, "{parent} {name}: {}", told(&outcome));
                let control = look(&base, |policy| {
                    policy.system = system;
                    policy.site_packages = true;
                });
                assert_eq!(stdout(&control), all, "{parent} {name}: {}", told(&control));
            }
        }
    }

    fn virtualenv_has_them_where_it_says_so(_who) {
        let base = base("/tmp", "python");
        let (nothing, all) = answers(&base);
        for shares in [false, true] {
            let venv = venv(&base, shares);
            let outcome = look(&base, |policy| (policy.python, policy.venv) = (None, Some(venv)));
            assert_eq!(stdout(&outcome), if shares { &*all } else { &*nothing }, "{}", told(&outcome));
        }
    }

    fn what_a_policy_names_in_them_is_seen(_who) {
        let mut base = base("/var/tmp", "python");
        let (_, all) = answers(&base);
        let whole = look(&base, |policy| {
            policy.mounts = base.packages.iter().map(|folder| at_its_path(folder.clone(), Access::ReadOnly)).collect();
        });
        assert_eq!(stdout(&whole), all, "{}", told(&whole));
        base.packages.truncate(1);
        let folder = base.packages[0].clone();
        let parts = look(&base, |policy| {
            policy.mounts = ["package", "planted.py"].map(|name| at_its_path(folder.join(name), Access::ReadOnly)).into();
        });
        let wanted = "package planted.py 30\nplanted True\npackage True\nFalse False\n";
        assert_eq!(stdout(&parts), wanted, "{}", told(&parts));
        // What may be written is the host's own folder.
        let writable = jar(|policy| {
            policy.python = Some(base.executable.to_string_lossy().into_owned());
            policy.mounts = vec![at_its_path(folder.join("package"), Access::ReadWrite)];
        });
        let source = format!("open({:?}, 'w').write('guest')", folder.join("package/written"));
        let outcome = writable.either(code(&source)).expect("an outcome");
        assert_eq!(fs::read_to_string(folder.join("package/written")).ok().as_deref(), Some("guest"), "{}", told(&outcome));
    }

    fn packages_of_the_system_are_out_of_sight(_who) {
        let folders = Host::probe().system.packages;
        let base = base("/tmp", "python");
        for python in [Path::new("/usr/bin/python3"), &base.executable] {
            for site_packages in [false, true] {
                let sandbox = jar(|policy| {
                    policy.python = Some(python.to_string_lossy().into_owned());
                    policy.site_packages = site_packages;
                });
                for folder in &folders {
                    let source = format!("import os; print(len(os.listdir({folder:?})))");
                    let outcome = sandbox.either(code(&source)).expect("an outcome");
                    let count = if site_packages { fs::read_dir(folder).expect("a folder").count() } else { 0 };
                    assert_eq!(stdout(&outcome), format!("{count}\n"), "{python:?} {folder:?}: {}", told(&outcome));
                }
            }
        }
    }

    fn programs_do_not_see_them_either(_who) {
        let base = base("/tmp", "python");
        for site_packages in [false, true] {
            let sandbox = jar(|policy| {
                policy.python = Some(base.executable.to_string_lossy().into_owned());
                policy.site_packages = site_packages;
            });
            let folder = base.packages[0].to_string_lossy().into_owned();
            let outcome = sandbox.either(program(&["ls", &folder])).expect("an outcome");
            let all = PLANTED.join("\n") + "\n";
            assert_eq!(stdout(&outcome), if site_packages { &*all } else { "" }, "{}", told(&outcome));
        }
    }

    fn folder_that_changes_after_the_plan_shows_nothing(_who) {
        let base = base("/var/tmp", "python");
        let (folder, beside) = (base.packages[0].clone(), base._folder.path().join("beside"));
        let sandbox = jar(|policy| policy.python = Some(base.executable.to_string_lossy().into_owned()));
        fs::rename(&folder, &beside).expect("to move it");
        let outcome = sandbox.either(code("print('ran')")).expect("an outcome");
        assert_eq!(stdout(&outcome), "ran\n", "nothing is left to hide: {}", told(&outcome));
        // A jar of the plan that is made from now on would follow the link.
        symlink(&beside, &folder).expect("a link");
        match belljar::Sandbox::from_plan(sandbox.plan().clone()).and_then(|jar| jar.run_job(code("print('ran')"))) {
            Err(Error::Setup { step, source, .. }) => {
                assert!(step.ends_with("hidden"), "{step}");
                assert_eq!(source.raw_os_error(), Some(40), "{source}");
            }
            other => panic!("{other:?}"),
        }
    }
}
