//! Templates whose imports have patched what they could: no unsealed worker is ever handed out, the reason is told, and jobs
//! have outcomes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use belljar::outcome::Status;
use belljar::{Policy, Sandbox};

use crate::glass::{code, expect, has_cgroup, jar, stdout, told};
use crate::support::procfs;
use crate::warm::{all_warm, pool, until};

/// Finds the namespaces of our own runtime files, which are no modules.
const FIND: &str = "\
import gc, os, sys
def scope(name):
    return next(found for found in gc.get_objects() if type(found) is dict and name in found)
TEMPLATE = os.path.exists('/proc/self/fd/4')
if not TEMPLATE:
    raise ImportError('cold')
seal, main = scope('LOCKED_SECUREBITS'), scope('load_boot')
call = seal['syscall']
def skip(which):
    seal['syscall'] = lambda number, *args: 0 if which(number, args) else call(number, *args)
";

/// What an import may do to the code that seals workers, and what the look from outside says to it.
const PATCHES: &[(&str, &str, &str)] = &[
    (
        "keeps_capabilities",
        "skip(lambda number, args: number == seal['CAPSET'] or number == seal['PRCTL'] and args[0] in (24, 28, 47))",
        "it has capabilities",
    ),
    (
        "keeps_the_bounding_set",
        "skip(lambda number, args: number == seal['PRCTL'] and args[0] == 24)",
        "it has capabilities",
    ),
    (
        "loads_no_filter",
        "skip(lambda number, args: number == seal['SECCOMP'])",
        "1 filters",
    ),
    (
        "loads_two_filters",
        "seal['syscall'] = lambda number, *args: [call(number, *args) for _ in range(2 if number == seal['SECCOMP'] else 1)][-1]",
        "a worker could not be made",
    ),
    (
        "stays_in_a_network",
        "turns = []\nskip(lambda number, args: number == seal['SETNS'] and (turns.append(1) or len(turns) == 2))",
        "it is not in the jar's net namespace",
    ),
    (
        "stays_in_a_mount_namespace",
        "turns = []\nskip(lambda number, args: number == seal['SETNS'] and (turns.append(1) or len(turns) == 1))",
        "it is not in the jar's mnt namespace",
    ),
    (
        "keeps_descriptors",
        "seal['close_from'] = lambda first: None",
        "it has descriptors",
    ),
    (
        "forks_in_the_jar",
        "import time\nreseed = scope('reseed')\nreal = reseed['reseed']\ndef patched(found):\n    if os.fork() == 0: time.sleep(1000)\n    real(found)\nreseed['reseed'] = patched",
        "it is not alone in its jar",
    ),
    (
        "starts_a_thread",
        "import threading, time\nreseed = scope('reseed')\nreal = reseed['reseed']\ndef patched(found):\n    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n    real(found)\nreseed['reseed'] = patched",
        "2 threads",
    ),
    (
        "sends_another_process",
        "import time\nfork = main['fork']\ndef patched():\n    if fork() == 0: time.sleep(1000)\n    return fork()\nmain['fork'] = patched",
        "it is not the process that was asked for",
    ),
    (
        "fails_to_seal",
        "import time\ndef patched(*args):\n    time.sleep(0.02)\n    raise OSError(5, '')\nseal['setsid'] = patched",
        "seal a worker",
    ),
    (
        "says_that_it_is_parked_before_it_is_sealed",
        "import time\nfrom socket import send_fds, socket\nreal = seal['seal']\ndef patched(order, processors, fds, failed):\n    send_fds(socket(fileno=os.dup(fds[0])), [b'\\x0a\\1' + bytes(14)], [fds[0]])\n    os.write(fds[0], b'\\x08\\1' + bytes(6) + b'\\x08' + bytes(7) + b'\\xff' * 8)\n    time.sleep(1)\n    return real(order, processors, fds, failed)\nseal['seal'] = patched",
        "check a worker",
    ),
    (
        "says_half_of_it",
        "import time\nreal = seal['seal']\ndef patched(order, processors, fds, failed):\n    os.write(fds[0], b'\\x08\\1' + bytes(6) + b'\\x08' + bytes(7))\n    time.sleep(1)\n    return real(order, processors, fds, failed)\nseal['seal'] = patched",
        "seal a worker",
    ),
    (
        "starts_a_process_beside_a_worker",
        "import time\nsay = main['say']\ndef patched(text):\n    if b'forked' in text and os.fork() == 0: time.sleep(1000)\n    say(text)\nmain['say'] = patched",
        "processes of its own; importing starts_a_process_beside_a_worker did that",
    ),
    (
        "starts_a_thread_beside_a_worker",
        "import threading, time\nsay = main['say']\ndef patched(text):\n    if b'forked' in text: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n    say(text)\nmain['say'] = patched",
        "threads, and a fork takes only one along; importing starts_a_thread_beside_a_worker did that",
    ),
    (
        "ends_when_it_forks",
        "os.register_at_fork(before=lambda: os._exit(7))",
        "a worker could not be made",
    ),
];

