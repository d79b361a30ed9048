//! The engine itself is out of descriptors, processes, memory or disk: what it cannot run has an error that names the cause, what
//! it can run is right, and nothing is left of either.

use std::path::Path;
use std::process::{Command, Output};

use crate::twice::Who;

const SCRIPTS: usize = 6;

/// Runs `belljar run --each` under a limit that `prlimit` sets.
fn each(limit: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = (0..SCRIPTS).map(|number| format!("s{number}.py")).collect();
    for (number, name) in names.iter().enumerate() {
        std::fs::write(folder.path().join(name), format!("print('value', {number})")).expect("a script");
    }
    Command::new("prlimit")
        .arg(limit)
        .arg(belljar())
        .args(["run", "--each", "--jobs", "3"])
        .args(&names)
        .current_dir(folder.path())
        .output()
        .expect("prlimit")
}

fn belljar() -> std::ffi::OsString {
    std::env::var_os("BELLJAR_BIN").expect("the binary")
}

/// How many scripts were run; each of the others has a line that says why not.
fn ran(output: &Output, why: &[&str]) -> usize {
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let right = (0..SCRIPTS)
        .filter(|number| stdout.contains(&format!("==> s{number}.py <==\nvalue {number}\n")))
        .count();
    assert_eq!(
        stdout.matches("value").count(),
        right,
        "an answer is wrong: {stdout}"
    );
    let told = |start: String| {
        let mut lines = stderr.lines().filter(|line| line.starts_with(&start));
        lines.any(|line| why.iter().any(|why| line.contains(why)))
    };
    let refused = (0..SCRIPTS)
        .filter(|number| told(format!("belljar: s{number}.py: ")))
        .count();
    match output.status.code() {
        Some(0) => assert_eq!(right, SCRIPTS, "{stderr}"),
        // All of them for one cause, or each for its own.
        Some(125) => assert!(
            right == 0 && told("belljar: cannot ".into()) || right + refused == SCRIPTS,
            "{right} ran, {refused} refused: {stderr}"
        ),
        code => panic!("{code:?}: {stdout}{stderr}"),
    }
    right
}

/// A folder on a disk of 64 KiB that only this command sees.
fn on_small_disk(folder: &Path, script: &str) -> Output {
    let script = format!("mount -t tmpfs -o size=64k tmpfs \"$1\" && cd \"$1\" && {script}");
    Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh"])
        .arg(folder)
        .env("BELLJAR", belljar())
        .output()
        .expect("unshare")
}

both! {
    fn descriptors_run_out(_who) {
        let why = ["Too many open files", "cannot start a thread"];
        assert_eq!(ran(&each("--nofile=64:64"), &why), SCRIPTS);
        for most in [48, 40, 36, 32, 28, 24, 20] {
            ran(&each(&format!("--nofile={most}:{most}")), &why);
        }
        assert_eq!(ran(&each("--nofile=16:16"), &why), 0);
    }

    fn processes_run_out(who) {
        let why = ["Resource temporarily unavailable", "resource temporarily unavailable"];
        // The kernel does not count for root.
        assert_eq!(ran(&each("--nproc=1:1"), &why), if who == Who::Root { SCRIPTS } else { 0 });
        assert_eq!(ran(&each("--nproc=4096:4096"), &why), SCRIPTS);
        // Others of this user run beside it, so what becomes of these is not certain.
        for most in [4, 8, 12, 16, 24] {
            ran(&each(&format!("--nproc={most}:{most}")), &why);
        }
    }

    fn memory_runs_out(_who) {
        let enough = each(&format!("--as={}", 1_u64 << 30));
        assert_eq!(ran(&enough, &[]), SCRIPTS);
        for most in [20_u64, 24, 28, 32, 40, 48] {
            let output = each(&format!("--as={}", most << 20));
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            // An allocation that fails ends the engine, and everything with it; what it had said before is right.
            for number in 0..SCRIPTS {
                let told = format!("==> s{number}.py <==\n");
                let value = format!("{told}value {number}\n");
                assert!(!stdout.contains(&told) || stdout.contains(&value), "{stdout}");
            }
            assert!(output.status.code() != Some(0) || stdout.matches("value").count() == SCRIPTS, "{stdout}");
        }
    }

    fn disk_runs_out(who) {
        let full = std::fs::File::create("/dev/full").expect("a full disk");
        let output = Command::new(belljar()).args(["run", "-c", "print('x' * 10000)"]).stdout(full).output().expect("belljar");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{told}");
        assert!(told.ends_with("belljar: cannot write what the guest printed to stdout: No space left on device\n"), "{told}");
        // A small disk takes a mount, and that takes root.
        if who == Who::User {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let big = "open('big', 'wb').write(bytes(1 << 20)); open('f', 'w').write('new')";
        let collect = format!("\"$BELLJAR\" run --collect out -c \"{big}\"; echo $?; ls");
        let output = on_small_disk(folder.path(), &collect);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "125\n", "nothing was left behind");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "belljar: write big: No space left on device\n");
        let apply = format!("mkdir w; echo old > w/f; \"$BELLJAR\" run --workdir w --draft --apply -c \"{big}\"; echo $?; ls w; cat w/f");
        let output = on_small_disk(folder.path(), &apply);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "125\nf\nold\n", "the folder is as it was");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("No space left on device; 0 changes were written, 2 were not"), "{told}");
        // The control: with room for it, both are done.
        let all = format!("mount -o remount,size=8m . && {collect} out; {apply}");
        let output = on_small_disk(folder.path(), &all);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\nbig\nf\n0\nbig\nf\nnew", "{told}");
    }
}
