//! Every promise of SECURITY.md names the tests that hold it, and they exist.
//!
//! A promise is a heading `### N. Text`. Its tests are items `- FILE: NAME, NAME` below it, in backticks, which may be wrapped.
//! Attacks are named below their folder.

use anyhow::bail;

use crate::repository;

const DOCUMENT: &str = "SECURITY.md";
/// A document that lost a promise must not pass.
const PROMISES: usize = 7;
/// The folder whose files are tests themselves.
const ATTACKS: &str = "tests/attacks/";
/// Macros that make a test of each function in them.
const TEST_MACROS: [&str; 3] = ["both! {", "both_ways! {", "proptest! {"];

struct Promise {
    title: String,
    /// File and test name.
    tests: Vec<(String, String)>,
}

/// Fails with every promise that nothing holds and every test that is not there.
pub fn check() -> anyhow::Result<()> {
    let promises = read(&repository::read(DOCUMENT)?);
    let mut wrong = Vec::new();
    if promises.len() != PROMISES {
        wrong.push(format!("{} promises, not {PROMISES}", promises.len()));
    }
    let mut tests = 0;
    for promise in &promises {
        if promise.tests.is_empty() {
            wrong.push(format!("no test holds `{}`", promise.title));
        }
        for (file, name) in &promise.tests {
            tests += 1;
            if file == ATTACKS {
                if !is_attack(name) {
                    wrong.push(format!("`{}`: there is no attack {name}", promise.title));
                }
                continue;
            }
            match repository::read(file) {
                Ok(text) if is_test(&text, file, name) => {}
                Ok(_) => wrong.push(format!("`{}`: {file} has no test {name}", promise.title)),
                Err(error) => wrong.push(format!("`{}`: {error}", promise.title)),
            }
        }
    }
    if wrong.is_empty() {
        println!("{DOCUMENT}: {} promises held by {tests} tests", promises.len());
        return Ok(());
    }
    bail!("{DOCUMENT}:\n  {}", wrong.join("\n  "))
}

fn read(document: &str) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let mut inside = false;
    let mut file: Option<&str> = None;
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            inside = heading.starts_with(|first: char| first.is_ascii_digit());
            if inside {
                promises.push(Promise {
                    title: heading.to_owned(),
                    tests: Vec::new(),
                });
            }
        } else if line.starts_with('#') {
            inside = false;
        }
        let Some(promise) = promises.last_mut().filter(|_| inside) else {
            continue;
        };
        let mut quoted = line.split('`').skip(1).step_by(2);
        if line.starts_with("- `") {
            file = quoted.next();
        } else if !line.starts_with("  ") {
            file = None;
        }
        if let Some(file) = file {
            promise
                .tests
                .extend(quoted.map(|name| (file.to_owned(), name.to_owned())));
        }
    }
    promises
}

/// Whether a file has a test of this name: a function that is marked as one, or that stands in a macro that marks it.
fn is_test(text: &str, file: &str, name: &str) -> bool {
    if file.ends_with(".py") {
        return name.starts_with("test_") && text.contains(&format!("def {name}("));
    }
    let lines: Vec<&str> = text.lines().collect();
    let start = format!("fn {name}(");
    let Some(at) = lines
        .iter()
        .position(|line| line.trim_start().starts_with(&start))
    else {
        return false;
    };
    let marked = lines[..at]
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .any(|line| line == "#[test]");
    // A macro's block ends with a bracket in the first column; text of guests in between may stand there too.
    let begin = |line: &&&str| TEST_MACROS.iter().any(|name| line.starts_with(name));
    let around = lines[..at].iter().rev().find(|line| **line == "}" || begin(line));
    marked || around.is_some_and(|line| *line != "}")
}

/// Attacks are files: Python that tries, or a name in the list of those that are played from the host.
fn is_attack(name: &str) -> bool {
    let played = || repository::read(format!("{ATTACKS}special.rs"));
    repository::top().join(format!("{ATTACKS}{name}.py")).is_file()
        || (name.starts_with("special/") && played().is_ok_and(|text| text.contains(&format!("\"{name}\""))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_read_with_their_tests() {
        let text = "# S\n## Promises\n### 1. A\n- words `b` `c`\n  `d`\n- `a.rs`: `one`,\n  `two`\n### 2. B\n## Other\n- `x.rs`: `y`\n";
        let found = read(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].tests,
            [
                ("a.rs".to_owned(), "one".to_owned()),
                ("a.rs".to_owned(), "two".to_owned())
            ]
        );
        assert!(found[1].tests.is_empty());
    }

    #[test]
    fn only_marked_functions_count() {
        let text = "#[test]\n// why\nfn holds() {}\n\nfn helper() {}\n";
        assert!(is_test(text, "a.rs", "holds"));
        assert!(!is_test(text, "a.rs", "helper"));
        assert!(!is_test(text, "a.rs", "hold"));
        let text = "both! {\n    /// why\n    fn holds(who) {\n\"import x\";\n    }\n\n    fn too(who) {}\n}\nmod x {\n    fn helper() {}\n}\n";
        assert!(is_test(text, "a.rs", "holds"));
        assert!(is_test(text, "a.rs", "too"));
        assert!(!is_test(text, "a.rs", "helper"));
        assert!(is_test("    def test_x(self):\n", "a.py", "test_x"));
        assert!(!is_test("    def helper(self):\n", "a.py", "helper"));
    }
}
