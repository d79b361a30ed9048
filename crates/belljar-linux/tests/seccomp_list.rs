//! What the list says, spelled out by hand.

use belljar_linux::seccomp::{Action, Arch, Families, Options, decide, decide_init, decide_template, number};

const EPERM: Action = Action::Errno(libc::EPERM as u16);
const ENOSYS: Action = Action::Errno(libc::ENOSYS as u16);
const ENOTTY: Action = Action::Errno(libc::ENOTTY as u16);
const EINVAL: Action = Action::Errno(libc::EINVAL as u16);
const NO_FAMILY: Action = Action::Errno(libc::EAFNOSUPPORT as u16);
const ALLOW: Action = Action::Allow;
const DONE: Action = Action::Errno(0);

const TIGHT: Options = Options {
    families: Families::Local,
    tty: false,
    affinity: false,
    ipc: false,
    disk: false,
    locks: false,
};
const LOOSE: Options = Options {
    families: Families::Internet,
    tty: true,
    affinity: true,
    ipc: true,
    disk: true,
    locks: true,
};
/// Set in the upper half of a register, where the kernel does not look for an int.
const HIGH: u64 = 0x123 << 32;

fn on(arch: Arch, options: &Options, call: &str, args: &[u64]) -> Option<Action> {
    let mut registers = [0; 6];
    registers[..args.len()].copy_from_slice(args);
    Some(decide(arch, options, number(arch, call)?, registers))
}

/// Asserts on every architecture that has the call, and on at least one.
fn says(options: &Options, call: &str, args: &[u64], expected: Action) {
    let answers: Vec<Action> = Arch::ALL
        .iter()
        .filter_map(|arch| on(*arch, options, call, args))
        .collect();
    assert!(!answers.is_empty(), "no architecture has {call}");
    assert!(
        answers.iter().all(|answer| *answer == expected),
        "{call} {args:#x?}: {answers:?}, not {expected}"
    );
}

#[test]
fn walls_of_the_jar_cannot_be_touched() {
    for options in [TIGHT, LOOSE] {
        for call in "mount umount2 pivot_root move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr \
                     chroot setns unshare bpf perf_event_open keyctl add_key request_key kexec_load kexec_file_load \
                     init_module finit_module delete_module reboot swapon swapoff acct quotactl quotactl_fd syslog iopl \
                     ioperm modify_ldt lookup_dcookie nfsservctl vhangup settimeofday clock_settime adjtimex ptrace \
                     process_vm_readv process_vm_writev kcmp fanotify_init open_by_handle_at name_to_handle_at mbind \
                     migrate_pages move_pages set_mempolicy setuid setgid setgroups sethostname"
            .split_whitespace()
        {
            says(&options, call, &[], EPERM);
            says(&options, call, &[u64::MAX; 6], EPERM);
        }
        for call in "clone3 io_uring_setup io_uring_enter io_uring_register splice tee vmsplice userfaultfd pidfd_getfd \
                     process_madvise statmount listmount cachestat lsm_set_self_attr seccomp memfd_secret io_setup"
            .split_whitespace()
        {
            says(&options, call, &[], ENOSYS);
        }
    }
}

#[test]
fn workloads_find_their_calls() {
    let used = "access alarm arch_prctl bind brk chmod close close_range connect dup2 epoll_create1 epoll_ctl epoll_wait execve \
                exit exit_group fadvise64 fallocate fchown fstat fstatfs ftruncate futex getcwd \
                getdents64 getegid geteuid getgid getpeername getpid getppid getrandom getrusage getsockname gettid getuid link \
                listen lseek madvise mkdir mprotect munmap newfstatat openat pipe2 poll pread64 pselect6 pwrite64 read \
                readlink recvfrom rename rmdir rseq rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sendfile sendto \
                set_robust_list set_tid_address setitimer symlink sysinfo truncate umask uname unlink unlinkat utimensat \
                vfork wait4 write statfs accept4 clock_nanosleep dup open recvmsg rt_sigsuspend sched_get_priority_max \
                sendmsg setpgid setsockopt stat timer_create timer_settime waitid writev pidfd_open memfd_create execveat \
                kill tgkill landlock_restrict_self statx membarrier";
    for call in used.split_whitespace() {
        says(&TIGHT, call, &[], ALLOW);
    }
}

