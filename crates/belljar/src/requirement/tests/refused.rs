//! What is no requirement, and what is said of it.

use super::*;

/// Attack DP-03 and its relatives: nothing here may reach an installer, whatever is allowed.
#[test]
fn never_a_requirement() {
    for text in [
        "",
        " ",
        "-r /etc/passwd",
        "-r/etc/passwd",
        "--requirement=/etc/passwd",
        "-c x.txt",
        "-e .",
        "-e git+https://example.org/x.git",
        "--editable .",
        "--index-url https://evil.example/simple",
        "--index-url=https://evil.example",
        "-i https://evil.example",
        "--extra-index-url https://evil.example",
        "--find-links /tmp",
        "-f /tmp",
        "--trusted-host evil",
        "--config-settings x=y",
        "--pre",
        "-",
        "--",
        "--hash=sha256:00",
        "numpy --config-settings=x=y",
        "numpy --index-url https://evil.example",
        "numpy -r x",
        "numpy==1 --no-binary :all:",
        "numpy --global-option=x",
        ".",
        "./x",
        "../x",
        "/etc",
        "/tmp/x.whl",
        "~",
        "~/x",
        "x/y",
        "x\\y",
        "\\\\host\\x",
        "C:\\x",
        "x.whl",
        "x-1.0-py3-none-any.whl",
        "x.tar.gz",
        "X.ZIP",
        "requirements.txt",
        "pyproject.toml",
        "git+https://example.org/x.git",
        "git+ssh://git@example.org/x",
        "hg+https://example.org/x",
        "file:///tmp/x.whl",
        "file:x.whl",
        "FILE:///tmp/x.whl",
        "https://example.org/x-1-py3-none-any.whl",
        "http://169.254.169.254/x.whl",
        "x @ ./x.whl",
        "x @ /tmp/x.whl",
        "x @ ../x",
        "x @ http://169.254.169.254/x-1-py3-none-any.whl",
        "x @ http://2852039166/x-1-py3-none-any.whl",
        "x @ http://[fe80::1]/x-1-py3-none-any.whl",
        "x @ ftp://example.org/x-1-py3-none-any.whl",
        "x @ git+file:///tmp/x",
        "x @ git+ssh://git@example.org/x",
        "x @ svn+https://example.org/x",
        "x @ ${HOME}/x.whl",
        "x @ https://example.org/${TOKEN}/x-1-py3-none-any.whl",
        "x @ javascript:1",
        "x @",
        "git@example.org:x/y.git",
        "numpy\nevil",
        "numpy\n--index-url https://evil.example",
        "numpy\r\nevil",
        "numpy\0",
        "numpy\x0bevil",
        "numpy\x0cevil",
        "numpy\x1b[31m",
        "numpy\u{85}evil",
        "numpy\u{2028}evil",
        "num\u{200b}py",
        "nump\u{443}",
        "\u{ff4e}umpy",
        "numpy\u{a0}>=1",
        "\u{feff}numpy",
        "numpy==１",
        "numpy;rm -rf /",
        "numpy; echo",
        "numpy && id",
        "numpy|id",
        "numpy`id`",
        "$(id)",
        "numpy$(id)",
        "numpy>$(id)",
        "numpy # comment",
        "numpy #",
        "#numpy",
        "numpy>=1 # x",
        "'numpy'",
        "\"numpy\"",
        "numpy\\",
        "numpy>=1 \\",
        "numpy pandas",
        "numpy,pandas",
        "*",
        "numpy*",
        "numpy?",
        "@",
        "numpy@",
        "_x",
        "x_",
        "-x",
        "x-",
        ".x",
        "x.",
        "[x]",
        "x[",
        "x[a",
        "x[a,]",
        "x[,a]",
        "x[a b]",
        "x[a][b]",
        "x[-a]",
        "x[a>1]",
        "x()",
        "x(>=1",
        "x(>=1))",
        "x>=1)",
        "x (>=1) >2",
        "x>=1 @ https://example.org/x-1-py3-none-any.whl",
        "x%20y",
        "x{a}",
        "x=1",
        "x=>1",
        "x=<1",
        "x<>1",
        "x>",
        "x>=1,",
        "x>=1,,<2",
        "x,>=1",
        "x>=1;",
        "x;",
        "x ; ;",
        "x>=1 ; python_version",
        "x > 1 < 2",
        "x==1 2",
        "x==1.0.0.0 y",
    ] {
        for allow in [Allow::default(), URLS, ALL] {
            let message = refusal(text, allow);
            assert!(
                message.is_ascii() && !message.contains(|found: char| found.is_ascii_control()),
                "{message:?}"
            );
        }
    }
}

