//! The filter in the running kernel: every refused number gives its errno, other entries kill, and without the
//! filter the same calls answer differently.

#[path = "seccomp/child.rs"]
mod child;

use belljar_linux::seccomp::{
    Action, Arch, Families, Instruction, Options, decide, init_program, install, number, program,
};
use child::{End, Shared, call, child};

const ARCH: Arch = Arch::native();
const LOCAL: Options = Options {
    families: Families::Local,
    tty: false,
    affinity: false,
    ipc: false,
    disk: false,
    locks: false,
};
/// No such address: a call that gets through fails without doing anything.
const WRONG: u64 = u64::MAX;
/// The exit code of a child that could not put itself under the filter.
const NOT_FILTERED: i32 = 99;

/// Makes each call in a child and returns what each gave: a value, or the negated errno.
fn results(filter: Option<&[Instruction]>, calls: &[(u32, [u64; 6])]) -> (End, Vec<i64>) {
    let shared = Shared::new(calls.len());
    let end = child(|| {
        if let Some(filter) = filter
            && (!no_new_privs() || install(filter).is_err())
        {
            return NOT_FILTERED;
        }
        for (index, (number, args)) in calls.iter().enumerate() {
            shared.set(index, call(*number, *args));
        }
        0
    });
    (end, shared.all())
}

fn no_new_privs() -> bool {
    call(
        number(ARCH, "prctl").unwrap_or(0),
        [libc::PR_SET_NO_NEW_PRIVS as u64, 1, 0, 0, 0, 0],
    ) == 0
}

fn named(name: &str, args: &[u64]) -> (u32, [u64; 6]) {
    let mut registers = [0; 6];
    registers[..args.len()].copy_from_slice(args);
    (
        number(ARCH, name).unwrap_or_else(|| panic!("this architecture has no {name}")),
        registers,
    )
}

#[test]
fn every_refused_number_gives_its_errno() {
    let mut calls = Vec::new();
    let mut expected = Vec::new();
    for number in 0..=600 {
        if let Action::Errno(errno) = decide(ARCH, &LOCAL, number, [WRONG; 6]) {
            calls.push((number, [WRONG; 6]));
            expected.push(-i64::from(errno));
        }
    }
    assert!(calls.len() > 300, "only {} numbers are refused", calls.len());
    let (end, got) = results(Some(&program(ARCH, &LOCAL)), &calls);
    assert_eq!(end, End::Exited(0));
    for ((number, _), (got, expected)) in calls.iter().zip(got.iter().zip(&expected)) {
        assert_eq!(got, expected, "call {number}");
    }
}

/// Calls that a kernel without the filter answers in another way, some with noise in the upper half of an int.
fn telling() -> Vec<(u32, [u64; 6])> {
    const HIGH: u64 = 0x123 << 32;
    let (stream, datagram) = (libc::SOCK_STREAM as u64, libc::SOCK_DGRAM as u64);
    vec![
        named("unshare", &[0]),
        named("setns", &[WRONG, 0]),
        named("chroot", &[WRONG]),
        named("clone3", &[0, 0]),
        named("clone", &[libc::CLONE_NEWUSER as u64 | libc::CLONE_FS as u64]),
        named("seccomp", &[99]),
        named("splice", &[WRONG, 0, WRONG]),
        named("setxattr", &[WRONG, WRONG]),
        named("setuid", &[u64::from(rustix::process::getuid().as_raw())]),
        named("prlimit64", &[WRONG, 0, 0, 0]),
        named("personality", &[libc::ADDR_NO_RANDOMIZE as u64]),
        named("personality", &[libc::ADDR_NO_RANDOMIZE as u64 | HIGH]),
        named("prctl", &[libc::PR_SET_CHILD_SUBREAPER as u64, 1]),
        named("prctl", &[libc::PR_SET_CHILD_SUBREAPER as u64 | HIGH, 1]),
        named("socket", &[libc::AF_INET as u64, stream]),
        named("socket", &[libc::AF_INET as u64 | HIGH, datagram]),
        named("socket", &[libc::AF_NETLINK as u64, libc::SOCK_RAW as u64]),
        named("ioctl", &[WRONG, libc::TIOCSTI]),
        named("ioctl", &[WRONG, libc::TIOCSTI | HIGH]),
        named("ioctl", &[WRONG, libc::TCSETS]),
        named("fcntl", &[WRONG, libc::F_SETOWN as u64]),
        named("fcntl", &[WRONG, libc::F_SETOWN as u64 | HIGH]),
        named("mknodat", &[WRONG, WRONG, u64::from(libc::S_IFCHR), 0]),
        named("memfd_create", &[WRONG, u64::from(libc::MFD_HUGETLB)]),
        named("shmget", &[0, 0, 0]),
        named("sched_setaffinity", &[0, 8, WRONG]),
    ]
}

