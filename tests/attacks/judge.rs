//! Runs an attack one way and holds what was seen against what is written.

use std::time::{Duration, Instant};

use crate::attack::Attack;
use crate::observers::{self, Blind};
use crate::seam::{self, Report};
use crate::skips::Skips;
use crate::stage::{self, Stage, Start, Who};
use crate::support::canary::Tree;
use crate::support::{leaks, procfs};

/// A whole jar, or one that lacks what the attack names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Sealed,
    Control,
}

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    /// What is wrong, in words.
    Failed(Vec<String>),
    /// Nothing is wrong, but not all of it could be seen.
    Skipped(String),
}

impl Verdict {
    /// Of a run in which everything could be seen.
    pub fn of(wrong: Vec<String>) -> Self {
        if wrong.is_empty() {
            Self::Ok
        } else {
            Self::Failed(wrong)
        }
    }
}

/// What one run has shown.
struct Found {
    wrong: Vec<String>,
    /// Observers that were not let in.
    denied: Vec<String>,
}

/// Runs one attack one way.
pub fn judge(stage: &Stage, skips: &Skips, attack: &Attack, who: Who, start: Start, way: Way) -> Verdict {
    let scene = match stage.scene(who) {
        Ok(scene) => scene,
        Err(error) => return Verdict::Failed(vec![error]),
    };
    let Found { mut wrong, denied } = match play(stage, skips, attack, (who, start, way), &scene) {
        Ok(found) => found,
        Err(error) => Found {
            wrong: vec![error],
            denied: Vec::new(),
        },
    };
    if attack.left && way == Way::Control && !end_survivors(&scene) {
        wrong.push("nothing was left behind by a jar that lacks what ends it".into());
    }
    stage.clear(scene);
    if way == Way::Control && skips.special(&attack.name, who).is_some() {
        let refused = !std::mem::take(&mut wrong).is_empty();
        wrong.extend(
            (!refused).then(|| "skips.toml says that this control cannot be had, and it can".to_owned()),
        );
    }
    wrong.extend(
        stage
            .strays()
            .iter()
            .map(|pid| format!("process {pid} is left behind")),
    );
    match skips.lacks_root(&attack.name) {
        None => Verdict::of([wrong, denied].concat()),
        Some(_) if denied.is_empty() && wrong.is_empty() => Verdict::Failed(vec![
            "skips.toml says that this needs root, and it does not".into(),
        ]),
        // What was not let in is all that a skip may hide.
        Some(reason) if wrong.is_empty() => Verdict::Skipped(reason.to_owned()),
        Some(_) => Verdict::Failed(wrong),
    }
}

fn play(
    stage: &Stage,
    skips: &Skips,
    attack: &Attack,
    (who, start, way): (Who, Start, Way),
    scene: &stage::Scene,
) -> Result<Found, String> {
    let without: &[String] = if way == Way::Control { &attack.without } else { &[] };
    let mut request = stage::request(scene, &attack.source, &attack.given, without)?;
    request.warm = start == Start::Warm;
    let canaries = || -> std::io::Result<[Tree; 2]> {
        Ok([
            Tree::look(&scene.folder.join("secret"), true)?,
            Tree::look(&scene.folder.join("canary"), true)?,
        ])
    };
    let before = canaries().map_err(|error| error.to_string())?;
    let mut live = seam::start(stage, who, &request, &[])?;
    let (mut seen, mut wrong, mut denied) = (Vec::new(), Vec::new(), Vec::new());
    let waits = live.read(&mut seen)?;
    if waits {
        for name in &attack.observe {
            match observers::observe(name, &live, scene, start) {
                Ok(found) => wrong.extend(observers::judge(name, found, way)),
                Err(Blind::Denied(error)) => denied.push(format!("{name}: {error}")),
                Err(Blind::Failed(error)) => wrong.push(format!("{name}: {error}")),
            }
        }
        live.release();
        live.read(&mut seen)?;
    } else if !attack.observe.is_empty() {
        wrong.push("the guest ended before the host could look at it".into());
    }
    let report = live.finish(stage)?;
    wrong.extend(ended(attack, way, &report));
    wrong.extend(entered(attack, start, way, &report));
    wrong.extend(compare(skips, attack, (who, start, way), &seen));
    if way == Way::Sealed {
        let after = canaries().map_err(|error| error.to_string())?;
        let changed = before
            .iter()
            .zip(&after)
            .flat_map(|(before, after)| before.differs(after));
        if !attack.given.iter().any(|given| given == "workdir") {
            wrong.extend(changed.map(|path| format!("canary {} was changed", path.display())));
        }
        wrong.extend(
            scene
                .listeners
                .heard()
                .iter()
                .map(|what| format!("the host heard from the jar: {what}")),
        );
        if let Some(path) = set_id(&scene.folder.join("canary")) {
            wrong.push(format!("the guest left a set-id file: {}", path.display()));
        }
        if !procfs::alive(scene.decoy.id()) {
            wrong.push("a process of the host was ended".into());
        }
    }
    wrong.extend(
        std::iter::once(&report.warden)
            .chain(&report.others)
            .flat_map(|warden| leaks::groups(*warden))
            .map(|group| format!("cgroup {group} is left behind")),
    );
    Ok(Found { wrong, denied })
}

