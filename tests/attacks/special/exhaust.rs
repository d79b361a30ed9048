//! What a guest takes that no policy names: the host's log, its clock, memory of the kernel.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use belljar::outcome::{State, Status};
use belljar::policy::Layer;

use super::{Run, request, solo};
use crate::seam;
use crate::stage::{Stage, Who};

/// How often a kernel writes down a kind of event: 10 times in 5 seconds.
const BURST: f64 = 10.0;
const INTERVAL: f64 = 5.0;

/// Deaths and denials by the hundred, counted in the kernel's log.
pub fn log(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = flood(stage, who, &[])?;
    let warm = flood(stage, who, &["parked worker"])?.into_iter();
    wrong.extend(warm.map(|text| format!("on a worker: {text}")));
    Ok(wrong)
}

fn flood(stage: &Stage, who: Who, given: &[&str]) -> Result<Vec<String>, String> {
    let mut log = Log::open().map_err(|error| format!("open the kernel's log: {error}"))?;
    let scene = stage.scene(who)?;
    let result = (|| {
        let mut request = request(&scene, include_str!("flood.py"), given, &[])?;
        let name = format!("flood{}", scene.decoy.id());
        request.facts.insert("name".into(), name.clone().into());
        let mut live = seam::start(stage, who, &request, &[])?;
        let (since, mut seen, mut count) = (Instant::now(), Vec::new(), 0);
        if !live.read(&mut seen)? {
            return Err(format!("the guest did not stay: {:?}", live.finish(stage)?));
        }
        // The control: such a death is written down at all, once others have not used up what the kernel writes.
        while count == 0 && since.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
            count += log.count(&name);
        }
        live.release();
        live.read(&mut seen)?;
        let report = live.finish(stage)?;
        count += log.count(&name);
        let run = Run { seen, report };
        let number = |probe: &str| run.saw(probe).and_then(|text| text.parse().ok()).unwrap_or(0.0);
        let (deaths, denials): (f64, f64) = (number("deaths"), number("denials"));
        // Two kinds of death, and both may have had a whole burst before the first interval ended.
        let most = 2.0 * BURST * (since.elapsed().as_secs_f64() / INTERVAL + 2.0);
        let mut wrong = Vec::new();
        if deaths < 300.0 || denials < 100_000.0 {
            wrong.push(format!("{deaths} deaths and {denials} denials: {:?}", run.report));
        }
        if count == 0 {
            wrong.push("control: the kernel has written nothing of any death".into());
        }
        if f64::from(count) > most || most > deaths {
            wrong.push(format!(
                "{count} lines for {deaths} deaths, of which the kernel writes {most:.0} at most"
            ));
        }
        Ok(wrong)
    })();
    stage.clear(scene);
    result
}

/// The kernel's log from now on.
struct Log(std::fs::File);

impl Log {
    fn open() -> std::io::Result<Self> {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).custom_flags(nonblocking).open("/dev/kmsg")?;
        rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))?;
        Ok(Self(file))
    }

    /// New lines that have this in them.
    fn count(&mut self, name: &str) -> u32 {
        let (mut count, mut record) = (0, [0; 8192]);
        loop {
            match self.0.read(&mut record) {
                Ok(size) => count += u32::from(String::from_utf8_lossy(&record[..size]).contains(name)),
                // Lines that were overwritten before they could be read.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
                Err(_) => return count,
            }
        }
    }
}

