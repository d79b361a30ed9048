//! What a policy says read-only is read-only, wherever else the same files can be reached; judged from the host.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use belljar::policy::{Access, Mount, Policy, Workdir, WorkdirMode};
use belljar::{Error, Sandbox};
use tempfile::TempDir;

use crate::glass::{code, jar, told};

/// A project whose `config` and `deep/er` the tests show read-only.
fn project() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for name in ["config", "deep/er", "plain", ".git/hooks"] {
        fs::create_dir_all(folder.path().join(name)).expect("a folder");
        fs::write(folder.path().join(name).join("file"), "host").expect("a file");
    }
    folder
}

fn workdir(source: &Path, target: impl AsRef<Path>, mode: WorkdirMode) -> Option<Workdir> {
    Some(Workdir {
        source: source.into(),
        target: target.as_ref().into(),
        mode,
    })
}

fn mount(source: impl AsRef<Path>, target: impl AsRef<Path>, access: Access) -> Mount {
    Mount {
        source: source.as_ref().into(),
        target: target.as_ref().into(),
        access,
    }
}

/// Writes every file of a folder, and moves every folder in it away.
fn attack(folder: &str) -> String {
    format!(
        "import os\nfor top, folders, files in list(os.walk({folder:?}, topdown=False)):\n    for name in files:\n        try: open(f'{{top}}/{{name}}', 'w').write('guest')\n        except OSError: pass\n    for name in folders:\n        try: os.rename(f'{{top}}/{{name}}', f'{{top}}/{{name}}.moved')\n        except OSError: pass\n"
    )
}

/// The project is as it was but for what may be written.
#[track_caller]
fn kept(folder: &Path, names: &[&str]) {
    for name in names {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(text, "host", "{name}");
    }
    // In a draft a folder of the host cannot be renamed.
    let written = ["plain.moved/file", "plain/file"].map(|name| fs::read_to_string(folder.join(name)).ok());
    let written = written
        .into_iter()
        .flatten()
        .next()
        .expect("a file that may be written");
    assert_eq!(written, "guest", "control");
}

fn refusal(change: impl FnOnce(&mut Policy)) -> String {
    let mut policy = Policy::default();
    change(&mut policy);
    match Sandbox::new(policy) {
        Ok(sandbox) => panic!("{}", sandbox.plan()),
        Err(error) => error.to_string(),
    }
}

