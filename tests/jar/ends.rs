//! TO-06: how a job ended is what the host saw, not what the guest says.

use belljar::outcome::Status::{self, Exited, Raised, Returned, Signalled};
use belljar::{Error, Outcome};

use crate::glass::{Either, code, expect, jar, program, run, script, stdout, told};

/// Code, and the status, exit code and signal that it must end with.
type Case = (&'static str, Status, Option<i32>, Option<i32>);

#[track_caller]
fn check(outcome: &Outcome, (source, status, exit_code, signal): Case) {
    let got = (outcome.status, outcome.exit_code, outcome.signal);
    assert_eq!(got, (status, exit_code, signal), "{source}\n{}", told(outcome));
}

fn all(cases: &[Case]) {
    let jar = jar(|_| {});
    for case in cases {
        check(&jar.either(code(case.0)).expect("an outcome"), *case);
    }
}

both_ways! {
    fn own_word_decides_between_returned_raised_and_exited(_who) {
        all(&[
            ("pass", Returned, Some(0), None),
            ("1/0", Raised, Some(1), None),
            ("raise KeyboardInterrupt", Signalled, None, Some(2)),
            ("def (", Raised, Some(1), None),
            ("import sys; sys.exit(0)", Exited, Some(0), None),
            ("import sys; sys.exit(3)", Exited, Some(3), None),
            ("import sys; sys.exit(256)", Exited, Some(0), None),
            ("import sys; sys.exit(-1)", Exited, Some(255), None),
            ("import sys; sys.exit('text')", Exited, Some(1), None),
            ("import sys; sys.exit(None)", Exited, Some(0), None),
            ("exit()", Exited, Some(0), None),
            ("raise SystemExit(7)", Exited, Some(7), None),
            ("import os; os._exit(0)", Exited, Some(0), None),
            ("import os; os._exit(7)", Exited, Some(7), None),
        ]);
    }

    fn signals_are_told_as_they_came(_who) {
        // The guest is not PID 1: default actions of signals are taken.
        all(&[
            ("import ctypes; ctypes.string_at(0)", Signalled, None, Some(11)),
            ("import os; os.abort()", Signalled, None, Some(6)),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Signalled, None, Some(9)),
            ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", Signalled, None, Some(15)),
            ("import os, signal; os.kill(os.getpid(), signal.SIGHUP)", Signalled, None, Some(1)),
            ("import os, signal; os.kill(os.getpid(), signal.SIGUSR1)", Signalled, None, Some(10)),
            // Every signal to everyone: init and the warden are out of reach.
            ("import os\ntry: os.kill(-1, 9)\nexcept ProcessLookupError: os.kill(os.getpid(), 9)", Signalled, None, Some(9)),
        ]);
    }

    fn ends_in_odd_places_are_told_right(_who) {
        all(&[
            // A thread's exit ends the thread alone.
            ("import threading, sys\nt = threading.Thread(target=sys.exit, args=(9,)); t.start(); t.join()", Returned, Some(0), None),
            ("import threading\nt = threading.Thread(target=lambda: 1/0); t.start(); t.join()", Returned, Some(0), None),
            ("import threading, os\nthreading.Thread(target=os._exit, args=(9,)).start()\nimport time; time.sleep(30)", Exited, Some(9), None),
            // What comes after the last line may still change the exit code, and then that is the truth.
            ("import atexit, os; atexit.register(os._exit, 5)", Exited, Some(5), None),
            ("import atexit, sys; atexit.register(sys.exit, 5)", Returned, Some(0), None),
            ("import atexit; atexit.register(lambda: 1/0)", Returned, Some(0), None),
            ("import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGSEGV)", Signalled, None, Some(11)),
            ("import atexit, os\natexit.register(os._exit, 0)\n1/0", Exited, Some(0), None),
            ("import os; os.execv('/bin/sh', ['sh', '-c', 'exit 6'])", Exited, Some(6), None),
            ("import os; os.execv('/bin/true', ['true'])", Exited, Some(0), None),
        ]);
    }

    fn child_of_the_job_does_not_speak_for_it(_who) {
        let forked = "import os\npid = os.fork()\nif pid == 0:\n    raise ValueError('child')\nos.waitpid(pid, 0)\nprint('parent')";
        let outcome = run(forked);
        expect(&outcome, Returned);
        assert_eq!(stdout(&outcome), "parent\n");
        let exits = run("import os, sys\npid = os.fork()\nif pid == 0:\n    sys.exit(4)\nos.waitpid(pid, 0)");
        check(&exits, ("child exits", Returned, Some(0), None));
    }

    fn exceptions_carry_where_and_what(_who) {
        let outcome = run("def f():\n    return {}['key']\nf()");
        expect(&outcome, Raised);
        let error = outcome.exception.expect("an exception");
        assert_eq!((error.type_name.as_str(), error.message.as_str(), error.line), ("KeyError", "'key'", Some(2)));
        assert!(error.traceback.starts_with("Traceback (most recent call last):"), "{}", error.traceback);
        assert!(outcome.stderr.text().contains("KeyError"), "the interpreter prints it as always");
    }

    fn daemons_are_gone_with_the_job(_who) {
        // The leak checker of this test sees what is left; the pid that the guest prints shows that there was one.
        let daemon = "\
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    if os.fork() == 0:
        os.close(0)
        print(os.getpid(), flush=True)
        while True: time.sleep(1)
    os._exit(0)
time.sleep(0.2)
";
        let outcome = run(daemon);
        expect(&outcome, Returned);
        let pid: u32 = stdout(&outcome).trim().parse().expect("the daemon ran");
        assert!(pid > 2);
        assert!(outcome.usage.wall_seconds < 5.0, "nobody waits for a daemon");
    }

    fn program_that_is_not_there_is_our_error(_who) {
        for (words, reason) in [(&["/no/such"][..], 2), (&["no-such-program"], 2), (&["/etc/passwd"], 13), (&["/usr"], 13)] {
            match jar(|_| {}).either(program(words)) {
                Err(Error::Program { program, source }) => {
                    assert_eq!((program.as_str(), source.raw_os_error()), (words[0], Some(reason)));
                }
                other => panic!("{words:?}: {other:?}"),
            }
        }
    }

    fn programs_end_as_they_end(_who) {
        let jar = jar(|_| {});
        let end = |words: &[&str]| {
            let outcome = jar.either(program(words)).expect("an outcome");
            (outcome.status, outcome.exit_code, outcome.signal)
        };
        assert_eq!(end(&["true"]), (Exited, Some(0), None));
        assert_eq!(end(&["sh", "-c", "exit 42"]), (Exited, Some(42), None));
        assert_eq!(end(&["sh", "-c", "kill -9 $$"]), (Signalled, None, Some(9)));
        assert_eq!(end(&["/bin/sh", "-c", "kill -TERM $$; exit 3"]), (Signalled, None, Some(15)));
    }

    fn calls_scripts_and_modules_end_alike(_who) {
        let jar = jar(|_| {});
        let value: Vec<i64> = jar.call("lambda *numbers: [n * n for n in numbers]", (1, 2, 3)).expect("a value");
        assert_eq!(value, [1, 4, 9]);
        let Err(Error::Call { .. }) = jar.call::<i64>("def f(x): raise ValueError(x)", (1,)) else { panic!("no error") };
        let mut job = script("import sys; print(sys.argv, __name__, __file__)");
        job.args = vec!["a b".into(), "--flag".into()];
        let outcome = jar.either(job).expect("an outcome");
        assert_eq!(stdout(&outcome), "['/script/script.py', 'a b', '--flag'] __main__ /script/script.py\n");
        let module = belljar::Job::new(belljar::job::Program::Module("this".into()));
        let outcome = jar.either(module).expect("an outcome");
        expect(&outcome, Returned);
        assert!(stdout(&outcome).starts_with("The Zen of Python"), "{}", told(&outcome));
    }

    fn caller_ends_and_interrupts(_who) {
        let jar = jar(|_| {});
        let running = jar.spawn_job(code("import time; time.sleep(60)")).expect("a job");
        std::thread::sleep(std::time::Duration::from_millis(300));
        running.kill();
        let outcome = running.wait().expect("an outcome");
        assert_eq!((outcome.status, outcome.limit), (Status::Cancelled, None), "{}", told(&outcome));
        // A guest that handles its interrupt ends as it chooses.
        let polite = "import time\nprint('up', flush=True)\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('heard')";
        let running = jar.spawn_job(code(polite)).expect("a job");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        running.interrupt();
        let outcome = running.wait().expect("an outcome");
        assert_eq!((outcome.status, stdout(&outcome).as_str()), (Returned, "up\nheard\n"), "{}", told(&outcome));
        let running = jar.spawn_job(code("import time; time.sleep(60)")).expect("a job");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        running.interrupt();
        expect(&running.wait().expect("an outcome"), Status::Cancelled);
        // One that ignores it is ended by the second.
        let deaf = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)";
        let running = jar.spawn_job(code(deaf)).expect("a job");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        running.interrupt();
        std::thread::sleep(std::time::Duration::from_millis(100));
        running.interrupt();
        expect(&running.wait().expect("an outcome"), Status::Cancelled);
        // A caller that goes away takes its job along.
        drop(jar.spawn_job(code("import time; time.sleep(60)")).expect("a job"));
    }
}