/// Deadlines under a clock that is set a day ahead and back all the time.
pub fn clock(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let library = stage.program.with_file_name(format!("clock-{}.so", who.name()));
    build(&library)?;
    let preload = format!("LD_PRELOAD={}", library.display());
    let mut wrong = Vec::new();
    // The control: a program that asks for the time of day is told another day.
    let mut command = Command::new("/usr/bin/env");
    command.args([&preload, "STEPPED=set", "date", "+%s"]);
    let told = command.output().map_err(|error| error.to_string())?;
    let told: u64 = String::from_utf8_lossy(&told.stdout).trim().parse().unwrap_or(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    if now.map_or(0, |now| now.as_secs()).abs_diff(told) < 80_000 {
        wrong.push(format!("control: the clock was not set: {told}"));
    }
    for given in [&["own warden"][..], &["parked worker"]] {
        let (run, elapsed) = ticks(stage, who, given, &[&preload, "STEPPED=set"], 2)?;
        let wall = run
            .report
            .outcome
            .as_ref()
            .map_or(0.0, |outcome| outcome.usage.wall_seconds);
        if status(&run) != Some(Status::TimedOut) || elapsed < 2.0 || !(1.9..25.0).contains(&wall) {
            wrong.push(format!(
                "{given:?}: a limit of 2 s ended it after {wall:.1} s: {:?}",
                run.report.error
            ));
        }
    }
    // The control: the deadline goes by the steady clock of this very process.
    let (run, elapsed) = ticks(stage, who, &["own warden"], &[&preload, "STEPPED=steady"], 30)?;
    if status(&run) != Some(Status::TimedOut) || elapsed > 20.0 {
        wrong.push(format!(
            "control: under a steady clock that jumps it ended after {elapsed:.1} s as {:?}",
            status(&run)
        ));
    }
    Ok(wrong)
}

fn build(library: &PathBuf) -> Result<(), String> {
    let source = crate::runner::folder().join("special/clock.c");
    let mut command = Command::new("cc");
    command
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(library)
        .arg(source);
    match command.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        Err(error) => Err(format!("start cc: {error}")),
    }
}

fn ticks(
    stage: &Stage,
    who: Who,
    given: &[&str],
    variables: &[&str],
    seconds: u64,
) -> Result<(Run, f64), String> {
    let mut prefix = vec!["/usr/bin/env"];
    prefix.extend(variables);
    let since = Instant::now();
    let source = include_str!("ticks.py");
    let run = solo(stage, who, source, (given, &[]), &prefix, |_, request| {
        request.policy.limits.timeout = Some(Duration::from_secs(seconds));
        Ok(())
    })?;
    Ok((run, since.elapsed().as_secs_f64()))
}

fn status(run: &Run) -> Option<Status> {
    run.report.outcome.as_ref().map(|outcome| outcome.status)
}

/// Memory that the kernel keeps for a guest: counted as the guest's, or told as not counted.
pub fn kernel_memory(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for given in [&[][..], &["parked worker"]] {
        for way in ["semaphores", "queues", "sockets", "page_tables"] {
            let take = |megabytes: u64, memory: u64| {
                let source = include_str!("kernel_memory.py");
                solo(stage, who, source, (given, &[]), &[], |_, request| {
                    request.facts.insert("way".into(), way.into());
                    request.facts.insert("megabytes".into(), megabytes.into());
                    request.policy.limits.memory = memory;
                    request.policy.limits.disk = 32 << 20;
                    Ok(())
                })
            };
            // The control: a little is fine, and much is where it is allowed.
            let little = take(8, 64 << 20)?;
            wrong.extend(
                little
                    .want("took it", "ok")
                    .map(|text| format!("{way}, a little: {text}")),
            );
            let layers = little.report.outcome.map(|outcome| outcome.isolation.layers);
            let counted = layers
                .and_then(|mut layers| layers.remove(&Layer::Cgroup))
                .map(|layer| layer.state);
            if counted != Some(State::Full) {
                wrong.extend((counted.is_none()).then(|| format!("{way}: no word of the cgroup")));
                continue;
            }
            let much = take(200, 1 << 30)?;
            wrong.extend(
                much.want("took it", "ok")
                    .map(|text| format!("{way}, much: {text}")),
            );
            let run = take(200, 64 << 20)?;
            if status(&run) != Some(Status::OutOfMemory) {
                wrong.push(format!(
                    "{way}, given {given:?}: 200 MiB within a limit of 96 ended as {:?} {:?}",
                    status(&run),
                    run.seen
                ));
            }
        }
    }
    Ok(wrong)
}
