//! requirements.txt.

use super::*;

fn lines(text: &str) -> Vec<String> {
    match Requirements::requirements_txt(text, Allow::default()) {
        Ok(all) => all.lines().collect(),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn error(text: &str) -> String {
    match Requirements::requirements_txt(text, Allow::default()) {
        Ok(all) => panic!("taken as {all}"),
        Err(error) => told(error),
    }
}

#[test]
fn comments_continuations_and_hashes() {
    let sha = SHA.to_lowercase();
    let text = format!(
        "\u{feff}# caf\u{e9}, and a path C:\\\n\n  numpy>=2   # with a note\r\npandas[excel] \\\n  >=2, \\\n  <3\t# why\n\
         httpx==0.28.1 \\\n    --hash=sha256:{SHA} \\\n    --hash=sha256:{}\n    # via me\n#pillow\n   \\\n\nscipy",
        "0".repeat(64)
    );
    assert_eq!(
        lines(&text),
        [
            format!(
                "httpx==0.28.1 --hash=sha256:{} --hash=sha256:{sha}",
                "0".repeat(64)
            ),
            "numpy>=2".into(),
            "pandas[excel]>=2,<3".into(),
            "scipy".into(),
        ]
    );
    assert_eq!(lines(""), [""; 0]);
    assert_eq!(lines("# nothing\n\\\n"), [""; 0]);
    assert_eq!(lines("a \\\n# a comment ends it\nb"), ["a", "b"]);
}

#[test]
fn what_is_refused_is_told_with_its_line() {
    for (text, message) in [
        (
            "numpy\n\n-r other.txt\n",
            "line 3: `-r other.txt` is an option, not a requirement; name each file of requirements itself",
        ),
        (
            "numpy\n--index-url \\\n https://evil.example\n",
            "line 2: `--index-url  https://evil.example` is an option, not a requirement; give index settings by uv's or pip's own settings",
        ),
        (
            "-c c.txt",
            "line 1: `-c c.txt` is an option, not a requirement; name each file of requirements itself",
        ),
        (
            "a\nb==\nc",
            "line 2: cannot read `b==` at column 4: expected a version such as 1.2.3 or 2.0rc1 after `==`",
        ),
        (
            "a # x \\\nb",
            "line 1: a comment ends with `\\`, which installers read in two ways; remove it",
        ),
        (
            "a \\",
            "line 1: cannot read `a ` at column 3: expected another line after `\\`",
        ),
        (
            "a\x0c\n",
            "line 1: cannot read `a\\u{c}` at column 2: '\\u{c}' cannot be part of a requirement",
        ),
        (
            "a\rb",
            "line 1: cannot read `a\\rb` at column 2: '\\r' cannot be part of a requirement",
        ),
        (
            "a#b",
            "line 1: cannot read `a#b` at column 2: expected `,` and another version, `;` and a marker, or the end",
        ),
        (
            "./x",
            "line 1: `./x` is a path; name a package of the index, or a wheel as `name @ file:///folder/name.whl` with --allow-urls",
        ),
    ] {
        assert_eq!(error(text), message);
    }
    let many: String = (0..1001).map(|number| format!("p{number}\n")).collect();
    assert_eq!(
        error(&many),
        "line 1001: more than 1000 requirements; ask for fewer"
    );
}