#[test]
fn clone_makes_processes_but_no_namespaces() {
    let fork = (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD) as u64;
    let thread = 0x003d_0f00;
    for flags in [fork, thread, 0, libc::SIGCHLD as u64] {
        says(&TIGHT, "clone", &[flags], ALLOW);
        for bit in [17, 25, 26, 27, 28, 29, 30, 15] {
            says(&LOOSE, "clone", &[flags | 1 << bit], EPERM);
            says(&LOOSE, "clone", &[flags | 1 << bit | HIGH], EPERM);
        }
        says(&LOOSE, "clone", &[flags | HIGH], EPERM);
    }
}

#[test]
fn sockets_stay_in_their_families() {
    let (unix, inet, inet6) = (libc::AF_UNIX as u64, libc::AF_INET as u64, libc::AF_INET6 as u64);
    let (stream, datagram, raw) = (
        libc::SOCK_STREAM as u64,
        libc::SOCK_DGRAM as u64,
        libc::SOCK_RAW as u64,
    );
    let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u64;
    for high in [0, HIGH] {
        says(&TIGHT, "socket", &[unix | high, stream | flags, 0], ALLOW);
        says(&TIGHT, "socketpair", &[unix | high, stream | flags, 0], ALLOW);
        says(&TIGHT, "socket", &[inet | high, stream | flags, 0], NO_FAMILY);
        says(&TIGHT, "socketpair", &[inet | high, stream, 0], NO_FAMILY);
        for family in [inet, inet6] {
            for kind in [stream, stream | flags, datagram, datagram | flags] {
                says(&LOOSE, "socket", &[family | high, kind, 0], ALLOW);
            }
            says(
                &LOOSE,
                "socket",
                &[family | high, stream, libc::IPPROTO_TCP as u64],
                ALLOW,
            );
            says(
                &LOOSE,
                "socket",
                &[family | high, datagram, libc::IPPROTO_UDP as u64],
                ALLOW,
            );
            says(&LOOSE, "socket", &[family | high, raw | flags, 0], EPERM);
            let sctp = [family | high, stream, libc::IPPROTO_SCTP as u64];
            says(
                &LOOSE,
                "socket",
                &sctp,
                Action::Errno(libc::EPROTONOSUPPORT as u16),
            );
        }
        says(
            &LOOSE,
            "socket",
            &[inet | high, datagram | flags, libc::IPPROTO_ICMP as u64],
            EPERM,
        );
        says(
            &LOOSE,
            "socket",
            &[inet6 | high, datagram | flags, libc::IPPROTO_ICMPV6 as u64],
            EPERM,
        );
    }
    let netlink = libc::AF_NETLINK as u64;
    for family in (0..64).filter(|family| ![unix, inet, inet6, netlink].contains(family)) {
        says(&LOOSE, "socket", &[family, stream, 0], NO_FAMILY);
    }
    says(
        &LOOSE,
        "socket",
        &[netlink, raw, 0],
        Action::Errno(libc::EOPNOTSUPP as u16),
    );
}

