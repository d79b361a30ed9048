//! The texts in `testdata` were printed by the interpreters that their names give, by IPython and by nbconvert.

use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use crate::pyerror::PythonError;

/// What each text must give, over every version it exists for: type, message, line, functions, source, causes.
type Expected = (
    &'static str,
    &'static str,
    &'static str,
    Option<u32>,
    &'static [&'static str],
    Option<&'static str>,
    &'static [&'static str],
);

const EXPECTED: &[Expected] = &[
    (
        "division",
        "ZeroDivisionError",
        "division by zero",
        Some(2),
        &["<module>", "mean"],
        Some("return sum(xs) / len(xs)"),
        &[],
    ),
    (
        "decode",
        "json.decoder.JSONDecodeError",
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        Some(4),
        &["<module>", "load", "loads", "decode", "raw_decode"],
        Some("obj, end = self.scan_once(s, idx)"),
        &[],
    ),
    (
        "cause",
        "RuntimeError",
        "no a",
        Some(5),
        &["<module>", "f"],
        Some("raise RuntimeError('no a') from e"),
        &["KeyError: 'a'"],
    ),
    (
        "context",
        "NameError",
        "name 'undefined_name' is not defined",
        Some(4),
        &["<module>"],
        Some("undefined_name"),
        &["FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'"],
    ),
    (
        "group",
        "ExceptionGroup",
        "several (2 sub-exceptions)",
        Some(6),
        &["<module>"],
        Some("raise ExceptionGroup('several', [e, TypeError('t')])"),
        &["ValueError: inner", "TypeError: t", "ValueError: inner"],
    ),
    (
        "recursion",
        "RecursionError",
        "maximum recursion depth exceeded",
        Some(2),
        &["<module>", "f", "f", "f"],
        Some("return f(n + 1)"),
        &[],
    ),
    (
        "note",
        "ValueError",
        "with note\nlook here",
        Some(3),
        &["<module>"],
        Some("raise e"),
        &[],
    ),
    ("syntax", "SyntaxError", "expected ':'", Some(2), &[], None, &[]),
    (
        "indentation",
        "IndentationError",
        "expected an indented block after function definition on line 1",
        Some(2),
        &[],
        None,
        &[],
    ),
    (
        "multiline",
        "ValueError",
        "first\nsecond\nthird",
        Some(1),
        &["<module>"],
        Some("raise ValueError('first\\nsecond\\nthird')"),
        &[],
    ),
    (
        "own",
        "Outer.Inner",
        "x",
        Some(8),
        &["<module>"],
        Some("raise Outer.Inner('x')"),
        &[],
    ),
    (
        "empty",
        "AssertionError",
        "",
        Some(1),
        &["<module>"],
        Some("assert 1 == 2"),
        &[],
    ),
    (
        "imported_syntax",
        "SyntaxError",
        "invalid syntax",
        Some(1),
        &["<module>"],
        Some("import bad_module"),
        &[],
    ),
    (
        "colour",
        "ZeroDivisionError",
        "division by zero",
        Some(2),
        &["<module>", "mean"],
        Some("return sum(xs) / len(xs)"),
        &[],
    ),
    (
        "ipython",
        "JSONDecodeError",
        "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        Some(3),
        &[
            "<module>",
            "f",
            "loads",
            "JSONDecoder.decode",
            "JSONDecoder.raw_decode",
        ],
        Some("obj, end = self.scan_once(s, idx)"),
        &[],
    ),
    (
        "ipython-syntax",
        "SyntaxError",
        "invalid syntax",
        Some(1),
        &[],
        None,
        &[],
    ),
    (
        "nbconvert",
        "ZeroDivisionError",
        "division by zero",
        Some(2),
        &["<module>", "mean"],
        Some("return sum(xs) / len(xs)"),
        &[],
    ),
];

fn texts(name: &str) -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pyerror/testdata");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let group = stem
            .strip_suffix("-nocolor")
            .or(stem.strip_suffix("-linux"))
            .unwrap_or(&stem);
        let group = group.rsplit_once("-3").map_or(group, |(group, _)| group);
        if group == name && path.extension().is_some_and(|kind| kind == "txt") {
            found.push((stem, std::fs::read_to_string(path).unwrap()));
        }
    }
    found
}

