//! pyproject.toml, scripts, and files by their names.

use std::fs;
use std::path::Path;

use super::*;

const NONE: Allow = Allow {
    builds: false,
    urls: false,
};

const PROJECT: &str = r#"
[project]
name = "My.Project"
requires-python = ">=3.10"
dependencies = ["numpy>=2", "Pandas"]
[project.optional-dependencies]
Plot = ["matplotlib"]
all = ["my-project[plot]; os_name == 'posix'", "scipy"]
loop = ["my_project[loop]"]
wrong = ["my-project[missing]"]
[dependency-groups]
test = ["pytest", { include-group = "Lint_All" }]
lint-all = ["ruff", "pytest"]
itself = ["my-project[plot]", "ruff"]
a = [{ include-group = "b" }]
b = ["x", { include-group = "c" }]
c = [{ include-group = "a" }]
missing = [{ include-group = "nowhere" }]
url = ["x @ https://example.org/x-1-py3-none-any.whl"]
odd = [{ include-group = "test", other = 1 }]
number = [1]
[tool.uv]
index-url = "https://evil.example/simple"
[tool.uv.sources]
other = { git = "https://example.org/other" }
"#;

fn project(text: &str, group: Option<&str>) -> Result<Vec<String>, String> {
    let all = Requirements::pyproject(text, group, NONE).map_err(told)?;
    Ok(all.lines().collect())
}

#[test]
fn a_project_its_extras_and_groups() {
    let own = ["numpy>=2", "pandas"];
    assert_eq!(project(PROJECT, None).unwrap(), own);
    assert_eq!(
        project(PROJECT, Some("PLOT")).unwrap(),
        ["matplotlib", "numpy>=2", "pandas"]
    );
    assert_eq!(
        project(PROJECT, Some("all")).unwrap(),
        ["matplotlib ; os_name == 'posix'", "numpy>=2", "pandas", "scipy"]
    );
    assert_eq!(project(PROJECT, Some("test")).unwrap(), ["pytest", "ruff"]);
    assert_eq!(project(PROJECT, Some("lint.all")).unwrap(), ["pytest", "ruff"]);
    assert_eq!(
        project(PROJECT, Some("itself")).unwrap(),
        ["matplotlib", "numpy>=2", "pandas", "ruff"]
    );
    let python = Requirements::pyproject(PROJECT, None, NONE).unwrap();
    assert_eq!(python.requires_python().unwrap().to_string(), ">=3.10");
    assert_eq!(
        project("[dependency-groups]\na = ['x']", Some("a")).unwrap(),
        ["x"]
    );
    assert_eq!(project("[project]\nname = 'x'", None).unwrap(), [""; 0]);
}