#[test]
fn arguments_are_held_by_name() {
    for high in [0, HIGH] {
        for request in [
            libc::TIOCSTI,
            libc::TIOCLINUX,
            libc::TIOCSCTTY,
            libc::TIOCCONS,
            0x5423,
        ] {
            says(&LOOSE, "ioctl", &[0, request | high], EPERM);
        }
        for request in [
            libc::TCGETS,
            libc::TIOCGWINSZ,
            libc::FIONREAD,
            libc::FIONBIO,
            libc::FIOCLEX,
            libc::FIONCLEX,
        ] {
            says(&TIGHT, "ioctl", &[0, request | high], ALLOW);
        }
        for request in [
            libc::TCSETS,
            libc::TCSETSW,
            libc::TCSETSF,
            libc::TIOCSPGRP,
            libc::TIOCSWINSZ,
            libc::TIOCGPTN,
        ] {
            says(&TIGHT, "ioctl", &[0, request | high], ENOTTY);
            says(&LOOSE, "ioctl", &[0, request | high], ALLOW);
        }
        for request in [libc::SIOCGIFCONF, libc::SIOCGIFHWADDR, libc::SIOCGIFINDEX] {
            says(&TIGHT, "ioctl", &[0, request | high], ENOTTY);
            says(&LOOSE, "ioctl", &[0, request | high], ALLOW);
        }
        says(&LOOSE, "ioctl", &[0, libc::SIOCETHTOOL | high], ENOTTY);
        for option in [
            libc::PR_SET_NAME,
            libc::PR_SET_PDEATHSIG,
            libc::PR_GET_SECCOMP,
            libc::PR_SET_NO_NEW_PRIVS,
        ] {
            says(&TIGHT, "prctl", &[option as u64 | high], ALLOW);
        }
        says(&TIGHT, "prctl", &[libc::PR_SET_VMA as u64 | high], ALLOW);
        for option in [
            libc::PR_SET_SECCOMP,
            libc::PR_SET_MM,
            libc::PR_CAP_AMBIENT,
            libc::PR_SET_PTRACER,
        ] {
            says(&LOOSE, "prctl", &[option as u64 | high, 1], EINVAL);
        }
        for option in [
            libc::PR_SET_SECUREBITS,
            libc::PR_CAPBSET_DROP,
            libc::PR_SET_CHILD_SUBREAPER,
        ] {
            says(&LOOSE, "prctl", &[option as u64 | high, 1], EINVAL);
        }
        says(&LOOSE, "prctl", &[libc::PR_SET_DUMPABLE as u64 | high, 0], ALLOW);
        says(&LOOSE, "prctl", &[libc::PR_SET_DUMPABLE as u64 | high, 1], EINVAL);
        let (get_delegation, set_delegation) = (1039, 1040);
        for command in [
            libc::F_SETLEASE,
            get_delegation,
            set_delegation,
            libc::F_NOTIFY,
            libc::F_SETOWN,
            10,
            15,
        ] {
            says(&LOOSE, "fcntl", &[0, command as u64 | high], EPERM);
        }
        for command in [
            libc::F_GETFL,
            libc::F_SETFD,
            libc::F_DUPFD_CLOEXEC,
            libc::F_ADD_SEALS,
        ] {
            says(&TIGHT, "fcntl", &[0, command as u64 | high], ALLOW);
        }
        says(&TIGHT, "personality", &[high], ALLOW);
        says(&TIGHT, "personality", &[0xffff_ffff | high], ALLOW);
        says(
            &LOOSE,
            "personality",
            &[libc::ADDR_NO_RANDOMIZE as u64 | high],
            EPERM,
        );
        for (policy, expected) in [
            (libc::SCHED_OTHER, ALLOW),
            (libc::SCHED_IDLE, ALLOW),
            (libc::SCHED_FIFO, EPERM),
        ] {
            says(&LOOSE, "sched_setscheduler", &[0, policy as u64 | high], expected);
            says(
                &LOOSE,
                "sched_setscheduler",
                &[0, policy as u64 | 0x4000_0000 | high],
                expected,
            );
        }
        says(&TIGHT, "prlimit64", &[high], ALLOW);
        says(&LOOSE, "prlimit64", &[1 | high], EPERM);
        for (kind, expected) in [
            (libc::S_IFREG, ALLOW),
            (libc::S_IFIFO, ALLOW),
            (0, ALLOW),
            (libc::S_IFCHR, EPERM),
            (libc::S_IFBLK, EPERM),
        ] {
            says(
                &LOOSE,
                "mknodat",
                &[0, 0, u64::from(kind) | 0o644 | high],
                expected,
            );
            says(&LOOSE, "mknod", &[0, u64::from(kind) | 0o644 | high], expected);
        }
        for (flags, expected) in [
            (0, ALLOW),
            (libc::RENAME_NOREPLACE, ALLOW),
            (libc::RENAME_EXCHANGE, ALLOW),
            (libc::RENAME_WHITEOUT, EINVAL),
            (libc::RENAME_WHITEOUT | libc::RENAME_NOREPLACE, EINVAL),
        ] {
            says(
                &LOOSE,
                "renameat2",
                &[0, 0, 0, 0, u64::from(flags) | high],
                expected,
            );
        }
        let huge = libc::MAP_HUGETLB as u64 | high;
        says(
            &LOOSE,
            "mmap",
            &[0, 4096, 3, huge | 0x22],
            Action::Errno(libc::ENOMEM as u16),
        );
        says(&TIGHT, "mmap", &[0, 4096, 7, 0x22 | high], ALLOW);
        says(
            &LOOSE,
            "memfd_create",
            &[0, u64::from(libc::MFD_HUGETLB) | 1 | high],
            EPERM,
        );
        says(
            &LOOSE,
            "shmget",
            &[0, 4096, libc::SHM_HUGETLB as u64 | 0o600 | high],
            EPERM,
        );
    }
    says(&TIGHT, "setxattr", &[], Action::Errno(libc::EOPNOTSUPP as u16));
}

