//! Ends that come from outside, and what a terminal shows: nothing is left, and no script writes over belljar's own lines.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{row, scripts};
use crate::harness::{Place, Ran, everyone};
use crate::terminal::{Terminal, exit_code};

/// All processes below one, as the host sees them.
fn below(pid: u32) -> BTreeSet<u32> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = BTreeSet::from([pid]);
    loop {
        let more: BTreeSet<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            found.remove(&pid);
            return found;
        }
        found.extend(more);
    }
}

/// Cgroups that one of these processes has made.
fn groups(pids: &BTreeSet<u32>) -> Vec<String> {
    use belljar_linux::cgroup::Owner;
    let here = Owner::current().expect("our own name").namespace;
    let mut found = Vec::new();
    let mut open = vec![(std::path::PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_theirs = |owner: Owner| owner.namespace == here && pids.contains(&owner.pid);
            if Owner::parse(&name).is_some_and(is_theirs) {
                found.push(entry.path().display().to_string());
            } else if depth < 3 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

fn start_hanging(place: &Place, flags: &[&str]) -> (Child, BTreeSet<u32>) {
    let hang = "import os, time\nif os.fork() == 0: os.setsid()\nwhile True: time.sleep(1)";
    let all = [
        ("quick.py", "print('quick')"),
        ("h1.py", hang),
        ("h2.py", hang),
        ("never.py", "print('never')"),
    ];
    let words = scripts(place, &[&["--jobs", "2"], flags].concat(), &all);
    let mut command = place.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("belljar starts");
    let since = Instant::now();
    // Two scripts with a child each, below a warden, a builder, a keeper, a template and two inits.
    while below(child.id()).len() < 10 {
        if since.elapsed() > Duration::from_secs(120) {
            child.kill().expect("ended by force");
            panic!("the scripts do not run: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let pids = below(child.id());
    (child, pids)
}

/// Those that are still there, and no zombies.
fn alive(pids: &BTreeSet<u32>) -> Vec<u32> {
    let lives = |pid: &&u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    pids.iter().filter(lives).copied().collect()
}

#[test]
fn an_interrupt_ends_all_and_still_tells_how() {
    for who in everyone() {
        let place = Place::new(*who);
        for (signal, flags) in [(Signal::INT, &[][..]), (Signal::TERM, &["--collect", "out"])] {
            let (child, pids) = start_hanging(&place, flags);
            assert_eq!(alive(&pids).len(), pids.len(), "they run");
            let (since, engine) = (Instant::now(), child.id());
            kill_process(Pid::from_child(&child), signal).expect("a signal");
            let output = child.wait_with_output().expect("belljar ends");
            assert!(since.elapsed() < Duration::from_secs(60), "as {who:?}");
            let ran = Ran {
                code: output.status.code().unwrap_or(-1),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            };
            assert_eq!(ran.code, 130, "as {who:?}: {}", ran.stderr);
            assert_eq!(ran.stdout, "==> quick.py <==\nquick\n");
            assert!(row(&ran, "quick.py").starts_with("quick.py ok "));
            assert!(
                row(&ran, "h1.py").starts_with("h1.py cancelled "),
                "{}",
                ran.stderr
            );
            assert!(
                row(&ran, "never.py").starts_with("never.py not begun "),
                "{}",
                ran.stderr
            );
            let told = "belljar: 4 scripts: 1 ok, 2 cancelled, 1 not begun; ";
            assert!(ran.stderr.contains(told), "{}", ran.stderr);
            assert_eq!(alive(&pids), [0_u32; 0], "as {who:?}: nothing is left");
            let made = pids.into_iter().chain([engine]).collect();
            assert_eq!(groups(&made), [""; 0], "as {who:?}");
        }
    }
}

#[test]
fn a_bar_on_a_terminal_and_no_codes_of_scripts() {
    for who in everyone() {
        let (place, mut terminal) = (Place::new(*who), Terminal::new());
        let codes =
            "import time; time.sleep(0.5); print('\\x1b[2J\\x1b[1;31mred\\x1b[1A\\x1b]0;owned\\x07\\rover')";
        let raises = "raise type('X\\x1b[2Jok\\n', (Exception,), {})()";
        let words = scripts(
            &place,
            &["--jobs", "1"],
            &[("codes.py", codes), ("raises.py", raises)],
        );
        let child = terminal.start(&place, &words.iter().map(String::as_str).collect::<Vec<_>>());
        terminal.wait_for("] 0/2 ");
        terminal.wait_for("codes.py");
        terminal.wait_for("\r\u{1b}[K");
        terminal.wait_for("==> codes.py <==");
        terminal.wait_for("\\u{1b}[2J\u{1b}[1;31mred\\u{1b}[1A\\u{1b}]0;owned\\u{7}\\rover\r\n\u{1b}[0m");
        terminal.wait_for("\r\nraises.py  ");
        terminal.wait_for("raised ");
        terminal.wait_for("2 scripts: 1 ok, 1 failed; ");
        assert_eq!(exit_code(child), Some(1), "as {who:?}");
        for code in ["\u{1b}[2J", "\u{1b}[1A", "\u{1b}]0", "\u{7}"] {
            assert!(
                !terminal.whole.contains(code),
                "{code:?} as {who:?}: {:?}",
                terminal.whole
            );
        }
    }
}

#[test]
fn a_reader_that_has_gone_ends_it() {
    let place = Place::new(everyone()[0]);
    let wait = "import time; time.sleep(600)";
    let all = [
        ("a.py", "print('first')"),
        ("b.py", "print('x' * 100_000)"),
        ("c.py", wait),
    ];
    let words = scripts(&place, &["--jobs", "1", "--timeout", "none"], &all);
    let mut command = place.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("belljar starts");
    drop(child.stdout.take());
    assert_eq!(exit_code(child), Some(130));
}
