//! Limits: the exit code and the line that says which one it was, and with which flag it is changed.

use crate::harness::{Place, Ran, everyone};

fn each(args: &[&str], check: impl Fn(&Ran)) {
    for who in everyone() {
        let ran = Place::new(*who).run(args);
        check(&ran);
    }
}

#[test]
fn time() {
    each(&["run", "--timeout", "300ms", "-c", "while True: pass"], |ran| {
        assert_eq!(
            (ran.code, ran.stderr.lines().next()),
            (124, Some("belljar: timed out after 0.3 s (--timeout)"))
        );
    });
    each(
        &["run", "--quiet", "--timeout", "300ms", "-c", "while True: pass"],
        |ran| {
            assert_eq!((ran.code, ran.stderr.as_str()), (124, ""));
        },
    );
}

#[test]
fn memory() {
    each(
        &[
            "run",
            "--memory",
            "64M",
            "-c",
            "x = b'x' * (1 << 30); print(len(x))",
        ],
        |ran| {
            assert_eq!(ran.stdout, "", "{}", ran.stderr);
            let told = ran.stderr.contains("64 MiB (--memory)");
            // Where a cgroup counts, the jar is killed; where only each process is limited, Python raises.
            let ended = ran.code == 137 || ran.code == 1 && ran.stderr.contains("MemoryError");
            assert!(told && ended, "{}: {}", ran.code, ran.stderr);
        },
    );
}

#[test]
fn output_that_is_cut_is_not_glued_to_the_line_that_says_so() {
    let write = "import sys; sys.stderr.write('x' * 1000)";
    each(&["run", "--output", "100", "-c", write], |ran| {
        let cut = "x\nbelljar: 900 bytes of stderr dropped, limit 100 B (--output)\n";
        assert_eq!(ran.code, 0);
        assert!(ran.stderr.ends_with(cut), "{}", ran.stderr);
    });
    let write = "import sys; sys.stderr.write('x' * 999 + '\\n')";
    each(&["run", "--output", "100", "-c", write], |ran| {
        assert!(!ran.stderr.contains("\n\n"), "no empty line: {}", ran.stderr);
    });
}

#[test]
fn output() {
    each(
        &["run", "--output", "1000", "-c", "print('x' * 100_000)"],
        |ran| {
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert!(ran.stdout.len() <= 1000, "{}", ran.stdout.len());
            assert!(
                ran.stderr
                    .contains(" bytes of stdout dropped, limit 1000 B (--output)"),
                "{}",
                ran.stderr
            );
        },
    );
    each(&["run", "--output", "1000", "-c", "print('x' * 100)"], |ran| {
        assert_eq!(
            (ran.stdout.len(), ran.stderr.as_str()),
            (101, ""),
            "below it nothing is said"
        );
    });
}

#[test]
fn disk_and_processes() {
    each(
        &[
            "run",
            "--disk",
            "1M",
            "-c",
            "open('/tmp/x', 'wb').write(b'x' * (2 << 20))",
        ],
        |ran| {
            assert_eq!(ran.code, 1, "{}", ran.stderr);
            assert!(
                ran.stderr
                    .contains("belljar: hit the limit of 1 MiB on disk (--disk)"),
                "{}",
                ran.stderr
            );
        },
    );
    each(
        &[
            "run",
            "--pids",
            "8",
            "-c",
            "import os\nfor _ in range(99):\n  if os.fork() == 0: import time; time.sleep(9)",
        ],
        |ran| {
            assert_eq!(ran.code, 1, "{}", ran.stderr);
            assert!(
                ran.stderr
                    .contains("belljar: hit the limit of 8 processes and threads (--pids)"),
                "{}",
                ran.stderr
            );
        },
    );
}

#[test]
fn a_signal_is_named() {
    each(&["run", "-c", "import os; os.kill(os.getpid(), 15)"], |ran| {
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (143, "belljar: killed by signal 15 (SIGTERM)\n")
        );
    });
}
