//! Host folders: shown, changed, drafted, applied, collected.

use crate::harness::{Place, everyone};

const EDIT: &str = "open('new.txt', 'w').write('n')
open('old.txt', 'a').write('!')
import os; os.remove('gone.txt')";

fn folder(place: &Place) {
    place.write("work/old.txt", "old");
    place.write("work/gone.txt", "");
    place.write("edit.py", EDIT);
}

#[test]
fn a_workdir_is_changed() {
    for who in everyone() {
        let place = Place::new(*who);
        folder(&place);
        let ran = place.run(&["run", "--workdir", "work", "edit.py"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "as {who:?}");
        assert_eq!(
            (place.read("work/old.txt"), place.read("work/new.txt")),
            ("old!".into(), "n".into())
        );
        assert!(!place.path().join("work/gone.txt").exists());
    }
}

#[test]
fn a_draft_is_listed_and_dropped() {
    for who in everyone() {
        let place = Place::new(*who);
        folder(&place);
        let ran = place.run(&["run", "--workdir", "work", "--draft", "edit.py"]);
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        assert_eq!(
            ran.stderr,
            "belljar: 3 changes, not applied (--apply writes them)\n  + new.txt\n  ~ old.txt\n  - gone.txt\n"
        );
        assert_eq!(place.read("work/old.txt"), "old");
        assert!(place.path().join("work/gone.txt").exists() && !place.path().join("work/new.txt").exists());
    }
}

#[test]
fn a_draft_is_applied_after_a_clean_exit_only() {
    for who in everyone() {
        let place = Place::new(*who);
        folder(&place);
        let args = ["run", "--workdir", "work", "--apply", "-c"];
        let failed = place.run(&[&args[..], &[&format!("{EDIT}\nraise SystemExit(3)")]].concat());
        assert_eq!(failed.code, 3);
        assert!(
            failed
                .stderr
                .starts_with("belljar: 3 changes, not applied because"),
            "{}",
            failed.stderr
        );
        assert_eq!(place.read("work/old.txt"), "old");
        let clean = place.run(&[&args[..], &[EDIT]].concat());
        assert_eq!(clean.code, 0, "{}", clean.stderr);
        assert!(
            place
                .plain(&clean.stderr)
                .starts_with("belljar: 3 changes, written to [folder]/work\n"),
            "{}",
            clean.stderr
        );
        assert_eq!(
            (place.read("work/old.txt"), place.read("work/new.txt")),
            ("old!".into(), "n".into())
        );
        assert!(!place.path().join("work/gone.txt").exists());
    }
}

#[test]
fn what_apply_leaves_out_is_told_with_another_way() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("work/old.txt", "old");
        let make = "open('.envrc', 'w').close()";
        let applied = place.run(&["run", "--workdir", "work", "--apply", "-c", make]);
        assert_eq!(applied.code, 0, "as {who:?}: {}", applied.stderr);
        let told = "; --apply leaves it out, and a run with --workdir alone can make a new one\n";
        let left = applied
            .stderr
            .lines()
            .any(|line| line.starts_with("belljar: left out .envrc: protected: "));
        assert!(left && applied.stderr.contains(told), "{}", applied.stderr);
        assert!(!place.path().join("work/.envrc").exists());
        // The way that it names is one.
        assert_eq!(place.run(&["run", "--workdir", "work", "-c", make]).code, 0);
        assert!(place.path().join("work/.envrc").exists());
    }
}

#[test]
fn what_is_left_is_collected() {
    for who in everyone() {
        let place = Place::new(*who);
        let make = "import os; os.mkdir('d'); open('d/a', 'w').write('A'); open('b\\x1b[2J', 'w').write('B')";
        let ran = place.run(&["run", "--collect", "out", "-c", make]);
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        assert_eq!(place.read("out/d/a"), "A");
        assert_eq!(place.read("out/b\u{1b}[2J"), "B");
        assert!(
            place.plain(&ran.stderr).contains("collected in [folder]/out\n"),
            "{}",
            ran.stderr
        );
        assert!(
            !ran.stderr.contains('\u{1b}'),
            "a guest's file name cannot drive the terminal: {:?}",
            ran.stderr
        );
        assert!(ran.stderr.contains("+ b\\x1b[2J\n"), "{}", ran.stderr);
    }
}

