//! Skips are loud, and only those in tests/skips.toml are allowed; with BELLJAR_NO_SKIPS none is.

/// Says that a test does not run here because this machine lacks something.
pub fn skip(need: &str, test: &str) {
    let reason = reason(need)
        .unwrap_or_else(|| panic!("{test} is skipped for {need:?}, which tests/skips.toml does not know"));
    assert!(
        std::env::var_os("BELLJAR_NO_SKIPS").is_none(),
        "{test} is skipped: {reason}"
    );
    // On a line of its own, after the name that the test runner has begun one with.
    println!("\nskipped: {test}: {reason}");
}

fn reason(need: &str) -> Option<String> {
    let list: toml::Table = include_str!("../skips.toml").parse().expect("tests/skips.toml");
    Some(list.get(need)?.get("reason")?.as_str()?.to_owned())
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
    ];
    assert_eq!(needs, known, "tests/skips.toml has another need than before");
}
