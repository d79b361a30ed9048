//! RS-01, RS-02: memory in every form ends the run with the right reason, or fails at the limit.

use belljar::outcome::{Limit, Status};

use crate::glass::{expect, has_cgroup, needs_cgroup, run_with, stdout, told};

const LIMIT: u64 = 96 << 20;

fn small(policy: &mut belljar::Policy) {
    policy.limits.memory = LIMIT;
    policy.limits.disk = 32 << 20;
}

/// Ways to take memory that count against the process, as a loop that never ends by itself.
const TAKING: [(&str, &str); 4] = [
    ("malloc", "keep = []\nwhile True: keep.append(bytearray(1 << 20))"),
    (
        "many small objects",
        "keep = []\nwhile True: keep.append([0] * 100)",
    ),
    (
        "one huge object",
        "keep = bytearray(1 << 33); keep[::4096] = bytes(len(keep) // 4096)",
    ),
    (
        "private mapping",
        "import mmap\nkeep = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 22, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m[::4096] = bytes(1024); keep.append(m)",
    ),
];

both_ways! {
    fn memory_of_the_process_ends_the_run(_who) {
        for (name, source) in TAKING {
            let outcome = run_with(source, small);
            assert_eq!(outcome.limit, Some(Limit::Memory), "{name}: {}", told(&outcome));
            match (has_cgroup(), name) {
                // The jar as a whole is counted: the kernel kills it. A request beyond all memory may fail at once.
                (true, "one huge object") => {
                    assert!(matches!(outcome.status, Status::OutOfMemory | Status::Raised), "{}", told(&outcome));
                }
                (true, _) => expect(&outcome, Status::OutOfMemory),
                // Each process is counted: Python is told and raises.
                (false, _) => {
                    assert!(matches!(outcome.status, Status::Raised | Status::Exited | Status::Signalled), "{name}: {}", told(&outcome));
                }
            }
            assert!(outcome.usage.memory_peak.is_some_and(|peak| peak < 2 * (LIMIT + (32 << 20))), "{name}: {:?}", outcome.usage);
        }
    }

    fn memory_error_can_be_survived_without_a_cgroup(_who) {
        // In a cgroup the whole jar would be killed; an rlimit is an error that code can handle.
        if has_cgroup() { return }
        let outcome = run_with("try:\n    bytearray(1 << 30)\nexcept MemoryError:\n    print('told')", small);
        expect(&outcome, Status::Returned);
        assert_eq!(stdout(&outcome), "told\n");
        let raised = run_with("bytearray(1 << 30)", small);
        assert_eq!((raised.status, raised.limit), (Status::Raised, Some(Limit::Memory)), "{}", told(&raised));
        assert_eq!(raised.exception.expect("an exception").type_name, "MemoryError");
    }

    fn a_memory_error_of_the_guests_own_is_no_limit(_who) {
        for source in ["raise MemoryError", "import errno\nraise OSError(errno.ENOMEM, 'x')", "def f(n):\n    if n: raise MemoryError('n')\nf(1)"] {
            let outcome = run_with(source, small);
            assert_eq!((outcome.status, outcome.limit), (Status::Raised, None), "{source}: {}", told(&outcome));
            assert_eq!(outcome.exception.expect("an exception").hint, None, "{source}");
        }
        // Control: a request that is denied, and one that is passed on by a `raise`.
        for source in ["bytearray(1 << 50)", "try: bytearray(1 << 50)\nexcept MemoryError as error: raise"] {
            let outcome = run_with(source, small);
            assert_eq!((outcome.status, outcome.limit), (Status::Raised, Some(Limit::Memory)), "{source}: {}", told(&outcome));
            assert!(outcome.exception.and_then(|error| error.hint).is_some_and(|hint| hint.in_flags().contains("memory limit")), "{source}");
        }
    }

    fn memory_of_children_counts_for_the_whole_jar(_who) {
        if !needs_cgroup("memory_of_children_counts_for_the_whole_jar") { return }
        // Eight processes, none above the limit by itself.
        let source = "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        keep = bytearray(48 << 20); keep[::4096] = bytes(len(keep) // 4096); time.sleep(60)\ntime.sleep(60)";
        let outcome = run_with(source, small);
        expect(&outcome, Status::OutOfMemory);
        assert_eq!(outcome.limit, Some(Limit::Memory));
        assert!(outcome.usage.wall_seconds < 15.0, "{:?}", outcome.usage);
    }

    fn shared_memory_counts(_who) {
        // Not on any disk and not the process's own data: only the jar as a whole can be held to it.
        if !needs_cgroup("shared_memory_counts") { return }
        for (name, source) in [
            ("memfd", "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"),
            ("shared mapping", "import mmap\nkeep = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 22); m[::4096] = bytes(1024); keep.append(m)"),
            ("pipes", "import os\nkeep = []\nwhile True:\n    r, w = os.pipe(); os.set_blocking(w, False)\n    try: os.write(w, bytes(1 << 16))\n    except BlockingIOError: pass\n    keep += [r, w]"),
        ] {
            let outcome = run_with(source, |policy| { small(policy); policy.limits.open_files = 100_000; });
            let ended = (outcome.status, outcome.limit);
            match name {
                // Small enough to run into the limit on open files or on a user's pipes first.
                "pipes" => assert!(ended.1.is_some() || outcome.status == Status::Raised, "{}", told(&outcome)),
                _ => assert_eq!(ended, (Status::OutOfMemory, Some(Limit::Memory)), "{name}: {}", told(&outcome)),
            }
        }
    }

    fn scratch_space_is_full_before_memory_is(_who) {
        // tmpfs counts as memory, so the jar gets the disk's share on top: a full disk is an error, not a kill.
        for folder in ["/jar", "/tmp", "/dev/shm"] {
            let source = format!("with open('{folder}/fill', 'wb') as f:\n    while True: f.write(bytes(1 << 20))");
            let outcome = run_with(&source, small);
            assert_eq!((outcome.status, outcome.limit), (Status::Raised, Some(Limit::Disk)), "{folder}: {}", told(&outcome));
            let error = outcome.exception.expect("an exception");
            assert!(error.message.contains("No space left"), "{}", error.message);
        }
    }

    fn three_folders_share_one_size(_who) {
        let source = "\
import os
total = 0
for folder in ('/jar', '/tmp', '/dev/shm'):
    try:
        with open(folder + '/fill', 'wb', buffering=0) as f:
            while True: total += f.write(bytes(1 << 20))
    except OSError as error: assert error.errno == 28, error
print(total >> 20)";
        let outcome = run_with(source, small);
        expect(&outcome, Status::Returned);
        let total: u64 = stdout(&outcome).trim().parse().expect("a number");
        assert!((24..=32).contains(&total), "{total} MiB fitted into 32");
        assert_eq!(outcome.limit, Some(Limit::Disk), "told even though the guest survived it");
    }

    fn memory_is_given_back(_who) {
        // tmpfs pages that outlive a kill are the classic leak.
        let shmem = || {
            let text = std::fs::read_to_string("/proc/meminfo").expect("meminfo");
            let line = text.lines().find(|line| line.starts_with("Shmem:")).expect("Shmem").to_owned();
            line.split_whitespace().nth(1).and_then(|number| number.parse::<i64>().ok()).expect("a number")
        };
        let before = shmem();
        for _ in 0..4 {
            let source = "import os\nwith open('/dev/shm/x', 'wb') as f: f.write(bytes(200 << 20))\nos.kill(os.getpid(), 9)";
            expect(&run_with(source, |_| {}), Status::Signalled);
        }
        // Other jars may run at the same time; four leaks would be 800 MB.
        assert!(shmem() - before < 500 << 10, "{before} KiB before, {} KiB after", shmem());
    }
}
