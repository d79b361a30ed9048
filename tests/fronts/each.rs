//! `run --each`: many scripts in one command, each in a jar of its own, on warm workers.

mod ends;
mod object;

use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::harness::{Place, Ran, Who, everyone, finish};
use crate::schema;

/// Writes scripts, and gives the command that runs each of them.
fn scripts(place: &Place, flags: &[&str], all: &[(&str, &str)]) -> Vec<String> {
    let names = all.iter().map(|(name, source)| {
        place.write(name, source);
        (*name).to_owned()
    });
    let flags = ["run", "--each"].iter().chain(flags);
    flags.map(|flag| (*flag).to_owned()).chain(names).collect()
}

fn run(place: &Place, flags: &[&str], all: &[(&str, &str)]) -> Ran {
    let words = scripts(place, flags, all);
    place.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The object that a run prints, held against the schema.
fn object(who: Who, ran: &Ran) -> Value {
    assert_eq!(ran.stderr, "", "as {who:?}");
    let value: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout));
    schema::hold(&value).unwrap_or_else(|wrong| panic!("as {who:?}: {wrong}"));
    value
}

/// The row of a script in the table, its columns one blank apart.
fn row(ran: &Ran, name: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rows = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with(&format!("{name} ")));
    rows.next_back()
        .map(words)
        .unwrap_or_else(|| panic!("no row of {name}: {}", ran.stderr))
}

#[test]
fn output_is_whole_and_in_the_order_given() {
    for who in everyone() {
        let slow = "import time, sys\nprint('one', flush=True)\ntime.sleep(0.4)\nprint('two')";
        let ran = run(
            &Place::new(*who),
            &["--jobs", "3"],
            &[
                ("slow.py", slow),
                ("quick.py", "print('quick', end='')"),
                ("silent.py", ""),
                (
                    "last.py",
                    "import sys; print('last'); print('error', file=sys.stderr)",
                ),
            ],
        );
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        let expected = "==> slow.py <==\none\ntwo\n\n==> quick.py <==\nquick\n\n==> last.py <==\nlast\n";
        assert_eq!(ran.stdout, expected, "as {who:?}");
        // On another stream the name is needed again.
        assert!(ran.stderr.contains("==> last.py <==\nerror\n"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("==> silent.py"), "{}", ran.stderr);
        let names: Vec<_> = ran
            .stderr
            .lines()
            .filter_map(|line| line.split_once(".py  "))
            .collect();
        let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["slow", "quick", "silent", "last"], "{}", ran.stderr);
        assert!(row(&ran, "slow.py").starts_with("slow.py ok "), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("belljar: 4 scripts: 4 ok; "),
            "{}",
            ran.stderr
        );
        assert!(
            !ran.stderr.contains(['\r', '\u{1b}']),
            "no bar and no colours in a pipe"
        );
    }
}

#[test]
fn how_each_one_ended() {
    for who in everyone() {
        let ran = run(
            &Place::new(*who),
            &["--timeout", "1s"],
            &[
                ("good.py", "print('good')"),
                ("raises.py", "raise ValueError('no')"),
                ("exits.py", "raise SystemExit(3)"),
                ("hangs.py", "print('begun', flush=True)\nwhile True: pass"),
                ("dies.py", "import os; os.kill(os.getpid(), 11)"),
                ("ends.py", "raise SystemExit(0)"),
            ],
        );
        assert_eq!(ran.code, 1, "as {who:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "==> good.py <==\ngood\n\n==> hangs.py <==\nbegun\n");
        for (name, how) in [
            ("good.py", "ok"),
            ("raises.py", "raised ValueError"),
            ("exits.py", "exit code 3"),
            ("hangs.py", "timed out"),
            ("dies.py", "killed by signal 11 (SIGSEGV)"),
            ("ends.py", "ok"),
        ] {
            let row = row(&ran, name);
            assert!(row.starts_with(&format!("{name} {how} ")), "as {who:?}: {row}");
        }
        assert!(
            ran.stderr.contains("==> raises.py <==\nTraceback "),
            "{}",
            ran.stderr
        );
        let told = "==> hangs.py <==\nbelljar: timed out after 1 s (--timeout)\n";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("belljar: 6 scripts: 2 ok, 4 failed; "),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn quiet_leaves_what_the_scripts_printed() {
    let all = [
        ("a.py", "print('a', end='')"),
        ("b.py", "print('b'); raise SystemExit(1)"),
    ];
    let ran = run(&Place::new(everyone()[0]), &["--quiet"], &all);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (1, "ab\n", "")
    );
}

#[test]
fn arguments_are_for_every_script() {
    for who in everyone() {
        let place = Place::new(*who);
        let show = "import sys; print(sys.argv, sys.stdin.read())";
        let mut words = scripts(&place, &[], &[("a.py", show), ("b.py", show)]);
        words.extend(["--", "--jobs", "x y", "--"].map(str::to_owned));
        let ran = place.run_with(
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
            "not theirs",
        );
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for name in ["a", "b"] {
            let line = format!("\n['/script/{name}.py', '--jobs', 'x y', '--'] \n");
            assert!(ran.stdout.contains(&line), "as {who:?}: {}", ran.stdout);
        }
    }
}

#[test]
fn a_name_that_is_no_script_is_refused_before_anything_runs() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("shown/keep", "");
        let touch = "open('/shown/ran', 'w')";
        let mount = ["--mount", "shown:/shown:rw"];
        let mut words = scripts(&place, &mount, &[("a.py", touch)]);
        words.push("nope.py".into());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = place.run(&words);
        let expected = "belljar: cannot read script nope.py: no such file or directory; nothing was run; arguments for every script go after `--`\n";
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (125, "", expected),
            "as {who:?}"
        );
        assert!(!place.path().join("shown/ran").exists(), "nothing ran");
        // Without it, it does run.
        assert_eq!(place.run(&words[..words.len() - 1]).code, 0);
        assert!(place.path().join("shown/ran").exists());
    }
}

