//! Resource limits as a forked child sets them, seen by the program that it runs.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output};

use belljar_linux::rlimits::{Resource, Rlimit, apply, get_for, set_for};

/// Runs a shell script under the limits, as a user who may not raise any.
fn run(limits: &'static [Rlimit], script: &str) -> Output {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir("/tmp");
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let set = || apply(limits).map_err(|error| io::Error::from_raw_os_error(error.errno.raw_os_error()));
    // SAFETY: `apply` makes system calls only.
    unsafe { command.pre_exec(set) }.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn lowered_limits_hold_and_cannot_be_raised() {
    const LIMITS: &[Rlimit] = &[
        Rlimit::fixed(Resource::Core, 0),
        Rlimit::fixed(Resource::Nofile, 20),
        Rlimit {
            resource: Resource::Stack,
            soft: Some(1 << 20),
            hard: Some(2 << 20),
        },
    ];
    let output = run(LIMITS, "ulimit -c; ulimit -Hn; ulimit -s; ulimit -Hs");
    assert_eq!(text(&output), "0\n20\n1024\n2048");
    let raised = run(
        LIMITS,
        "ulimit -n 21 2>/dev/null && echo raised; ulimit -s 2048 && echo soft",
    );
    assert_eq!(text(&raised), "soft");
}

#[test]
fn a_raise_that_is_not_permitted_is_cut_to_what_is_there() {
    const LIMITS: &[Rlimit] = &[
        Rlimit::fixed(Resource::Nofile, 50),
        Rlimit {
            resource: Resource::Nofile,
            soft: Some(40),
            hard: None,
        },
        Rlimit {
            resource: Resource::Stack,
            soft: Some(1 << 20),
            hard: Some(1 << 20),
        },
        Rlimit {
            resource: Resource::Stack,
            soft: None,
            hard: Some(1 << 40),
        },
    ];
    assert_eq!(
        text(&run(LIMITS, "ulimit -n; ulimit -Hn; ulimit -s; ulimit -Hs")),
        "40\n50\n1024\n1024"
    );
}

#[test]
fn a_soft_limit_above_the_hard_one_is_taken_as_the_hard_one() {
    const LIMITS: &[Rlimit] = &[Rlimit {
        resource: Resource::Nofile,
        soft: Some(100),
        hard: Some(30),
    }];
    assert_eq!(text(&run(LIMITS, "ulimit -n; ulimit -Hn")), "30\n30");
}

#[test]
fn file_size_ends_the_writer() {
    const LIMITS: &[Rlimit] = &[Rlimit::fixed(Resource::Fsize, 4096)];
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let write = |bytes: u32| {
        let file = folder.path().join(bytes.to_string());
        let script = format!("exec head -c {bytes} /dev/zero > {}", file.display());
        let status = run(LIMITS, &script).status;
        (status, std::fs::metadata(file).unwrap().len())
    };
    let (within, size) = write(4096);
    assert!(within.success() && size == 4096, "{within:?} {size}");
    let (beyond, size) = write(9000);
    assert_eq!((beyond.signal(), size), (Some(libc::SIGXFSZ), 4096));
}

#[test]
fn cpu_seconds_end_a_loop() {
    const LIMITS: &[Rlimit] = &[Rlimit::fixed(Resource::Cpu, 1)];
    let output = run(LIMITS, "while :; do :; done");
    assert!(
        matches!(output.status.signal(), Some(libc::SIGXCPU | libc::SIGKILL)),
        "{output:?}"
    );
}

#[test]
fn limits_of_another_process_are_set_and_read_from_outside() {
    let mut child = Command::new("/bin/sleep").arg("3600").spawn().unwrap();
    let pid = child.id() as i32;
    let before = get_for(pid, Resource::Nofile).unwrap();
    assert_eq!(before, Rlimit::current(Resource::Nofile));
    let limits = [
        Rlimit::fixed(Resource::Nofile, 33),
        Rlimit {
            resource: Resource::Cpu,
            soft: Some(5),
            hard: Some(6),
        },
    ];
    set_for(pid, &limits).unwrap();
    for limit in limits {
        assert_eq!(get_for(pid, limit.resource).unwrap(), limit);
    }
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("Max cpu time"))
        .unwrap();
    assert_eq!(
        line.split_whitespace().skip(3).take(2).collect::<Vec<_>>(),
        ["5", "6"]
    );
    assert_eq!(Rlimit::current(Resource::Nofile), before, "its own stay");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(get_for(pid, Resource::Nofile).is_err() && set_for(pid, &limits).is_err());
}
