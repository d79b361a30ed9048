//! HV-01 to HV-06, CP-13: what a guest leaves in a fresh /jar is listed and copied without being trusted.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use belljar::job::InputFile;
use belljar::outcome::Status;
use belljar::{Outcome, Policy};
use tempfile::TempDir;

use crate::glass::{Either, code, expect, jar, told};

/// Runs code and collects what it left.
fn collect(source: &str, change: impl FnOnce(&mut Policy)) -> (Outcome, TempDir) {
    let folder = TempDir::new().expect("a folder");
    let mut job = code(source);
    job.collect = Some(folder.path().into());
    let outcome = jar(change).either(job).expect("an outcome");
    expect(&outcome, Status::Returned);
    (outcome, folder)
}

/// Every path below a folder, without following anything.
fn everything(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            if entry.file_type().expect("a type").is_dir() {
                todo.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

both_ways! {
    fn plain_files_come_out_whole(_who) {
        let source = "import os\nos.makedirs('a/b')\nopen('a/b/text', 'w').write('hello')\nopen('bytes', 'wb').write(bytes(range(256)) * 5000)\nopen('empty', 'w').close()\nos.chmod('empty', 0o755)";
        let (outcome, folder) = collect(source, |_| {});
        assert_eq!(outcome.changes.created, ["a", "a/b", "a/b/text", "bytes", "empty"]);
        assert_eq!(fs::read_to_string(folder.path().join("a/b/text")).expect("a file"), "hello");
        let bytes: Vec<u8> = (0..=255).cycle().take(256 * 5000).collect();
        assert_eq!(fs::read(folder.path().join("bytes")).expect("a file"), bytes);
        // What is written on the host is the caller's own.
        let owner = fs::metadata(folder.path().join("bytes")).expect("a file").uid();
        assert_eq!(owner, rustix::process::getuid().as_raw());
        assert!(!outcome.changes.truncated && outcome.changes.skipped.is_empty(), "{:?}", outcome.changes);
    }

    fn inputs_are_told_from_what_was_made(_who) {
        let mut job = code("import os\nopen('changed', 'a').write('!'); os.remove('removed'); open('new', 'w').close()\nprint(open('same').read())");
        let file = |name: &str| InputFile { path: name.into(), content: b"text".to_vec() };
        job.files = vec![file("same"), file("changed"), file("removed"), file("deep/er/one")];
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        expect(&outcome, Status::Returned);
        let changes = &outcome.changes;
        assert_eq!((&changes.modified[..], &changes.deleted[..]), (&["changed".to_owned()][..], &["removed".to_owned()][..]), "{changes:?}");
        assert!(changes.created.contains(&"new".to_owned()) && !changes.created.contains(&"same".to_owned()), "{changes:?}");
    }

    fn links_are_never_followed(_who) {
        let source = "\
import os
os.symlink('/etc/passwd', 'absolute')
os.symlink('../../../../etc/shadow', 'relative')
os.symlink('/proc/self/environ', 'proc')
os.symlink('loop2', 'loop1'); os.symlink('loop1', 'loop2')
os.symlink('/', 'folder'); os.symlink('nowhere', 'dangling')
os.symlink('/proc/self/root', 'root')
os.mkdir('real'); os.symlink('real', 'inside')
open('one', 'w').write('x'); os.link('one', 'two')";
        let (outcome, folder) = collect(source, |_| {});
        for path in everything(folder.path()) {
            let meta = fs::symlink_metadata(&path).expect("an entry");
            if meta.is_file() {
                assert_eq!(fs::read(&path).expect("a file"), b"x", "{}", path.display());
            }
            // A link that was kept must stay inside.
            if meta.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                assert!(target.is_relative() && !target.to_string_lossy().contains(".."), "{} -> {}", path.display(), target.display());
            }
        }
        assert!(outcome.changes.created.contains(&"absolute".to_owned()));
        assert!(!folder.path().join("absolute").exists() || !outcome.changes.skipped.contains_key("absolute"));
    }

    fn fifos_sockets_and_giants_do_not_stop_the_host(_who) {
        let source = "\
import os, socket
os.mkfifo('pipe')
s = socket.socket(socket.AF_UNIX); s.bind('socket')
open('giant', 'wb').truncate(1 << 50)
f = open('holes', 'wb'); f.seek(1 << 30); f.write(b'end'); f.close()
open('plain', 'w').write('here')";
        let (outcome, folder) = collect(source, |_| {});
        assert!(outcome.usage.wall_seconds < 10.0);
        assert_eq!(fs::read_to_string(folder.path().join("plain")).expect("a file"), "here");
        let mut blocks = 0;
        for path in everything(folder.path()) {
            let meta = fs::symlink_metadata(&path).expect("an entry");
            assert!(!meta.file_type().is_fifo() && !meta.file_type().is_socket(), "{}", path.display());
            blocks += meta.blocks();
        }
        assert!(blocks * 512 < 512 << 20, "{blocks} blocks on the host");
        for name in ["pipe", "socket", "giant"] {
            assert!(outcome.changes.skipped.contains_key(name), "{name} is not told of: {:?}", outcome.changes.skipped);
        }
    }

    fn odd_names_are_safe_in_every_form(_who) {
        let source = "\
import os
for name in [b'new\\nline', b'\\x1b[31mred', b'\\xff\\xfe', b'-rf', b' ', b'...', b'x' * 255, b'a\\\\b', b'\"quoted\"', b'\\xc3\\xa9', b'e\\xcc\\x81', b'CON', b'%2e%2e', b'\\xe2\\x80\\xae']:
    open(name, 'w').write('odd')";
        let (outcome, folder) = collect(source, |_| {});
        assert_eq!(outcome.changes.created.len(), 14, "{:?}", outcome.changes.created);
        for name in &outcome.changes.created {
            assert!(!name.chars().any(char::is_control), "{name:?}");
        }
        serde_json::to_string(&outcome.json()).expect("json");
        assert_eq!(everything(folder.path()).len() + outcome.changes.skipped.len(), 14, "{:?}", outcome.changes.skipped);
    }

    fn unreadable_files_are_read_or_told_of(_who) {
        let source = "import os\nopen('locked', 'w').write('secret'); os.chmod('locked', 0)\nos.mkdir('closed'); open('closed/in', 'w').write('x'); os.chmod('closed', 0)";
        let (outcome, folder) = collect(source, |_| {});
        for name in ["locked", "closed"] {
            let there = folder.path().join(name).exists();
            assert!(there || outcome.changes.skipped.contains_key(name), "{name}: {}", told(&outcome));
        }
    }

    fn sixty_thousand_files_are_bounded(_who) {
        let (outcome, folder) = collect("for i in range(60_000): open(f'{i:05}', 'w').close()", |policy| policy.limits.timeout = Some(std::time::Duration::from_secs(60)));
        let listed = outcome.changes.created.len();
        assert!(listed == 60_000 || outcome.changes.truncated, "{listed}");
        let copied = everything(folder.path()).len();
        assert!(copied == 60_000 || outcome.changes.truncated, "{copied}");
        assert!(copied > 1000);
    }

    fn files_of_a_killed_run_are_listed_too(_who) {
        let folder = TempDir::new().expect("a folder");
        let mut job = code("import os\nopen('partial', 'w').write('half')\nos.kill(os.getpid(), 9)");
        job.collect = Some(folder.path().into());
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        expect(&outcome, Status::Signalled);
        assert_eq!(outcome.changes.created, ["partial"]);
        assert_eq!(fs::read_to_string(folder.path().join("partial")).expect("a file"), "half");
    }
}