#[test]
fn locks_are_asked_for_or_refused() {
    const ENOLCK: Action = Action::Errno(libc::ENOLCK as u16);
    for (options, answer) in [(&TIGHT, ENOLCK), (&LOOSE, Action::Ask)] {
        for high in [0, HIGH] {
            for command in [6, 7] {
                says(options, "fcntl", &[0, command | high], answer);
            }
            // Of an open file, and longer than its process.
            for command in [37, 38] {
                says(options, "fcntl", &[0, command | high], EINVAL);
            }
            says(options, "fcntl", &[0, 5 | high], ALLOW);
            // A kernel before 6.0 takes 40 for a lock.
            for operation in [0, 1, 2, 5, 6, 9, 10, 32, 40] {
                says(options, "flock", &[0, operation | high], answer);
            }
            for unlock in [8, 12] {
                says(options, "flock", &[0, unlock | high], ALLOW);
            }
        }
        // A table of files that two processes have.
        says(options, "clone", &[0x400 | libc::SIGCHLD as u64], EPERM);
        says(options, "clone", &[0x0001_0f00], ALLOW);
        says(options, "close_range", &[3, 9, 2], EINVAL);
        says(options, "close_range", &[3, 9, 4], ALLOW);
    }
}

#[test]
fn options_open_what_they_name_and_nothing_else() {
    for (call, options) in [
        (
            "sched_setaffinity",
            Options {
                affinity: true,
                ..TIGHT
            },
        ),
        ("shmget", Options { ipc: true, ..TIGHT }),
        ("mq_open", Options { ipc: true, ..TIGHT }),
    ] {
        says(&TIGHT, call, &[], EPERM);
        says(&options, call, &[], ALLOW);
    }
    assert_eq!(Options::default(), TIGHT);
}

#[test]
fn disks_are_flushed_where_they_can_be_written() {
    let disk = Options { disk: true, ..TIGHT };
    for call in ["fsync", "fdatasync", "sync_file_range"] {
        says(&TIGHT, call, &[3], DONE);
        says(&disk, call, &[3], ALLOW);
    }
    for flags in [libc::MS_SYNC, libc::MS_SYNC | libc::MS_INVALIDATE] {
        says(&TIGHT, "msync", &[0, 4096, flags as u64], DONE);
        says(&TIGHT, "msync", &[0, 4096, flags as u64 | HIGH], DONE);
        says(&disk, "msync", &[0, 4096, flags as u64], ALLOW);
    }
    says(&TIGHT, "msync", &[0, 4096, libc::MS_ASYNC as u64], ALLOW);
    for advice in 0..6 {
        let wanted = if advice == libc::POSIX_FADV_DONTNEED {
            DONE
        } else {
            ALLOW
        };
        says(&LOOSE, "fadvise64", &[3, 0, 0, advice as u64], wanted);
    }
    for advice in (0..26).chain([100, 101]) {
        let wanted = if [libc::MADV_COLD, libc::MADV_PAGEOUT].contains(&advice) {
            DONE
        } else {
            ALLOW
        };
        for options in [TIGHT, LOOSE] {
            says(&options, "madvise", &[0, 4096, advice as u64], wanted);
            says(&options, "madvise", &[0, 4096, advice as u64 | HIGH], wanted);
        }
    }
}

#[test]
fn pid_one_waits_and_reports_and_can_do_nothing_else() {
    for arch in Arch::ALL {
        let decide = |call| decide_init(arch, number(arch, call).unwrap(), [0; 6]);
        for call in [
            "wait4",
            "waitid",
            "write",
            "sendmsg",
            "kill",
            "exit_group",
            "read",
            "ppoll",
            "munmap",
            "mmap",
        ] {
            assert_eq!(decide(call), ALLOW, "{call}");
        }
        for call in [
            "openat", "execve", "clone", "socket", "connect", "mprotect", "ptrace", "setns", "prctl", "ioctl",
        ] {
            assert_eq!(decide(call), EPERM, "{call}");
        }
        let executable = [0, 0, libc::PROT_EXEC as u64, 0, 0, 0];
        assert_eq!(
            decide_init(arch, number(arch, "mmap").unwrap(), executable),
            EPERM
        );
        assert_eq!(decide_init(arch, 1000, [0; 6]), ENOSYS);
    }
}

