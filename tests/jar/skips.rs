//! Skips are loud, and only those in tests/skips.toml are allowed. `.ci/run` names what its machine may lack in
//! BELLJAR_MAY_LACK, so that any other skip fails, and prints what is written to the file that BELLJAR_SKIPS_LOG names.

use std::io::Write;

/// Says that a test does not run here because this machine lacks something.
pub fn skip(need: &str, test: &str) {
    let reason = excuse(need, test).unwrap_or_else(|error| panic!("{error}"));
    // On a line of its own, after the name that the test runner has begun one with.
    println!("\nskipped: {test}: {reason}");
}

/// Why a test may be skipped for this need, or why it may not.
pub fn excuse(need: &str, test: &str) -> Result<String, String> {
    let reason = reason(need)
        .ok_or_else(|| format!("{test} is skipped for {need:?}, which tests/skips.toml does not know"))?;
    if let Some(path) = std::env::var_os("BELLJAR_SKIPS_LOG") {
        // Not made where it is missing: in a shared folder the kernel lets one user not "create" a file of another.
        let log = std::fs::OpenOptions::new().append(true).open(&path);
        let line = format!("{need}: {test}\n");
        log.and_then(|mut log| log.write_all(line.as_bytes()))
            .map_err(|error| format!("cannot note the skip of {test} in {}: {error}", path.display()))?;
    }
    let allowed = std::env::var("BELLJAR_MAY_LACK").ok();
    if may_lack(allowed.as_deref(), need) {
        Ok(reason)
    } else {
        Err(format!(
            "{test} is skipped, and BELLJAR_MAY_LACK does not name {need}: {reason}"
        ))
    }
}

/// Where nobody says what may be lacking, everything in tests/skips.toml may.
fn may_lack(allowed: Option<&str>, need: &str) -> bool {
    allowed.is_none_or(|list| list.split_whitespace().any(|allowed| allowed == need))
}

fn reason(need: &str) -> Option<String> {
    let list: toml::Table = include_str!("../skips.toml").parse().expect("tests/skips.toml");
    Some(list.get(need)?.get("reason")?.as_str()?.to_owned())
}

#[test]
fn only_what_is_named_may_be_lacking() {
    assert!(may_lack(None, "root"));
    assert!(may_lack(Some("toml root"), "root"));
    assert!(!may_lack(Some(""), "root"));
    assert!(!may_lack(Some("user_cgroup"), "cgroup"));
}

#[test]
fn every_skip_has_a_reason_and_a_test_that_uses_it() {
    let list: toml::Table = include_str!("../skips.toml").parse().expect("tests/skips.toml");
    for (need, entry) in &list {
        let reason = entry.get("reason").and_then(|reason| reason.as_str());
        assert!(
            reason.is_some_and(|reason| reason.len() > 10),
            "{need} has no reason"
        );
        assert!(
            entry.get("tests").and_then(|tests| tests.as_str()).is_some(),
            "{need} names no tests"
        );
    }
    assert_eq!(reason("a need that nobody has"), None);
    // Growing the list is a decision that a review must see here, too.
    let mut needs: Vec<&str> = list.keys().map(String::as_str).collect();
    needs.sort_unstable();
    let known = [
        "cgroup",
        "interpreters",
        "namespaces",
        "numpy",
        "packages",
        "root",
        "toml",
        "user_cgroup",
        "user_interpreters",
    ];
    assert_eq!(needs, known, "tests/skips.toml has another need than before");
}