#[test]
fn at_most_so_many_at_once() {
    for who in everyone() {
        let place = Place::new(*who);
        let times = "import time\na = time.monotonic()\ntime.sleep(0.05)\nprint(a, time.monotonic())";
        let names: Vec<String> = (0..30).map(|number| format!("s{number:02}.py")).collect();
        let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), times)).collect();
        let ran = run(&place, &["--jobs", "2"], &all);
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        let mut headers = Vec::new();
        let mut spans: Vec<(f64, f64)> = Vec::new();
        for line in ran.stdout.lines().filter(|line| !line.is_empty()) {
            match line
                .strip_prefix("==> ")
                .and_then(|line| line.strip_suffix(" <=="))
            {
                Some(name) => headers.push(name.to_owned()),
                None => {
                    let (from, to) = line.split_once(' ').expect("two times");
                    spans.push((from.parse().expect("a time"), to.parse().expect("a time")));
                }
            }
        }
        assert_eq!(headers, names, "as {who:?}");
        let at = |moment: f64| {
            spans
                .iter()
                .filter(|(from, to)| *from <= moment && moment < *to)
                .count()
        };
        let most = spans.iter().map(|(from, _)| at(*from)).max();
        assert_eq!(most, Some(2), "as {who:?}: {spans:?}");
    }
}