/// A sandbox with a virtualenv that has all of these modules in it.
fn with_modules(modules: &[(&str, String)]) -> (tempfile::TempDir, Sandbox) {
    with_modules_and(modules, |_| {})
}

fn with_modules_and(
    modules: &[(&str, String)],
    change: impl FnOnce(&mut Policy),
) -> (tempfile::TempDir, Sandbox) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("open to all");
    let python = fs::canonicalize("/usr/bin/python3").expect("the system's Python");
    let name = python
        .file_name()
        .and_then(|name| name.to_str())
        .expect("its name")
        .to_owned();
    let venv: PathBuf = folder.path().join("venv");
    let packages = venv.join("lib").join(&name).join("site-packages");
    fs::create_dir_all(&packages).expect("folders");
    fs::create_dir(venv.join("bin")).expect("a folder");
    std::os::unix::fs::symlink(&python, venv.join("bin/python")).expect("a link");
    fs::write(venv.join("pyvenv.cfg"), "home = /usr/bin\n").expect("a file");
    for (name, source) in modules {
        fs::write(packages.join(format!("{name}.py")), source).expect("a module");
    }
    let jar = jar(|policy| {
        policy.venv = Some(venv);
        change(policy);
    });
    (folder, jar)
}

/// Python processes below this one, at whatever depth.
fn interpreters() -> usize {
    let family = procfs::descendants(std::process::id());
    let is_python = |pid: &&u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("python"))
    };
    family.iter().filter(is_python).count()
}

fn patched(name: &str, patch: &str) -> (tempfile::TempDir, Sandbox) {
    let (folder, jar) = with_modules(&[(name, format!("{FIND}{patch}\n"))]);
    let jar = jar.with_preload([name]).expect("a name");
    (folder, jar)
}

