//! The catalogue of cases: each is named by an attack, held by tests elsewhere, or not held for a reason.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use crate::attack::Attack;
use crate::{runner, special};

/// cases.toml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// How many cases each group has.
    catalogue: BTreeMap<String, usize>,
    /// `FILE: TEST`.
    elsewhere: BTreeMap<String, Vec<String>>,
    not_held: BTreeMap<String, String>,
}

impl Cases {
    pub fn load() -> Result<Self, String> {
        let path = runner::folder().join("cases.toml");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        toml::from_str(&text).map_err(|error| error.to_string())
    }

    /// What is wrong: cases that nobody answers for, or two do, and tests that are not there.
    pub fn check(&self, attacks: &[Attack]) -> Vec<String> {
        let mut named: Vec<&str> = attacks
            .iter()
            .flat_map(|attack| &attack.cases)
            .map(String::as_str)
            .collect();
        named.extend(special::ALL.iter().flat_map(|special| special.cases.split(' ')));
        let mut wrong = Vec::new();
        let all = self
            .catalogue
            .iter()
            .flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}-{number:02}")));
        let all: Vec<String> = all.collect();
        for case in &all {
            let ways = [
                named.contains(&case.as_str()),
                self.elsewhere.contains_key(case),
                self.not_held.contains_key(case),
            ];
            match ways.iter().filter(|way| **way).count() {
                0 => wrong.push(format!("nothing holds {case}, and cases.toml does not say why")),
                1 => {}
                _ => wrong.push(format!("{case} is named by an attack, or twice in cases.toml")),
            }
        }
        let listed = self.elsewhere.keys().chain(self.not_held.keys());
        wrong.extend(
            listed
                .filter(|case| !all.contains(case))
                .map(|case| format!("cases.toml names {case}, which is no case")),
        );
        wrong.extend(
            self.elsewhere
                .values()
                .flatten()
                .filter(|test| !exists(test))
                .map(|test| format!("there is no {test}")),
        );
        wrong
    }

    /// Both lists, for people.
    pub fn page(&self) -> String {
        let mut page =
            "\n## Held elsewhere\n\nCases that other suites hold.\n\n| case | tests |\n|---|---|\n"
                .to_owned();
        for (case, tests) in &self.elsewhere {
            let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
            let _ = writeln!(page, "| {case} | {} |", tests.join(", "));
        }
        page += "\n## Not held\n\n| case | why |\n|---|---|\n";
        for (case, reason) in &self.not_held {
            let _ = writeln!(page, "| {case} | {reason} |");
        }
        page
    }
}

fn exists(test: &str) -> bool {
    let Some((file, name)) = test.split_once(": ") else {
        return false;
    };
    let text = std::fs::read_to_string(runner::folder().join("../..").join(file)).unwrap_or_default();
    ["fn", "def"]
        .iter()
        .any(|word| text.contains(&format!("{word} {name}(")))
}
