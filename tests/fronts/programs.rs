//! What can be run, and how its arguments are told from belljar's own.

use crate::harness::{Place, everyone};

/// Prints what the guest sees of its own arguments.
const SHOW: &str = "import sys; print(sys.argv)";

/// The same for every user: standard output of a run that ends well.
fn prints(prepare: impl Fn(&Place), args: &[&str], input: &str, expected: &str) {
    for who in everyone() {
        let place = Place::new(*who);
        prepare(&place);
        let ran = place.run_with(args, input);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, expected),
            "{args:?} as {who:?}: {}",
            ran.stderr
        );
        assert_eq!(ran.stderr, "", "{args:?} as {who:?}: nothing to add");
    }
}

fn nothing(_: &Place) {}

#[test]
fn code() {
    prints(nothing, &["run", "-c", "print(6 * 7)"], "", "42\n");
    prints(
        nothing,
        &["run", "-c", SHOW, "a", "--json", "-c", "--", "-"],
        "",
        "['-c', 'a', '--json', '-c', '--', '-']\n",
    );
    prints(nothing, &["run", "-cprint(1)"], "", "1\n");
}

#[test]
fn code_is_python_and_nothing_else() {
    for (text, hint) in [
        ("```python\nprint(1)\n```", "leave out the fences"),
        ("!pip install six", "add what it installs with --with six"),
        ("%matplotlib inline", "a command of notebooks"),
        ("import asyncio\nawait asyncio.sleep(0)", "inside async def"),
    ] {
        for who in everyone() {
            let ran = Place::new(*who).run(&["run", "-c", text]);
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{text} as {who:?}");
            assert!(
                ran.stderr.contains("SyntaxError") && ran.stderr.contains(hint),
                "{text} as {who:?}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn code_from_stdin() {
    prints(nothing, &["run", "-"], "print(6 * 7)", "42\n");
    prints(
        nothing,
        &["run", "-", "--json", "x"],
        SHOW,
        "['-', '--json', 'x']\n",
    );
    prints(
        nothing,
        &["run", "-"],
        "import sys; print(repr(sys.stdin.read()))",
        "''\n",
    );
}

#[test]
fn scripts() {
    let script = |place: &Place| drop(place.write("show.py", SHOW));
    let shown = "['/script/show.py', '--quiet', '-v', 'x']\n";
    prints(script, &["run", "show.py", "--quiet", "-v", "x"], "", shown);
    prints(script, &["run", "--", "show.py", "--quiet", "-v", "x"], "", shown);
    prints(
        script,
        &["run", "--timeout", "10s", "./show.py", "--quiet", "-v", "x"],
        "",
        shown,
    );
    let dashed = |place: &Place| drop(place.write("-show.py", SHOW));
    prints(dashed, &["run", "--", "-show.py"], "", "['/script/-show.py']\n");
}

#[test]
fn a_script_is_seen_alone_unless_its_folder_is_shown() {
    let look =
        "import os; print(sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))), os.getcwd())";
    let folder = |place: &Place| {
        place.write("look.py", look);
        place.write("secret.txt", "");
    };
    prints(folder, &["run", "look.py"], "", "['look.py'] /jar\n");
    prints(
        folder,
        &["run", "--workdir", ".", "look.py"],
        "",
        "['look.py', 'secret.txt'] /jar\n",
    );
    prints(
        folder,
        &["run", "--workdir", ".:/work", "look.py"],
        "",
        "['look.py', 'secret.txt'] /work\n",
    );
}

#[test]
fn modules() {
    prints(
        nothing,
        &["run", "-m", "base64", "-t"],
        "",
        "b'Aladdin:open sesame'\nb'QWxhZGRpbjpvcGVuIHNlc2FtZQ==\\n'\nb'Aladdin:open sesame'\n",
    );
    let package =
        |place: &Place| drop(place.write("mine/__main__.py", "import sys; print(__name__, sys.argv[1:])"));
    prints(
        package,
        &["run", "--workdir", ".", "-m", "mine", "--json"],
        "",
        "__main__ ['--json']\n",
    );
}

#[test]
fn folders_and_archives_that_are_shown() {
    let package =
        |place: &Place| drop(place.write("app/__main__.py", "import sys; print(__name__, sys.argv[1:])"));
    prints(
        package,
        &["run", "--workdir", ".", "app", "x"],
        "",
        "__main__ ['x']\n",
    );
    prints(
        package,
        &["run", "--mount", "app:/app", "app", "x"],
        "",
        "__main__ ['x']\n",
    );
}

#[test]
fn any_program() {
    prints(
        nothing,
        &["exec", "--", "echo", "--json", "-v"],
        "",
        "--json -v\n",
    );
    prints(nothing, &["exec", "echo", "x", "--", "y"], "", "x -- y\n");
    prints(
        nothing,
        &["exec", "--", "/bin/sh", "-c", "pwd; id -u; hostname"],
        "",
        "/jar\n1000\nbelljar\n",
    );
    prints(nothing, &["exec", "--", "tr", "a-z", "A-Z"], "loud", "LOUD");
}

#[test]
fn a_program_that_is_not_there() {
    for who in everyone() {
        let ran = Place::new(*who).run(&["exec", "--", "no-such-program"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{}", ran.stderr);
        assert!(
            ran.stderr
                .starts_with("belljar: cannot run no-such-program in the jar: "),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.stderr.lines().count(), 1);
    }
}

#[test]
fn exit_codes_are_the_programs_own() {
    for who in everyone() {
        let place = Place::new(*who);
        let code = |args: &[&str]| place.run(args).code;
        assert_eq!(code(&["run", "-c", "raise SystemExit(0)"]), 0);
        assert_eq!(code(&["run", "-c", "raise SystemExit(7)"]), 7);
        assert_eq!(code(&["run", "-c", "import os; os._exit(125)"]), 125);
        assert_eq!(code(&["run", "-c", "1/0"]), 1);
        assert_eq!(code(&["exec", "--", "sh", "-c", "exit 42"]), 42);
        assert_eq!(code(&["exec", "--", "sh", "-c", "kill -TERM $$"]), 128 + 15);
        assert_eq!(
            code(&["run", "-c", "import os; os.kill(os.getpid(), 11)"]),
            128 + 11
        );
    }
}

#[test]
fn an_exception_is_printed_as_python_prints_it_with_a_hint_after_it() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("wrong.py", "def f():\n    import cv2\n\nf()\n");
        let ran = place.run(&["run", "wrong.py"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines[0], "Traceback (most recent call last):", "{}", ran.stderr);
        assert!(
            lines.contains(&"  File \"/script/wrong.py\", line 4, in <module>"),
            "{}",
            ran.stderr
        );
        assert!(
            lines.contains(&"ModuleNotFoundError: No module named 'cv2'"),
            "{}",
            ran.stderr
        );
        let hint = lines.last().expect("a last line");
        assert!(
            hint.starts_with("hint: ") && hint.contains("opencv"),
            "{}",
            ran.stderr
        );
        let quiet = place.run(&["run", "--quiet", "wrong.py"]);
        assert!(!quiet.stderr.contains("hint:"), "{}", quiet.stderr);
    }
}

#[test]
fn a_module_that_is_not_there_has_a_hint() {
    for who in everyone() {
        let place = Place::new(*who);
        for (name, wanted) in [
            ("nosuchmod", "--with nosuchmod"),
            ("cv2", "--with opencv-python-headless"),
            ("jsno", "the module json"),
        ] {
            let ran = place.run(&["run", "-m", name]);
            let lines: Vec<&str> = ran.stderr.lines().collect();
            // As Python says it, and then ours.
            let said = format!(": No module named {name}");
            assert!(ran.code == 1 && lines[0].ends_with(&said), "{}", ran.stderr);
            assert!(
                lines[1].starts_with("hint: ") && lines[1].contains(wanted),
                "{}",
                ran.stderr
            );
        }
        // What a module of ours lacks is told from where it is missing, and one that is there runs.
        place.write("own.py", "import nosuchmod\n");
        let ran = place.run(&["run", "--workdir", ".", "-m", "own"]);
        assert!(
            ran.stderr.contains("File \"/jar/own.py\", line 1"),
            "{}",
            ran.stderr
        );
        let ran = place.run(&["run", "-m", "json.tool", "--help"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test]
fn an_interpreter_and_variables_by_name() {
    let version =
        "import sys, os; print(sys.version_info[0], os.environ.get('MINE'), os.environ.get('HOME'))";
    prints(
        nothing,
        &[
            "run",
            "--python",
            "/usr/bin/python3",
            "--env",
            "MINE=x=y",
            "-c",
            version,
        ],
        "",
        "3 x=y /tmp/home\n",
    );
    for who in everyone() {
        let place = Place::new(*who);
        let mut command = place.command(&["run", "--env", "MINE", "-c", version]);
        let ran = crate::harness::finish(command.env("MINE", "passed on").env("OTHER", "kept out"), "");
        assert_eq!(ran.stdout, "3 passed on /tmp/home\n", "{}", ran.stderr);
    }
}
