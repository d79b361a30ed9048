//! How late a guest is ended that ignores everything.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::contender::{Stage, User};
use super::sample::Sample;

const TIMEOUT: Duration = Duration::from_millis(200);
const TIMED_OUT: i32 = 124;
const DEAF: &str = "
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
";

/// Time from the start of `belljar run` to its end, less the timeout: its own start and the teardown are in it.
pub fn measure(stage: &Stage, user: User, runs: usize) -> anyhow::Result<Sample> {
    let mut sample = Sample::default();
    for _ in 0..runs {
        let mut command = Command::new(&stage.belljar);
        command
            .args(["run", "--quiet", "--timeout", "200ms", "--python"])
            .arg(&stage.python)
            .args(["-c", DEAF])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        user.take_on(&mut command);
        let start = Instant::now();
        let status = command.status()?;
        let time = start.elapsed();
        ensure!(
            status.code() == Some(TIMED_OUT),
            "a deaf guest ended with {status}"
        );
        sample.add(time.saturating_sub(TIMEOUT));
    }
    Ok(sample)
}
