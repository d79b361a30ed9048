//! What a template keeps and how it is sealed, in the running kernel.

use std::ffi::CString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, IntoRawFd};
use std::path::Path;

use belljar_linux::confine::{self, Allow, Rule, Rules};
use belljar_linux::namespaces::{self, Kind};
use belljar_linux::process::{self, Namespaces};
use belljar_linux::seccomp::{self, Arch, Families, Options};
use belljar_linux::userns::{self, IdMap};
use belljar_linux::{descriptors, privileges};

#[path = "support/alone.rs"]
mod support;

use support::alone;

/// As the kernel numbers them: SETPCAP 8, SYS_CHROOT 18, SYS_ADMIN 21.
const THREE: &str = "0000000000240100";
const NONE: &str = "0000000000000000";

fn map() -> IdMap {
    IdMap {
        uid: 1000,
        gid: 1000,
        host_uid: rustix::process::geteuid().as_raw(),
        host_gid: rustix::process::getegid().as_raw(),
    }
}

/// Runs `body` in a new user namespace, as a mapped user that is not root, and gives what it writes.
fn inside(namespaces: Namespaces, body: impl FnOnce() -> i32) -> String {
    let (mut read, write) = std::io::pipe().unwrap();
    let map = map();
    let child = process::start(namespaces.and(Namespaces::USER), || {
        userns::map_self(map).unwrap();
        privileges::become_id(map.uid, map.gid).unwrap();
        // SAFETY: both numbers are open.
        unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&write), 1) };
        body()
    })
    .unwrap();
    drop(write);
    let mut said = String::new();
    read.read_to_string(&mut said).unwrap();
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(0), "{said}");
    said
}

fn run(words: &[&str]) -> i32 {
    let words: Vec<CString> = words.iter().map(|word| CString::new(*word).unwrap()).collect();
    let error = process::exec(&words[0], &words, &[], &[]);
    panic!("{error}")
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim()
}

#[test]
fn exec_keeps_exactly_three_capabilities() {
    alone(|| {
        let status = inside(Namespaces::NONE, || {
            privileges::keep_for_template().unwrap();
            run(&["/bin/cat", "/proc/self/status"])
        });
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(field(&status, set), THREE, "{set}");
        }
        assert_eq!(field(&status, "NoNewPrivs"), "1");
        // The control: without it exec loses them all.
        let status = inside(Namespaces::NONE, || run(&["/bin/cat", "/proc/self/status"]));
        assert_eq!(field(&status, "CapEff"), NONE);
    });
}

#[test]
fn a_worker_drops_what_its_template_kept() {
    alone(|| {
        let status = inside(Namespaces::NONE, || {
            privileges::keep_for_template().unwrap();
            privileges::drop_all().unwrap();
            run(&["/bin/cat", "/proc/self/status"])
        });
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(field(&status, set), NONE, "{set}");
        }
    });
}

#[test]
fn a_template_walks_into_namespaces_seals_and_can_mount_nothing() {
    alone(|| {
        let all = Namespaces::MOUNT.and(Namespaces::UTS).and(Namespaces::NETWORK);
        let said = inside(all, || {
            let kinds = [Kind::Mnt, Kind::Net, Kind::Uts];
            let old = namespaces::open(&kinds).unwrap();
            privileges::keep_for_template().unwrap();
            seccomp::install(&seccomp::template_program(Arch::native(), Families::Local)).unwrap();
            for (fd, kind) in old.iter().zip(kinds) {
                namespaces::join(fd.as_fd(), kind).unwrap();
            }
            let mount =
                rustix::mount::mount("none", "/tmp", "tmpfs", rustix::mount::MountFlags::empty(), None);
            let unshare = process::unshare_network();
            privileges::drop_all().unwrap();
            seccomp::install(&seccomp::program(Arch::native(), &Options::default())).unwrap();
            let join = namespaces::join(old[1].as_fd(), Kind::Net);
            let answers = [
                mount.unwrap_err().raw_os_error(),
                unshare.unwrap_err().raw_os_error().unwrap(),
                join.unwrap_err().raw_os_error().unwrap(),
            ];
            print_raw(&format!("{answers:?}"));
            0
        });
        assert_eq!(said, format!("{:?}", [libc::EPERM; 3]));
        // The control: the capabilities alone would let it.
        let said = inside(all, || {
            privileges::keep_for_template().unwrap();
            process::unshare_network().unwrap();
            print_raw("unshared");
            0
        });
        assert_eq!(said, "unshared");
    });
}

fn print_raw(text: &str) {
    // SAFETY: descriptor 1 is the pipe of `inside`, and is closed by the end of the process alone.
    let out = unsafe { std::os::fd::BorrowedFd::borrow_raw(1) };
    rustix::io::write(out, text.as_bytes()).unwrap();
}

