//! Markers.

use super::*;

#[test]
fn a_marker_has_one_spelling() {
    for (written, spelled) in [
        ("python_version>='3.10'", "python_version >= '3.10'"),
        ("'3.10'<=python_version", "python_version >= '3.10'"),
        ("\"3.10\" > python_version", "python_version < '3.10'"),
        ("python_version == '3.10.*'", "python_version == '3.10.*'"),
        ("python_full_version>='3.10.0'", "python_full_version >= '3.10'"),
        (
            "python_full_version ~= 'v3.10.0'",
            "python_full_version ~= '3.10.0'",
        ),
        ("python_version in '2.7, 3.5'", "python_version in '2.7, 3.5'"),
        ("'linux' in sys_platform", "'linux' in sys_platform"),
        ("sys_platform not  in 'win32'", "sys_platform not in 'win32'"),
        ("'x' not in platform_version", "'x' not in platform_version"),
        (
            "os.name == 'posix' and sys.platform=='linux'",
            "os_name == 'posix' and sys_platform == 'linux'",
        ),
        (
            "platform.python_implementation=='CPython'",
            "platform_python_implementation == 'CPython'",
        ),
        (
            "python_implementation=='CPython'",
            "platform_python_implementation == 'CPython'",
        ),
        ("extra == 'Foo_Bar'", "extra == 'foo-bar'"),
        ("((os_name=='a'))", "os_name == 'a'"),
        ("os_name=='b'or os_name=='a'", "os_name == 'a' or os_name == 'b'"),
        ("os_name=='a' or os_name=='a'", "os_name == 'a'"),
        (
            "os_name=='c' and (os_name=='b' and os_name=='a')",
            "os_name == 'a' and os_name == 'b' and os_name == 'c'",
        ),
        (
            "os_name=='a' or os_name=='b' and os_name=='c'",
            "os_name == 'a' or os_name == 'b' and os_name == 'c'",
        ),
        (
            "(os_name=='b' or os_name=='a') and os_name=='c'",
            "os_name == 'c' and (os_name == 'a' or os_name == 'b')",
        ),
        ("platform_release >= '5.0'", "platform_release >= '5.0'"),
        ("os_name == ''", "os_name == ''"),
        ("implementation_version < '3.0'", "implementation_version < '3'"),
    ] {
        assert_eq!(
            canonical(&format!("a;{written}"), Allow::default()),
            format!("a ; {spelled}")
        );
    }
}

#[test]
fn what_is_no_marker_is_refused() {
    for text in [
        "",
        "python_version",
        "python_version >=",
        "python_version 3",
        "python_version >= 3",
        "python_version >= '3",
        "python_version >= '3\"",
        "python_version = '3'",
        "'a' == 'a'",
        "os_name == sys_platform",
        "python_version >= 'x'",
        "python_version >= '3.*'",
        "'3.1' ~= python_version",
        "os_name ~= 'x'",
        "os_name === 'x'",
        "extra in 'x'",
        "extra > 'x'",
        "extra == '-'",
        "'x' in extras",
        "'x' in dependency_groups",
        "os_name == 'a' and",
        "and os_name == 'a'",
        "os_name == 'a' os_name == 'b'",
        "os_name == 'a' xor os_name == 'b'",
        "os_name == 'a' AND os_name == 'b'",
        "not os_name == 'a'",
        "os_name not 'a'",
        "os_name notin 'a'",
        "os_name in'a' and(",
        "(os_name == 'a'",
        "os_name == 'a')",
        "()",
        "os_name == 'a#b'",
        "os_name == '$HOME'",
        "os_name == '`id`'",
        "os_name == 'a\\'b'",
        "os_name == \"a'b\"",
        "os_name == 'a;b'",
        "os_name == 'a|b'",
        "OS_NAME == 'a'",
        "os_names == 'a'",
        "__import__('os')",
        "os_name == 'a' ; os_name == 'b'",
        "os_name == 'é'",
    ] {
        refusal(&format!("a;{text}"), Allow::default());
    }
    let nested = |depth: usize| format!("a;{}os_name=='a'{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(canonical(&nested(32), Allow::default()), "a ; os_name == 'a'");
    assert!(refusal(&nested(33), Allow::default()).contains("fewer parentheses"));
    refusal(&nested(2000), Allow::default());
}

/// A spelling that is longer than what was written must not be one that is refused when it is read back.
#[test]
fn a_spelling_is_as_long_as_what_may_be_read() {
    let many = |count: usize| {
        format!(
            "a;{}",
            (0..count)
                .map(|number| format!("os_name>'{number}'"))
                .collect::<Vec<_>>()
                .join("or ")
        )
    };
    let kept = canonical(&many(200), Allow::default());
    assert_eq!(canonical(&kept, Allow::default()), kept);
    let written = many(225);
    assert!(written.len() < 4096);
    assert!(refusal(&written, Allow::default()).contains("is longer than 4096 characters"));
}

/// The marker of a project that names itself goes around those of its extra.
#[test]
fn markers_are_put_together_only_so_deep() {
    let nested = |depth: usize| {
        (0..depth).fold("os_name == 'a'".to_owned(), |inner, number| {
            format!("os_name == '{number}' and (sys_platform == '{number}' or {inner})")
        })
    };
    let project = |depth: usize| {
        format!(
            "[project]\nname='me'\n[project.optional-dependencies]\na=[\"me[b]; os_name == 'x'\"]\nb=[\"c; os_name == 'y' or {}\"]",
            nested(depth)
        )
    };
    let read = |depth| Requirements::pyproject(&project(depth), Some("a"), Allow::default());
    let all = read(31).unwrap();
    assert_eq!(
        Requirements::from_list(all.lines(), Allow::default()).unwrap(),
        all
    );
    assert!(read(32).is_err());
}
