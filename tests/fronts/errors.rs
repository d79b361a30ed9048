//! Mistakes: one line that says what, which thing, and the next step; always exit code 125.

use std::process::Command;

use crate::harness::{Place, Ran, binary, everyone, finish};

/// What a mistake prints, for each user alike.
fn mistake(prepare: impl Fn(&Place), args: &[&str]) -> String {
    let mut told: Vec<String> = everyone()
        .iter()
        .map(|who| {
            let place = Place::new(*who);
            prepare(&place);
            let Ran { code, stdout, stderr } = place.run(args);
            assert_eq!(
                (code, stdout.as_str()),
                (125, ""),
                "{args:?} as {who:?}: {stderr}"
            );
            assert_eq!(stderr.lines().count(), 1, "{args:?} as {who:?}: {stderr}");
            format!("$ belljar {}\n{}", args.join(" "), place.plain(&stderr))
        })
        .collect();
    told.dedup();
    assert_eq!(told.len(), 1, "every user is told the same: {told:?}");
    told.remove(0)
}

fn nothing(_: &Place) {}

#[test]
fn mistyped() {
    let mut told = String::new();
    told.push_str(&mistake(nothing, &["run", "--timeot", "3", "x.py"]));
    told.push_str(&mistake(nothing, &["rnu", "x.py"]));
    told.push_str(&mistake(nothing, &["evn", "list"]));
    told.push_str(&mistake(nothing, &["env", "lits"]));
    told.push_str(&mistake(nothing, &["run", "--evn", "A=1", "x.py"]));
    told.push_str(&mistake(nothing, &["frobnicate", "x.py"]));
    told.push_str(&mistake(nothing, &["run", "--memory", "lots", "x.py"]));
    told.push_str(&mistake(nothing, &["run", "--timeout", "soon", "x.py"]));
    told.push_str(&mistake(nothing, &["run", "--network", "wifi", "x.py"]));
    told.push_str(&mistake(nothing, &["plan", "--require-layer", "secomp"]));
    told.push_str(&mistake(nothing, &["run", "--cpus", "two", "x.py"]));
    insta::assert_snapshot!("mistake_mistyped", told);
}