/// Ends the processes of this run's guest that are still there; whether there were any.
fn end_survivors(scene: &stage::Scene) -> bool {
    let (since, mark) = (Instant::now(), scene.folder.join("secret/key"));
    let mark = mark.to_string_lossy().into_owned();
    loop {
        // Ours by now: this process adopts orphans. A guest is known by the facts that it was told.
        let ours = procfs::children(std::process::id()).into_iter().filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            procfs::alive(*pid) && String::from_utf8_lossy(&line).contains(&mark)
        });
        let ended = ours
            .filter_map(|pid| rustix::process::Pid::from_raw(pid as i32))
            .map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL))
            .filter(Result::is_ok)
            .count();
        if ended > 0 || since.elapsed() > Duration::from_secs(60) {
            return ended > 0;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A file with set-id bits in a folder that a guest may write.
fn set_id(folder: &std::path::Path) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let mut files = entries.filter(|path| !path.is_dir());
    files.find(|path| {
        path.symlink_metadata()
            .is_ok_and(|found| found.mode() & 0o6000 != 0)
    })
}

/// Whether the run ended as written.
fn ended(attack: &Attack, way: Way, report: &Report) -> Option<String> {
    let wanted = if way == Way::Sealed {
        &attack.outcome.0
    } else {
        &attack.outcome.1
    };
    let found = match (&report.outcome, &report.error) {
        (Some(outcome), _) => {
            let status = serde_json::to_value(outcome.status).ok()?;
            let status = status.as_str()?.to_owned();
            match outcome.signal {
                Some(signal) => format!("{status} {signal}"),
                None => status,
            }
        }
        (None, error) => format!("an error: {}", error.clone().unwrap_or_default()),
    };
    if found == *wanted {
        return None;
    }
    let text = report
        .outcome
        .as_ref()
        .map(|outcome| String::from_utf8_lossy(&outcome.stderr.head).into_owned());
    Some(format!(
        "ended as `{found}`, not as `{wanted}` {}",
        text.unwrap_or_default().trim()
    ))
}

/// Whether the guest was a worker, or for the reason that is written was none.
fn entered(attack: &Attack, start: Start, way: Way, report: &Report) -> Option<String> {
    let wanted = match (start, way) {
        (Start::Cold, _) => return None,
        (Start::Warm, Way::Sealed) => &attack.cold.0,
        (Start::Warm, Way::Control) => &attack.cold.1,
    };
    let found = &report.outcome.as_ref()?.cold;
    match (wanted, found) {
        (None, None) => None,
        (Some(wanted), Some(found)) if found.contains(wanted.as_str()) => None,
        (None, Some(found)) => Some(format!("it ran cold: {found}")),
        (Some(wanted), found) => Some(format!("it did not run cold with `{wanted}`, but {found:?}")),
    }
}

/// Whether every probe saw what is written, and nothing else was probed.
fn compare(
    skips: &Skips,
    attack: &Attack,
    (who, start, way): (Who, Start, Way),
    seen: &[(String, String)],
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mine = attack.expected(who, start);
    for expect in &mine {
        let wanted = match (way, &expect.control) {
            (Way::Control, Some(control)) => skips.instead(attack, who, &expect.probe).unwrap_or(control),
            _ => &expect.sealed,
        };
        let found: Vec<&str> = seen
            .iter()
            .filter(|(probe, _)| *probe == expect.probe)
            .map(|(_, saw)| saw.as_str())
            .collect();
        match found[..] {
            [saw] if matches(saw, wanted) => {}
            [saw] => wrong.push(format!("{}: saw `{saw}`, not `{wanted}`", expect.probe)),
            [] if wanted == "not tried" => {}
            [] => wrong.push(format!("{}: was not tried", expect.probe)),
            _ => wrong.push(format!("{}: was tried more than once", expect.probe)),
        }
    }
    for (probe, saw) in seen {
        if !mine.iter().any(|expect| expect.probe == *probe) {
            wrong.push(format!("{probe}: saw `{saw}`, and nothing is written about it"));
        }
    }
    wrong
}

/// `*` at the end stands for anything, `!x` for anything but x.
fn matches(saw: &str, wanted: &str) -> bool {
    match (wanted.strip_prefix('!'), wanted.strip_suffix('*')) {
        (Some(unwanted), _) => saw != unwanted,
        (None, Some(start)) => saw.starts_with(start),
        _ => saw == wanted,
    }
}
