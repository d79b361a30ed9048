//! RS-03 to RS-10, TO-01, TO-03: processes, processor time, wall time, disk, inodes, open files.

use std::time::Duration;

use belljar::Policy;
use belljar::outcome::{Limit, Status};

use crate::glass::{Either, code, expect, has_cgroup, jar, needs_cgroup, run_with, stdout, told};

fn few_pids(policy: &mut Policy) {
    policy.limits.pids = 24;
}

both_ways! {
    fn fork_bomb_stops_at_the_limit(_who) {
        let source = "\
import os, time, errno
made = 0
while True:
    try: pid = os.fork()
    except OSError as error:
        assert error.errno == errno.EAGAIN, error
        break
    if pid == 0:
        time.sleep(60); os._exit(0)
    made += 1
print(made)";
        let outcome = run_with(source, few_pids);
        expect(&outcome, Status::Returned);
        assert_eq!(stdout(&outcome), "23\n", "one of the 24 is the guest itself");
        if has_cgroup() {
            assert_eq!(outcome.limit, Some(Limit::Processes), "told even though the guest survived it");
            assert_eq!(outcome.usage.processes_peak, Some(24), "{:?}", outcome.usage);
        }
        assert!(outcome.usage.wall_seconds < 10.0, "{:?}", outcome.usage);
        // Without a cgroup there is no count of denied forks; the exception tells.
        let raised = run_with("import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)", few_pids);
        assert_eq!((raised.status, raised.limit), (Status::Raised, Some(Limit::Processes)), "{}", told(&raised));
    }

    fn other_calls_that_would_block_are_no_limit(_who) {
        let outcome = run_with("import os\nr, w = os.pipe(); os.set_blocking(r, False); os.read(r, 1)", |_| {});
        expect(&outcome, Status::Raised);
        if has_cgroup() {
            assert_eq!(outcome.limit, None, "{}", told(&outcome));
        }
    }

    fn exponential_fork_bomb_leaves_the_host_healthy(_who) {
        let outcome = run_with("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", |policy| {
            few_pids(policy);
            policy.limits.timeout = Some(Duration::from_secs(1));
        });
        assert_eq!((outcome.status, outcome.exit_code), (Status::TimedOut, None), "{}", told(&outcome));
        expect(&run_with("pass", |_| {}), Status::Returned);
    }

    fn thread_bomb_stops_at_the_limit(_who) {
        let source = "\
import threading, time
made = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        made += 1
except RuntimeError as error:
    print(made, error)";
        let outcome = run_with(source, few_pids);
        expect(&outcome, Status::Returned);
        assert_eq!(stdout(&outcome), "23 can't start new thread\n");
        let raised = run_with("import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", few_pids);
        assert_eq!((raised.status, raised.limit), (Status::Raised, Some(Limit::Processes)), "{}", told(&raised));
        if has_cgroup() {
            assert_eq!(outcome.limit, Some(Limit::Processes));
        }
    }

    fn processor_time_is_limited(_who) {
        let limit = |policy: &mut Policy| policy.limits.cpu_seconds = Some(1.0);
        for source in ["while True: pass", "import hashlib\nwhile True: hashlib.sha256(bytes(1 << 20)).digest()"] {
            let outcome = run_with(source, limit);
            assert_eq!((outcome.status, outcome.limit), (Status::Signalled, Some(Limit::Cpu)), "{}", told(&outcome));
            assert!(outcome.usage.cpu_seconds > 0.5 && outcome.usage.cpu_seconds < 3.0, "{:?}", outcome.usage);
        }
        // Sleeping costs nothing.
        expect(&run_with("import time; time.sleep(1.5)", limit), Status::Returned);
        let deaf = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass";
        assert_eq!(run_with(deaf, limit).limit, Some(Limit::Cpu));
        // The time of all processes together, each of which has used less.
        let children = "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        while True: pass\nwhile True: pass";
        let outcome = run_with(children, |policy| { limit(policy); policy.limits.cpus = 2.0; });
        assert_eq!((outcome.status, outcome.limit), (Status::Signalled, Some(Limit::Cpu)), "{}", told(&outcome));
        assert!(outcome.usage.cpu_seconds < 2.0, "{:?}", outcome.usage);
        let many = "import os\nwhile True:\n    if os.fork() == 0:\n        sum(range(300_000)); os._exit(0)\n    os.wait()";
        assert_eq!(run_with(many, limit).limit, Some(Limit::Cpu), "time of the dead counts too");
    }

    fn processor_time_of_children_that_nobody_waits_for_is_limited(_who) {
        // The kernel reaps them by itself, and their time is in nobody's sum.
        let vanishing = |each: &str, times: &str| format!("\
import itertools, os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in {times}:
    if os.fork() == 0:
        {each}
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass");
        let orphans = "\
import os, time
while True:
    if os.fork() == 0:
        if os.fork() == 0: sum(range(200_000))
        os._exit(0)
    os.wait()
    time.sleep(0.002)";
        // One that nobody may read is hidden from some counters of the kernel.
        let hidden = "\
import os, shutil
shutil.copy('/bin/sh', '/tmp/hidden')
os.chmod('/tmp/hidden', 0o111)
os.execv('/tmp/hidden', ['hidden', '-c', 'while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & wait; done'])";
        let limit = |policy: &mut Policy| policy.limits.cpu_seconds = Some(1.0);
        for source in [vanishing("sum(range(200_000))", "itertools.count()"), orphans.into(), hidden.into()] {
            let outcome = run_with(&source, limit);
            assert_eq!((outcome.status, outcome.limit), (Status::Signalled, Some(Limit::Cpu)), "{source}: {}", told(&outcome));
            assert!((0.5..3.0).contains(&outcome.usage.cpu_seconds), "{source}: {:?}", outcome.usage);
            assert_eq!(outcome.usage.cpu_estimated, !has_cgroup());
        }
        // As many that sleep cost next to nothing.
        let outcome = run_with(&vanishing("time.sleep(0.02)", "range(100)"), |policy| policy.limits.cpu_seconds = Some(5.0));
        expect(&outcome, Status::Returned);
    }

    fn processors_are_limited(_who) {
        // Two busy processes on half a processor: a second of wall time gives at most about half a second of work.
        if !needs_cgroup("processors_are_limited") { return }
        let source = "import os, time\nos.fork()\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass\ntry: os.wait()\nexcept ChildProcessError: pass";
        let outcome = run_with(source, |policy| policy.limits.cpus = 0.5);
        expect(&outcome, Status::Returned);
        let share = outcome.usage.cpu_seconds / outcome.usage.wall_seconds;
        assert!(share < 0.75, "{share} processors: {:?}", outcome.usage);
    }

    fn deadline_holds_whatever_is_ignored(_who) {
        let ignoring = "\
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
print('ready', flush=True)
while True:
    try: time.sleep(1)
    except BaseException: pass";
        for source in [ignoring, "while True: pass", "'a' * 30 and __import__('re').match('(a*)*b', 'a' * 60)", "import os\nif os.fork() == 0:\n    while True: pass\nos.wait()", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"] {
            let outcome = run_with(source, |policy| policy.limits.timeout = Some(Duration::from_millis(700)));
            assert_eq!((outcome.status, outcome.limit), (Status::TimedOut, Some(Limit::Time)), "{}", told(&outcome));
            let late = outcome.usage.wall_seconds - 0.7;
            // How late it is on an idle machine is in docs/figures/bench.md.
            assert!((0.0..30.0).contains(&late), "{late} s late");
        }
    }

    fn usage_of_a_run_that_was_ended_is_known(_who) {
        let source = "import os, time\nkeep = bytearray(100 << 20); keep[::4096] = bytes(len(keep) // 4096)\nif os.fork() == 0:\n    while True: pass\nwhile True: pass";
        let outcome = run_with(source, |policy| policy.limits.timeout = Some(Duration::from_secs(4)));
        expect(&outcome, Status::TimedOut);
        assert!(outcome.usage.cpu_seconds > 0.2, "{:?}", outcome.usage);
        assert!(outcome.usage.memory_peak.is_some_and(|peak| peak > 100 << 20), "{:?}", outcome.usage);
    }

    fn output_before_the_deadline_is_kept(_who) {
        let outcome = run_with("print('before', flush=True)\nwhile True: pass", |policy| policy.limits.timeout = Some(Duration::from_millis(1500)));
        assert_eq!((outcome.status, stdout(&outcome).as_str()), (Status::TimedOut, "before\n"));
    }

    fn fork_faster_than_the_kill(_who) {
        // Children that fork and end at once, so that a kill by list always misses some.
        let source = "\
import os
for _ in range(8):
    if os.fork() == 0:
        while True:
            try:
                if os.fork(): os._exit(0)
            except OSError: pass";
        let outcome = run_with(&format!("{source}\nimport time; time.sleep(60)"), |policy| policy.limits.timeout = Some(Duration::from_millis(800)));
        expect(&outcome, Status::TimedOut);
        assert!(outcome.usage.wall_seconds < 3.0, "{:?}", outcome.usage);
        // And when the job itself ends.
        expect(&run_with(source, |_| {}), Status::Returned);
    }

    fn inodes_are_limited(_who) {
        for (name, make) in [("files", "open(f'{i}', 'w').close()"), ("links", "os.symlink('x', f'{i}')"), ("folders", "os.mkdir(f'{i}')")] {
            let source = format!("import os, itertools\nfor i in itertools.count():\n    {make}");
            let outcome = run_with(&source, |policy| policy.limits.inodes = 2000);
            assert_eq!((outcome.status, outcome.limit), (Status::Raised, Some(Limit::Files)), "{name}: {}", told(&outcome));
            let count = outcome.changes.created.len();
            assert!((1900..2000).contains(&count), "{count} {name} with 2000 inodes");
        }
    }

    fn sparse_giant_is_only_as_large_as_it_is(_who) {
        let outcome = run_with("open('giant', 'wb').truncate(1 << 60)", |_| {});
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.changes.created, ["giant"]);
        assert_eq!(outcome.limit, None);
    }

    fn file_size_is_limited(_who) {
        let limit = |policy: &mut Policy| policy.limits.file_size = Some(1 << 20);
        // Python ignores SIGXFSZ, so the call fails; another program is ended by it.
        let outcome = run_with("open('big', 'wb').write(bytes(2 << 20))", limit);
        assert_eq!((outcome.status, outcome.limit), (Status::Raised, Some(Limit::Disk)), "{}", told(&outcome));
        let truncated = run_with("open('big', 'wb').truncate(2 << 20)", limit);
        assert_eq!((truncated.status, truncated.limit), (Status::Raised, Some(Limit::Disk)), "{}", told(&truncated));
        let outcome = jar(limit).either(crate::glass::program(&["dd", "if=/dev/zero", "of=big", "bs=1M", "count=2"])).expect("an outcome");
        assert_eq!((outcome.status, outcome.signal, outcome.limit), (Status::Signalled, Some(25), Some(Limit::Disk)), "{}", told(&outcome));
        expect(&run_with("open('fits', 'wb').write(bytes(1 << 20))", limit), Status::Returned);
    }

    fn open_files_are_limited(_who) {
        let outcome = run_with("import os\nkeep = []\nwhile True: keep.append(os.dup(0))", |policy| policy.limits.open_files = 40);
        assert_eq!((outcome.status, outcome.limit), (Status::Raised, Some(Limit::Files)), "{}", told(&outcome));
        let counted = run_with("import os\nkeep = []\ntry:\n    while True: keep.append(os.dup(0))\nexcept OSError as e: print(e.errno, max(keep))", |policy| policy.limits.open_files = 40);
        assert_eq!(stdout(&counted), "24 39\n");
        let raise = run_with("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))", |policy| policy.limits.open_files = 40);
        expect(&raise, Status::Raised);
    }

    fn deep_folders_are_walked_and_removed(_who) {
        // Put together from the leaf up, which spares the kernel a walk of the whole depth for each.
        let source = "import os\nos.mkdir('d'); open('d/leaf', 'w').close()\nfor _ in range(10_000):\n    os.mkdir('n'); os.rename('d', 'n/d'); os.rename('n', 'd')";
        let outcome = run_with(source, |_| {});
        expect(&outcome, Status::Returned);
        assert!(outcome.changes.truncated || outcome.changes.created.len() == 10_002, "{}", outcome.changes.created.len());
        assert!(!outcome.changes.created.is_empty());
        assert!(outcome.usage.wall_seconds < 10.0, "{:?}", outcome.usage);
    }

    fn neighbours_do_not_share_limits(_who) {
        // Two jars of the same user at once: one at its process limit must not take the other's.
        let greedy = "import os, time\nmade = 0\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(60)\n        made += 1\nexcept OSError: print(made, flush=True)\ntime.sleep(2)";
        let jar = jar(few_pids);
        let runs: Vec<_> = (0..2).map(|_| jar.spawn_job(code(greedy)).expect("a job")).collect();
        for run in runs {
            let outcome = run.wait().expect("an outcome");
            assert_eq!(stdout(&outcome), "23\n", "{}", told(&outcome));
        }
    }
}
