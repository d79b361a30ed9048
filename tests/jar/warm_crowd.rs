//! A job that wants more processors than its limit is kept on as many as that is, and the others are left to calls.

use std::io::{BufRead, BufReader};

use belljar::job::Sink;
use belljar::outcome::Status;
use rustix::process::Pid;

use crate::glass::{code, expect, has_cgroup, jar, stdout, told};
use crate::support::procfs;
use crate::warm::{all_warm, pool, venv_with};

/// So little that a crowd is held back by it on a busy machine, too.
const LITTLE: f64 = 0.25;

/// Eight that are busy. One of them waits until it is kept somewhere, tries to leave, and tells what it can see of that.
const CROWD: &str = "\
import errno, os
for _ in range(7):
    if os.fork() == 0:
        while True: pass
while len(os.sched_getaffinity(0)) > 1: pass
[here] = os.sched_getaffinity(0)
try:
    os.sched_setaffinity(0, set(range(here)) or {here + 1})
    print('left')
except OSError as error:
    print(errno.errorcode[error.errno])
for line in open('/proc/self/cgroup'):
    print('group', line.strip().split(':', 2)[2])
print('kept', here, flush=True)
while True: pass
";

/// The same for one that may have every processor.
const FREE: &str = "\
import os, time
for _ in range(7):
    if os.fork() == 0:
        while True: pass
end = time.monotonic() + 1
while time.monotonic() < end: pass
print(len(os.sched_getaffinity(0)))
";

/// Some that sleep, and where one of them may be: at once, or when that has changed.
const SLEEPERS: &str = "\
import os, sys, time
count = int(sys.argv[1])
for _ in range(count):
    if os.fork() == 0:
        time.sleep(1000)
end = time.monotonic() + (0.4 if count < 32 else 20)
while len(os.sched_getaffinity(0)) > 1 and time.monotonic() < end: time.sleep(0.01)
print(len(os.sched_getaffinity(0)))
";

/// Preloaded: notes where a worker may be at the moment that it is told to spread out again; a rehearsal names no processors.
/// Later it is anywhere, as the kernel likes.
const SPY: &str = "\
import posix
began = []
real = posix.sched_setaffinity
def noting(pid, processors):
    if processors: began.append(sorted(posix.sched_getaffinity(0)))
    real(pid, processors)
posix.sched_setaffinity = noting
";

/// Where a call began if it was sent there, and where it may be.
const WHERE: &str = "\
def where():
    import os, sys
    spy = sys.modules.get('spy')
    return [spy.began if spy else [], sorted(os.sched_getaffinity(0))]
";

fn processors() -> Vec<usize> {
    belljar_linux::process::processors().expect("processors")
}

/// Where each process of ours may be, as the kernel has it.
fn places() -> Vec<Vec<usize>> {
    let place = |pid: u32| belljar_linux::process::processors_of(Pid::from_raw(pid as i32)).ok();
    let family = procfs::descendants(std::process::id());
    family.into_iter().filter_map(place).collect()
}

both! {
    fn a_crowd_leaves_processors_to_calls(_who) {
        let all = processors();
        let (_folder, venv) = venv_with("spy", SPY);
        let jar = jar(|policy| (policy.limits.cpus, policy.venv) = (LITTLE, Some(venv)));
        let (pool, jar) = (pool(), jar.with_preload(["spy"]).expect("a name"));
        pool.warm(&jar, 4).expect("workers");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut job = code(CROWD);
        job.stdout = Sink::Both(writer.into());
        let crowd = pool.spawn(&jar, job).expect("a job");
        let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
        let said: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("kept")).collect();
        let refused = if has_cgroup() { "EINVAL" } else { "EPERM" };
        assert_eq!(said.first().map(String::as_str), Some(refused), "{said:?}");
        // Nothing of ours has a name there: a number at most.
        let named = |line: &&String| line.strip_prefix("group /").is_some_and(|rest| !rest.bytes().all(|byte| byte.is_ascii_digit()));
        assert_eq!(said.iter().filter(named).collect::<Vec<_>>(), Vec::<&String>::new());
        let kept: Vec<Vec<usize>> = places().into_iter().filter(|place| place.len() == 1).collect();
        let on = |cpu: usize| kept.iter().filter(|place| place[0] == cpu).count();
        let here = all.iter().copied().max_by_key(|cpu| on(*cpu)).expect("one of them");
        assert!(on(here) >= 8, "{kept:?}");
        let clear: Vec<usize> = all.iter().copied().filter(|cpu| *cpu != here).collect();
        for _ in 0..20 {
            // There is a choice: where each worker is made for a processor, the last one may be for this.
            pool.warm(&jar, 4).expect("workers");
            let (began, may): (Vec<Vec<usize>>, Vec<usize>) = pool.call(&jar, WHERE, ()).expect("a value");
            if all.len() == 1 {
                continue;
            } else if has_cgroup() {
                assert_eq!((began, &may), (vec![clear.clone()], &all), "the crowd is on {here}");
            } else {
                assert_eq!((began.len(), may.len()), (0, 1));
                assert!(clear.contains(&may[0]), "it is on {may:?}, the crowd on {here}");
            }
        }
        crowd.kill();
        expect(&crowd.wait().expect("an outcome"), Status::Cancelled);
        all_warm(&pool);
    }

    fn so_many_are_a_crowd_before_they_are_held_back(_who) {
        let all = processors();
        if all.len() == 1 {
            return;
        }
        let (pool, jar) = (pool(), jar(|policy| policy.limits.cpus = 1.0));
        let sleep = |count: usize| {
            let mut job = code(SLEEPERS);
            job.args = vec![count.to_string().into()];
            let outcome = pool.run(&jar, job).expect("an outcome");
            expect(&outcome, Status::Returned);
            stdout(&outcome).trim().to_owned()
        };
        assert_eq!(sleep(40), "1");
        // The control. Without a cgroup all are kept on as many from the beginning.
        let few = if has_cgroup() { all.len() } else { 1 };
        assert_eq!(sleep(4), few.to_string());
        all_warm(&pool);
    }

    fn whoever_may_have_all_processors_is_kept_on_none(_who) {
        let all = processors();
        let (pool, jar) = (pool(), jar(|policy| policy.limits.cpus = all.len() as f64));
        let outcome = pool.run(&jar, code(FREE)).expect("an outcome");
        assert_eq!(stdout(&outcome).trim(), all.len().to_string(), "{}", told(&outcome));
        // Nor is it beside a crowd that is kept somewhere.
        let one = crate::glass::jar(|policy| policy.limits.cpus = LITTLE);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut job = code(CROWD);
        job.stdout = Sink::Both(writer.into());
        let crowd = pool.spawn(&one, job).expect("a job");
        assert!(BufReader::new(reader).lines().map_while(Result::ok).any(|line| line.starts_with("kept")));
        for _ in 0..5 {
            let (_, may): (Vec<Vec<usize>>, Vec<usize>) = pool.call(&jar, WHERE, ()).expect("a value");
            assert_eq!(may, all);
        }
        crowd.kill();
        expect(&crowd.wait().expect("an outcome"), Status::Cancelled);
        all_warm(&pool);
    }
}