#[test]
fn modules_are_imported_ahead() {
    for who in everyone() {
        let place = Place::new(*who);
        let all = [("a.py", "import sys; print('colorsys' in sys.modules)")];
        assert_eq!(run(&place, &["--quiet"], &all).stdout, "False\n");
        assert_eq!(
            run(&place, &["--quiet", "--preload", "colorsys"], &all).stdout,
            "True\n"
        );
        let ran = run(&place, &["--preload", "nonsuch", "--preload", "colorsys"], &all);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "==> a.py <==\nTrue\n"),
            "as {who:?}"
        );
        assert!(
            ran.stderr
                .starts_with("belljar: cannot preload nonsuch: ModuleNotFoundError"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn each_script_has_a_folder_of_its_own() {
    for who in everyone() {
        let place = Place::new(*who);
        let leave = "import sys; open('left', 'w').write(sys.argv[0] + str(len(open(sys.argv[0]).read())))";
        let all = [
            ("x/a.py", leave),
            ("y/a.py", &format!("{leave} # longer")),
            ("b.py", leave),
            ("none.py", "pass"),
        ];
        let ran = run(&place, &["--collect", "out"], &all);
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        let length = leave.len();
        assert_eq!(place.read("out/a.py/left"), format!("/script/a.py{length}"));
        assert_eq!(
            place.read("out/a.py-2/left"),
            format!("/script/a.py{}", length + 9)
        );
        assert_eq!(place.read("out/b.py/left"), format!("/script/b.py{length}"));
        let told = "==> b.py <==\nbelljar: 1 path collected in [folder]/out/b.py\n  + left\n";
        assert!(place.plain(&ran.stderr).contains(told), "{}", ran.stderr);
        assert!(!ran.stderr.contains("==> none.py"), "{}", ran.stderr);
        let again = run(&place, &["--collect", "out"], &all);
        assert_eq!(again.code, 125, "never into a folder that has content");
    }
}

#[test]
fn a_failure_of_our_own_is_told_apart() {
    for who in everyone() {
        let place = Place::new(*who);
        // The second one's folder would have a number behind a name that is as long as names can be.
        let long = "n".repeat(255);
        let (first, second) = (format!("x/{long}"), format!("y/{long}"));
        let leave = "open('left', 'w'); print('ran')";
        let all = [
            (first.as_str(), leave),
            (second.as_str(), leave),
            ("last.py", leave),
        ];
        let ran = run(&place, &["--collect", "out"], &all);
        assert_eq!(ran.code, 125, "as {who:?}: {}", ran.stderr);
        let told = format!("belljar: {second}: ");
        assert!(
            ran.stderr.lines().any(|line| line.starts_with(&told)),
            "{}",
            ran.stderr
        );
        assert!(
            row(&ran, &second).contains(" failed in belljar "),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("3 scripts: 2 ok, 1 failed in belljar; "),
            "{}",
            ran.stderr
        );
        let value = object(*who, &run(&place, &["--json", "--collect", "again"], &all));
        assert!(value["scripts"][1]["error"]["message"].is_string(), "{value}");
        assert_eq!(value["scripts"][1]["outcome"], Value::Null);
        assert_eq!(value["summary"]["errors"], 1);
        assert_eq!(value["scripts"][2]["outcome"]["status"], "returned");
    }
}

#[test]
fn hostile_names() {
    for who in everyone() {
        let place = Place::new(*who);
        let show = "import sys; print(ascii(sys.argv[0]))";
        let names: [&[u8]; 7] = [
            b"a b'\"$(id).py",
            b"line\nbelljar: fine.py",
            b"\x1b[2J\x1b]0;owned\x07.py",
            b"-x.py",
            b"--network=host",
            b"\xff\xfe.py",
            "数据\u{202e}yp.py".as_bytes(),
        ];
        for name in names {
            place.write("plain", show);
            let path = place.path().join(std::ffi::OsStr::from_bytes(name));
            std::fs::rename(place.path().join("plain"), path).expect("a name");
        }
        let mut command = place.command(&["run", "--each", "--collect", "out", "--"]);
        command.args(names.iter().map(|name| std::ffi::OsStr::from_bytes(name)));
        let ran = finish(&mut command, "");
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        for printed in [
            "'/script/-x.py'",
            "'/script/--network=host'",
            "'/script/\\udcff\\udcfe.py'",
            "\\x1b[2J",
        ] {
            assert!(
                ran.stdout.contains(printed),
                "{printed} as {who:?}: {}",
                ran.stdout
            );
        }
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
            assert!(
                !text.lines().any(|line| line.starts_with("belljar: fine")),
                "{text}"
            );
        }
        assert!(
            ran.stderr.contains("\nline\\nbelljar: fine.py "),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("belljar: 7 scripts: 7 ok"), "{}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_combined() {
    let mut told = String::new();
    let flags: [&[&str]; 13] = [
        &["--each", "-c", "print(1)"],
        &["--each", "-m", "json.tool"],
        &["--each", "-"],
        &["--each"],
        &["--each", "--workdir", ".", "--draft", "a.py"],
        &["--each", "--workdir", ".", "--apply", "a.py"],
        &["--each", "--workdir", ".", "--collect", "out", "a.py"],
        &["--each", "--jobs", "0", "a.py"],
        &["--each", "a.py", "--jobs", "2"],
        &["--each", "--preload", "a b", "a.py"],
        &["--each", "folder"],
        &["--jobs", "2", "a.py"],
        &["--preload", "json", "a.py"],
    ];
    for flags in flags {
        let place = Place::new(everyone()[0]);
        place.write("a.py", "open('/jar/x', 'w')");
        place.write("folder/x", "");
        let ran = place.run(&[&["run"], flags].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (125, ""),
            "{flags:?}: {}",
            ran.stderr
        );
        assert_eq!(ran.stderr.lines().count(), 1, "{flags:?}: {}", ran.stderr);
        assert!(!place.path().join("out").exists(), "{flags:?}");
        told.push_str(&format!(
            "$ belljar run {}\n{}",
            flags.join(" "),
            place.plain(&ran.stderr)
        ));
    }
    insta::assert_snapshot!("mistake_each", told);
}
