//! Compiles the system-call lists of `policies/` into tables, so that nothing is parsed when a jar starts.
//! The tables hold offsets instead of references: a program that starts in a millisecond has no time for relocations.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[path = "build/list.rs"]
mod list;

fn main() {
    let policies = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../policies");
    let known = read(&policies.join("syscall-numbers.txt"), list::numbers);
    let guest = read(&policies.join("syscalls.txt"), |text| {
        let rules = list::rules(text, &known)?;
        list::complete(&rules, &known)?;
        Ok(rules)
    });
    let init = read(&policies.join("init.txt"), |text| list::rules(text, &known));

    let template = read(&policies.join("template.txt"), |text| {
        Ok(list::over(list::rules(text, &known)?, &guest))
    });

    let mut tables = Tables::default();
    let guest_rules = tables.rules(&guest);
    let init_rules = tables.rules(&init);
    let template_rules = tables.rules(&template);
    let mut out = String::new();
    for (name, rules) in [
        ("GUEST", guest_rules),
        ("INIT", init_rules),
        ("TEMPLATE", template_rules),
    ] {
        let _ = writeln!(out, "static {name}: &[Rule] = &[\n{rules}];");
    }
    for (arch, name) in list::ARCHITECTURES.iter().enumerate() {
        let _ = writeln!(out, "static {}: &[Known] = &[", name.to_uppercase());
        let mut rows: Vec<(u32, &str)> = known
            .iter()
            .filter_map(|row| Some((row.numbers[arch]?, row.name.as_str())))
            .collect();
        rows.sort_unstable();
        for (number, name) in rows {
            let index = |rules: &[list::Rule]| rules.iter().position(|rule| rule.name == name);
            let guest = index(&guest).expect("every known call has a rule");
            let (init, template) = (index(&init), index(&template));
            let _ = writeln!(
                out,
                "Known {{ number: {number}, guest: {guest}, init: {init:?}, template: {template:?} }},"
            );
        }
        let _ = writeln!(out, "];");
    }
    let _ = writeln!(out, "static CASES: &[Case] = &[\n{}];", tables.cases);
    let _ = writeln!(out, "static TESTS: &[Test] = &[\n{}];", tables.tests);
    let _ = writeln!(out, "static TEXT: &str = {:?};", tables.text);
    let target = Path::new(&variable("OUT_DIR")).join("syscalls.rs");
    std::fs::write(&target, out).unwrap_or_else(|error| panic!("write {}: {error}", target.display()));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/list.rs");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn read<T>(path: &PathBuf, parse: impl FnOnce(&str) -> Result<T, String>) -> T {
    println!("cargo::rerun-if-changed={}", path.display());
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[derive(Default)]
struct Tables {
    cases: String,
    case_count: usize,
    tests: String,
    test_count: usize,
    text: String,
}

impl Tables {
    fn rules(&mut self, rules: &[list::Rule]) -> String {
        let mut out = String::new();
        for rule in rules {
            let first = self.case_count;
            for case in &rule.cases {
                self.case(case);
            }
            let (name, reason) = (self.text(&rule.name), self.text(&rule.reason));
            let verdict = verdict(rule.verdict);
            let count = rule.cases.len();
            let _ = writeln!(
                out,
                "Rule {{ name: {name}, verdict: {verdict}, cases: Span {{ start: {first}, len: {count} }}, reason: {reason} }},"
            );
        }
        out
    }

    fn case(&mut self, case: &list::Case) {
        let (first, count) = (self.test_count, case.tests.len());
        for test in &case.tests {
            let list::Test { arg, mask, value } = test;
            let _ = writeln!(
                self.tests,
                "Test {{ arg: {arg}, mask: {mask:#x}, value: {value:#x} }},"
            );
        }
        let reason = self.text(&case.reason);
        let verdict = verdict(case.verdict);
        let option = case
            .option
            .map(|index| format!("Switch::{}", capital(list::OPTIONS[index])));
        let option = option.map_or("None".to_string(), |switch| format!("Some({switch})"));
        let _ = writeln!(
            self.cases,
            "Case {{ verdict: {verdict}, option: {option}, tests: Span {{ start: {first}, len: {count} }}, reason: {reason} }},"
        );
        self.case_count += 1;
        self.test_count += count;
    }

    fn text(&mut self, piece: &str) -> String {
        let start = self.text.find(piece).unwrap_or_else(|| {
            self.text.push_str(piece);
            self.text.len() - piece.len()
        });
        format!("Span {{ start: {start}, len: {} }}", piece.len())
    }
}

fn verdict(verdict: list::Verdict) -> String {
    match verdict {
        None => "Action::Allow".to_string(),
        Some(list::ASK) => "Action::Ask".to_string(),
        Some(errno) => format!("Action::Errno({errno})"),
    }
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
