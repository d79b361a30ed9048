//! Controls that cannot be had on some host or for some user: declared in skips.toml, each with what is seen instead, so that
//! the list and reality cannot differ in silence.

use std::sync::Mutex;

use serde::Deserialize;

use crate::attack::Attack;
use crate::stage::Who;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    control: Vec<Entry>,
    #[serde(default)]
    special: Vec<Special>,
    #[serde(default)]
    needs_root: Vec<NeedsRoot>,
    #[serde(default)]
    cold_only: Vec<ColdOnly>,
}

/// What a parked worker cannot be given, or be without.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColdOnly {
    /// A line of `given`, a protection, or an attack whose control it is.
    pub what: String,
    pub reason: String,
}

/// A control that cannot be had.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    attack: String,
    who: String,
    probe: String,
    /// What is seen instead.
    sees: String,
    reason: String,
}

/// A test in Rust that this host cannot run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Special {
    test: String,
    who: String,
    reason: String,
}

/// What cannot be seen, or set up, where the tests themselves run as a plain user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeedsRoot {
    test: String,
    reason: String,
}

/// The list.
#[derive(Debug)]
pub struct Skips {
    document: Document,
    used: Mutex<Vec<bool>>,
}

impl Skips {
    pub fn load(text: &str) -> Result<Self, String> {
        let document: Document = toml::from_str(text).map_err(|error| error.to_string())?;
        let used = Mutex::new(vec![false; document.control.len()]);
        let mut reasons: Vec<&str> = document
            .control
            .iter()
            .map(|entry| entry.reason.as_str())
            .collect();
        reasons.extend(document.special.iter().map(|entry| entry.reason.as_str()));
        reasons.extend(document.cold_only.iter().map(|entry| entry.reason.as_str()));
        reasons.extend(document.needs_root.iter().map(|entry| entry.reason.as_str()));
        if reasons.contains(&"") {
            return Err("a skip without a reason".into());
        }
        Ok(Self { document, used })
    }

    /// What a control sees where it cannot succeed.
    pub fn instead(&self, attack: &Attack, who: Who, probe: &str) -> Option<&String> {
        let found = self.document.control.iter().position(|entry| {
            entry.attack == attack.name
                && entry.who == who.name()
                && (entry.probe == probe || entry.probe == "*")
        })?;
        self.used.lock().expect("no panic while held")[found] = true;
        Some(&self.document.control[found].sees)
    }

    /// Whether a test in Rust is declared as impossible here.
    pub fn special(&self, test: &str, who: Who) -> Option<&str> {
        let mut all = self.document.special.iter();
        all.find(|entry| entry.test == test && entry.who == who.name())
            .map(|entry| entry.reason.as_str())
    }

    /// Whether something is declared as not to be had on a parked worker.
    pub fn is_cold_only(&self, what: &str) -> bool {
        let what = what.strip_prefix("without ").unwrap_or(what);
        self.document.cold_only.iter().any(|entry| entry.what == what)
    }

    /// All of that.
    pub fn cold_only(&self) -> &[ColdOnly] {
        &self.document.cold_only
    }

    /// What of a test takes root, where the tests themselves run as a plain user.
    pub fn lacks_root(&self, test: &str) -> Option<&str> {
        let declared = self.document.needs_root.iter().find(|entry| entry.test == test)?;
        (!rustix::process::getuid().is_root()).then_some(declared.reason.as_str())
    }

    /// Lines that no attack has asked for.
    pub fn unused(&self) -> Vec<String> {
        let used = self.used.lock().expect("no panic while held");
        let entries = self.document.control.iter().zip(used.iter());
        entries
            .filter(|(_, used)| !**used)
            .map(|(entry, _)| format!("{} ({})", entry.attack, entry.probe))
            .collect()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.document.control.len() + self.document.special.len()
    }
}
