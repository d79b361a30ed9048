//! Processes seen from outside, against what they are known to have done.

use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

use belljar_linux::inspect::{Entry, Proc};
use belljar_linux::namespaces::Kind;
use belljar_linux::process::{self, Namespaces};
use belljar_linux::seccomp::{self, Arch, Options};
use belljar_linux::{memfd, privileges};

#[path = "support/alone.rs"]
mod support;

use support::alone;

struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sleeper() -> Ends {
    let mut command = Command::new("/bin/sleep");
    command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
    Ends(command.stderr(Stdio::null()).spawn().unwrap())
}

fn proc() -> Proc {
    Proc::open("/proc").unwrap()
}

fn own() -> Entry {
    proc().entry(std::process::id() as i32).unwrap()
}

#[test]
fn another_process_is_told_as_it_is() {
    let child = sleeper();
    let pid = child.0.id() as i32;
    let entry = proc().entry(pid).unwrap();
    let status = entry.status().unwrap();
    assert_eq!(
        (entry.pid(), status.ppid, status.threads),
        (pid, std::process::id() as i32, 1)
    );
    assert_eq!(status.uids, [rustix::process::geteuid().as_raw(); 4]);
    assert_eq!(status.ns_pids.first(), Some(&pid));
    assert_eq!(
        (status.no_new_privs, status.filters),
        (false, own().status().unwrap().filters)
    );
    assert_eq!(entry.namespaces().unwrap(), own().namespaces().unwrap());
    assert_eq!(entry.cgroup().unwrap(), own().cgroup().unwrap());
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    assert_eq!(entry.cgroup().unwrap(), text.trim_end());
    let open = entry.descriptors().unwrap();
    let null = rustix::fs::stat("/dev/null").unwrap();
    for (number, descriptor) in open.iter().take(3).enumerate() {
        assert_eq!(
            (descriptor.number, &*descriptor.target),
            (number as i32, "/dev/null")
        );
        assert_eq!(descriptor.file, (null.st_dev, null.st_ino));
    }
    let files: Vec<_> = open
        .iter()
        .map(|descriptor| (descriptor.number, descriptor.file))
        .collect();
    assert_eq!(entry.files().unwrap(), files);
    let some = [Kind::Uts, Kind::Pid];
    let all = entry.namespaces().unwrap();
    let picked: Vec<_> = some
        .iter()
        .flat_map(|kind| all.iter().find(|found| found.0 == *kind))
        .copied()
        .collect();
    assert_eq!(entry.namespaces_of(&some).unwrap(), picked);
    assert!(proc().processes().unwrap().contains(&pid));
    assert!(proc().children(std::process::id() as i32).unwrap().contains(&pid));
    assert!(!proc().children(pid).unwrap().contains(&pid));
}

#[test]
fn the_children_of_one_thread_are_all_there_are() {
    alone(|| {
        let child = process::start(Namespaces::NONE, || {
            std::thread::sleep(std::time::Duration::from_secs(3600));
            0
        })
        .unwrap();
        let (own, pid) = (rustix::process::getpid().as_raw_pid(), child.pid() as i32);
        assert_eq!(proc().children_of_one(own).unwrap(), [pid]);
        assert_eq!(proc().children_of_one(pid).unwrap(), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(proc().children_of_one(own).unwrap(), []);
    });
}

#[test]
fn a_process_opens_its_own_namespaces() {
    let opened = belljar_linux::namespaces::open(&Kind::ALL).unwrap();
    let identities: Vec<_> = opened
        .iter()
        .map(|fd| rustix::fs::fstat(fd).unwrap())
        .map(|stat| (stat.st_dev, stat.st_ino))
        .zip(Kind::ALL)
        .map(|(identity, kind)| (kind, identity))
        .collect();
    assert_eq!(identities, own().namespaces().unwrap());
}

#[test]
fn a_sealed_process_shows_its_seals() {
    alone(|| {
        let (read, write) = std::io::pipe().unwrap();
        let namespaces = Namespaces::USER.and(Namespaces::NETWORK).and(Namespaces::PID);
        let child = process::start(namespaces, || {
            privileges::drop_all().unwrap();
            seccomp::install(&seccomp::program(Arch::native(), &Options::default())).unwrap();
            rustix::io::write(&write, b"x").unwrap();
            loop {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            }
        })
        .unwrap();
        rustix::io::read(&read, &mut [0; 1]).unwrap();
        let own = own();
        let entry = proc().entry(child.pid() as i32).unwrap();
        let (before, status) = (own.status().unwrap(), entry.status().unwrap());
        assert_eq!(status.caps, [0; 5]);
        assert_ne!(before.caps[3], 0, "this process is bounded by nothing");
        assert!(status.no_new_privs && !before.no_new_privs);
        assert_eq!(status.filters, before.filters + 1);
        assert_eq!(status.ns_pids, [child.pid() as i32, 1]);
        let theirs = entry.namespaces().unwrap();
        for (mine, other) in own.namespaces().unwrap().into_iter().zip(theirs) {
            let is_new = [Kind::User, Kind::Net, Kind::Pid].contains(&mine.0);
            assert_eq!(mine != other, is_new, "{mine:?} {other:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The entry is of that process, whoever has its number next.
        assert!(entry.status().is_err() && entry.namespaces().is_err() && entry.descriptors().is_err());
        assert!(proc().entry(child.pid() as i32).is_err());
    });
}

#[test]
fn memory_shared_with_others_is_named() {
    alone(|| {
        assert_eq!(own().shared_writable().unwrap(), [""; 0]);
        let map = |protection, flags, fd| {
            // SAFETY: a new mapping at an address of the kernel's choice.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, fd, 0) };
            assert_ne!(start, libc::MAP_FAILED);
        };
        let file = memfd::create().unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        map(
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
        );
        assert_eq!(own().shared_writable().unwrap(), [""; 0]);
        map(
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
        );
        map(libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd());
        let mut found = own().shared_writable().unwrap();
        found.sort_by_key(|line| line.contains("memfd"));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains(" rw-s ") && found[1].contains("/memfd:belljar"),
            "{found:?}"
        );
    });
}

#[test]
fn a_folder_that_is_no_procfs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = Proc::open(folder.path()).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EXDEV));
}