#[test]
fn impossible_values() {
    let mut told = String::new();
    told.push_str(&mistake(nothing, &["run", "--memory", "1", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--cpus", "0", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--env", "LD_PRELOAD=x", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--env", "NOT_SET_HERE", "-c", "1"]));
    insta::assert_snapshot!("mistake_impossible_values", told);
}

#[test]
fn nothing_to_run() {
    let mut told = String::new();
    told.push_str(&mistake(nothing, &["run"]));
    told.push_str(&mistake(nothing, &["exec"]));
    told.push_str(&mistake(nothing, &["exec", ""]));
    told.push_str(&mistake(nothing, &["exec", "nope"]));
    told.push_str(&mistake(nothing, &["run", ""]));
    told.push_str(&mistake(nothing, &["run", "nope.py"]));
    told.push_str(&mistake(nothing, &["run", "--with", "-e .", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--with", "sklearn>=1", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--with", "json", "-c", "1"]));
    insta::assert_snapshot!("mistake_nothing_to_run", told);
}

#[test]
fn scripts_that_are_none() {
    let mut told = String::new();
    let folder = |place: &Place| drop(place.write("app/__main__.py", "print(1)"));
    told.push_str(&mistake(folder, &["run", "app"]));
    told.push_str(&mistake(nothing, &["run", "/dev/zero"]));
    let archive = |place: &Place| drop(place.write("app.pyz", "PK"));
    told.push_str(&mistake(archive, &["run", "app.pyz"]));
    let empty = |place: &Place| drop(place.write("app/other.py", ""));
    told.push_str(&mistake(empty, &["run", "--workdir", ".", "app"]));
    insta::assert_snapshot!("mistake_scripts_that_are_none", told);
}

#[test]
fn interpreters_that_are_none() {
    let mut told = String::new();
    let place = Place::new(everyone()[0]);
    let missing = place.run(&["run", "--python", "3.99", "-c", "1"]).stderr;
    assert!(
        missing.starts_with("belljar: python 3.99 was not found; found 3."),
        "{missing}"
    );
    assert!(missing.ends_with("; name one with --python PATH\n"), "{missing}");
    told.push_str(&mistake(nothing, &["run", "--python", "./nope", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--python", "/bin/ls", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--venv", ".", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--venv", "nope", "-c", "1"]));
    insta::assert_snapshot!("mistake_interpreters_that_are_none", told);
}

#[test]
fn folders_that_cannot_be() {
    let mut told = String::new();
    told.push_str(&mistake(nothing, &["run", "--mount", "nope:/data", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--mount", "..:data", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--mount", ".:/data:rx", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--collect", "", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--draft", "-c", "1"]));
    told.push_str(&mistake(
        nothing,
        &["run", "--workdir", ".", "--collect", "out", "-c", "1"],
    ));
    let full = |place: &Place| drop(place.write("full/x", ""));
    told.push_str(&mistake(full, &["run", "--collect", "full", "-c", "1"]));
    told.push_str(&mistake(full, &["run", "--collect", "full/x", "-c", "1"]));
    told.push_str(&mistake(nothing, &["run", "--collect", "no/where", "-c", "1"]));
    insta::assert_snapshot!("mistake_folders_that_cannot_be", told);
}

#[test]
fn policy_files() {
    let mut told = String::new();
    let with = |text: &'static str| move |place: &Place| drop(place.write("policy.toml", text));
    let args = ["run", "--policy", "policy.toml", "-c", "1"];
    told.push_str(&mistake(with("memroy = \"1G\""), &args));
    told.push_str(&mistake(with("memory = \"lots\""), &args));
    told.push_str(&mistake(with("mount = [\"data:/data\"]"), &args));
    told.push_str(&mistake(with("memory = "), &args));
    told.push_str(&mistake(nothing, &args));
    told.push_str(&mistake(
        with(""),
        &["run", "--policy", "policy.toml", "--profile", "nope", "-c", "1"],
    ));
    insta::assert_snapshot!("mistake_policy_files", told);
}

#[test]
fn the_current_folder_is_gone() {
    for who in everyone() {
        let place = Place::new(*who);
        for args in [
            &["run", "script.py"][..],
            &["run", "--workdir", ".", "-c", "1"],
            &["run", "--collect", "out", "-c", "1"],
        ] {
            place.write("gone/file", "");
            let gone = place.path().join("gone");
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "rm -r \"$0\"; exec \"$@\""]).arg(&gone);
            command.arg(place.command(&[]).get_program()).args(args);
            command
                .current_dir(&gone)
                .env_clear()
                .env("PATH", "/usr/bin:/bin");
            place.become_user(&mut command);
            let Ran { code, stderr, .. } = finish(&mut command, "");
            assert_eq!(
                (code, stderr.lines().count()),
                (125, 1),
                "{args:?} as {who:?}: {stderr}"
            );
            assert!(
                stderr.contains("the current folder no longer exists; change to another one"),
                "{args:?} as {who:?}: {stderr}"
            );
        }
    }
}

#[test]
fn a_caller_s_own_limit_on_files_is_an_error() {
    for who in everyone() {
        let place = Place::new(*who);
        // In blocks of 1,024 bytes: too little for a root, for what the guest prints, and enough.
        for (blocks, code, said) in [(0, 125, ""), (300, 125, "File too large"), (2000, 0, "")] {
            let line = format!("ulimit -f {blocks}; exec \"$0\" run -c 'print(\"x\" * 1000000)' >out 2>err");
            let mut command = Command::new("/bin/bash");
            command
                .args(["-c", &line])
                .arg(binary())
                .current_dir(place.path());
            command.env("PATH", "/usr/bin:/bin").env("HOME", place.path());
            place.become_user(&mut command);
            let ran = finish(&mut command, "");
            let told = place.read("err");
            assert_eq!(ran.code, code, "{blocks} as {who:?}: {told}");
            assert!(told.contains(said), "{blocks} as {who:?}: {told}");
        }
        // The guest has the signal's default action back.
        let ignored = "while read -r name value; do [ \"$name\" = SigIgn: ] && echo \"$value\"; done </proc/self/status";
        let ran = place.run(&["exec", "--", "sh", "-c", ignored]);
        assert_eq!(ran.stdout, "0000000000000000\n", "{}", ran.stderr);
    }
}

#[test]
fn a_terminal_is_needed_for_a_shell() {
    let mut told = String::new();
    told.push_str(&mistake(nothing, &["shell"]));
    insta::assert_snapshot!("mistake_a_terminal_is_needed_for_a_shell", told);
}

#[test]
fn a_failure_is_told_even_when_quiet() {
    let told = mistake(nothing, &["run", "--quiet", "nope.py"]);
    assert!(told.contains("belljar: cannot read script nope.py"), "{told}");
}