#[test]
fn what_is_left_out_does_not_count_as_collected() {
    for who in everyone() {
        let place = Place::new(*who);
        let make = "import os; open('a', 'w').close(); os.symlink('a', 'link'); os.mkfifo('pipe')";
        let ran = place.run(&["run", "--collect", "out", "-c", make]);
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        assert_eq!(
            place.plain(&ran.stderr),
            "belljar: 1 path collected in [folder]/out\n  + a\n\
             belljar: left out link: symbolic link to a\nbelljar: left out pipe: named pipe\n"
        );
    }
}

#[test]
fn mounts_are_read_only_unless_told() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("data/in.txt", "in");
        let write = "print(open('/data/in.txt').read()); open('/data/out.txt', 'w').write('out')";
        let read_only = place.run(&["run", "--mount", "data:/data", "-c", write]);
        assert_eq!(
            (read_only.code, read_only.stdout.as_str()),
            (1, "in\n"),
            "as {who:?}: {}",
            read_only.stderr
        );
        assert!(!place.path().join("data/out.txt").exists());
        let read_write = place.run(&["run", "--mount", "data:/data:rw", "-c", write]);
        assert_eq!(
            (read_write.code, read_write.stdout.as_str()),
            (0, "in\n"),
            "as {who:?}: {}",
            read_write.stderr
        );
        assert_eq!(place.read("data/out.txt"), "out");
    }
}

#[test]
fn relative_paths_are_taken_from_here() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("data/in.txt", "in");
        place.write("deep/down/x", "");
        let mut command = place.command(&[
            "run",
            "--mount",
            "../../data",
            "-c",
            "import sys; print(open(sys.argv[1]).read())",
        ]);
        let shown = place
            .path()
            .canonicalize()
            .expect("the folder")
            .join("data/in.txt");
        command.arg(shown).current_dir(place.path().join("deep/down"));
        let ran = crate::harness::finish(&mut command, "");
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "in\n"),
            "as {who:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_policy_file_counts_only_when_named_and_flags_outrank_it() {
    for who in everyone() {
        let place = Place::new(*who);
        let policy = "env = { MINE = \"file\" }\n[profile.ci]\nenv = { MINE = \"profile\" }\n";
        place.write("policy.toml", policy);
        place.write(
            "pyproject.toml",
            "[tool.belljar]\nenv = { MINE = \"pyproject\" }\n",
        );
        let show = ["-c", "import os; print(os.environ.get('MINE'))"];
        let mine = |flags: &[&str]| place.run(&[&["run"], flags, &show].concat()).stdout;
        assert_eq!(mine(&[]), "None\n", "nothing is found by itself");
        assert_eq!(mine(&["--policy", "policy.toml"]), "file\n");
        assert_eq!(mine(&["--policy", "pyproject.toml"]), "pyproject\n");
        assert_eq!(mine(&["--policy", "policy.toml", "--profile", "ci"]), "profile\n");
        assert_eq!(mine(&["--policy", "policy.toml", "--env", "MINE=flag"]), "flag\n");
        let mut command = place.command(&[&["run"], &show[..]].concat());
        assert_eq!(
            crate::harness::finish(command.env("BELLJAR_POLICY", "policy.toml"), "").stdout,
            "file\n"
        );
    }
}