#[test]
fn a_template_walks_into_jars_and_builds_none() {
    for (arch, families) in Arch::ALL
        .into_iter()
        .flat_map(|arch| [(arch, Families::Local), (arch, Families::Internet)])
    {
        let says = |call: &str, args: &[u64]| {
            let mut registers = [0; 6];
            registers[..args.len()].copy_from_slice(args);
            number(arch, call).map(|number| decide_template(arch, families, number, registers))
        };
        let prctl = |option: libc::c_int, rest: u64| says("prctl", &[option as u64, rest]);
        for call in "setns capset landlock_restrict_self close_range prlimit64 sched_setaffinity setsid wait4 shmget execve"
            .split_whitespace()
        {
            assert_eq!(says(call, &[]), Some(ALLOW), "{call}");
        }
        for call in "mount umount2 pivot_root move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr \
                     chroot unshare bpf perf_event_open keyctl add_key request_key ptrace process_vm_readv process_vm_writev \
                     kcmp open_by_handle_at fanotify_init setuid setgroups sethostname reboot syslog quotactl init_module"
            .split_whitespace()
        {
            assert_eq!(says(call, &[]), Some(EPERM), "{call}");
            assert_eq!(says(call, &[u64::MAX; 6]), Some(EPERM), "{call}");
        }
        for call in ["clone3", "pidfd_getfd", "io_uring_setup", "userfaultfd", "splice"] {
            assert_eq!(says(call, &[]), Some(ENOSYS), "{call}");
        }
        assert_eq!(says("clone", &[libc::SIGCHLD as u64]), Some(ALLOW));
        for bit in [17, 25, 26, 27, 28, 29, 30] {
            assert_eq!(says("clone", &[libc::SIGCHLD as u64 | 1 << bit]), Some(EPERM));
        }
        assert_eq!(says("seccomp", &[1, 0]), Some(ALLOW));
        for refused in [[0, 0], [1, 1], [1, 8], [2, 0], [3, 0]] {
            assert_eq!(says("seccomp", &refused), Some(ENOSYS), "{refused:?}");
        }
        for (option, rest) in [
            (libc::PR_SET_DUMPABLE, 0),
            (libc::PR_SET_DUMPABLE, 1),
            (libc::PR_SET_SECCOMP, 2),
            (libc::PR_CAPBSET_DROP, 21),
            (libc::PR_SET_SECUREBITS, 0xef),
            (libc::PR_SET_NO_NEW_PRIVS, 1),
            (libc::PR_CAP_AMBIENT, 4),
            (libc::PR_SET_PDEATHSIG, 9),
        ] {
            assert_eq!(prctl(option, rest), Some(ALLOW), "{option} {rest}");
        }
        for (option, rest) in [
            (libc::PR_CAP_AMBIENT, 2),
            (libc::PR_SET_SECCOMP, 1),
            (libc::PR_SET_MM, 1),
            (libc::PR_SET_PTRACER, 1),
            (libc::PR_SET_CHILD_SUBREAPER, 1),
        ] {
            assert_eq!(prctl(option, rest), Some(EINVAL), "{option} {rest}");
        }
        assert_eq!(says("sched_setaffinity", &[1]), Some(EPERM), "of the keeper");
        assert_eq!(says("prlimit64", &[1]), Some(EPERM), "of the keeper");
        assert_eq!(says("ioctl", &[0, libc::TIOCSTI]), Some(EPERM));
        let inet = says("socket", &[libc::AF_INET as u64, libc::SOCK_STREAM as u64]);
        let expected = if families == Families::Internet {
            ALLOW
        } else {
            NO_FAMILY
        };
        assert_eq!(inet, Some(expected));
    }
}

#[test]
fn other_entries_kill_and_unknown_numbers_are_missing() {
    for raw in [0, 39, 101, 512, 0x3fff_ffff] {
        assert_eq!(
            decide(Arch::X86_64, &LOOSE, raw | 0x4000_0000, [0; 6]),
            Action::KillProcess
        );
    }
    // What a tracer leaves behind for a call that it skips.
    assert_eq!(decide(Arch::X86_64, &LOOSE, u32::MAX, [0; 6]), ENOSYS);
    for arch in Arch::ALL {
        for unknown in [470, 471, 600, 1023, 0x8000_0000] {
            assert_eq!(decide(arch, &LOOSE, unknown, [0; 6]), ENOSYS);
        }
    }
}