#[test]
fn every_form_of_every_version() {
    for (name, kind, message, line, functions, source, causes) in EXPECTED {
        let found = texts(name);
        assert!(!found.is_empty(), "no text for {name}");
        for (stem, text) in found {
            // Other output before it, and a traceback before that, make no difference.
            let noise =
                "Traceback (most recent call last):\n  File \"a\", line 1, in f\nOSError: old\n\nlog: x\n\n";
            for text in [text.clone(), format!("{noise}{text}"), text.replace('\n', "\r\n")] {
                let error =
                    PythonError::parse(&text).unwrap_or_else(|| panic!("{stem}: nothing found in {text}"));
                assert_eq!(
                    (error.type_name.as_str(), error.message.as_str()),
                    (*kind, *message),
                    "{stem}"
                );
                assert_eq!(error.line, *line, "{stem}");
                let found: Vec<&str> = error.frames.iter().map(|frame| frame.function.as_str()).collect();
                if *name == "recursion" {
                    assert!(found.starts_with(functions), "{stem}: {found:?}");
                } else {
                    assert_eq!(found, *functions, "{stem}");
                }
                assert_eq!(
                    error.frames.last().and_then(|frame| frame.source.as_deref()),
                    *source,
                    "{stem}"
                );
                assert_eq!(error.causes, *causes, "{stem}");
                assert!(error.traceback.contains(error.class()), "{stem}");
                assert!(!error.traceback.contains("OSError: old"), "{stem}");
            }
        }
    }
}

#[test]
fn text_without_a_traceback_gives_nothing() {
    for text in [
        "",
        "all is well\n",
        "Traceback (most recent call last):",
        "Traceback (most recent call last):\n  File \"a\", line 1, in f\n",
        "Traceback (most recent call last):\n\n",
        "ValueError: mentioned in a log\n",
        "  File \"a\", line 1\n    x\nnot an error\n",
        "ValueError   Traceback (most recent call last)\n",
    ] {
        assert_eq!(PythonError::parse(text), None, "{text:?}");
    }
}

#[test]
fn hostile_texts_take_no_longer() {
    let deep: String = (0..2000)
        .map(|n| format!("{}Traceback (most recent call last):\n", " ".repeat(n)))
        .collect();
    for text in [
        "Traceback (most recent call last):\n".repeat(40_000),
        "E Traceback (most recent call last)\n".repeat(40_000),
        "  File \"a\", line 1\n".repeat(60_000),
        format!(
            "Traceback (most recent call last):\n{}E\n",
            "  File \"a\", line 1, in f\n    x\n".repeat(60_000)
        ),
        "| ".repeat(1 << 20),
        "\u{1b}[".repeat(1 << 19),
        deep,
    ] {
        // Processor time of this thread: what else the machine does is not in it. One that grows with the square takes minutes.
        let spent = || clock_gettime(ClockId::ThreadCPUTime).tv_sec;
        let start = spent();
        let _ = PythonError::parse(&text);
        assert!(spent() - start < 5, "{}", &text[..40]);
    }
}

proptest! {
    #[test]
    fn random_text_never_panics(text in any::<String>()) {
        let _ = PythonError::parse(&text);
    }

    #[test]
    fn random_pieces_never_panic(pieces in proptest::collection::vec(prop_oneof![
        Just("Traceback (most recent call last):\n"), Just("  + Exception Group Traceback (most recent call last):\n"),
        Just("E   Traceback (most recent call last)\n"), Just("  File \"\u{e9}\", line 99999999999, in f\n"),
        Just("  File \"\", line 1\n"), Just("    ^\n"), Just("E: x\n"), Just("  | E: x\n"), Just("----> 1\n"),
        Just("Cell In[1], line 1\n"), Just("\n"), Just("SyntaxError: x\n"), Just("\u{e9}"), Just(" "),
        Just("During handling of the above exception, another exception occurred:\n"),
    ], 0..40)) {
        let _ = PythonError::parse(&pieces.concat());
    }
}
