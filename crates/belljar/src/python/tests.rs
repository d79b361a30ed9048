//! Pretended installations in a temporary folder.

mod packages;
mod real;
mod total;
mod virtualenv;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Interpreter, InterpreterError, Surroundings, Version, elf, find, find_in, for_policy};
use crate::policy::{Access, Mount, Policy};

/// A folder with pretended interpreters, and surroundings that see nothing else.
struct Stage {
    folder: tempfile::TempDir,
    around: Surroundings,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let around = Surroundings {
            path: Some(root.join("bin").into()),
            cwd: root.clone(),
            pyenv: Some(root.join("pyenv")),
            uv: Some(root.join("uv")),
            opt: root.join("opt"),
            ..Surroundings::default()
        };
        Self { folder, around }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target.replace("@", self.at("").to_str().unwrap()), path).unwrap();
    }

    /// A CPython with nothing in it but the landmarks.
    fn install(&self, prefix: &str, minor: u32, patch: Option<u32>) {
        self.write(&format!("{prefix}/bin/python3.{minor}"), "\x7fELF", 0o755);
        self.link(&format!("{prefix}/bin/python3"), &format!("python3.{minor}"));
        self.write(&format!("{prefix}/lib/python3.{minor}/os.py"), "", 0o644);
        if let Some(patch) = patch {
            let text =
                format!("#define PY_MINOR_VERSION        {minor}\n#define PY_MICRO_VERSION        {patch}\n");
            self.write(
                &format!("{prefix}/include/python3.{minor}/patchlevel.h"),
                &text,
                0o644,
            );
        }
    }

    fn find(&self, request: Option<&str>, venv: Option<&str>) -> Result<Interpreter, InterpreterError> {
        find_in(request, venv.map(Path::new), &self.around)
    }

    /// The message of a refusal, with the folder's name left out.
    fn refusal(&self, request: Option<&str>, venv: Option<&str>) -> String {
        let error = self.find(request, venv).expect_err("refused");
        error.to_string().replace(self.at("").to_str().unwrap(), "@/")
    }
}

fn version(minor: u32, patch: Option<u32>) -> Version {
    Version {
        major: 3,
        minor,
        patch,
    }
}

#[test]
fn first_python_on_path_is_resolved_to_the_real_file() {
    let stage = Stage::new();
    stage.install("opt/python3.12", 12, Some(4));
    stage.link("bin/python3", "../opt/python3.12/bin/python3");
    let found = stage.find(None, None).unwrap();
    assert_eq!(found.executable, stage.at("opt/python3.12/bin/python3.12"));
    assert_eq!(found.version, version(12, Some(4)));
    assert_eq!(found.prefix, stage.at("opt/python3.12"));
    assert_eq!(found.mounts, [stage.at("opt/python3.12")]);
    assert_eq!(found.links, []);
}

#[test]
fn relative_entry_of_path_is_not_searched() {
    let mut stage = Stage::new();
    stage.install("opt/python3.12", 12, None);
    stage.link("bin/python3", "../opt/python3.12/bin/python3");
    assert!(stage.find(None, None).is_ok());
    stage.around.path = Some("bin::.".into());
    assert!(matches!(
        stage.find(None, None),
        Err(InterpreterError::NotFound { .. })
    ));
}

#[test]
fn prefix_that_is_shared_shows_its_pieces_alone() {
    let stage = Stage::new();
    stage.install("home/.local", 11, None);
    let library = stage.write("home/.local/lib/libpython3.11.so.1.0", "\x7fELF", 0o644);
    stage.write("home/.local/lib/libpython3.11.pem", "secret", 0o644);
    stage.write("home/.ssh/id_rsa", "secret", 0o600);
    stage.link("home/.local/lib/libpython3.11.so", "../../.ssh");
    stage.write("home/.local/share/keyrings/secret", "", 0o600);
    let found = stage.find(Some("home/.local/bin/python3"), None).unwrap();
    let expected = [
        stage.at("home/.local/bin/python3.11"),
        library,
        stage.at("home/.local/lib/python3.11"),
    ];
    assert_eq!(found.mounts, expected);
}

