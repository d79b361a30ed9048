//! pylock.toml.

use super::*;

fn lines(text: &str, allow: Allow) -> Result<Vec<String>, String> {
    let all = Requirements::pylock(text, allow).map_err(told)?;
    Ok(all.lines().collect())
}

fn lock(packages: &str) -> String {
    format!("lock-version = '1.0'\ncreated-by = 'x'\n{packages}")
}

const TWO: &str = r#"
lock-version = "1.0"
requires-python = ">=3.10"
created-by = "uv"
extras = ["Plot"]
dependency-groups = ["dev", "docs"]
default-groups = ["dev"]
[[packages]]
name = "NumPy"
version = "2.3.0"
index = "https://evil.example/simple"
sdist = { url = "https://evil.example/numpy-2.3.0.tar.gz", hashes = { sha256 = "2222222222222222222222222222222222222222222222222222222222222222" } }
wheels = [
  { url = "https://evil.example/numpy-2.3.0-cp312.whl", hashes = { sha256 = "1111111111111111111111111111111111111111111111111111111111111111" } },
  { url = "https://evil.example/numpy-2.3.0-cp313.whl", hashes = { md5 = "0", sha256 = "0000000000000000000000000000000000000000000000000000000000000000" } },
]
[[packages]]
name = "colorama"
version = "0.4.6"
marker = "sys_platform == 'win32' and 'plot' not in extras"
wheels = [{ hashes = { sha256 = "3333333333333333333333333333333333333333333333333333333333333333" } }]
[[packages]]
name = "pytest"
version = "8"
marker = "'dev' in dependency_groups"
wheels = [{ hashes = { sha256 = "4444444444444444444444444444444444444444444444444444444444444444" } }]
[[packages]]
name = "matplotlib"
version = "3"
marker = "'plot' in extras or 'docs' in dependency_groups"
wheels = [{ hashes = { sha256 = "5555555555555555555555555555555555555555555555555555555555555555" } }]
"#;

fn hashes(digits: &str) -> String {
    digits
        .chars()
        .map(|digit| format!(" --hash=sha256:{}", digit.to_string().repeat(64)))
        .collect()
}

#[test]
fn versions_and_hashes_count_and_urls_do_not() {
    let colorama = format!("colorama==0.4.6 ; sys_platform == 'win32'{}", hashes("3"));
    let pytest = format!("pytest==8{}", hashes("4"));
    assert_eq!(
        lines(TWO, Allow::default()).unwrap(),
        [
            colorama.clone(),
            format!("numpy==2.3{}", hashes("01")),
            pytest.clone()
        ]
    );
    let builds = Allow {
        builds: true,
        urls: false,
    };
    assert_eq!(
        lines(TWO, builds).unwrap()[1],
        format!("numpy==2.3{}", hashes("012"))
    );
    let python = Requirements::pylock(TWO, Allow::default()).unwrap();
    assert_eq!(python.requires_python().unwrap().to_string(), ">=3.10");
    assert!(!python.to_string().contains("evil"));

    let chosen = |group| {
        pylock::read(TWO, Some(group), Allow::default())
            .unwrap()
            .lines()
            .collect::<Vec<_>>()
    };
    let (numpy, matplotlib) = (
        format!("numpy==2.3{}", hashes("01")),
        format!("matplotlib==3{}", hashes("5")),
    );
    assert_eq!(chosen("plot"), [matplotlib.clone(), numpy.clone(), pytest]);
    assert_eq!(chosen("Docs"), [colorama, matplotlib, numpy]);
    let error = pylock::read(TWO, Some("x"), Allow::default())
        .unwrap_err()
        .to_string();
    assert_eq!(error, "there is no group or extra `x`; there are dev, docs, plot");
}

#[test]
fn what_a_lock_does_not_hold_is_refused() {
    let sha = "0".repeat(64);
    let wheel = format!("wheels = [{{ hashes = {{ sha256 = '{sha}' }} }}]");
    for (packages, message) in [
        (
            "[[packages]]\nname = 'x'\nversion = '1'".into(),
            "package x: package `x` is locked without any file; write the lock again",
        ),
        (
            format!("[[packages]]\nname = 'x'\n{wheel}"),
            "package x: package `x` is locked without a version; write the lock again",
        ),
        (
            "[[packages]]\nname = 'x'\nversion = '1'\nwheels = [{ hashes = { md5 = '0' } }]".into(),
            "package x: package `x` is locked without a sha256 hash for each file; write the lock again",
        ),
        (
            format!("[[packages]]\nname = 'x'\nversion = '1'\nsdist = {{ hashes = {{ sha256 = '{sha}' }} }}"),
            "package x: `x` has no wheel and must be built by running its own code; allow that in a jar with --allow-builds",
        ),
        (
            "[[packages]]\nname = 'x'\nversion = '1'\nwheels = [{ hashes = { sha256 = '00' } }]".into(),
            "package x: `sha256:00` is not a hash that can be checked; write sha256:, sha384: or sha512: and the digest in hexadecimal",
        ),
        (
            format!("[[packages]]\nname = 'x'\nversion = '1.*'\n{wheel}"),
            "package x: `version` must be a version; change it in the file, or write the file again",
        ),
        (
            format!("[[packages]]\nname = '-r x'\nversion = '1'\n{wheel}"),
            "`packages.name` must be the name of a package; change it in the file, or write the file again",
        ),
        (
            format!("[[packages]]\nname = 'x'\nversion = '1 --pre'\n{wheel}"),
            "package x: `version` must be a version; change it in the file, or write the file again",
        ),
        (
            format!("[[packages]]\nname = 'x'\nversion = '1'\nmarker = 'x'\n{wheel}"),
            "package x: cannot read `x` at column 1: expected a marker variable such as python_version or sys_platform, or a quoted string",
        ),
        (
            "[[packages]]\nversion = '1'".into(),
            "`packages.name` is missing; write the file again",
        ),
        (
            "[[packages]]\nname = 'x'\ndirectory = { path = '.' }".into(),
            "package x: package `x` is locked to a path of another machine; take it from the index, or from a URL",
        ),
        (
            "[[packages]]\nname = 'x'\narchive = { path = 'x.whl' }".into(),
            "package x: `x` comes from a URL and not from the index; allow that with --allow-urls",
        ),
        (
            "packages = 1".into(),
            "`packages` must be a list; write it in brackets, [ ]",
        ),
        (
            "packages = [1]".into(),
            "`packages` must be a list of tables; change it in the file, or write the file again",
        ),
    ] {
        assert_eq!(lines(&lock(&packages), Allow::default()).unwrap_err(), message);
    }
    for version in ["", "lock-version = '2.0'", "lock-version = '10'"] {
        let error = lines(version, Allow::default()).unwrap_err();
        assert!(error.contains("belljar reads 1.x"), "{error}");
    }
}

