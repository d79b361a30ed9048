//! An attack as its file tells it: comment lines at the top, guest code below.

use std::path::{Path, PathBuf};

use crate::skips::Skips;
use crate::stage::{Start, Who};

/// One file.
#[derive(Debug, Clone)]
pub struct Attack {
    /// Group and name, such as `filesystem/fs02_write_everywhere`.
    pub name: String,
    pub source: String,
    /// One sentence that holds in a whole jar.
    pub claim: String,
    /// The cases of the catalogue.
    pub cases: Vec<String>,
    /// Escape, HostLeak, Exfil, Lateral, HostDoS or PeerDoS.
    pub class: String,
    /// What both runs have: settings of the policy, plants on the host, layers taken out beforehand.
    pub given: Vec<String>,
    /// What the host looks at while the guest waits.
    pub observe: Vec<String>,
    /// Protections that are taken out for the control.
    pub without: Vec<String>,
    pub expect: Vec<Expect>,
    /// How the run ends: in a whole jar, and in the control.
    pub outcome: (String, String),
    /// What the reason for running cold says, where a template must not be used: in a whole jar, and in the control.
    pub cold: (Option<String>, Option<String>),
    /// Whether a process of the guest is still there after the control.
    pub left: bool,
}

/// What one probe observes.
#[derive(Debug, Clone)]
pub struct Expect {
    pub probe: String,
    /// `root` or `user`, `cold` or `warm`; whatever is not named is all.
    pub only: Vec<String>,
    pub sealed: String,
    /// `None` for what holds with and without, because it is no protection but a thing that must work.
    pub control: Option<String>,
}

/// Reads every attack below `folder`, in order.
pub fn load(folder: &Path) -> Result<Vec<Attack>, String> {
    let mut attacks = Vec::new();
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found
    };
    for group in entries(folder)
        .into_iter()
        .filter(|path| path.is_dir() && !path.ends_with("special"))
    {
        for path in entries(&group)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|name| name == "py"))
        {
            attacks.push(read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    Ok(attacks)
}

fn read(path: &Path) -> Result<Attack, String> {
    let source = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let group = path
        .parent()
        .and_then(Path::file_name)
        .unwrap_or_default()
        .to_string_lossy();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut attack = Attack {
        name: format!("{group}/{stem}"),
        claim: String::new(),
        cases: Vec::new(),
        class: String::new(),
        given: Vec::new(),
        observe: Vec::new(),
        without: Vec::new(),
        expect: Vec::new(),
        outcome: ("returned".into(), "returned".into()),
        cold: (None, None),
        left: false,
        source: source.clone(),
    };
    for line in source.lines().map_while(|line| line.strip_prefix("# ")) {
        let (key, value) = line
            .split_once(": ")
            .ok_or_else(|| format!("no key in `{line}`"))?;
        let list = || value.split(", ").map(|item| item.trim().to_owned());
        match key {
            "claim" => attack.claim = value.trim().into(),
            "case" => attack.cases.extend(list()),
            "class" => attack.class = value.trim().into(),
            "given" => attack.given.extend(list()),
            "observe" => attack.observe.extend(list()),
            "control" => {
                let layers = value
                    .strip_prefix("without ")
                    .ok_or("a control starts with `without`")?;
                attack
                    .without
                    .extend(layers.split(", ").map(|item| item.trim().to_owned()));
            }
            "outcome" => {
                let (sealed, control) = value.split_once(" -> ").unwrap_or((value, value));
                attack.outcome = (sealed.trim().into(), control.trim().into());
            }
            "cold" => {
                let (sealed, control) = value.split_once(" -> ").unwrap_or((value, value));
                let reason = |text: &str| (text.trim() != "no").then(|| text.trim().to_owned());
                attack.cold = (reason(sealed), reason(control));
            }
            "left" if value.trim() == "nothing -> a process" => attack.left = true,
            _ if key == "expect" || key.starts_with("expect ") => {
                attack.expect.push(expectation(key, value)?)
            }
            _ => return Err(format!("unknown key `{key}`")),
        }
    }
    for (missing, name) in [
        (attack.claim.is_empty(), "claim"),
        (attack.cases.is_empty(), "case"),
        (attack.class.is_empty(), "class"),
        (
            attack.expect.is_empty() && attack.observe.is_empty() && attack.cold.0.is_none(),
            "expect",
        ),
    ] {
        if missing {
            return Err(format!("no `{name}`"));
        }
    }
    // A probe that cannot succeed anywhere proves nothing.
    let changes = attack.expect.iter().any(|expect| expect.control.is_some())
        || !attack.observe.is_empty()
        || attack.cold.0 != attack.cold.1
        || attack.left;
    if !attack.without.is_empty() && !changes {
        return Err("a control, and no expectation with `->`".into());
    }
    let expects = attack.left || attack.expect.iter().any(|expect| expect.control.is_some());
    if attack.without.is_empty() && expects {
        return Err("an expectation with `->`, and no control".into());
    }
    Ok(attack)
}

fn expectation(key: &str, value: &str) -> Result<Expect, String> {
    let (probe, saw) = value
        .split_once(" = ")
        .ok_or_else(|| format!("no ` = ` in `{value}`"))?;
    let (sealed, control) = match saw.split_once(" -> ") {
        Some((sealed, control)) => (sealed, Some(control.trim().to_owned())),
        None => (saw, None),
    };
    if control.as_deref() == Some("*") {
        return Err(format!(
            "`{probe}` says nothing of its control; say it, or leave `->` out"
        ));
    }
    let only: Vec<String> = key.split(' ').skip(1).map(str::to_owned).collect();
    if let Some(unknown) = only
        .iter()
        .find(|word| !["root", "user", "cold", "warm"].contains(&word.as_str()))
    {
        return Err(format!("nobody is `{unknown}`"));
    }
    Ok(Expect {
        probe: probe.trim().into(),
        only,
        sealed: sealed.trim().into(),
        control,
    })
}

impl Attack {
    /// Whether its code is an import of the template, not a job.
    pub fn is_preload(&self) -> bool {
        self.given.iter().any(|given| given == "preload")
    }

    /// The ways that its guest can be started.
    pub fn starts(&self, skips: &Skips) -> Vec<Start> {
        if self.is_preload() {
            return vec![Start::Warm];
        }
        let cold_only = self.given.iter().any(|given| skips.is_cold_only(given));
        let mut starts = vec![Start::Cold];
        starts.extend((!cold_only).then_some(Start::Warm));
        starts
    }

    /// Whether there is a control for this way to start.
    pub fn has_control(&self, start: Start, skips: &Skips) -> bool {
        let mut all = self.without.iter().chain([&self.name]);
        let can_be_had = start == Start::Cold || !all.any(|knob| skips.is_cold_only(knob));
        can_be_had && !self.without.is_empty()
    }

    /// What is expected of a run: of the lines about one probe, those that name the way it is started.
    pub fn expected(&self, who: Who, start: Start) -> Vec<&Expect> {
        let names = |expect: &Expect, word: &str| expect.only.iter().any(|only| only == word);
        let fits = |expect: &&Expect| {
            let other = |word: &String| ![who.name(), start.name()].contains(&word.as_str());
            !expect.only.iter().any(other)
        };
        let mine: Vec<&Expect> = self.expect.iter().filter(fits).collect();
        let special = |probe: &str| {
            mine.iter()
                .any(|expect| expect.probe == probe && names(expect, start.name()))
        };
        mine.iter()
            .filter(|expect| names(expect, start.name()) || !special(&expect.probe))
            .copied()
            .collect()
    }
}