both! {
    fn read_only_parts_of_a_writable_folder_stay_so(_who) {
        for read_only_first in [true, false] {
            let folder = project();
            let path = folder.path();
            let jar = jar(|policy| {
                policy.mounts = vec![
                    mount(path.join("config"), "/data/config", Access::ReadOnly),
                    mount(path.join("deep/er"), "/data/deep/er", Access::ReadOnly),
                    mount(path, "/data", Access::ReadWrite),
                ];
                if !read_only_first {
                    policy.mounts.reverse();
                }
            });
            let outcome = jar.run_job(code(&attack("/data"))).expect("an outcome");
            assert!(outcome.exception.is_none(), "{}", told(&outcome));
            kept(path, &["config/file", "deep/er/file", ".git/hooks/file"]);
        }
    }

    fn read_only_parts_of_a_workdir_stay_so(_who) {
        // At its own place in the folder, and at another; below /tmp, which each jar has afresh, as well.
        for (place, seen) in [("/jar/config", "/jar"), ("/elsewhere", "/jar"), ("/tmp/w/config", "/tmp/w"), ("/tmp/else", "/tmp/w")] {
            for mode in [WorkdirMode::Write, WorkdirMode::Apply] {
                let folder = project();
                let path = folder.path();
                let jar = jar(|policy| {
                    policy.mounts = vec![mount(path.join("config"), place, Access::ReadOnly), mount(path.join("deep/er"), "/more", Access::ReadOnly)];
                    policy.workdir = workdir(path, seen, mode);
                });
                let outcome = jar.run_job(code(&format!("open('{place}/file').read()\n{}", attack(seen)))).expect("an outcome");
                assert!(outcome.exception.is_none(), "{}", told(&outcome));
                let apply = mode == WorkdirMode::Apply;
                let names = ["config/file", "deep/er/file", ".git/hooks/file"];
                kept(path, &names[..if apply { 2 } else { 3 }]);
            }
        }
    }

    fn virtualenv_in_a_writable_folder_stays_the_hosts(_who) {
        let python = belljar::python::find(None, None).expect("a Python").executable;
        for own_path in [false, true] {
            let folder = project();
            let path = fs::canonicalize(folder.path()).expect("a folder");
            let made = Command::new(&python).args(["-m", "venv", "--without-pip"]).arg(path.join(".venv")).status();
            assert!(made.expect("a Python").success());
            let seen = if own_path { path.clone() } else { "/jar".into() };
            let jar = jar(|policy| {
                policy.venv = Some(path.join(".venv"));
                policy.workdir = workdir(&path, &seen, WorkdirMode::Write);
            });
            let source = "\
import glob, sysconfig
for folder in [sysconfig.get_paths()['purelib'], *glob.glob('.venv/lib/python*/site-packages')]:
    try: open(f'{folder}/evil.pth', 'w').write('import os')
    except OSError as error: print(error.errno)
try: open('.venv/pyvenv.cfg', 'a').write('home = /jar')
except OSError as error: print(error.errno)
open('beside', 'w').write('guest')";
            let before = fs::read(path.join(".venv/pyvenv.cfg")).expect("a file");
            let outcome = jar.run_job(code(source)).expect("an outcome");
            assert_eq!(outcome.stdout.text(), "30\n30\n30\n", "{}", told(&outcome));
            let lib = fs::read_dir(path.join(".venv/lib")).expect("a folder").flatten().next().expect("a version");
            assert!(!lib.path().join("site-packages/evil.pth").exists());
            assert_eq!(fs::read(path.join(".venv/pyvenv.cfg")).expect("a file"), before);
            assert!(path.join("beside").exists(), "control");
        }
    }

    fn place_in_a_folder_of_the_host_is_neither_made_nor_a_link(_who) {
        let (folder, other) = (project(), project());
        let path = folder.path();
        symlink("plain", path.join("link")).expect("a link");
        for (place, what) in [
            ("missing", "is not there; make it first"),
            ("link", "is a link; remove the link"),
            ("link/below", "is a link; remove the link"),
            ("plain/file", "is not a folder; choose another target"),
        ] {
            let text = refusal(|policy| {
                policy.workdir = workdir(path, "/jar", WorkdirMode::Write);
                policy.mounts = vec![mount(other.path(), Path::new("/jar").join(place), Access::ReadOnly)];
            });
            assert!(text.contains(what), "{place}: {text}");
        }
        assert!(!path.join("missing").exists());
        // The same when it changes after it was planned.
        let jar = jar(|policy| {
            policy.workdir = workdir(path, "/jar", WorkdirMode::Write);
            policy.mounts = vec![mount(other.path(), "/jar/plain", Access::ReadOnly)];
        });
        let shows = || code("print(open('/jar/plain/config/file').read())");
        assert_eq!(jar.run_job(shows()).expect("an outcome").stdout.text(), "host\n", "control");
        fs::rename(path.join("plain"), path.join("moved")).expect("a move");
        symlink("moved", path.join("plain")).expect("a link");
        let error = jar.run_job(shows()).expect_err("a link in the place");
        assert!(matches!(&error, Error::Setup { source, .. } if source.raw_os_error() == Some(40)), "{error}");
    }

    fn source_that_is_a_link_is_refused(_who) {
        let (folder, secret) = (project(), project());
        let path = folder.path();
        symlink(secret.path(), path.join("data")).expect("a link");
        let leads = format!("is a link to {:?}; name the target itself if you mean it", secret.path());
        for end in ["data", "data/", "data/."] {
            let text = refusal(|policy| policy.mounts = vec![mount(path.join(end), "/data", Access::ReadOnly)]);
            assert!(text.contains(&leads), "{text}");
            let text = refusal(|policy| policy.workdir = workdir(&path.join(end), "/jar", WorkdirMode::Write));
            assert!(text.contains(&leads), "{text}");
        }
        // A link on the way is the host's own business, and what it leads to is what is planned.
        let jar = jar(|policy| policy.mounts = vec![mount(path.join("data/plain"), "/data", Access::ReadOnly)]);
        assert!(jar.plan().to_string().contains(&format!("from {}", secret.path().join("plain").display())), "{}", jar.plan());
        let shows = || code("print(open('/data/file').read())");
        assert_eq!(jar.run_job(shows()).expect("an outcome").stdout.text(), "host\n");
        // What takes its place afterwards is not followed.
        fs::rename(secret.path().join("plain"), secret.path().join("moved")).expect("a move");
        symlink("moved", secret.path().join("plain")).expect("a link");
        let error = jar.run_job(shows()).expect_err("a link in the place");
        assert!(matches!(&error, Error::Setup { source, .. } if source.raw_os_error() == Some(40)), "{error}");
    }

    fn links_that_tools_obey_are_followed_to_their_end(_who) {
        let (folder, around) = (project(), TempDir::new().expect("a folder"));
        let path = folder.path();
        fs::remove_dir_all(path.join(".git")).expect("it was there");
        symlink(path, around.path().join("way")).expect("a link");
        // Two hops, and one that is spelt as the host can, through a link from elsewhere.
        symlink("hop", path.join(".git")).expect("a link");
        symlink(path.join("deep/er"), path.join("hop")).expect("a link");
        symlink(around.path().join("way/config"), path.join(".vscode")).expect("a link");
        let jar = jar(|policy| policy.workdir = workdir(path, "/jar", WorkdirMode::Write));
        let outcome = jar.run_job(code(&attack("/jar"))).expect("an outcome");
        assert!(outcome.exception.is_none(), "{}", told(&outcome));
        kept(path, &["config/file", "deep/er/file"]);
    }
}
