//! What plain Python does: a hot process pool, and a bare fork.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

/// A pool of one process that stays hot; it times itself, so that the way from here to it is not counted.
const EXECUTOR: &str = "
import multiprocessing, sys, time
from concurrent.futures import ProcessPoolExecutor
def add(x):
    return x + 1
pool = ProcessPoolExecutor(1, multiprocessing.get_context('fork'))
pool.submit(add, 1).result()
for line in sys.stdin:
    start = time.perf_counter()
    assert pool.submit(add, 1).result() == 2
    print(time.perf_counter() - start, flush=True)
";

/// Fork, end, wait, on one processor.
const FORKS: &str = "
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
end, count = time.perf_counter() + float(sys.argv[1]), 0
start = time.perf_counter()
while time.perf_counter() < end:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    count += 1
print(count / (time.perf_counter() - start))
";

/// A running process pool.
pub struct Executor {
    process: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Executor {
    pub fn start(python: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new(python)
            .args(["-c", EXECUTOR])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a process pool")?;
        let ask = process.stdin.take();
        let answers = process.stdout.take().context("no output")?;
        let mut executor = Self {
            process,
            ask,
            answers: BufReader::new(answers),
        };
        executor.call()?;
        Ok(executor)
    }

    /// How long one call took.
    pub fn call(&mut self) -> anyhow::Result<Duration> {
        self.ask.as_mut().context("no input")?.write_all(b"\n")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(Duration::from_secs_f64(line.trim().parse()?))
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.ask = None;
        let _ = self.process.wait();
    }
}

/// Bare forks each second.
pub fn forks(python: &Path, seconds: u64) -> anyhow::Result<f64> {
    let output = Command::new(python)
        .args(["-c", FORKS, &seconds.to_string()])
        .output()
        .context("cannot start the interpreter")?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