#[test]
fn pyenv_shim_goes_by_the_global_version_and_never_by_the_current_folder() {
    let mut stage = Stage::new();
    for (minor, patch) in [(11, 7), (12, 1), (12, 10)] {
        stage.install(&format!("pyenv/versions/3.{minor}.{patch}"), minor, Some(patch));
    }
    fs::create_dir_all(stage.at("pyenv/libexec")).unwrap();
    stage.write("pyenv/shims/python3", "#!/usr/bin/env bash\n", 0o755);
    stage.write("pyenv/version", "# chosen\n3.11.7\n", 0o644);
    stage.write(".python-version", "3.12.1\n", 0o644);
    stage.around.path = Some(stage.at("pyenv/shims").into());
    assert_eq!(stage.find(None, None).unwrap().version, version(11, Some(7)));

    // A version that was asked for is the manager's, too, although another one of the same version comes later on PATH.
    stage.install("opt/python3.12", 12, Some(11));
    stage.write("pyenv/shims/python3.12", "#!/usr/bin/env bash\n", 0o755);
    stage.around.folders = vec![stage.at("opt/python3.12/bin")];
    assert_eq!(
        stage.find(Some("3.12"), None).unwrap().base_prefix,
        stage.at("pyenv/versions/3.12.10")
    );
    stage.around.folders.clear();

    stage.around.pyenv_version = Some("3.12".into());
    assert_eq!(
        stage.find(None, None).unwrap().version,
        version(12, Some(10)),
        "a prefix means the highest"
    );
    stage.around.pyenv_version = Some("../../opt:system".into());
    assert!(matches!(
        stage.find(None, None),
        Err(InterpreterError::NotFound { .. })
    ));
}

#[test]
fn unknown_shim_is_named() {
    let stage = Stage::new();
    stage.write("bin/python3", "#!/bin/sh\nexec manager exec python3\n", 0o755);
    assert_eq!(
        stage.refusal(None, None),
        "@/bin/python3 is a shim that starts some other Python; name the real interpreter with .python(PATH)"
    );
}

#[test]
fn manager_binary_under_the_name_of_python_is_a_shim() {
    let stage = Stage::new();
    stage.write("bin/manager", "\x7fELF", 0o755);
    stage.link("bin/python3", "manager");
    assert!(matches!(stage.find(None, None), Err(InterpreterError::Shim(_))));
}

#[test]
fn version_is_searched_in_pyenv_uv_and_opt() {
    let stage = Stage::new();
    stage.install("pyenv/versions/3.12.1", 12, Some(1));
    stage.install("uv/cpython-3.12.9-linux-x86_64-gnu", 12, Some(9));
    stage.install("opt/python/cp313", 13, None);
    let prefix = |request| stage.find(Some(request), None).unwrap().base_prefix;
    assert_eq!(
        prefix("3.12"),
        stage.at("uv/cpython-3.12.9-linux-x86_64-gnu"),
        "highest patch"
    );
    assert_eq!(prefix("3.12.1"), stage.at("pyenv/versions/3.12.1"));
    assert_eq!(prefix("python3.13"), stage.at("opt/python/cp313"));
    assert_eq!(
        stage.refusal(Some("3.14"), None),
        "python 3.14 was not found; found 3.12.1 at @/pyenv/versions/3.12.1/bin/python3.12, \
         3.12.9 at @/uv/cpython-3.12.9-linux-x86_64-gnu/bin/python3.12, 3.13 at @/opt/python/cp313/bin/python3.13; \
         looked in PATH, @/pyenv/versions, @/uv, @/opt/python*; name one with .python(PATH)"
    );
}

#[test]
fn newer_version_is_tried_and_older_is_refused() {
    let stage = Stage::new();
    stage.install("opt/python3.15", 15, None);
    assert_eq!(stage.find(Some("3.15"), None).unwrap().version, version(15, None));
    stage.install("opt/python3.9", 9, Some(18));
    assert_eq!(
        stage.refusal(Some("3.9"), None),
        "@/opt/python3.9/bin/python3.9 is Python 3.9.18, and belljar needs CPython 3.10 or later; name one with .python(PATH)"
    );
}

#[test]
fn what_is_not_cpython_is_named() {
    let stage = Stage::new();
    stage.write("opt/pypy/bin/pypy3.10", "\x7fELF", 0o755);
    stage.link("opt/pypy/bin/python3", "pypy3.10");
    assert_eq!(
        stage.refusal(Some("opt/pypy"), None),
        "@/opt/pypy/bin/python3 is pypy, not CPython; name a CPython 3.10 or later with .python(PATH)"
    );
}

