//! Runs everything, two at a time, and says what failed.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::attack::{self, Attack};
use crate::judge::{Verdict, Way, judge};
use crate::skips::Skips;
use crate::stage::{Stage, Start, Who};
use crate::support::canary::Tree;
use crate::support::leaks::Baseline;
use crate::{alone, documents, missing, special};

/// One thing to run.
enum Task<'a> {
    Attack(&'a Attack, Who, Start, Way),
    Special(&'a special::Special, Who),
    Documents,
}

impl Task<'_> {
    fn name(&self) -> String {
        match self {
            Self::Attack(attack, who, start, way) => {
                let control = if *way == Way::Control { ", control" } else { "" };
                format!("{} as {}, {}{control}", attack.name, who.name(), start.name())
            }
            Self::Special(special, who) => format!("{} as {}", special.name, who.name()),
            Self::Documents => "documents".into(),
        }
    }
}

/// The folder of the attacks.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/attacks")
}

/// Set where this program has namespaces of its own.
const ALONE: &str = "BELLJAR_ATTACKS_ALONE";

/// Starts this program again in a corner of its own where its user may make one, so that what is left behind is ours.
pub fn run(args: &[String]) -> ExitCode {
    let is_alone = std::env::var_os(ALONE).is_some();
    if rustix::process::getuid().is_root() && !is_alone {
        let program = std::env::current_exe().expect("this program");
        let error = alone::command(&program, None).args(args).env(ALONE, "1").exec();
        say(&format!("error: start unshare: {error}"));
        return ExitCode::FAILURE;
    }
    match suite(args, is_alone) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn suite(args: &[String], is_alone: bool) -> Result<usize, String> {
    let attacks = attack::load(&folder())?;
    let skips = std::fs::read_to_string(folder().join("skips.toml")).map_err(|error| error.to_string())?;
    let skips = Skips::load(&skips)?;
    let filters: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let mut tasks = tasks(&attacks, &skips);
    tasks.retain(|task| {
        filters.is_empty() || filters.iter().any(|filter| task.name().contains(filter.as_str()))
    });
    if args.iter().any(|arg| arg == "--list") {
        tasks
            .iter()
            .for_each(|task| say(&format!("{}: test", task.name())));
        return Ok(0);
    }
    let since = Instant::now();
    // Looked at before the stage exists; the temporary folder must be gone again at the end.
    let baseline = Baseline::take(is_alone);
    let stage = Stage::new().map_err(|error| format!("set the stage: {error}"))?;
    let shown = shown();
    let (failed, skipped) = all(&tasks, &stage, &skips, &attacks);
    drop(stage);
    let mut wrong = baseline.compare();
    for (before, after) in shown.iter().zip(&self::shown()) {
        wrong.extend(
            before
                .differs(after)
                .iter()
                .map(|path| format!("{} of the host was changed", path.display())),
        );
    }
    if filters.is_empty() {
        wrong.extend(
            skips
                .unused()
                .iter()
                .map(|name| format!("skips.toml names {name}, which nobody asked for")),
        );
    }
    wrong.iter().for_each(|text| say(&format!("FAILED {text}")));
    let failed = failed + wrong.len();
    let warm = |task: &&Task<'_>| matches!(task, Task::Attack(_, _, Start::Warm, _));
    say(&format!(
        "attacks: {} runs, {} of them on parked workers, {failed} failed, {skipped} skipped, {} controls declared as not to be had, {:.1} s",
        tasks.len(),
        tasks.iter().filter(warm).count(),
        skips.count(),
        since.elapsed().as_secs_f64()
    ));
    Ok(failed)
}

/// The host's standard library, which every jar shows.
fn shown() -> Vec<Tree> {
    let folders = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let python = folders.filter(|path| path.join("os.py").exists());
    python.filter_map(|path| Tree::look(&path, false).ok()).collect()
}

fn tasks<'a>(attacks: &'a [Attack], skips: &Skips) -> Vec<Task<'a>> {
    // A plain user can only play a plain user; the report of the run says so by its number.
    let everyone: &[Who] = if rustix::process::getuid().is_root() {
        &[Who::Root, Who::User]
    } else {
        &[Who::User]
    };
    let mut tasks = vec![Task::Documents];
    for who in everyone {
        for attack in attacks {
            for start in attack.starts(skips) {
                tasks.push(Task::Attack(attack, *who, start, Way::Sealed));
                if attack.has_control(start, skips) {
                    tasks.push(Task::Attack(attack, *who, start, Way::Control));
                }
            }
        }
        tasks.extend(special::ALL.iter().map(|special| Task::Special(special, *who)));
    }
    tasks
}

/// How many failed, and how many were skipped.
fn all(tasks: &[Task<'_>], stage: &Stage, skips: &Skips, attacks: &[Attack]) -> (usize, usize) {
    let (next, counts) = (AtomicUsize::new(0), Mutex::new((0, 0)));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = match task {
                        Task::Attack(attack, who, start, way) => {
                            judge(stage, skips, attack, *who, *start, *way)
                        }
                        Task::Special(special, who) => special::run(stage, skips, special, *who),
                        Task::Documents => Verdict::of(documents::check(attacks, skips)),
                    };
                    let name = task.name();
                    let verdict = match verdict {
                        Verdict::Skipped(reason) => match missing::excuse("root", &name) {
                            Ok(_) => Verdict::Skipped(reason),
                            Err(error) => Verdict::Failed(vec![error]),
                        },
                        other => other,
                    };
                    let mut counts = counts.lock().expect("no panic while held");
                    match verdict {
                        Verdict::Ok => say(&format!("ok {name}")),
                        Verdict::Failed(wrong) => {
                            counts.0 += 1;
                            say(&format!("FAILED {name}\n    {}", wrong.join("\n    ")));
                        }
                        Verdict::Skipped(reason) => {
                            counts.1 += 1;
                            say(&format!("skipped {name}: {reason}"));
                        }
                    }
                }
            });
        }
    });
    counts.into_inner().expect("no panic while held")
}

#[allow(clippy::print_stdout)] // The report of a test.
fn say(text: &str) {
    println!("{text}");
}
