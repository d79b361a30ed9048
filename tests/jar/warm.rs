//! Jobs on parked workers: the same outcomes as cold ones, in processes that nobody used before, and nothing left behind.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use belljar::job::{InputFile, JobLimits, Program, Stdin};
use belljar::outcome::{Limit, Status};
use belljar::pool::{Cancel, Keep};
use belljar::{Error, Job, Pool, Sandbox};
use belljar_linux::cgroup::Owner;

use crate::glass::{code, expect, has_cgroup, jar, program, script, stdout, told};

/// A pool that is dropped before leaks are looked for, and whose own cgroups are.
pub struct Warm(Option<Pool>);

impl std::ops::Deref for Warm {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        self.0.as_ref().expect("a pool")
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        drop(self.0.take());
        if !std::thread::panicking() {
            assert_eq!(own_groups(), BTreeSet::new(), "cgroups of this process are left");
        }
    }
}

/// A pool with the default settings.
pub fn pool() -> Warm {
    Warm(Some(Pool::new().expect("a pool")))
}

/// A pool with settings of its own.
pub fn pool_with(change: impl FnOnce(belljar::pool::PoolBuilder) -> belljar::pool::PoolBuilder) -> Warm {
    Warm(Some(change(Pool::builder()).build().expect("a pool")))
}