#[test]
fn what_other_tools_will_run_is_told_after_a_plain_run() {
    for who in everyone() {
        let place = Place::new(*who);
        folder(&place);
        let plant = "import os\nos.mkdir('sub')\nfor name in ('conftest.py', '.mcp.json', 'sub/.envrc', 'fine'): open(name, 'w').close()";
        let ran = place.run(&["run", "--workdir", "work", "-c", plant]);
        let told: Vec<&str> = ran
            .stderr
            .lines()
            .filter_map(|line| line.split(": ").nth(1))
            .collect();
        // What acts by itself comes first.
        let expected = [
            "take care with .mcp.json",
            "take care with sub/.envrc",
            "take care with conftest.py",
        ];
        assert_eq!(
            (ran.code, told),
            (0, expected.into()),
            "as {who:?}: {}",
            ran.stderr
        );
        let quiet = place.run(&[
            "run",
            "--quiet",
            "--workdir",
            "work",
            "-c",
            "open('.envrc', 'w').close()",
        ]);
        assert_eq!(quiet.stderr, "");
        // Control: what nobody runs is not worth a line, nor what was there.
        let control = place.run(&["run", "--workdir", "work", "-c", "open('fine', 'w').write('x')"]);
        assert_eq!((control.code, control.stderr.as_str()), (0, ""));
    }
}

#[test]
fn folders_of_the_hosts_services_are_not_shown() {
    for who in everyone() {
        let place = Place::new(*who);
        for source in ["/run", "/var/run", "/run/", "/run/user"] {
            let ran = place.run(&["run", "--mount", &format!("{source}:/data"), "-c", "pass"]);
            assert_eq!(ran.code, 125, "as {who:?}: {source}");
            assert!(
                ran.stderr.contains("holds the sockets of the host's services"),
                "{}",
                ran.stderr
            );
        }
        // Control: what lies elsewhere can be.
        let ran = place.run(&[
            "run",
            "--mount",
            "/usr/lib:/data",
            "-c",
            "import os; print(len(os.listdir('/data')) > 0)",
        ]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "True\n"), "{}", ran.stderr);
    }
}

#[test]
fn a_folder_with_another_file_system_in_it_is_not_drafted() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("work/sub/file", "");
        place.write("work/file", "");
        let start = |mount: &str, flag: &str| {
            let mut command = std::process::Command::new("/usr/bin/unshare");
            let script = format!("{mount}; exec \"$0\" \"$@\"");
            command.args(["--user", "--map-root-user", "--mount", "/bin/sh", "-c", &script]);
            command.arg(crate::harness::binary());
            command.args([
                "run",
                "--workdir",
                "work",
                flag,
                "-c",
                "open('file', 'w').write('x')",
            ]);
            command
                .current_dir(place.path())
                .env_clear()
                .env("PATH", "/usr/bin:/bin");
            place.become_user(&mut command);
            crate::harness::finish(&mut command, "")
        };
        for flag in ["--apply", "--draft"] {
            let ran = start("mount -t tmpfs none work/sub", flag);
            let told = "cannot be drafted: another file system is mounted at ";
            assert!(
                ran.code == 125 && ran.stderr.contains(told),
                "as {who:?}: {}",
                ran.stderr
            );
            let control = start(":", flag);
            assert!(!control.stderr.contains(told), "{}", control.stderr);
        }
    }
}

#[test]
fn a_cache_folder_that_others_can_replace_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    for who in everyone() {
        let place = Place::new(*who);
        place.write("mine/above/x", "");
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
        let above = place.path().join("mine/above");
        let list = || {
            let mut command = place.command(&["env", "list"]);
            command.env("BELLJAR_CACHE_DIR", above.join("cache"));
            crate::harness::finish(&mut command, "")
        };
        std::fs::set_permissions(&above, PermissionsExt::from_mode(0o777)).expect("a mode");
        let ran = list();
        let told = place.plain(&ran.stderr);
        let expected = "[folder]/mine/above can be written by other users, who could change what guests run";
        assert!(ran.code == 125 && told.contains(expected), "as {who:?}: {told}");
        assert!(!above.join("cache").exists(), "nothing is made there");
        // Control: it is the mode.
        std::fs::set_permissions(&above, PermissionsExt::from_mode(0o755)).expect("a mode");
        assert_eq!(list().code, 0, "{}", list().stderr);
    }
}