#[test]
fn urls_of_a_lock_need_leave() {
    let sha = "a".repeat(64);
    let wheel = "https://example.org/x-1-py3-none-any.whl";
    let archive = lock(&format!(
        "[[packages]]\nname = 'x'\narchive = {{ url = '{wheel}', hashes = {{ sha256 = '{sha}' }} }}"
    ));
    assert_eq!(
        lines(&archive, URLS).unwrap(),
        [format!("x @ {wheel}#sha256={sha}")]
    );
    assert!(
        lines(&archive, Allow::default())
            .unwrap_err()
            .contains("--allow-urls")
    );
    let bare = lock(&format!(
        "[[packages]]\nname = 'x'\narchive = {{ url = '{wheel}' }}"
    ));
    assert!(lines(&bare, ALL).unwrap_err().contains("without a sha256 hash"));

    let vcs = |kind: &str| {
        lock(&format!(
            "[[packages]]\nname = 'x'\nmarker = \"os_name=='a'\"\nvcs = {{ type = '{kind}', url = 'https://example.org/x.git', commit-id = '0123abc', subdirectory = 'py' }}"
        ))
    };
    assert_eq!(
        lines(&vcs("git"), ALL).unwrap(),
        ["x @ git+https://example.org/x.git@0123abc#subdirectory=py ; os_name == 'a'"]
    );
    assert!(lines(&vcs("git"), URLS).unwrap_err().contains("--allow-builds"));
    assert!(lines(&vcs("hg"), ALL).is_err());
    let branch = lock(
        "[[packages]]\nname = 'x'\nvcs = { type = 'git', url = 'https://example.org/x.git', requested-revision = 'main' }",
    );
    assert!(lines(&branch, ALL).unwrap_err().contains("without a commit"));
}

/// The resolver forgets the hashes that it was given; what it wrote is cut down to them.
#[test]
fn a_lock_is_narrowed_to_the_hashes_that_were_asked_for() {
    let set = |lines: &[String]| Requirements::from_list(lines, ALL).unwrap();
    let hashed = |text: &str, digits: &str| format!("{text}{}", hashes(digits));
    let lock = set(&[hashed("a==1.0", "012"), hashed("b==2", "34")]);
    let narrowed = |own: &[String]| {
        set(own)
            .narrow(lock.clone())
            .map(|lock| lock.lines().collect::<Vec<_>>())
    };

    assert_eq!(
        narrowed(&["a".into(), "b>1".into()]).unwrap(),
        lock.lines().collect::<Vec<_>>()
    );
    assert_eq!(
        narrowed(&[hashed("a==1", "15"), "b".into()]).unwrap(),
        [hashed("a==1", "1"), hashed("b==2", "34")]
    );
    // Lines of one package for several machines: any of their files will do, if they are of this version.
    let lines = [
        hashed("a==1 ; os_name == 'x'", "0"),
        hashed("a==1 ; os_name == 'y'", "2"),
        hashed("a==3", "1"),
    ];
    assert_eq!(narrowed(&lines).unwrap()[0], hashed("a==1", "02"));
    // Another line of the same package asks for no hash, and the lock is of that one.
    assert_eq!(
        narrowed(&[hashed("a==3 ; os_name == 'x'", "5"), "a ; os_name == 'y'".into()]).unwrap()[0],
        hashed("a==1", "012")
    );

    for own in [hashed("a==1", "5"), hashed("a==3", "0"), hashed("a==1+cpu", "0")] {
        let error = narrowed(&[own]).unwrap_err().to_string();
        assert!(
            error.starts_with("no file of `a==1` has a hash that was asked for"),
            "{error}"
        );
    }
    let cpu = set(&[hashed("a==1+cpu", "012")]);
    assert_eq!(
        set(&[hashed("a==1", "1")])
            .narrow(cpu.clone())
            .unwrap()
            .lines()
            .collect::<Vec<_>>(),
        [hashed("a==1+cpu", "1")]
    );
    assert!(set(&[hashed("a==1", "5")]).narrow(cpu).is_err());

    let url = |digit: &str| {
        format!(
            "x @ https://example.org/x-1-py3-none-any.whl#sha256={}",
            digit.repeat(64)
        )
    };
    assert_eq!(
        set(&[url("0")]).narrow(set(&[url("0")])).unwrap(),
        set(&[url("0")])
    );
    assert!(set(&[url("0")]).narrow(set(&[url("1")])).is_err());
    assert!(
        set(&[url("0")])
            .narrow(set(&["x @ https://example.org/x-1-py3-none-any.whl".into()]))
            .is_err()
    );
}
