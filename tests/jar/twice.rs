//! Runs a test in a process of its own, once as root and once as a plain user, and looks for leaks afterwards.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{alone, leaks, skips};

/// Who starts the jar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The machine's own root.
    Root,
    /// A user without privileges and without supplementary groups.
    User,
}

/// No account has this number, so nothing else counts against it.
const USER: u32 = 54_321;
/// Set in the processes that run one test; says whether one has namespaces of its own.
const MARK: &str = "BELLJAR_TEST_AS";
const ALONE: &str = "alone";
/// A test that takes longer hangs; `BELLJAR_TEST_SECONDS` says otherwise for a soak.
fn patience() -> Duration {
    let seconds = std::env::var("BELLJAR_TEST_SECONDS").ok();
    Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(300))
}

/// Makes two tests of each function: `NAME::as_root` and `NAME::as_user`.
macro_rules! both {
    ($(fn $name:ident($who:ident) $body:block)+) => { $(
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn body($who: crate::twice::Who) $body

            #[test]
            fn as_root() {
                crate::twice::run(crate::twice::Who::Root, concat!(module_path!(), "::as_root"), body);
            }

            #[test]
            fn as_user() {
                crate::twice::run(crate::twice::Who::User, concat!(module_path!(), "::as_user"), body);
            }
        }
    )+ };
}

/// As `both`, and as many again on parked workers: `on_workers::NAME::as_root` and so on.
#[allow(unused_macros)] // The tests of the agent share this file.
macro_rules! both_ways {
    ($(fn $name:ident($who:ident) $body:block)+) => {
        both! { $(fn $name($who) $body)+ }

        mod on_workers {
            #[allow(unused_imports)]
            use super::*;

            both! { $(fn $name($who) { crate::glass::on_workers(|| $body); })+ }
        }
    };
}

/// Whether this is the process that people start, not one that it started to run one test.
pub fn is_outer() -> bool {
    std::env::var_os(MARK).is_none()
}

/// Whether mounts and processes that appear can only be ours. Without root the machine is shared; but there jars are a plain
/// user's, who can mount nothing that others see.
pub fn is_alone() -> bool {
    std::env::var_os(MARK).is_some_and(|mark| mark == ALONE)
}

/// Runs a test as this user.
pub fn run(who: Who, name: &str, body: fn(Who)) {
    if !is_outer() {
        // Orphans of a killed warden become ours, so that they can be counted.
        let ours = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(ours)).expect("to be a subreaper");
        let before = leaks::Before::look();
        body(who);
        before.compare();
        return;
    }
    let is_root = rustix::process::getuid().is_root();
    if who == Who::Root && !is_root {
        return skips::skip("root", name);
    }
    let name = name.split_once("::").map_or(name, |(_, rest)| rest);
    let (tests, belljar) = copies();
    let user = (who == Who::User).then_some(USER);
    let (mut command, mark) = if is_root {
        (alone::command(tests, user), ALONE)
    } else {
        (Command::new(tests), "not alone")
    };
    command
        .args(["--exact", name, "--test-threads=1", "--nocapture"])
        .env(MARK, mark)
        .env("BELLJAR_BIN", belljar)
        .stdin(Stdio::null());
    if who == Who::User && is_root {
        command
            .current_dir("/")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", "/nonexistent");
    }
    finish(name, &mut command);
}

fn finish(name: &str, command: &mut Command) {
    let output = tempfile::tempfile().expect("a file for the output");
    let out = output.try_clone().expect("a copy of it");
    let mut child = command
        .stdout(out.try_clone().expect("a copy"))
        .stderr(out)
        .spawn()
        .expect("a test process");
    let since = Instant::now();
    let status = loop {
        match child.try_wait().expect("to wait") {
            Some(status) => break status.to_string(),
            None if since.elapsed() > patience() => {
                child.kill().expect("to end it");
                child.wait().expect("its end");
                break format!("no end after {} s", patience().as_secs());
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = read_back(output);
    assert!(
        text.contains("1 passed") && status == "exit status: 0",
        "{name}: {status}\n{text}"
    );
    // A skip that was said in the child is said again.
    for line in text.lines().filter(|line| line.starts_with("skipped: ")) {
        println!("{line}");
    }
}

fn read_back(mut file: fs::File) -> String {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes).map(drop))
        .expect("the output");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// This program and the built command where every user can reach them: the build folder may be root's alone.
fn copies() -> &'static (PathBuf, PathBuf) {
    // Once and for all tests: a program that is still open for writing anywhere cannot be started.
    static COPIES: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    COPIES.get_or_init(|| {
        let tests = std::env::current_exe().expect("this program");
        (
            copy(&tests, "tests"),
            copy(Path::new(env!("CARGO_BIN_EXE_belljar")), "belljar"),
        )
    })
}

fn copy(built: &Path, name: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (built.parent(), rustix::process::getuid().as_raw()).hash(&mut hasher);
    let folder = std::env::temp_dir().join(format!("belljar-jar-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder).expect("a folder for copies");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("open to all");
    let meta = built.metadata().expect("a built program");
    let path = folder.join(format!("{name}-{}-{}", meta.mtime(), meta.mtime_nsec()));
    // Each test may be a process of its own that looks for the same copy.
    let lock = fs::File::create(folder.join("lock")).expect("a lock");
    lock.lock().expect("the lock");
    if !path.exists() {
        for old in fs::read_dir(&folder).expect("the folder").flatten() {
            if old.file_name().to_string_lossy().starts_with(name) {
                let _ = fs::remove_file(old.path());
            }
        }
        // Renamed into place whole: another test may be looking for it now.
        let part = tempfile::NamedTempFile::new_in(&folder).expect("a file for the copy");
        fs::copy(built, part.path()).expect("a copy");
        part.persist(&path).expect("in place");
    }
    path
}
