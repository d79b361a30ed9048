//! Jobs of one template at once: they share no namespace, and none reaches another, its init, the keeper or the template.

use std::io::{BufRead, BufReader};

use belljar::job::{Sink, Stdin};
use belljar::outcome::Status;
use belljar::pool::Task;
use belljar::{Job, Pool, Sandbox};

use crate::glass::{code, expect, has_cgroup, jar, script, stdout, told};
use crate::support::procfs;
use crate::warm::{all_warm, pool};

/// A job that stays until its standard input ends.
struct Resident {
    task: Task,
    stdin: std::io::PipeWriter,
}

fn stay(pool: &Pool, jar: &Sandbox, mut job: Job) -> Resident {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (holds, stdin) = std::io::pipe().expect("a pipe");
    job.stdout = Sink::Both(writer.into());
    job.stdin = Stdin::Copy(holds.into());
    let task = pool.spawn(jar, job).expect("a job");
    let up = BufReader::new(reader)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("ready"));
    assert!(up, "the resident did not stay");
    Resident { task, stdin }
}

/// Everyone of our cabinets who is at this depth, and is the first in its pid namespace or not.
fn find(depth: usize, first: bool) -> Vec<u32> {
    let outer = procfs::numbers(std::process::id())
        .expect("our own numbers")
        .len();
    let fits = |(pid, found): (u32, Vec<u32>)| {
        (found.len() == outer + depth && (found.last() == Some(&1)) == first).then_some(pid)
    };
    let family = procfs::family(std::process::id());
    family.into_iter().filter_map(fits).collect()
}

/// Every way to send a signal, to everyone that might be there; then it tells that it is still there itself.
const STORM: &str = "\
import ctypes, os, signal
libc = ctypes.CDLL(None)
for number in (0, 9, 15, 19):
    for target in (0, -1) if number in (0,) else ():
        try: os.kill(target, number)
        except OSError: pass
if os.fork() == 0:
    os.setpgid(0, 0)
    for pid in range(-40, 40):
        if pid in (-1, 0, os.getpid(), os.getppid()) or -pid in (os.getpgid(0), os.getppid()): continue
        try: os.kill(pid, 9)
        except OSError: pass
    for pid in range(4194304 - 8192, 4194304):
        try: os.kill(pid, 9)
        except OSError: pass
    os._exit(0)
os.wait()
print('still here', flush=True)
os.killpg(0, 9)
";

/// Makes timers until there are no more, tells how many, and stays.
const TIMERS: &str = "\
import ctypes, sys
libc, made = ctypes.CDLL(None), 0
while libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0: made += 1
print(made, 'ready', flush=True)
sys.stdin.read()
";

/// What a job sees of processes that are not in its jar.
const LOOK: &str = "\
import errno, json, os
def probe(call):
    try:
        call()
        return 'ok'
    except OSError as error:
        return errno.errorcode[error.errno]
print(json.dumps({
    'parent': os.getppid(),
    'processes': sorted(int(name) for name in os.listdir('/proc') if name.isdigit()),
    'init memory': probe(lambda: open('/proc/1/mem', 'rb').close()),
    'init root': probe(lambda: os.listdir('/proc/1/root/')),
    'trace': __import__('ctypes').CDLL(None).ptrace(0x4206, 1, 0, 0),
    'namespaces of init': probe(lambda: os.readlink('/proc/1/ns/pid')),
    'own memory': probe(lambda: open('/proc/self/mem', 'rb').close()),
    'peer': __import__('socket').socket(fileno=os.dup(3)).getsockopt(1, 17, 12)[:4].hex(),
}))
";

