//! A host that is short of something: belljar says so or goes on, it never hangs and never runs a guest half-sealed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts the command under a limit of its own; gives its exit code and what it said.
fn under(limit: &str) -> (Option<i32>, String) {
    let binary = std::env::var("BELLJAR_BIN").expect("the command");
    let mut child = Command::new("sh")
        .args([
            "-c",
            &format!("ulimit {limit}; exec \"$0\" run -c 'print(6 * 7)'"),
            &binary,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh");
    let since = Instant::now();
    while child.try_wait().expect("to wait").is_none() {
        assert!(since.elapsed() < Duration::from_secs(30), "{limit}: no end");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("its output");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

both! {
    fn few_descriptors_of_our_own(_who) {
        let mut refused = 0;
        for count in [3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 64] {
            match under(&format!("-n {count}")) {
                (Some(0), text) => assert_eq!(text, "42\n", "with {count} descriptors"),
                // The loader itself needs one to open a library.
                (Some(127), text) if count < 5 => assert!(text.contains("shared libraries"), "{text}"),
                (Some(125), text) => {
                    assert!(text.starts_with("belljar: "), "with {count} descriptors: {text}");
                    refused += 1;
                }
                other => panic!("with {count} descriptors: {other:?}"),
            }
        }
        assert!(refused > 0, "none of them was too few");
        assert_eq!(under("-n 64"), (Some(0), "42\n".into()));
    }

    fn lower_limits_of_the_host_hold_and_do_no_harm(_who) {
        for limit in ["-f 64", "-l 0", "-s 1024", "-t 5"] {
            assert_eq!(under(limit), (Some(0), "42\n".into()), "{limit}");
        }
    }

    fn limit_that_leaves_no_room_is_told(_who) {
        // No file may grow at all, and the guest runtime is a file.
        let (code, text) = under("-f 0");
        assert_eq!(code, Some(125), "{text}");
        assert!(text.starts_with("belljar: cannot set up "), "{text}");
    }

    fn little_memory_of_our_own(_who) {
        for kilobytes in [2_000, 8_000, 20_000, 60_000] {
            let (code, text) = under(&format!("-v {kilobytes}"));
            assert!(code != Some(0) || text == "42\n", "{kilobytes}: {text}");
        }
    }
}