#[test]
fn a_project_that_cannot_be_read() {
    for (group, message) in [
        (
            Some("loop"),
            "project.optional-dependencies.loop: group `loop` includes itself; remove one of the includes",
        ),
        (Some("a"), "group `a` includes itself; remove one of the includes"),
        (
            Some("number"),
            "`dependency-groups.number` must be a list of strings; write for example [\"pandas>=2\"]",
        ),
        (
            Some("odd"),
            "`dependency-groups.odd` must be a list of strings and { include-group = \"name\" }; change it in the file, or write the file again",
        ),
        (
            Some("url"),
            "dependency-groups.url: `x @ https://example.org/x-1-py3-none-any.whl` comes from a URL and not from the index; allow that with --allow-urls",
        ),
        (
            Some("wrong"),
            "project.optional-dependencies.wrong: there is no group or extra `missing`; there are all, loop, plot, wrong",
        ),
    ] {
        assert_eq!(project(PROJECT, group).unwrap_err(), message);
    }
    let missing = project(PROJECT, Some("missing")).unwrap_err();
    assert!(
        missing.starts_with(
            "dependency-groups.missing: there is no group or extra `nowhere`; there are a, b, c,"
        ),
        "{missing}"
    );
    assert!(
        project(PROJECT, Some("-r x"))
            .unwrap_err()
            .starts_with("there is no group or extra `-r x`")
    );

    for (text, message) in [
        (
            "",
            "`[project]` is missing; add it with `dependencies = [...]`, or name a group of the file with --group",
        ),
        (
            "[project]\ndynamic = ['dependencies']",
            "`dependencies` is dynamic: only building the project would show its value; list the dependencies in the file, or in a group",
        ),
        (
            "[project]\ndependencies = 'x'",
            "`project.dependencies` must be a list; write it in brackets, [ ]",
        ),
        (
            "[project]\ndependencies = [1]",
            "`project.dependencies` must be a list of strings; write for example [\"pandas>=2\"]",
        ),
        (
            "project = 1",
            "`project` must be a table; change it in the file, or write the file again",
        ),
        (
            "[project]\ndependencies = ['-e .']",
            "project.dependencies: `-e .` is an option, not a requirement; folders of the host are not installed; name a package of the index",
        ),
        (
            "[project]\nrequires-python = '3.10'",
            "project.requires-python: cannot read `3.10` at column 1: expected an operator (== != ~= >= <= > <) and a version",
        ),
        (
            "[project]\nname = 'x'\ndependencies = ['x']",
            "project.dependencies: group `dependencies` includes itself; remove one of the includes",
        ),
        (
            "[project]\n[dependency-groups]\na-b = []\nA_B = []",
            "two groups have the same normalised name, `a-b`; rename one",
        ),
        (
            "[project]\n[dependency-groups]\n'a b' = []",
            "`dependency-groups.a b` must be named with letters, digits and ._-; change it in the file, or write the file again",
        ),
    ] {
        assert_eq!(project(text, None).unwrap_err(), message, "{text}");
    }
    let syntax = project("[project]\ndependencies = [\n", None).unwrap_err();
    assert!(
        syntax.starts_with("line ") && syntax.contains("not valid TOML"),
        "{syntax}"
    );
}

/// A stranger can put a package of that name on the index.
#[test]
fn a_source_is_not_passed_over() {
    let text = |name: &str| {
        format!("[project]\ndependencies = ['{name}']\n[tool.uv.sources]\nInner_Lib = {{ path = '../x' }}")
    };
    assert_eq!(project(&text("numpy"), None).unwrap(), ["numpy"]);
    let message = "[tool.uv.sources] takes `inner-lib` from elsewhere than the index, which belljar does not follow; remove the source, or the requirement";
    assert_eq!(project(&text("inner.lib"), None).unwrap_err(), message);
    let script: String =
        "/// script\ndependencies = ['inner-lib']\n[tool.uv.sources]\ninner-lib = { path = 'x' }\n///"
            .lines()
            .map(|line| format!("# {line}\n"))
            .collect();
    assert_eq!(
        Requirements::script(&script, NONE).unwrap_err().to_string(),
        message
    );
}

/// Forty groups, each of which includes the next one twice: read once each, not 2^40 times.
#[test]
fn a_tower_of_groups_is_read_once() {
    let mut text = String::from("[dependency-groups]\ng40 = ['x']\n");
    for number in 0..40 {
        let next = number + 1;
        text += &format!("g{number} = [{{ include-group = 'g{next}' }}, {{ include-group = 'g{next}' }}]\n");
    }
    assert_eq!(project(&text, Some("g0")).unwrap(), ["x"]);
}

fn script(source: &str) -> Result<Option<Requirements>, String> {
    Requirements::script(source, NONE).map_err(told)
}

#[test]
fn a_script_says_what_it_needs() {
    let source = "#!/usr/bin/env python3\n\"\"\"doc\"\"\"\n# /// script\r\n# requires-python = \">=3.11\"\r\n# dependencies = [\n#   \"requests<3\",\n#\n#   \"Rich\",\n# ]\n# [tool.uv]\n# index-url = \"https://evil.example\"\n# ///\nimport requests\n";
    let all = script(source).unwrap().unwrap();
    assert_eq!(all.lines().collect::<Vec<_>>(), ["requests<3", "rich"]);
    assert_eq!(all.requires_python().unwrap().to_string(), ">=3.11");

    for none in [
        "",
        "print(1)",
        "# /// other\n# x = 1\n# ///\n",
        " # /// script\n# ///",
        "#/// script\n# x\n# ///",
        "# /// script x\n# ///",
    ] {
        assert_eq!(script(none).unwrap(), None, "{none}");
    }
    // A block of another kind may hold what looks like ours; and `# ///` may be part of the text.
    assert_eq!(
        script("# /// other\n# /// script\n# dependencies = ['x']\n# ///\n").unwrap(),
        None
    );
    let within = "# /// script\n# dependencies = ['x']\n# [tool.x]\n# a = '''\n# ///\n# '''\n# ///\n";
    assert_eq!(
        script(within).unwrap().unwrap().lines().collect::<Vec<_>>(),
        ["x"]
    );
    assert!(script("# /// script\n#\n# ///").unwrap().unwrap().is_empty());
}