both! {
    fn unsealed_workers_are_never_handed_out(_who) {
        let modules: Vec<(&str, String)> = PATCHES.iter().map(|(name, patch, _)| (*name, format!("{FIND}{patch}\n"))).collect();
        let (_folder, jar) = with_modules(&modules);
        let pool = pool();
        for (name, _, wanted) in PATCHES {
            let jar = jar.with_preload([*name]).expect("a name");
            let outcome = pool.run(&jar, code("print('ran')")).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(stdout(&outcome), "ran\n", "{name}");
            let reason = outcome.cold.unwrap_or_else(|| panic!("{name}: it ran warm"));
            assert!(reason.contains(wanted), "{name}: {reason}");
        }
        // The control: what is found and not patched is sealed, and runs warm.
        let (_folder, jar) = patched("looks_only", "skip(lambda number, args: False)");
        let outcome = pool.run(&jar, code("print('ran')")).expect("an outcome");
        assert_eq!((stdout(&outcome).as_str(), outcome.cold), ("ran\n", None));
    }

    fn a_worker_outside_of_its_cgroup_is_never_handed_out(_who) {
        // Where there is no cgroup there is nothing to enter.
        let (_folder, jar) = patched("enters_no_cgroup", "seal['write'] = lambda number, data: len(data)");
        let pool = pool();
        let outcome = pool.run(&jar, code("print('ran')")).expect("an outcome");
        assert_eq!(stdout(&outcome), "ran\n");
        if has_cgroup() {
            assert!(outcome.cold.as_ref().is_some_and(|reason| reason.contains("it is not in the jar's cgroup")), "{:?}", outcome.cold);
        } else {
            assert_eq!(outcome.cold, None);
        }
    }

    fn a_worker_without_its_own_limits_is_never_handed_out(_who) {
        // Processes are limited so where there is no cgroup, processor time everywhere.
        let (_folder, jar) = with_modules(&[("sets_no_limits", format!("{FIND}skip(lambda number, args: number == seal['PRLIMIT'] and args[2] != 0)\n"))]);
        let mut plan = jar.plan().clone();
        for step in plan.steps_mut() {
            if let belljar::plan::Step::Rlimits { limits } = step {
                limits.retain(|limit| limit.resource != belljar::plan::Resource::Cpu);
                limits.push(belljar::plan::Rlimit { resource: belljar::plan::Resource::Cpu, soft: 1000, hard: 1000 });
            }
        }
        let jar = Sandbox::from_plan(plan).expect("a sandbox").with_preload(["sets_no_limits"]).expect("a name");
        let outcome = pool().run(&jar, code("print('ran')")).expect("an outcome");
        assert_eq!(stdout(&outcome), "ran\n");
        assert!(outcome.cold.as_ref().is_some_and(|reason| reason.contains("its limits are not set")), "{:?}", outcome.cold);
        // The control: limits that are set are no reason.
        let (_folder, jar) = patched("sets_limits", "");
        assert_eq!(pool().run(&jar, code("print('ran')")).expect("an outcome").cold, None);
    }

    fn imports_make_no_more_processes_than_a_job_may(_who) {
        let cores = std::thread::available_parallelism().expect("a number").get();
        let bound = 16 + 2 * cores + 1;
        let made = |pids: u64| {
            // Where nobody has stopped it, it stays until somebody does.
            let last = if pids < 60 { bound } else { 60 };
            let bomb = format!("{FIND}import time\nmade = 0\nfor made in range(60):\n    try:\n        if os.fork() == 0: time.sleep(1000)\n    except OSError: break\nif made > {last}: time.sleep(1000)\n");
            let (_folder, jar) = with_modules_and(&[("bomb", bomb)], |policy| policy.limits.pids = pids);
            let jar = jar.with_preload(["bomb"]).expect("a name");
            let pool = pool();
            let outcome = pool.run(&jar, code("print('ran')")).expect("an outcome");
            assert_eq!(stdout(&outcome), "ran\n");
            let reason = outcome.cold.expect("it runs cold");
            assert!(reason.ends_with("; importing bomb did that"), "{reason}");
            // With the pool still there, nothing of it is left.
            until("they are ended", || interpreters() == 0);
            let left = reason.strip_prefix("the template has ").and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
            left.ok_or(reason)
        };
        match made(16) {
            // The kernel refused more, with room for workers on their way; or the keeper saw them first.
            Ok(count) => assert!(has_cgroup() && count <= bound, "{count}"),
            Err(reason) => assert!(reason.starts_with("the imports made more than 16 processes"), "{reason}"),
        }
        // The control: where there may be as many.
        assert_eq!(made(128), Ok(60));
    }

    fn imports_that_do_not_end_are_ended_and_named(_who) {
        let (_folder, jar) = with_modules_and(&[("calm", String::new()), ("burns", format!("{FIND}while True: pass\n"))], |policy| {
            policy.limits.cpu_seconds = Some(1.0);
            policy.limits.timeout = Some(Duration::from_secs(60));
        });
        let jar = jar.with_preload(["calm", "burns"]).expect("names");
        let error = pool().warm(&jar, 1).expect("an answer").cold.expect("it never gets there");
        assert!(error.contains("the imports used more than 10 s of processor time; importing burns did that"), "{error}");
        let (_folder, jar) = with_modules_and(&[("waits", format!("{FIND}import time\ntime.sleep(1000)\n"))], |policy| {
            policy.limits.timeout = Some(Duration::from_secs(1));
        });
        let error = pool().warm(&jar.with_preload(["waits"]).expect("a name"), 1).expect("an answer").cold.expect("it never gets there");
        assert!(error.contains("the imports took more than 10 s; importing waits did that"), "{error}");
    }

    fn templates_that_burn_on_are_ended_and_named(_who) {
        let burn = |seconds: f64| format!("import signal\nsignal.signal(signal.SIGALRM, lambda *_: sum(range(100_000)))\nsignal.setitimer(signal.ITIMER_REAL, {seconds}, {seconds})");
        let (_folder, jar) = patched("burns_on", &burn(0.001));
        let pool = pool();
        until("it is noticed", || {
            // Meanwhile the template has nothing to do.
            let outcome = pool.run(&jar, code("import time; time.sleep(0.5); print('ran')")).expect("an outcome");
            assert_eq!(stdout(&outcome), "ran\n", "{}", told(&outcome));
            outcome.cold.is_some_and(|reason| reason == "the template uses the processor when it has nothing to do; importing burns_on did that")
        });
        // The control: one that wakes up now and then is warm.
        let (_folder, jar) = patched("wakes_up", &burn(0.5));
        let outcome = pool.run(&jar, code("import time; time.sleep(2)")).expect("an outcome");
        assert_eq!(outcome.cold, None);
        assert_eq!(pool.run(&jar, code("print('ran')")).expect("an outcome").cold, None);
    }

    fn templates_that_do_not_reap_are_replaced(_who) {
        for patch in ["main['reap'] = lambda: None", "import signal\nreap = main['reap']\ndef patched():\n    signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n    reap()\nmain['reap'] = patched"] {
            let (_folder, jar) = patched("does_not_reap", patch);
            let pool = pool();
            for number in 0..4i32 {
                let outcome = pool.run(&jar, code(&format!("raise SystemExit({number})"))).expect("an outcome");
                assert_eq!((outcome.exit_code, outcome.cold.as_ref()), (Some(number), None), "{patch}: {}", told(&outcome));
            }
        }
    }

    fn templates_that_kill_all_end_no_other_sandbox(_who) {
        let (_folder, hostile) = patched("kills_all", "os.register_at_fork(after_in_parent=lambda: os.kill(-1, 9))");
        let (pool, peaceful) = (pool(), jar(|_| {}));
        let task = pool.spawn(&peaceful, code("import time; time.sleep(1.5); print('lived')")).expect("a job");
        until("it runs", || pool.stats().busy == 1);
        for _ in 0..3 {
            let outcome = pool.run(&hostile, code("print('ran')")).expect("an outcome");
            assert_eq!(stdout(&outcome), "ran\n");
            assert!(outcome.cold.is_some(), "no worker of it lives that long");
        }
        let outcome = task.wait().expect("an outcome");
        assert_eq!((stdout(&outcome).as_str(), outcome.cold), ("lived\n", None));
        // The control: the same without the kill.
        let (_folder, tame) = patched("kills_none", "os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), 0))");
        assert_eq!(pool.run(&tame, code("print('ran')")).expect("an outcome").cold, None);
    }

    fn templates_that_are_slow_to_fork_keep_no_job_for_ever(_who) {
        // Where there is time for it, one that never does: the keeper gives up after 20 s, the pool after three of these.
        let soak = std::env::var_os("BELLJAR_STORM").is_some();
        let seconds = if soak { 1_000_000 } else { 2 };
        let (_folder, jar) = patched("slow", &format!("import time\nos.register_at_fork(before=lambda: time.sleep({seconds}))"));
        let since = Instant::now();
        let outcome = pool().run(&jar, code("print('ran')")).expect("an outcome");
        assert_eq!(stdout(&outcome), "ran\n");
        assert_eq!(outcome.cold.is_some(), soak, "{:?}", outcome.cold);
        assert!(since.elapsed() >= Duration::from_secs(2), "control: it was slow");
        assert!(since.elapsed() < Duration::from_secs(90), "{:?}", since.elapsed());
    }

    fn templates_that_lie_about_ends_keep_no_job_from_its_own(_who) {
        // It says that a worker has ended well as soon as it is born, and that others have too.
        let lie = "import json\nsay = main['say']\ndef patched(text):\n    say(text)\n    for pid in {json.loads(text).get('pid', 0), 1, 2, 7}:\n        say(b'{\"ended\": %d, \"status\": 0, \"max_rss\": 1, \"cpu_usec\": 1}' % pid)\nmain['say'] = patched";
        let (_folder, jar) = patched("lies", lie);
        let pool = pool();
        for number in 0..3i32 {
            let outcome = pool.run(&jar, code(&format!("import time; time.sleep(0.1); print('{number}', flush=True); raise SystemExit(3)"))).expect("an outcome");
            assert_eq!(stdout(&outcome), format!("{number}\n"), "{}", told(&outcome));
            expect(&outcome, Status::Exited);
        }
    }

    fn a_preload_that_only_fails_is_told_and_runs_warm(_who) {
        let (_folder, jar) = with_modules(&[("fails", "raise RuntimeError('at import')".into()), ("prints", "import sys\nsys.stdout.write('never seen')\n".into())]);
        let jar = jar.with_preload(["fails", "prints"]).expect("names");
        let pool = pool();
        let warmed = pool.warm(&jar, 1).expect("workers");
        assert_eq!(warmed.modules[0].error.as_deref(), Some("RuntimeError: at import"));
        assert_eq!(stdout(&pool.run(&jar, code("print('ran')")).expect("an outcome")), "ran\n");
        all_warm(&pool);
    }
}