/// Cgroups that this very process has made.
fn own_groups() -> BTreeSet<String> {
    let ours = Owner::current().expect("our own name");
    let mut found = BTreeSet::new();
    let mut open = vec![(Path::new("/sys/fs/cgroup").to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if Owner::parse(&name) == Some(ours) {
                found.insert(entry.path().display().to_string());
            } else if depth < 3 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

/// Waits for something to be so.
#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(
            since.elapsed() < Duration::from_secs(120),
            "not within two minutes: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A sandbox with a virtualenv that has this module in it.
pub fn with_module(name: &str, source: &str) -> (tempfile::TempDir, Sandbox) {
    let (folder, venv) = venv_with(name, source);
    (folder, jar(|policy| policy.venv = Some(venv)))
}

/// A virtualenv that has a module of ours in it.
pub fn venv_with(name: &str, source: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("open to all");
    let venv = folder.path().join("venv");
    let made = std::process::Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "a virtualenv");
    let lib = std::fs::read_dir(venv.join("lib"))
        .expect("its lib")
        .flatten()
        .next()
        .expect("a version");
    let path = lib.path().join("site-packages").join(format!("{name}.py"));
    std::fs::write(path, source).expect("a module");
    (folder, venv)
}

/// Asserts that nothing ran cold.
#[track_caller]
pub fn all_warm(pool: &Pool) {
    let stats = pool.stats();
    assert_eq!(
        (stats.cold, &stats.reasons),
        (0, &Default::default()),
        "{stats:?}"
    );
}

both! {
    fn calls_give_values_and_errors(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        for number in 0..5 {
            assert_eq!(pool.call::<i64>(&jar, "lambda x: x * 2", (number,)).expect("a value"), number * 2);
        }
        assert_eq!(pool.call::<Vec<String>>(&jar, "def f(a, b):\n    return [a, b * 2]", ("x", "é")).expect("a value"), ["x", "éé"]);
        pool.call::<()>(&jar, "lambda: None", ()).expect("nothing");
        let error = pool.call::<i64>(&jar, "def f():\n    raise KeyError('k')", ()).expect_err("an error");
        match &error {
            Error::Call(call) => {
                expect(&call.outcome, Status::Raised);
                assert_eq!(call.outcome.exception.as_ref().expect("an exception").type_name, "KeyError");
            }
            _ => panic!("{error}"),
        }
        let wrong = pool.call::<i64>(&jar, "lambda: 'text'", ()).expect_err("another type");
        assert!(matches!(&wrong, Error::Call(call) if call.value.is_some() && call.outcome.status == Status::Returned), "{wrong}");
        all_warm(&pool);
        assert_eq!(pool.stats().cabinets, 1);
    }

    fn code_scripts_and_modules_end_as_they_do_cold(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let mut jobs: Vec<fn() -> Job> = Vec::new();
        jobs.push(|| code("print('hi')"));
        jobs.push(|| code("import sys; sys.exit(3)"));
        jobs.push(|| code("import sys; sys.exit('words')"));
        jobs.push(|| code("import os; os._exit(7)"));
        jobs.push(|| code("1/0"));
        jobs.push(|| code("import os; os.abort()"));
        jobs.push(|| code("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"));
        jobs.push(|| code("import ctypes; ctypes.string_at(0)"));
        jobs.push(|| code("print('no newline', end='')"));
        jobs.push(|| code("import sys; print('err', file=sys.stderr)"));
        jobs.push(|| code("def f(:"));
        jobs.push(|| code("import atexit; atexit.register(print, 'bye'); print(__name__, __builtins__)"));
        jobs.push(|| {
            let mut job = script("import sys, os\nprint(sys.argv, __file__, os.getcwd(), __name__, sys.path[0])");
            job.args = vec!["a".into(), "b c".into()];
            job
        });
        jobs.push(|| script("raise ValueError('in a script')"));
        jobs.push(|| {
            let mut job = Job::new(Program::Module("json.tool".into()));
            job.stdin = Stdin::Bytes(b"[1, 2]".to_vec());
            job
        });
        jobs.push(|| {
            let mut job = code("print(input(), input()); import sys; print(repr(sys.stdin.read()))");
            job.stdin = Stdin::Bytes(b"one\ntwo\nrest".to_vec());
            job
        });
        jobs.push(|| {
            let mut job = code("import os, sys; print(os.environ['NAME'], sys.argv)");
            job.env = vec![("NAME".into(), "välue".into())];
            job.args = vec!["x".into()];
            job
        });
        jobs.push(|| Job::new(Program::Code { source: b"print(__file__ if '__file__' in dir() else 'none')".to_vec(), from_stdin: true }));
        for job in jobs {
            let what = format!("{:?}", job().program);
            let warm = pool.run(&jar, job()).unwrap_or_else(|error| panic!("{what}: {error}"));
            let cold = jar.run_job(job()).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(
                (warm.status, warm.exit_code, warm.signal, warm.stdout.text(), warm.stderr.text()),
                (cold.status, cold.exit_code, cold.signal, cold.stdout.text(), cold.stderr.text()),
                "{what}\nwarm: {}\ncold: {}", told(&warm), told(&cold)
            );
            assert_eq!(warm.exception.map(|error| (error.type_name, error.message, error.frames)), cold.exception.map(|error| (error.type_name, error.message, error.frames)), "{what}");
            assert!(warm.usage.wall_seconds > 0.0 && warm.usage.wall_seconds < 10.0);
        }
        all_warm(&pool);
    }

    fn files_go_in_and_come_out(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let folder = tempfile::tempdir().expect("a folder");
        let mut job = code("import os\nprint(open('in.txt').read(), open('deep/er/in.bin', 'rb').read())\nopen('in.txt', 'a').write('more')\nos.mkdir('out'); open('out/new', 'w').write('made')\nos.remove('gone')");
        let file = |path: &str, content: &[u8]| InputFile { path: path.into(), content: content.into() };
        job.files = vec![file("in.txt", b"text"), file("deep/er/in.bin", b"\xff\0"), file("gone", b"")];
        job.collect = Some(folder.path().join("collected").as_path().into());
        let outcome = pool.run(&jar, job).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(stdout(&outcome), "text b'\\xff\\x00'\n");
        assert_eq!((&outcome.changes.created[..], &outcome.changes.modified[..], &outcome.changes.deleted[..]), (&["deep", "deep/er", "out", "out/new"].map(str::to_owned)[..], &["in.txt".to_owned()][..], &["gone".to_owned()][..]), "{:?}", outcome.changes);
        assert_eq!(std::fs::read_to_string(folder.path().join("collected/out/new")).expect("a copy"), "made");
        for path in ["../up", "/etc/x", ""] {
            let mut job = code("");
            job.files = vec![file(path, b"")];
            assert!(matches!(pool.run(&jar, job), Err(Error::Files(_))), "{path:?}");
        }
        // Large inputs and jobs are longer than a socket's buffer.
        let mut job = code(&format!("x = '{}'\nprint(len(x), len(open('big', 'rb').read()))", "y".repeat(3 << 20)));
        job.files = vec![file("big", &vec![7; 5 << 20])];
        assert_eq!(stdout(&pool.run(&jar, job).expect("an outcome")), format!("{} {}\n", 3 << 20, 5 << 20));
        all_warm(&pool);
    }

    fn nothing_is_shared_between_calls(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let mut seen = BTreeSet::new();
        for _ in 0..6 {
            let source = "import os, random, sys, builtins\nassert not hasattr(builtins, 'mine'); builtins.mine = 1\nassert os.listdir('/jar') == [] and os.listdir('/dev/shm') == [] and not os.path.exists('/tmp/mine')\nopen('/tmp/mine', 'w'); open('/jar/mine', 'w'); open('/dev/shm/mine', 'w')\nprint(random.random(), os.urandom(4).hex())";
            let outcome = pool.run(&jar, code(source)).expect("an outcome");
            expect(&outcome, Status::Returned);
            assert!(seen.insert(stdout(&outcome)), "twice the same random numbers");
        }
        all_warm(&pool);
    }

    fn limits_hold_and_may_be_tighter_for_a_job(_who) {
        let (pool, jar) = (pool(), jar(|policy| { policy.limits.memory = 256 << 20; policy.limits.output = 1 << 16; }));
        let limited = |source: &str, limits: JobLimits| {
            let mut job = code(source);
            job.limits = limits;
            pool.run(&jar, job)
        };
        let none = JobLimits::default();
        let time = limited("while True: pass", JobLimits { timeout: Some(Duration::from_millis(300)), ..none }).expect("an outcome");
        assert_eq!((time.status, time.limit), (Status::TimedOut, Some(Limit::Time)), "{}", told(&time));
        assert!((0.3..0.8).contains(&time.usage.wall_seconds) && time.usage.cpu_seconds > 0.02, "{:?}", time.usage);
        let cpu = limited("while True: pass", JobLimits { cpu_seconds: Some(0.3), ..none }).expect("an outcome");
        assert_eq!(cpu.limit, Some(Limit::Cpu), "{}", told(&cpu));
        let output = limited("print('x' * 100_000)", JobLimits { output: Some(1000), ..none }).expect("an outcome");
        assert_eq!((output.status, output.limit), (Status::Returned, Some(Limit::Output)));
        assert_eq!(output.stdout.head.len() + output.stdout.tail.len(), 1000);
        let memory = limited("x = bytearray(1 << 30)", none).expect("an outcome");
        assert_eq!(memory.limit, Some(Limit::Memory), "{}", told(&memory));
        // Page by page, so that it is the cgroup that says no; that one counts the disk as well.
        let size = if has_cgroup() { 400 } else { 128 };
        let source = &format!("x = []\nfor i in range({size}): x.append(bytearray(b'y' * (1 << 20)))\nprint('lived')");
        let control = limited(source, none).expect("an outcome");
        expect(&control, Status::Returned);
        let tighter = JobLimits { memory: Some(48 << 20), ..none };
        let memory = limited(source, tighter).expect("an outcome");
        assert_eq!(memory.limit, Some(Limit::Memory), "{}", told(&memory));
        let fork = "import threading, time\nfor i in range(20): threading.Thread(target=time.sleep, args=(0.2,)).start()\nprint('lived')";
        expect(&limited(fork, none).expect("an outcome"), Status::Returned);
        let pids = limited(fork, JobLimits { pids: Some(8), ..none }).expect("an outcome");
        assert_eq!(pids.limit, Some(Limit::Processes), "{}", told(&pids));
        for looser in [
            JobLimits { timeout: Some(Duration::from_secs(60)), ..none },
            JobLimits { memory: Some(1 << 30), ..none },
            JobLimits { output: Some(1 << 20), ..none },
            JobLimits { pids: Some(129), ..none },
        ] {
            assert!(matches!(limited("", looser), Err(Error::Limit(_))), "{looser:?}");
        }
        all_warm(&pool);
        // The same limits hold for a cold run.
        let mut job = code("while True: pass");
        job.limits.timeout = Some(Duration::from_millis(300));
        expect(&jar.run_job(job).expect("an outcome"), Status::TimedOut);
    }

    fn a_job_may_be_cancelled_in_every_phase(_who) {
        let (pool, jar) = (pool_with(|builder| builder.max_workers(1).queue(4)), jar(|_| {}));
        // While its worker is being made, and there is no cabinet yet.
        let task = pool.spawn(&jar, code("print('ran')")).expect("a task");
        task.kill();
        let outcome = task.wait().expect("an outcome");
        expect(&outcome, Status::Cancelled);
        // Before it is given to the pool.
        let cancel = Cancel::new().expect("a cancel");
        cancel.kill();
        expect(&pool.run_until(&jar, code("print('ran')"), &cancel).expect("an outcome"), Status::Cancelled);
        // While it runs, and while another one waits for its place.
        let running = pool.spawn(&jar, code("import time; print('up', flush=True); time.sleep(60)")).expect("a task");
        until("it runs", || pool.stats().busy == 1);
        let waiting = pool.spawn(&jar, code("print('ran')")).expect("a task");
        until("it waits", || pool.stats().queued == 1);
        waiting.kill();
        expect(&waiting.wait().expect("an outcome"), Status::Cancelled);
        until("nobody waits", || pool.stats().queued == 0);
        running.kill();
        running.kill();
        expect(&running.wait().expect("an outcome"), Status::Cancelled);
        // An interrupt is the guest's to handle.
        let task = pool.spawn(&jar, code("import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('caught')")).expect("a task");
        until("it runs", || pool.stats().busy == 1);
        std::thread::sleep(Duration::from_millis(200));
        task.interrupt();
        let outcome = task.wait().expect("an outcome");
        assert_eq!(stdout(&outcome), "caught\n", "{}", told(&outcome));
        drop(pool.spawn(&jar, code("import time; time.sleep(60)")).expect("a task"));
        assert_eq!(pool.call::<i64>(&jar, "lambda: 1", ()).expect("it goes on"), 1);
    }

    fn a_burst_waits_and_gets_all_its_values(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let start = Barrier::new(16);
        std::thread::scope(|scope| {
            for caller in 0..16i64 {
                let (pool, jar, start) = (&pool, &jar, &start);
                scope.spawn(move || {
                    start.wait();
                    for number in 0..5 {
                        let value = pool.call::<i64>(jar, "lambda a, b: a * 100 + b", (caller, number)).expect("a value");
                        assert_eq!(value, caller * 100 + number);
                    }
                });
            }
        });
        all_warm(&pool);
        let stats = pool.stats();
        assert_eq!((stats.jobs, stats.refused, stats.busy, stats.queued), (80, 0, 0, 0), "{stats:?}");
        assert!(stats.waits > 0 && stats.forks >= 80, "{stats:?}");
    }

    fn a_job_too_many_is_refused_by_name(_who) {
        let (pool, jar) = (pool_with(|builder| builder.max_workers(1).queue(1)), jar(|_| {}));
        let running = pool.spawn(&jar, code("import time; time.sleep(60)")).expect("a task");
        until("it runs", || pool.stats().busy == 1);
        let waiting = pool.spawn(&jar, code("print('ran')")).expect("a task");
        until("it waits", || pool.stats().queued == 1);
        let refused = pool.run(&jar, code("")).expect_err("a refusal");
        assert!(matches!(refused, Error::Busy { running: 1, waiting: 1 }), "{refused}");
        assert!(refused.to_string().contains("max_workers"), "{refused}");
        running.kill();
        expect(&running.wait().expect("an outcome"), Status::Cancelled);
        assert_eq!(stdout(&waiting.wait().expect("an outcome")), "ran\n");
        assert_eq!(pool.stats().refused, 1);
        assert_eq!(pool.call::<i64>(&jar, "lambda: 1", ()).expect("room again"), 1);
    }

    fn templates_rotate_and_nobody_notices(_who) {
        let (pool, jar) = (pool_with(|builder| builder.rotate_jobs(3)), jar(|_| {}));
        for number in 0..20i64 {
            assert_eq!(pool.call::<i64>(&jar, "lambda x: x", (number,)).expect("a value"), number);
        }
        // One that is worn serves until the next one is ready.
        until("a template has given way", || pool.stats().rotations >= 1);
        all_warm(&pool);
    }

    fn no_end_of_a_worker_is_lost_with_its_template(_who) {
        let (pool, jar) = (pool_with(|builder| builder.rotate_jobs(1)), jar(|_| {}));
        std::thread::scope(|scope| {
            for caller in 0..4 {
                let (pool, jar) = (&pool, &jar);
                scope.spawn(move || {
                    for number in 0..30 {
                        let outcome = pool.run(jar, code("import os; os._exit(7)")).expect("an outcome");
                        assert_eq!(outcome.exit_code, Some(7), "{caller} {number}: {}", told(&outcome));
                    }
                });
            }
        });
        let stats = pool.stats();
        assert!(stats.rotations >= 3 && stats.cold == 0, "{stats:?}");
    }

    fn what_is_idle_is_given_up(_who) {
        let (pool, jar) = (pool_with(|builder| builder.idle(Duration::from_millis(400))), jar(|_| {}));
        assert_eq!(pool.call::<i64>(&jar, "lambda: 1", ()).expect("a value"), 1);
        assert_eq!(pool.stats().cabinets, 1, "control");
        until("the cabinet is given up", || { let stats = pool.stats(); (stats.cabinets, stats.ready, stats.making, stats.emptying, stats.retired) == (0, 0, 0, 0, 1) });
        until("its processes are gone", || crate::leaks::descendants().is_empty());
        assert_eq!(pool.call::<i64>(&jar, "lambda: 2", ()).expect("a value"), 2);
    }

    fn what_was_asked_for_a_sandbox_outlives_its_cabinets(_who) {
        let (pool, jar) = (pool_with(|builder| builder), jar(|_| {}));
        pool.keep(&jar, Keep { idle: Some(Duration::from_millis(300)), ..Keep::default() });
        // The second cabinet is given up as the first was, and not after the pool's own five minutes.
        for retired in 1..3 {
            assert_eq!(pool.call::<i64>(&jar, "lambda: 1", ()).expect("a value"), 1);
            until("the cabinet is given up", || { let stats = pool.stats(); (stats.cabinets, stats.retired) == (0, retired) });
        }
    }

    fn least_recently_used_cabinets_make_room(_who) {
        let pool = pool_with(|builder| builder.max_cabinets(2));
        let jars: Vec<Sandbox> = (0..3u64).map(|number| jar(|policy| policy.limits.inodes = 1000 + number)).collect();
        for jar in &jars {
            assert_eq!(pool.call::<i64>(jar, "lambda: 1", ()).expect("a value"), 1);
        }
        let stats = pool.stats();
        assert!(stats.cabinets <= 2 && stats.retired >= 1, "{stats:?}");
        // The same policy once more is the same cabinet.
        let again = jar(|policy| policy.limits.inodes = 1002);
        assert_eq!(pool.call::<i64>(&again, "lambda: 1", ()).expect("a value"), 1);
        assert_eq!(pool.stats().retired, stats.retired);
    }

    fn workers_are_parked_ahead_with_their_modules(_who) {
        let (pool, jar) = (pool_with(|builder| builder.ceiling(6)), jar(|_| {}));
        let jar = jar.with_preload(["decimal", "no_such_module", "json"]).expect("names");
        let warmed = pool.warm(&jar, 5).expect("workers");
        assert!(warmed.ready >= 5 && warmed.cold.is_none(), "{warmed:?}");
        let failed: Vec<bool> = warmed.modules.iter().map(|module| module.error.is_some()).collect();
        assert_eq!(failed, [false, true, false], "{warmed:?}");
        let loaded: bool = pool.call(&jar, "def f():\n    import sys\n    return 'decimal' in sys.modules", ()).expect("a value");
        assert!(loaded);
        assert_eq!(pool.stats().waits, 0);
        assert!(matches!(jar.with_preload(["os; import sys"]), Err(Error::Module { .. })));
        all_warm(&pool);
    }

    fn what_cannot_be_warm_runs_cold_and_says_so(_who) {
        let pool = pool();
        let (_folder, jar) = with_module("leaves_threads", "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n");
        let threaded = jar.with_preload(["leaves_threads"]).expect("a name");
        let outcome = pool.run(&threaded, code("print('cold')")).expect("an outcome");
        assert_eq!(stdout(&outcome), "cold\n");
        let reason = outcome.cold.expect("a reason");
        assert!(reason.contains("leaves_threads"), "{reason}");
        assert_eq!(pool.call::<i64>(&threaded, "lambda: 1", ()).expect("a value"), 1);
        let stats = pool.stats();
        assert_eq!((stats.cold, stats.reasons.get(&reason)), (2, Some(&2)), "{stats:?}");
        // Programs that are not Python, and folders that can be written.
        let outcome = pool.run(&jar, program(&["echo", "x"])).expect("an outcome");
        assert_eq!((stdout(&outcome).as_str(), outcome.cold.is_some()), ("x\n", true));
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().to_path_buf();
        let writable = crate::glass::jar(|policy| policy.workdir = Some(belljar::policy::Workdir { source, target: "/jar".into(), mode: belljar::policy::WorkdirMode::Write }));
        let outcome = pool.run(&writable, code("open('x', 'w').write('y')")).expect("an outcome");
        assert!(outcome.cold.is_some(), "{}", told(&outcome));
        assert_eq!(std::fs::read_to_string(folder.path().join("x")).expect("a file"), "y");
        assert!(pool.warm(&writable, 1).expect("an answer").cold.is_some());
    }

    fn what_is_shown_inside_fresh_folders_is_there_for_workers_too(_who) {
        let pool = pool();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("open to all");
        std::fs::write(folder.path().join("x"), "y").expect("a file");
        for (source, target, file) in [("", "/jar/data", "/jar/data/x"), ("", "/tmp/a/b", "/tmp/a/b/x"), ("x", "/jar/x", "/jar/x")] {
            let mount = belljar::policy::Mount { source: folder.path().join(source), target: target.into(), access: belljar::policy::Access::ReadOnly };
            let shown = crate::glass::jar(|policy| policy.mounts.push(mount));
            let source = format!("print(open('{file}').read())\nopen('/jar/own', 'w').close()\ntry: open('{file}', 'w')\nexcept OSError as e: print(e.errno)");
            for _ in 0..2 {
                let outcome = pool.run(&shown, code(&source)).expect("an outcome");
                assert_eq!(stdout(&outcome), "y\n30\n", "{target}: {}", told(&outcome));
            }
        }
        // A virtualenv in /tmp: not only what its template has imported is found.
        let (_venv, jar) = with_module("late_import", "x = 'found'");
        assert_eq!(stdout(&pool.run(&jar, code("import late_import; print(late_import.x)")).expect("an outcome")), "found\n");
        all_warm(&pool);
    }
}
