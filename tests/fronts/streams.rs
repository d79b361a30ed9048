//! Standard streams: passed on, live, and harmless when they are closed.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::harness::{Place, everyone, finish};

#[test]
fn input_is_passed_on() {
    for who in everyone() {
        let ran = Place::new(*who).run_with(&["run", "-c", "print(sum(map(int, open(0))))"], "1\n2\n3\n");
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "6\n"),
            "as {who:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn output_is_live() {
    for who in everyone() {
        let place = Place::new(*who);
        let slow = "import sys; print('now', flush=True); sys.stdin.read()";
        let mut child = place
            .command(&["run", "-c", slow])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("belljar starts");
        // The guest ends after its input does, which stays open.
        let mut first = [0; 4];
        child
            .stdout
            .take()
            .expect("a pipe")
            .read_exact(&mut first)
            .expect("a line");
        assert_eq!(&first, b"now\n");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "cancelled");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    for who in everyone() {
        let place = Place::new(*who);
        for args in [
            &["run", "-c", "print(1)"][..],
            &["exec", "--", "echo", "1"],
            &["run", "--json", "-c", "1"],
        ] {
            let full = std::fs::File::options().write(true).open("/dev/full");
            let ran = place
                .command(args)
                .stdin(Stdio::null())
                .stdout(full.expect("a full device"))
                .output()
                .expect("belljar starts");
            let told = String::from_utf8_lossy(&ran.stderr).to_lowercase();
            assert_eq!(ran.status.code(), Some(125), "{args:?} as {who:?}: {told}");
            assert!(
                told.contains("no space left on device"),
                "{args:?} as {who:?}: {told}"
            );
            assert_eq!(told.lines().count(), 1, "{args:?} as {who:?}: {told}");
        }
    }
}

#[test]
fn closed_streams_confuse_nothing() {
    for who in everyone() {
        let place = Place::new(*who);
        let belljar = place.command(&[
            "run",
            "-c",
            "import sys; print(1); print(repr(sys.stdin and sys.stdin.read()))",
        ]);
        for closed in ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-", "0<&- 2>&-"] {
            // A shell closes them between its own start and belljar's.
            let mut shell = Command::new("/bin/sh");
            shell
                .arg("-c")
                .arg(format!("exec \"$0\" \"$@\" {closed}"))
                .arg(belljar.get_program());
            shell
                .args(belljar.get_args())
                .current_dir(place.path())
                .env_clear()
                .env("PATH", "/usr/bin:/bin");
            place.become_user(&mut shell);
            let ran = finish(&mut shell, "in");
            assert_eq!(ran.code, 0, "{closed} as {who:?}: {}", ran.stderr);
            let expected = match (closed.contains("1>&-"), closed.contains("0<&-")) {
                (true, _) => "",
                (false, true) => "1\n''\n",
                (false, false) => "1\n'in'\n",
            };
            assert_eq!(ran.stdout, expected, "{closed} as {who:?}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure_of_ours() {
    let place = Place::new(everyone()[0]);
    let mut child = place
        .command(&["plan"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("belljar starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn traces_only_when_asked_for() {
    for who in everyone() {
        let place = Place::new(*who);
        let traced = |args: &[&str], filter: &str| {
            let mut command = place.command(&[&["run"], args, &["-c", "print(1)"]].concat());
            let ran = finish(command.env("BELLJAR_LOG", filter), "");
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"), "{}", ran.stderr);
            ran.stderr
        };
        assert_eq!(traced(&[], ""), "");
        assert_eq!(traced(&["-v"], "off"), "", "the filter outranks the flag");
        let some = traced(&["-v"], "");
        assert!(
            some.contains("resolved a plan") && !some.contains("TRACE"),
            "{some}"
        );
        assert!(traced(&["-vv"], "").contains("TRACE"));
        assert!(traced(&[], "belljar=debug").contains("resolved a plan"));
    }
}

#[test]
fn a_shared_network_is_said_loudly_unless_quiet() {
    for who in everyone() {
        let place = Place::new(*who);
        let told = |flags: &[&str]| place.run(&[&["run"], flags, &["-c", "pass"]].concat()).stderr;
        assert!(
            told(&["--network", "host"]).contains("THE NETWORK IS SHARED"),
            "as {who:?}"
        );
        assert_eq!(told(&["--network", "host", "--quiet"]), "");
        assert_eq!(told(&["--network", "loopback"]), "");
    }
}