#[test]
fn a_mistake_is_told_with_what_was_expected() {
    for (text, message) in [
        (
            "pandas>2,<",
            "cannot read `pandas>2,<` at column 11: expected a version such as 1.2.3 or 2.0rc1 after `<`",
        ),
        (
            "pandas==",
            "cannot read `pandas==` at column 9: expected a version such as 1.2.3 or 2.0rc1 after `==`",
        ),
        (
            "pandas 2.0",
            "cannot read `pandas 2.0` at column 8: expected an operator before the version, such as `pandas==2.0`",
        ),
        (
            "pandas=2",
            "cannot read `pandas=2` at column 7: expected `==`, not `=`",
        ),
        (
            "pandas=>2",
            "cannot read `pandas=>2` at column 7: expected `>=`, not `=>`",
        ),
        (
            "pandas>=2,",
            "cannot read `pandas>=2,` at column 11: expected an operator (== != ~= >= <= > <) and a version",
        ),
        (
            "pandas==latest",
            "cannot read `pandas==latest` at column 9: expected a version such as 1.2.3 or 2.0rc1",
        ),
        (
            "pandas>=2.*",
            "cannot read `pandas>=2.*` at column 9: expected a version without `.*`, which only `==` and `!=` take",
        ),
        (
            "pandas~=2",
            "cannot read `pandas~=2` at column 9: expected a version of at least two numbers after `~=`, such as 2.1",
        ),
        (
            "pandas numpy",
            "cannot read `pandas numpy` at column 8: expected the end: each requirement is an item of its own",
        ),
        (
            "pandas[excel",
            "cannot read `pandas[excel` at column 13: expected `,` or `]`",
        ),
        (
            "pandas; python > '3'",
            "cannot read `pandas; python > '3'` at column 9: expected a marker variable such as python_version or sys_platform, or a quoted string",
        ),
        ("", "cannot read `` at column 1: expected the name of a package"),
        (
            "numpy\nevil",
            "cannot read `numpy\\nevil` at column 6: '\\n' cannot be part of a requirement",
        ),
        (
            "-r x.txt",
            "`-r x.txt` is an option, not a requirement; name each file of requirements itself",
        ),
        (
            "--index-url=https://me:secret@example.org/simple",
            "`--index-url=https://***@example.org/simple` is an option, not a requirement; give index settings by uv's or pip's own settings",
        ),
        (
            "--pre",
            "`--pre` is an option, not a requirement; only requirements such as pandas>=2 are taken",
        ),
        (
            "./x",
            "`./x` is a path; name a package of the index, or a wheel as `name @ file:///folder/name.whl` with --allow-urls",
        ),
        (
            "x.whl",
            "`x.whl` is the name of a file, not of a package; name a package of the index",
        ),
        (
            "x @ https://example.org/x.whl",
            "`x @ https://example.org/x.whl` comes from a URL and not from the index; allow that with --allow-urls",
        ),
        (
            "git+https://example.org/x",
            "`git+https://example.org/x` comes from a URL and not from the index; allow that with --allow-urls",
        ),
    ] {
        assert_eq!(refusal(text, Allow::default()), message);
    }
}

#[test]
fn hashes_are_checked_or_refused() {
    let long = "0".repeat(128);
    assert_eq!(
        canonical(&format!("a==1 --hash sha512:{long}"), Allow::default()),
        format!("a==1 --hash=sha512:{long}")
    );
    for hash in [
        format!("md5:{}", &SHA[..32]),
        format!("sha1:{}", &SHA[..40]),
        format!("sha256:{}", &SHA[1..]),
        format!("sha256:{SHA}0"),
        format!("sha256={SHA}"),
        "sha256:".to_owned(),
        SHA.replace('0', "g"),
        String::new(),
    ] {
        let message = refusal(&format!("a==1 --hash={hash}"), Allow::default());
        assert!(message.contains("is not a hash that can be checked"), "{message}");
    }
    for open in ["a", "a>=1", "a==1.*", "a==1,<2"] {
        let message = refusal(&format!("{open} --hash=sha256:{SHA}"), Allow::default());
        assert!(message.contains("leaves the version open"), "{message}");
    }
    refusal(&format!("a==1--hash=sha256:{SHA}"), Allow::default());
    refusal(&format!("a==1;os_name=='x'--hash=sha256:{SHA}"), Allow::default());
}

#[test]
fn the_name_of_a_module_is_no_requirement() {
    for (text, told) in [
        (
            "sklearn>=1",
            "`sklearn` is the name of a module; the package is called scikit-learn; ask for scikit-learn; a package that is called \
             sklearn itself must be pinned: sklearn==VERSION",
        ),
        (
            "PIL",
            "`PIL` is the name of a module; the package is called pillow; ask for pillow; a package that is called PIL itself must \
             be pinned: PIL==VERSION",
        ),
        (
            "json",
            "`json` is a module of the standard library; leave it out: every guest has it",
        ),
        (
            "ConfigParser",
            "`ConfigParser` is a module of the standard library; leave it out: every guest has it",
        ),
    ] {
        assert_eq!(refusal(text, ALL), told);
    }
    // Who says this much knows what there is.
    for text in [
        "sklearn==0.0.post12",
        "dataclasses; python_version < '3.7'",
        "yaml @ https://example.org/yaml-1-py3-none-any.whl",
        "psycopg2",
        "jsonschema",
        "scikit-learn",
    ] {
        canonical(text, ALL);
    }
}