both! {
    fn a_visitor_finds_nothing_of_a_resident(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let resident = stay(&pool, &jar, script(include_str!("../attacks/special/resident.py")));
        let workers = find(3, false);
        let mut visitor = script(include_str!("../attacks/special/visitor.py"));
        visitor.args = vec![format!("{{\"pid\": {}}}", workers[0]).into()];
        let outcome = pool.run(&jar, visitor).expect("an outcome");
        let seen: Vec<String> = stdout(&outcome)
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .map(|line| line["saw"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(seen, ["ESRCH", "ENOENT", "ENOENT", "ENOENT", "ENOENT", "ENOENT", "ECONNREFUSED"], "{}", told(&outcome));
        // The control: in its own jar the resident's things can be found.
        let both = format!("{}\n{}", include_str!("../attacks/special/resident.py").replace("sys.stdin.read()", ""), include_str!("../attacks/special/visitor.py"));
        let mut control = script(&both);
        control.args = vec!["{\"pid\": 2}".into()];
        let outcome = pool.run(&jar, control).expect("an outcome");
        assert_eq!(stdout(&outcome).matches("\"ok\"").count(), 7, "{}", told(&outcome));
        // Seen from outside, each has namespaces of its own.
        let second = stay(&pool, &jar, script(include_str!("../attacks/special/resident.py")));
        let all: Vec<_> = find(3, false).iter().filter_map(|pid| procfs::namespaces(*pid).ok()).collect();
        assert!(all.len() >= 2, "{}", all.len());
        for (number, one) in all.iter().enumerate() {
            for other in &all[number + 1..] {
                for kind in ["mnt", "pid", "net", "ipc", "uts", "user"] {
                    assert_ne!(one[kind], other[kind], "two jars share one {kind} namespace");
                }
                // Where there are no cgroups, nobody has a view of them.
                assert!(!has_cgroup() || one["cgroup"] != other["cgroup"], "two jars share one cgroup namespace");
            }
        }
        for stays in [resident, second] {
            drop(stays.stdin);
            expect(&stays.task.wait().expect("an outcome"), Status::Returned);
        }
        all_warm(&pool);
    }

    fn signals_reach_nobody_else(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let resident = stay(&pool, &jar, code("print('ready', flush=True); import sys; sys.stdin.read(); print('lived')"));
        let (templates, keepers) = (find(2, false), find(2, true));
        assert_eq!((templates.len(), keepers.len()), (1, 1), "control: they can be found");
        for _ in 0..5 {
            let outcome = pool.run(&jar, code(STORM)).expect("an outcome");
            assert_eq!((stdout(&outcome).as_str(), outcome.signal), ("still here\n", Some(9)), "{}", told(&outcome));
        }
        assert_eq!((find(2, false), find(2, true)), (templates, keepers), "they are the same processes");
        drop(resident.stdin);
        let outcome = resident.task.wait().expect("an outcome");
        assert!(stdout(&outcome).ends_with("lived\n"), "{}", told(&outcome));
        all_warm(&pool);
    }

    fn timers_that_one_uses_up_are_there_for_others(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let hoarders: Vec<Resident> = (0..2).map(|_| stay(&pool, &jar, code(TIMERS))).collect();
        for hoarder in hoarders {
            drop(hoarder.stdin);
            let outcome = hoarder.task.wait().expect("an outcome");
            assert_eq!(stdout(&outcome), "1024 ready\n", "each has as many as one may have: {}", told(&outcome));
        }
        all_warm(&pool);
    }

    fn a_worker_sees_its_init_and_nobody_behind_it(_who) {
        let (pool, jar) = (pool(), jar(|_| {}));
        let outcome = pool.run(&jar, code(LOOK)).expect("an outcome");
        let seen: serde_json::Value = serde_json::from_str(&stdout(&outcome)).expect("what it saw");
        let wanted = serde_json::json!({
            "parent": 0,
            "processes": [1, 2],
            "init memory": "EACCES",
            "init root": "EACCES",
            "trace": -1,
            "namespaces of init": "EACCES",
            "own memory": "ok",
            "peer": "00000000",
        });
        assert_eq!(seen, wanted, "{}", told(&outcome));
        all_warm(&pool);
    }
}
