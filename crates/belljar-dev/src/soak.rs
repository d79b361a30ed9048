//! Many runs in a row, and a look at everything that one of them could have left behind.

mod warm;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{bail, ensure};

use crate::bench::Sample;

/// What `soak` takes.
#[derive(clap::Args)]
pub struct Args {
    /// The release binary
    #[arg(long, default_value = "target/release/belljar")]
    belljar: PathBuf,
    /// How many runs
    #[arg(long, default_value_t = 2000)]
    runs: usize,
    /// How many jobs through one pool
    #[arg(long, default_value_t = 10_000)]
    warm: usize,
}

/// The last runs may take this much longer than the first before it counts as growth; a busy machine drifts too.
const GROWTH: f64 = 1.5;
/// Uids that jars of root get on the host.
const JAR_UIDS: u32 = 0x7000_0000;

/// What may be left: everything that bears belljar's name or a jar's uid.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traces {
    cgroups: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
    mounts: usize,
    processes: BTreeSet<u32>,
}

/// Runs, looks, and fails if anything was left or grew.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let belljar = args.belljar.canonicalize()?;
    let before = Traces::look();
    let mut times = Sample::default();
    let mut pids = BTreeSet::new();
    for number in 0..args.runs {
        let start = Instant::now();
        let child = Command::new(&belljar)
            .args(["run", "-c", "open('x', 'w').write('x'); print(1)"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        pids.insert(child.id());
        let output = child.wait_with_output()?;
        times.add(start.elapsed());
        ensure!(
            output.status.success() && output.stdout == b"1\n",
            "run {number} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let count = (args.runs / 10).max(1);
    let (first, last) = times.ends(count);
    println!(
        "{} runs, median {:.1} ms; the first {count} took {:.1} ms, the last {count} {:.1} ms",
        args.runs,
        times.median(),
        first.median(),
        last.median()
    );
    ensure!(
        args.runs < 100 || last.median() <= first.median() * GROWTH,
        "the last runs took more than {GROWTH} times as long as the first"
    );
    if args.warm > 0 {
        pids.insert(std::process::id());
        warm::run(&belljar, args.warm)?;
    }
    let after = Traces::look();
    let left = after.beyond(&before, &pids);
    if !left.is_empty() {
        bail!("left behind: {}", left.join(", "));
    }
    println!("left behind: no process, mount, cgroup or file");
    Ok(())
}

impl Traces {
    fn look() -> Self {
        let mut traces = Self {
            mounts: fs::read_to_string("/proc/self/mountinfo").map_or(0, |text| text.lines().count()),
            ..Self::default()
        };
        cgroups(Path::new("/sys/fs/cgroup"), 6, &mut traces.cgroups);
        for folder in ["/tmp", "/dev/shm", "/run", "/var/tmp"] {
            let named = names(Path::new(folder)).into_iter().filter(|path| is_ours(path));
            traces.files.extend(named);
        }
        for path in names(Path::new("/proc")) {
            let pid = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            let owner = fs::metadata(&path).map(|data| std::os::unix::fs::MetadataExt::uid(&data));
            if let (Some(pid), Ok(JAR_UIDS..)) = (pid, owner) {
                traces.processes.insert(pid);
            }
        }
        traces
    }

    /// What is here and was not there before. Other jars may run on this machine: a group counts only if one of our
    /// runs made it, which its name tells.
    fn beyond(&self, before: &Self, pids: &BTreeSet<u32>) -> Vec<String> {
        let made_by_us = |path: &&PathBuf| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            let pid = name.split('-').nth(2).and_then(|pid| pid.parse().ok());
            pid.is_some_and(|pid| pids.contains(&pid))
        };
        let mut left: Vec<String> = Vec::new();
        left.extend(
            self.cgroups
                .iter()
                .filter(made_by_us)
                .map(|path| path.display().to_string()),
        );
        left.extend(
            self.files
                .difference(&before.files)
                .map(|path| path.display().to_string()),
        );
        // A process that is older than this look and still there a second later belongs to a longer run of someone else.
        let strangers = self.processes.difference(&before.processes).copied();
        left.extend(
            strangers
                .filter(|pid| orphan(*pid))
                .map(|pid| format!("process {pid}")),
        );
        if self.mounts > before.mounts {
            left.push(format!("{} mounts", self.mounts - before.mounts));
        }
        left
    }
}

/// Whether nobody of belljar is above this process any more.
fn orphan(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(1))
        .is_some_and(|parent| parent == "1")
}

fn cgroups(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    for path in names(folder) {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        if is_folder && is_ours(&path) {
            found.insert(path);
        } else if is_folder && depth > 0 {
            cgroups(&path, depth - 1, found);
        }
    }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn is_ours(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.trim_start_matches('.').starts_with("belljar"))
}