#[test]
fn a_script_whose_block_cannot_be_read() {
    let block = "# /// script\n# dependencies = []\n# ///\n";
    for (source, message) in [
        (
            format!("{block}\n{block}"),
            "there are two `# /// script` blocks; keep one",
        ),
        (
            "x\n# /// script\n# a = 1\n".into(),
            "line 2: the `# /// script` block does not end; close it with a line `# ///`",
        ),
        (
            "# /// script\n#a\n# ///\n".into(),
            "line 1: the `# /// script` block does not end; close it with a line `# ///`",
        ),
        (
            block.replace("dependencies", "dependecies"),
            "unknown key `dependecies`; there are dependencies, requires-python and tool",
        ),
        (
            block.replace("[]", "['-r x']"),
            "dependencies: `-r x` is an option, not a requirement; name each file of requirements itself",
        ),
        (
            block.replace("[]", "3"),
            "`dependencies` must be a list; write it in brackets, [ ]",
        ),
    ] {
        assert_eq!(script(&source).unwrap_err(), message, "{source}");
    }
}

#[test]
fn files_are_read_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let lines = |path: &Path, group| {
        let all = Requirements::read(path, group, NONE).map_err(told)?;
        Ok::<Vec<String>, String>(all.lines().collect())
    };
    assert_eq!(lines(&file("a.txt", b"numpy\n"), None).unwrap(), ["numpy"]);
    assert_eq!(lines(&file("a.in", b"numpy\n"), None).unwrap(), ["numpy"]);
    assert_eq!(
        lines(&file("pyproject.toml", PROJECT.as_bytes()), Some("test")).unwrap(),
        ["pytest", "ruff"]
    );
    assert_eq!(
        lines(&file("pylock.toml", b"lock-version = '1.0'"), None).unwrap(),
        [""; 0]
    );
    assert_eq!(
        lines(&file("pylock.dev.toml", b"lock-version = '1.0'"), None).unwrap(),
        [""; 0]
    );
    let script = b"# /// script\n# dependencies = ['x']\n# ///\nprint('\xe9')\n";
    assert_eq!(lines(&file("s.py", script), None).unwrap(), ["x"]);

    for (path, group, message) in [
        (file("b.txt", b"a\n-e .\n"), None, ": line 2: `-e .` is an option"),
        (file("c.txt", b"\xff\n"), None, "it is not UTF-8"),
        (
            file("d.txt", b"a\n"),
            Some("x"),
            "there is no group or extra `x`; there are none",
        ),
        (
            file("none.py", b"print(1)\n"),
            None,
            "there is no `# /// script` block",
        ),
        (file("uv.lock", b""), None, "uv export --format pylock.toml"),
        (
            file("other.toml", b""),
            None,
            "is not a file of requirements (*.txt, *.in, pyproject.toml",
        ),
        (
            folder.path().join("nothing.txt"),
            None,
            "No such file or directory",
        ),
        (
            file("large.txt", &vec![b'#'; (1 << 20) + 1]),
            None,
            "is larger than 1 MiB",
        ),
    ] {
        let error = lines(&path, group).unwrap_err();
        assert!(
            error.contains(message) && error.contains(path.to_str().unwrap()),
            "{error}"
        );
    }
    assert!(lines(&file("full.txt", &vec![b'#'; 1 << 20]), None).is_ok());
}

/// A fifo would be waited for, a device has no end.
#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.txt");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let device = folder.path().join("zero.txt");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let inner = folder.path().join("folder.txt");
    fs::create_dir(&inner).unwrap();
    for path in [fifo, device, inner] {
        let error = Requirements::read(&path, None, NONE).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
    let real = folder.path().join("real.txt");
    fs::write(&real, "numpy").unwrap();
    let link = folder.path().join("link.txt");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(Requirements::read(&link, None, NONE).unwrap().len(), 1);
}