#[test]
fn a_prepared_ruleset_binds_whoever_applies_it() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for file in [folder.path().join("a"), other.path().join("a")] {
        std::fs::write(file, "text").unwrap();
    }
    let rules = Rules {
        abi: confine::kernel_abi().clamp(1, 6),
        paths: vec![Rule {
            path: folder.path().into(),
            allow: Allow::Read,
        }],
        tcp: true,
        scoped: false,
    };
    alone(|| {
        let ruleset = confine::prepare(&rules).unwrap();
        std::fs::read(other.path().join("a")).expect("nothing is applied yet");
        privileges::no_new_privileges().unwrap();
        confine::apply(ruleset.as_fd(), confine::kernel_abi()).unwrap();
        std::fs::read(folder.path().join("a")).unwrap();
        let refused = std::fs::read(other.path().join("a")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EACCES));
    });
}

/// The kernel does not tell whether a process is logged, so a filter looks at the flags on their way.
#[test]
fn denials_stay_out_of_the_log_where_there_is_one() {
    use seccomp::bpf::{EQUAL, Instruction, LOAD, RETURN};
    for (abi, flags) in [(0, 0), (1, 0), (6, 0), (7, 5), (8, 5), (u32::MAX, 5)] {
        assert_eq!(confine::quiet(abi), flags, "ABI {abi}");
    }
    let rules = Rules {
        abi: confine::kernel_abi().clamp(1, 6),
        paths: Vec::new(),
        tcp: true,
        scoped: false,
    };
    let (call, second_argument) = (libc::SYS_landlock_restrict_self as u32, 24);
    let line = |code, jt, jf, k| Instruction { code, jt, jf, k };
    let quiet_is_seen = [
        line(LOAD, 0, 0, 0),
        line(EQUAL, 0, 3, call),
        line(LOAD, 0, 0, second_argument),
        line(EQUAL, 0, 1, 5),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EXDEV as u32),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    alone(|| {
        let ruleset = confine::prepare(&rules).unwrap();
        privileges::no_new_privileges().unwrap();
        seccomp::install(&quiet_is_seen).unwrap();
        confine::apply(ruleset.as_fd(), 6).unwrap();
        match confine::apply(ruleset.as_fd(), 7) {
            Err(confine::ConfineError::Apply(error)) => assert_eq!(error.raw_os_error(), Some(libc::EXDEV)),
            other => panic!("{other:?}"),
        }
    });
}

/// A folder that is another one by the time a ruleset is made, as a jar's own folders are.
#[test]
fn rulesets_of_one_preparation_differ_where_they_shall() {
    let top = tempfile::tempdir().unwrap();
    let [same, own, other] = ["same", "own", "other"].map(|name| top.path().join(name));
    let fill = |folder: &Path| {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("a"), "text").unwrap();
    };
    for folder in [&same, &own, &other] {
        fill(folder);
    }
    let read = |path: &Path| Rule {
        path: path.into(),
        allow: Allow::Read,
    };
    let rules = Rules {
        abi: confine::kernel_abi().clamp(1, 6),
        paths: vec![read(&same), read(&own), read(&same.join("a"))],
        tcp: true,
        scoped: false,
    };
    for differs in [true, false] {
        let prepared = confine::Prepared::new(&rules, |path| differs && path == own).unwrap();
        assert_eq!(prepared.descriptors().count(), if differs { 2 } else { 3 });
        std::fs::rename(&own, top.path().join(format!("old-{differs}"))).unwrap();
        fill(&own);
        alone(|| {
            let ruleset = prepared.ruleset().unwrap();
            privileges::no_new_privileges().unwrap();
            confine::apply(ruleset.as_fd(), confine::kernel_abi()).unwrap();
            std::fs::read(same.join("a")).unwrap();
            // The control: a ruleset that is made of what was there before does not know the new folder.
            assert_eq!(std::fs::read(own.join("a")).is_ok(), differs);
            let refused = std::fs::read(other.join("a")).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EACCES));
        });
    }
}

#[test]
fn all_but_the_kept_descriptors_are_closed() {
    alone(|| {
        let opened: Vec<_> = (0..6)
            .map(|_| std::fs::File::open("/dev/null").unwrap().into_raw_fd())
            .collect();
        let kept = [opened[4], 0, 1, 2, opened[1]];
        descriptors::keep_only(&kept).unwrap();
        for fd in opened {
            // SAFETY: asks about a number, open or not.
            let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
            assert_eq!(is_open, kept.contains(&fd), "{fd}");
        }
    });
}

#[test]
fn many_descriptors_pass_in_one_message() {
    let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    let (mut read, write) = std::io::pipe().unwrap();
    let fds = vec![write.as_fd(); descriptors::MAX_PASSED];
    descriptors::send(one.as_fd(), b"x", &fds).unwrap();
    let (count, got) = descriptors::receive(other.as_fd(), &mut [0; 8]).unwrap();
    assert_eq!((count, got.len()), (1, descriptors::MAX_PASSED));
    drop(write);
    for fd in got {
        std::fs::File::from(fd).write_all(b"y").unwrap();
    }
    let mut text = Vec::new();
    read.read_to_end(&mut text).unwrap();
    assert_eq!(text.len(), descriptors::MAX_PASSED);
    let too_many = vec![one.as_fd(); descriptors::MAX_PASSED + 1];
    assert!(descriptors::send(one.as_fd(), b"x", &too_many).is_err());
}