#[test]
fn bad_requests_are_one_clear_line_each() {
    let stage = Stage::new();
    stage.write("plain", "text", 0o644);
    stage.write("lost/python3.12", "\x7fELF", 0o755);
    stage.write("folder/file", "", 0o644);
    let expected = [
        (
            Some("latest"),
            None,
            "python `latest` is neither a version nor a path; write a version such as 3.12, or a path with a slash in it",
        ),
        (
            Some("3.12.1.2"),
            None,
            "python `3.12.1.2` is neither a version nor a path; write a version such as 3.12, or a path with a slash in it",
        ),
        (
            Some("./nowhere"),
            None,
            "interpreter @/./nowhere cannot be used: No such file or directory (os error 2); name an existing interpreter with .python(PATH)",
        ),
        (
            Some("./plain"),
            None,
            "interpreter @/./plain is not an executable file; name the program of a CPython with .python(PATH)",
        ),
        (
            Some("lost/python3.12"),
            None,
            "@/lost/python3.12 has no standard library (lib/python3.X/os.py) above it; name an installed CPython with .python(PATH)",
        ),
        (
            None,
            Some("folder"),
            "@/folder is not a virtualenv: it has no pyvenv.cfg; make one with `python3 -m venv DIR`",
        ),
        (
            None,
            Some("nowhere"),
            "virtualenv @/nowhere cannot be used: No such file or directory (os error 2); make one with `python3 -m venv DIR`",
        ),
    ];
    for (request, venv, message) in expected {
        assert_eq!(stage.refusal(request, venv), message);
    }
}

/// As above, where the jar has no /usr: what a program names as its loader and its libraries is shown as well.
#[test]
fn hostile_program_shows_libraries_alone() {
    let stage = Stage::new();
    let secret = stage.write("k", "secret", 0o600);
    let real = fs::read(fs::canonicalize("/usr/bin/env").unwrap()).unwrap();
    let named = |old: &[u8], new: &[u8]| {
        let at = real.windows(old.len()).position(|window| window == old).unwrap();
        let mut bytes = real.clone();
        bytes[at..at + old.len()].fill(0);
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    // A link with a name that is short enough to take the place of a library's.
    let short = Path::new("/tmp").join(format!("{:x}", std::process::id() & 0xffff));
    let _ = fs::remove_file(&short);
    symlink(&secret, &short).unwrap();
    let name = short.to_str().unwrap().as_bytes();
    stage.install("stranger/base", 11, None);
    let program = stage.at("stranger/base/bin/python3.11");
    fs::write(&program, named(b"libc.so.6", name)).unwrap();
    let needs = stage
        .find(Some("stranger/base/bin/python3.11"), None)
        .unwrap()
        .alone();
    fs::remove_file(&short).unwrap();
    assert!(
        matches!(needs, Err(InterpreterError::Library { .. })),
        "{needs:?}"
    );
    fs::write(&program, &real).unwrap();
    let found = stage.find(Some("stranger/base/bin/python3.11"), None).unwrap();
    assert!(found.alone().is_ok(), "control");
}

#[test]
fn fifo_does_not_hold_up_the_search() {
    let stage = Stage::new();
    stage.install("opt/python3.11", 11, None);
    stage.link("env/bin/python", "@opt/python3.11/bin/python3");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = |path: &str| {
        let path = stage.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    fifo("env/pyvenv.cfg");
    fifo("opt/python3.11/include/python3.11/patchlevel.h");
    let refusal = stage.refusal(None, Some("env"));
    assert!(refusal.contains("not a regular file"), "{refusal}");
    assert_eq!(
        stage
            .find(Some("opt/python3.11/bin/python3"), None)
            .unwrap()
            .version
            .patch,
        None
    );
}

#[test]
fn way_through_proc_is_an_error() {
    let stage = Stage::new();
    stage.install("opt/python3.12", 12, None);
    stage.link("bin/python3.12", "/proc/self/root@opt/python3.12/bin/python3.12");
    assert!(
        stage
            .refusal(Some("bin/python3.12"), None)
            .contains("it leads through /proc")
    );
}

#[test]
fn link_loop_is_an_error() {
    let stage = Stage::new();
    stage.link("bin/python3.12", "python3.12");
    assert!(
        stage
            .refusal(Some("bin/python3.12"), None)
            .contains("Too many levels of symbolic links")
    );
}

#[test]
fn policy_decides_what_the_interpreter_brings() {
    let mount = |source: &str, target: &Path| Mount {
        source: source.into(),
        target: target.into(),
        access: Access::ReadOnly,
    };
    let policy = Policy {
        mounts: vec![mount("/var", Path::new("/data"))],
        ..Policy::default()
    };
    let with_system = for_policy(&policy).unwrap();
    assert!(with_system.mounts.iter().all(|path| !path.starts_with("/usr")));
    let alone = for_policy(&Policy {
        system: false,
        ..policy
    })
    .unwrap();
    assert!(
        alone
            .mounts
            .iter()
            .any(|path| path.to_string_lossy().contains("/ld-")),
        "{:?}",
        alone.mounts
    );
    // On top of the loader, and inside the standard library.
    for target in [Path::new("/usr/lib"), &alone.stdlib.join("json")] {
        let policy = Policy {
            system: false,
            mounts: vec![mount("/var", target)],
            ..Policy::default()
        };
        assert!(
            matches!(for_policy(&policy), Err(InterpreterError::Hidden { .. })),
            "{target:?}"
        );
    }
}
