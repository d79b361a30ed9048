//! uv's words as uv 0.13 writes them, and what becomes of them. The tests in python/tests/environments have them from uv itself.

use super::explain;
use super::said::Said;

#[track_caller]
fn told(stderr: &str, what: &str, next: &str) {
    let (found, step) = explain(stderr);
    let step = step.in_flags();
    assert_eq!(found, what);
    assert!(step.contains(next), "{step}");
    assert!(!found.contains('\n') && !step.contains('\n'));
}

fn unsolved(cause: &str) -> String {
    format!("error: No solution found when resolving dependencies\n  cause: {cause}\n")
}

#[test]
fn errors_causes_and_hints_are_told_apart() {
    let said = Said::parse(
        "Using Python 3.11\n  + x\nerror: one\n  cause: two\n         more\n\n         still\n\nhint: three\nResolved 1\n  x\n",
    );
    assert_eq!(said.chain, ["one", "two more still"]);
    assert_eq!(said.hints, ["three"]);
    assert_eq!(Said::parse("").last(), "it gave no reason");
}

#[test]
fn names_that_no_index_knows() {
    told(
        &unsolved(
            "Because nosuch was not found in the package registry and you require nosuch, we can conclude that your requirements are unsatisfiable.",
        ),
        "the index has no package nosuch",
        "spelling",
    );
    told(
        &unsolved(
            "Because nosuch was not found in the package registry and all versions of top depend on nosuch, we can conclude that all versions of top cannot be used.\n         And because you require top, we can conclude that your requirements are unsatisfiable.",
        ),
        "the index has no package nosuch, which top needs",
        "UV_DEFAULT_INDEX",
    );
    told(
        &unsolved(
            "Because you require top and nosuch was not found in the package registry, we can conclude that your requirements are unsatisfiable.",
        ),
        "the index has no package nosuch",
        "spelling",
    );
}

#[test]
fn versions_that_do_not_fit() {
    told(
        &unsolved(
            "Because you require lib==1 and lib==2, we can conclude that your requirements are unsatisfiable.",
        ),
        "no versions fit together: you ask for lib==1 and lib==2",
        "loosen",
    );
    told(
        &unsolved(
            "Because all versions of two depend on lib>=2 and all versions of one depend on lib<2, we can conclude that all versions of one and all versions of two are incompatible.\n         And because you require one and two, we can conclude that your requirements are unsatisfiable.",
        ),
        "no versions fit together: all versions of two depend on lib>=2 and all versions of one depend on lib<2, and you ask for one and two",
        "loosen",
    );
    told(
        &unsolved(
            "Because the current Python version (3.11.2) does not satisfy Python>=3.99 and lib==1 depends on Python>=3.99, we can conclude that lib==1 cannot be used.",
        ),
        "lib==1 needs Python >=3.99, and this is 3.11.2",
        "--python",
    );
}

#[test]
fn sources_and_other_platforms() {
    told(
        &unsolved(
            "Because lib==1 has no usable wheels and only lib==1 is available, we can conclude that all versions of lib cannot be used.",
        ),
        "there is no wheel of lib==1, only its source, and building that runs its code",
        "--allow-builds",
    );
    told(
        &unsolved(
            "Because all versions of lib have no usable wheels and you require lib, we can conclude that your requirements are unsatisfiable.",
        ),
        "there is no wheel of lib, only its source, and building that runs its code",
        "--allow-builds",
    );
    told(
        &unsolved(
            "Because only lib==1 is available and lib==1 has no wheels with a matching platform tag (e.g., `manylinux_2_36_x86_64`), we can conclude that all versions of lib cannot be used.",
        ),
        "no wheel of lib==1 has the platform of this interpreter",
        "--python",
    );
}

#[test]
fn files_that_are_not_what_they_should_be() {
    told(
        "error: Failed to download `lib==1`\n  cause: Hash mismatch for `lib==1`\n\n         Expected:\n           sha256:00\n\n         Computed:\n           sha256:ff\n",
        "the index gave a file for lib==1 with the wrong hash: expected sha256:00, got sha256:ff",
        "--refresh",
    );
    told(
        "error: Failed to install: evil-1-py3-none-any.whl (evil==1)\n  cause: The wheel is invalid: Script path must resolve to a file within the scripts directory: /x\n",
        "the wheel of evil==1 is damaged, or made to do harm: Script path must resolve to a file within the scripts directory: /x",
        "another version",
    );
    told(
        "error: Failed to download `lib==1`\n  cause: error decoding response body\n  cause: end of file before message length reached\n",
        "the download of lib==1 broke off: end of file before message length reached",
        "try again",
    );
}

#[test]
fn indexes_out_of_reach() {
    told(
        "error: Request failed after 3 retries in 3s\n  cause: Failed to fetch: http://u:secret@h:1/simple/lib/\n  cause: Connection refused (os error 111)\n",
        "http://h:1/simple/lib/ cannot be fetched: Connection refused (os error 111)",
        "network",
    );
    let (what, next) = explain(&format!(
        "{}\nhint: An index URL (http://h/simple/) could not be queried due to a lack of valid authentication credentials (401 Unauthorized)\n",
        unsolved(
            "Because lib was not found in the package registry and you require lib, we can conclude that your requirements are unsatisfiable."
        )
    ));
    assert!(
        what.contains("http://h/simple/ needs") && next.in_flags().contains("netrc"),
        "{what}; {next}"
    );
}

#[test]
fn silence_is_told_as_such() {
    told(
        "Resolved 1 package in 3ms\n",
        "uv could not build the environment: it gave no reason",
        "uv's own",
    );
}

#[test]
fn builds_tell_the_end_of_what_they_said() {
    let long = "word ".repeat(500);
    let (what, _) = explain(&format!(
        "error: Failed to build `lib==1`\n  cause: The build backend returned an error\n  cause: Call to `x` failed (exit status: 1)\n\n         [stderr]\n         {long}\n         no compiler\n"
    ));
    assert!(
        what.starts_with("lib==1 could not be built in its jar: \u{2026} "),
        "{what}"
    );
    assert!(what.ends_with("no compiler") && what.len() < 300, "{what}");
}

#[test]
fn whatever_it_says_is_one_short_line() {
    for text in [
        "",
        "\u{1b}[31merror\n",
        "error: \n",
        "error: Failed to build `\n",
        "error: Failed to install: (\n",
        &"error: \u{e9}".repeat(900),
    ] {
        let (what, next) = explain(text);
        assert!(
            !what.is_empty()
                && what.len() < 450
                && !what.contains(['\n', '\u{1b}'])
                && !next.in_flags().is_empty(),
            "{what:?}"
        );
    }
    // A premise anywhere, cut anywhere.
    let whole = unsolved(
        "Because a was not found in the package registry and b==1 has no wheels with a matching Python version (x) and c depends on Python>=3, we can conclude x.",
    );
    for end in 0..whole.len() {
        explain(&whole[..end]);
    }
}
