//! The examples in the help run as written, by the shell that they are typed into.

use std::process::Command;

use crate::harness::{Place, Who, binary, everyone, finish};

/// The example lines of a command's help, without their remarks.
fn examples(place: &Place, command: &[&str]) -> Vec<String> {
    let help = place.run(&[command, &["--help"]].concat()).stdout;
    let lines = help
        .lines()
        .skip_while(|line| *line != "Examples:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    lines
        .map(|line| {
            line.trim()
                .split("   ")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .collect()
}

/// Everything that the examples name.
fn prepare(place: &Place) {
    place.write("script.py", "print('script')");
    place.write("fix.py", "open('fixed', 'w').write('x')");
    place.write("input.csv", "");
    place.write("data/x", "x");
    place.write("src/x", "x");
    place.write("policy.toml", "[profile.ci]\nmemory = \"2G\"\n");
    for folder in [
        ".local/share/bash-completion/completions",
        ".zfunc",
        ".config/fish/completions",
        ".local/share/man/man1",
    ] {
        place.write(&format!("{folder}/.keep"), "");
    }
    let mut venv = Command::new("/usr/bin/python3");
    venv.args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(place.path());
    place.become_user(&mut venv);
    let made = finish(&mut venv, "");
    assert_eq!(made.code, 0, "{}", made.stderr);
    let packages = place.path().join(".venv/lib");
    let version = std::fs::read_dir(&packages)
        .expect("a lib folder")
        .flatten()
        .next()
        .expect("a version");
    let pytest = format!(
        ".venv/lib/{}/site-packages/pytest.py",
        version.file_name().display()
    );
    place.write(&pytest, "print('pytest of the virtualenv')");
    std::os::unix::fs::symlink(binary(), place.path().join("belljar")).expect("a name on PATH");
}

/// Whether a line can be tried without a person: a shell wants a terminal, and a reader of man pages is not everywhere. Packages
/// need uv and an index; python/tests/environments has both.
fn can_be_tried(line: &str) -> bool {
    !line.starts_with("belljar shell")
        && !line.contains(" --with ")
        && !line.starts_with("belljar env build")
        && (!line.contains("| man -l") || std::path::Path::new("/usr/bin/man").exists())
}

fn try_all(who: Who) {
    let place = Place::new(who);
    prepare(&place);
    let mut tried = 0;
    for command in [
        &[][..],
        &["run"],
        &["exec"],
        &["shell"],
        &["plan"],
        &["env"],
        &["doctor"],
        &["completions"],
        &["man"],
    ] {
        let lines = examples(&place, command);
        assert!(lines.len() >= 3, "{command:?} teaches by example: {lines:?}");
        for line in lines.iter().filter(|line| can_be_tried(line)) {
            let mut shell = Command::new("/bin/sh");
            shell
                .args(["-c", line])
                .current_dir(place.path())
                .env_clear()
                .env("HOME", place.path());
            shell.env("PATH", format!("{}:/usr/bin:/bin", place.path().display()));
            place.become_user(&mut shell);
            let ran = finish(&mut shell, "");
            let refused =
                ran.code == 125 && line.contains("--require-layer") && ran.stderr.contains("refused");
            assert!(
                ran.code == 0 || refused,
                "{line} as {who:?}: {} {}{}",
                ran.code,
                ran.stdout,
                ran.stderr
            );
            tried += 1;
        }
    }
    assert!(tried >= 25, "{tried} examples were tried");
    let left = [
        "out/plot.txt",
        ".zfunc/_belljar",
        ".local/share/man/man1/belljar.1",
    ];
    for name in left {
        assert!(!place.read(name).is_empty(), "{name}");
    }
    assert!(!place.path().join("fixed").exists(), "a draft keeps nothing");
}

#[test]
fn examples_run_as_written() {
    everyone().iter().for_each(|who| try_all(*who));
}
