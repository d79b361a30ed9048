//! How the list is written, and what the programs that it compiles to look like.

use std::path::PathBuf;

use belljar_linux::seccomp::{
    Arch, Families, Options, bpf, init_program, lines, name, number, program, template_program,
};

#[allow(dead_code)]
#[path = "../build/list.rs"]
mod list;

const NUMBERS: &str = include_str!("../../../policies/syscall-numbers.txt");
#[test]
fn every_line_names_a_call_once_and_gives_a_reason() {
    let known = list::numbers(NUMBERS).unwrap();
    let calls: Vec<&str> = lines()
        .filter(|line| !line.is_case)
        .map(|line| line.name)
        .collect();
    assert_eq!(calls.len(), known.len());
    assert!(
        lines().all(|line| line.reason.len() >= 5),
        "a reason says something"
    );
    let reads = |text: &str| list::rules(text, &known).map(|_| ());
    assert_eq!(reads("read allow # bytes"), Ok(()));
    assert_eq!(
        reads("- allow arg0=1 # bytes"),
        Err("line 1: a case before any call".into())
    );
    for (text, error) in [
        ("raed allow # bytes", "line 1: no architecture has a call `raed`"),
        ("read allow", "line 1: no reason"),
        ("read allow #  ", "line 1: no reason"),
        ("read alow # bytes", "line 1: `alow` is no verdict"),
        (
            "read allow # a\nread allow # b",
            "line 2: `read` has a line already",
        ),
        (
            "read allow # a\n- EPERM arg6=1 # b",
            "line 2: `arg6=1` can never hold",
        ),
        (
            "read allow # a\n- EPERM arg1&2=1 # b",
            "line 2: `arg1&2=1` can never hold",
        ),
        (
            "read allow # a\n- EPERM if root # b",
            "line 2: `root` is no option",
        ),
        (
            "read allow # a\n- EPERM # b",
            "line 2: a case without test or option",
        ),
    ] {
        assert_eq!(reads(text), Err(error.into()), "{text}");
    }
    let rules = list::rules("read allow # a", &known).unwrap();
    assert!(
        list::complete(&rules, &known)
            .unwrap_err()
            .starts_with("no line for write, open")
    );
}

#[test]
fn numbers_are_those_of_this_machine() {
    let native = Arch::native();
    for (call, expected) in [
        ("read", libc::SYS_read),
        ("clone", libc::SYS_clone),
        ("clone3", libc::SYS_clone3),
        ("openat", libc::SYS_openat),
        ("openat2", libc::SYS_openat2),
        ("prctl", libc::SYS_prctl),
        ("seccomp", libc::SYS_seccomp),
        ("landlock_restrict_self", libc::SYS_landlock_restrict_self),
        ("pidfd_getfd", libc::SYS_pidfd_getfd),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("mount_setattr", libc::SYS_mount_setattr),
        ("futex_waitv", libc::SYS_futex_waitv),
        ("fchmodat2", libc::SYS_fchmodat2),
        ("mseal", libc::SYS_mseal),
    ] {
        assert_eq!(number(native, call).map(i64::from), Some(expected), "{call}");
        assert_eq!(name(native, expected as u32), Some(call));
    }
    // From 424 on all architectures share their numbers.
    for shared in 424..=469 {
        assert!(name(Arch::X86_64, shared).is_some(), "{shared}");
        assert_eq!(name(Arch::X86_64, shared), name(Arch::Aarch64, shared));
    }
}

/// The compiled default programs, as read by a reviewer. `BELLJAR_BLESS=1` writes them anew.
#[test]
fn programs_are_the_reviewed_ones() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../policies/golden");
    for arch in Arch::ALL {
        let all = [
            ("", program(arch, &Options::default())),
            ("-init", init_program(arch)),
            ("-template", template_program(arch, Families::Local)),
        ];
        for (suffix, program) in all {
            let text = bpf::disassemble(&program, |number| name(arch, number));
            let path = folder.join(format!("{}{suffix}.txt", arch.name()));
            if std::env::var_os("BELLJAR_BLESS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let golden = std::fs::read_to_string(&path).unwrap_or_default();
            let difference = golden.lines().zip(text.lines()).position(|(old, new)| old != new);
            assert!(
                golden == text,
                "{} differs from line {difference:?} on; review the change, then run with BELLJAR_BLESS=1",
                path.display()
            );
        }
    }
}
