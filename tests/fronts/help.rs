//! Help, completions and the man page. All come from one definition, so one look at each is enough.

use crate::harness::{Place, Who, everyone, finish};

const COMMANDS: [&str; 8] = [
    "run",
    "exec",
    "shell",
    "plan",
    "env",
    "doctor",
    "completions",
    "man",
];

fn place() -> Place {
    Place::new(everyone()[0])
}

#[test]
fn help_of_each_command() {
    let place = place();
    let whole = place.run(&["--help"]);
    assert_eq!(whole.code, 0);
    insta::assert_snapshot!("help", whole.stdout);
    for command in COMMANDS {
        let help = place.run(&[command, "--help"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{command}");
        assert!(help.stdout.contains("Examples:"), "{command} teaches by example");
        insta::assert_snapshot!(format!("help_{command}"), help.stdout);
    }
    // Nobody is left out of the list above.
    let listed = whole.stdout.split("Commands:\n").nth(1).expect("commands");
    let listed = listed.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, COMMANDS);
    for command in ["list", "build", "prune"] {
        let help = place.run(&["env", command, "--help"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{command}");
        insta::assert_snapshot!(format!("help_env_{command}"), help.stdout);
    }
}

#[test]
fn help_is_also_a_word() {
    let place = place();
    assert_eq!(place.run(&["help"]).stdout, place.run(&["--help"]).stdout);
    let asked = place.run(&["help", "run"]);
    assert_eq!(
        (asked.code, asked.stdout),
        (0, place.run(&["run", "--help"]).stdout)
    );
    assert_eq!(place.run(&["help", "rnu"]).code, 125);
}

#[test]
fn version() {
    let version = place().run(&["--version"]);
    assert_eq!(version.code, 0);
    assert_eq!(version.stdout, format!("belljar {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn nothing_typed_gives_help_and_the_code_of_a_mistake() {
    let nothing = place().run(&[]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (125, ""));
    assert!(
        nothing.stderr.contains("Usage: belljar <COMMAND>"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn the_warden_is_not_offered() {
    let place = place();
    assert!(!place.run(&["--help"]).stdout.contains("warden"));
    assert_eq!(place.run(&["man", "warden"]).code, 125);
}

#[test]
fn completions_know_commands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = place().run(&["completions", shell]);
        assert_eq!(script.code, 0, "{shell}");
        for word in ["doctor", "require-layer", "cpu-seconds"] {
            assert!(script.stdout.contains(word), "{shell} completes {word}");
        }
    }
    assert_eq!(place().run(&["completions", "tcsh"]).code, 125);
}

#[test]
fn bash_takes_its_completions() {
    let place = place();
    let script = place.run(&["completions", "bash"]).stdout;
    place.write("belljar.bash", &script);
    let ask = "source ./belljar.bash; COMP_WORDS=(belljar run --timeo); COMP_CWORD=2; _belljar belljar --timeo run; echo ${COMPREPLY[@]}";
    let mut bash = std::process::Command::new("bash");
    let answer = finish(bash.args(["--norc", "-c", ask]).current_dir(place.path()), "");
    assert_eq!(answer.stdout, "--timeout\n", "{}", answer.stderr);
}

#[test]
fn man_pages() {
    let place = place();
    let page = place.run(&["man"]).stdout;
    assert!(
        page.contains(".TH belljar 1") && page.contains("doctor"),
        "{page}"
    );
    let page = place.run(&["man", "run"]).stdout;
    assert!(page.contains(r"\-\-memory"), "{page}");
    let sections = page.split_once(".SH \"EXAMPLES\"\n.nf\n").expect("examples").1;
    let (examples, status) = sections
        .split_once("\n.fi\n.SH \"EXIT STATUS\"\n")
        .expect("exit codes");
    assert!(
        examples.contains("\n  belljar run \\-\\-timeout 5s \\-\\-memory 256M script.py\n"),
        "one line each: {examples}"
    );
    assert!(status.contains("124 timed out"), "{status}");
    assert!(!page.contains("EXTRA"), "{page}");
}

#[test]
fn help_is_coloured_only_where_colours_are_wanted() {
    let place = Place::new(Who::User);
    let coloured = |name: &str, value: &str| {
        let mut command = place.command(&["run", "--help"]);
        finish(command.env(name, value), "").stdout.contains('\u{1b}')
    };
    assert!(coloured("CLICOLOR_FORCE", "1"), "forced");
    assert!(!coloured("NO_COLOR", "1"), "a pipe");
    assert!(
        !coloured("TERM", "xterm-256color"),
        "a pipe, even for a good terminal"
    );
    let mut both = place.command(&["run", "--nope"]);
    let both = finish(both.env("NO_COLOR", "1"), "");
    assert!(!both.stderr.contains('\u{1b}'));
    let mut forced = place.command(&["run", "--nope"]);
    let forced = finish(forced.env("CLICOLOR_FORCE", "1"), "");
    assert!(forced.stderr.contains('\u{1b}'), "{}", forced.stderr);
}