#[test]
fn refusals_come_from_the_filter() {
    let calls = telling();
    let (end, free) = results(None, &calls);
    assert_eq!(end, End::Exited(0));
    let (end, held) = results(Some(&program(ARCH, &LOCAL)), &calls);
    assert_eq!(end, End::Exited(0));
    for (index, &(number, args)) in calls.iter().enumerate() {
        let Action::Errno(errno) = decide(ARCH, &LOCAL, number, args) else {
            panic!("call {number} {args:#x?} is not refused")
        };
        assert_eq!(held[index], -i64::from(errno), "call {number} {args:#x?}");
        assert_ne!(
            free[index], held[index],
            "the kernel itself answers so: call {number} {args:#x?}"
        );
    }
}

#[test]
fn allowed_calls_run() {
    const HIGH: u64 = 0x123 << 32;
    let unix = libc::AF_UNIX as u64;
    let calls = [
        named("getpid", &[]),
        named("socket", &[unix, libc::SOCK_STREAM as u64]),
        named("socket", &[unix | HIGH, libc::SOCK_DGRAM as u64]),
        named("fcntl", &[0, libc::F_GETFD as u64]),
        named("prctl", &[libc::PR_GET_DUMPABLE as u64]),
        named("personality", &[0xffff_ffff]),
        named("prlimit64", &[0, 0, 0, 0]),
        named("clone", &[libc::SIGCHLD as u64]),
        named("wait4", &[WRONG, 0, 0, 0]),
    ];
    let (end, got) = results(Some(&program(ARCH, &LOCAL)), &calls);
    assert_eq!(end, End::Exited(0));
    assert!(got.iter().all(|result| *result >= 0), "{got:?}");
}

#[test]
fn pid_one_can_end_but_not_open() {
    let calls = [
        named("getpid", &[]),
        named("openat", &[WRONG, WRONG]),
        named("execve", &[WRONG]),
        named("wait4", &[WRONG, 0, 0, 0]),
    ];
    let (end, got) = results(Some(&init_program(ARCH)), &calls);
    assert_eq!(end, End::Exited(0));
    assert!(got[0] > 0);
    let errno = |errno: i32| -i64::from(errno);
    assert_eq!(
        got[1..],
        [errno(libc::EPERM), errno(libc::EPERM), errno(libc::ECHILD)]
    );
    let (_, free) = results(None, &calls[..2]);
    assert_ne!(free[1], got[1]);
}

#[test]
fn a_filter_needs_no_new_privs_unless_privileged() {
    let program = program(ARCH, &LOCAL);
    let end = child(|| {
        // Leaves capabilities behind when run as root, so that the kernel's own condition shows.
        let capability_free = call(named_number("setresuid"), [65534, 65534, 65534, 0, 0, 0]);
        if rustix::process::getuid().is_root() && capability_free != 0 {
            return 2;
        }
        match install(&program) {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => 0,
            _ => 1,
        }
    });
    assert_eq!(end, End::Exited(0));
}

fn named_number(name: &str) -> u32 {
    number(ARCH, name).unwrap_or(u32::MAX)
}

#[cfg(target_arch = "x86_64")]
mod other_entries {
    use super::*;

    /// A call through the 32-bit entry, where 20 is getpid.
    fn through_int80() -> i64 {
        let result: i32;
        // SAFETY: getpid has no arguments and touches no memory; the registers that the entry may clear are declared.
        unsafe {
            std::arch::asm!("int 0x80", inlateout("eax") 20 => result,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        i64::from(result)
    }

    #[test]
    fn thirty_two_bit_calls_kill() {
        let program = program(ARCH, &LOCAL);
        let pid_matches = || i64::from(rustix::process::getpid().as_raw_nonzero().get()) == through_int80();
        let control = child(|| if pid_matches() { 0 } else { 1 });
        // A kernel without 32-bit emulation faults on the instruction; there is then no entry to close.
        assert!(
            matches!(control, End::Exited(0) | End::Signalled(libc::SIGSEGV)),
            "{control:?}"
        );
        let end = child(|| {
            if !no_new_privs() || install(&program).is_err() {
                return NOT_FILTERED;
            }
            if pid_matches() { 0 } else { 1 }
        });
        let expected = if control == End::Exited(0) {
            End::Signalled(libc::SIGSYS)
        } else {
            control
        };
        assert_eq!(end, expected);
    }

    #[test]
    fn x32_calls_kill_and_skipped_calls_do_not() {
        let x32 = [(number(ARCH, "getpid").unwrap() | 0x4000_0000, [0; 6])];
        let (control, _) = results(None, &x32);
        assert_eq!(control, End::Exited(0));
        let (end, _) = results(Some(&program(ARCH, &LOCAL)), &x32);
        assert_eq!(end, End::Signalled(libc::SIGSYS));
        let (end, got) = results(Some(&program(ARCH, &LOCAL)), &[(u32::MAX, [0; 6])]);
        assert_eq!((end, got[0]), (End::Exited(0), -i64::from(libc::ENOSYS)));
    }
}
