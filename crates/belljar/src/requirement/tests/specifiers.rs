//! Versions and what they are compared with.

use super::*;
use crate::python;
use crate::requirement::version::Version;

#[test]
fn versions_have_one_spelling() {
    for (written, spelled) in [
        ("1", "1"),
        ("v1.0", "1.0"),
        ("V1", "1"),
        ("01.002", "1.2"),
        ("0!1", "1"),
        ("1!2.0", "1!2.0"),
        ("1.0a1", "1.0a1"),
        ("1.0.A.1", "1.0a1"),
        ("1.0-alpha_01", "1.0a1"),
        ("1.0alpha", "1.0a0"),
        ("1.0beta2", "1.0b2"),
        ("1.0c1", "1.0rc1"),
        ("1.0pre1", "1.0rc1"),
        ("1.0preview-1", "1.0rc1"),
        ("1.0RC", "1.0rc0"),
        ("1.0-1", "1.0.post1"),
        ("1.0post", "1.0.post0"),
        ("1.0r4", "1.0.post4"),
        ("1.0.rev4", "1.0.post4"),
        ("1.0DEV", "1.0.dev0"),
        ("1.0a1.post2.dev3", "1.0a1.post2.dev3"),
        ("1.0a.dev1", "1.0a0.dev1"),
        ("1+Ubuntu-1_01", "1+ubuntu.1.1"),
        ("2024.1.1+g0a", "2024.1.1+g0a"),
        ("18446744073709551615", "18446744073709551615"),
    ] {
        let version = Version::parse(written).unwrap_or_else(|| panic!("{written}"));
        assert_eq!(version.to_string(), spelled, "{written}");
    }
    for wrong in [
        "",
        "v",
        "a",
        ".",
        "1.",
        ".1",
        "1..2",
        "1.x",
        "1.0a1b1",
        "1.0-",
        "1.0a-",
        "1.0.post1.post2",
        "1.0.dev1.post1",
        "1!",
        "!1",
        "1!!2",
        "1+",
        "1+a..b",
        "1+a+b",
        "1 .0",
        "1.0.*",
        "18446744073709551616",
        "1.18446744073709551616",
        "1a18446744073709551616",
        "1+18446744073709551616",
        "latest",
        "1.0foo",
        "vv1",
        "-1",
    ] {
        assert_eq!(Version::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn versions_are_in_the_order_of_the_standard() {
    let sorted = [
        "1.dev0",
        "1.0.dev456",
        "1.0a1",
        "1.0a2.dev456",
        "1.0a12.dev456",
        "1.0a12",
        "1.0b1.dev456",
        "1.0b2",
        "1.0b2.post345.dev456",
        "1.0b2.post345",
        "1.0rc1.dev456",
        "1.0rc1",
        "1.0",
        "1.0+abc.5",
        "1.0+abc.7",
        "1.0+5",
        "1.0.post456.dev34",
        "1.0.post456",
        "1.0.15",
        "1.1.dev1",
        "1.10",
        "1!0.1",
    ];
    let parsed: Vec<Version> = sorted.iter().map(|text| Version::parse(text).unwrap()).collect();
    for (low, one) in parsed.iter().enumerate() {
        for (high, other) in parsed.iter().enumerate() {
            assert_eq!(one.compare(other), low.cmp(&high), "{one} and {other}");
        }
    }
    let zeros = [Version::parse("1").unwrap(), Version::parse("1.0.0").unwrap()];
    assert!(zeros[0].compare(&zeros[1]).is_eq());
}

#[test]
fn specifiers_have_one_spelling() {
    for (written, spelled) in [
        ("==1.0.0", "==1"),
        ("==1.0.*", "==1.0.*"),
        ("== v1.*", "==1.*"),
        ("!=0.0", "!=0"),
        ("~=1.0.0", "~=1.0.0"),
        ("~=1.0", "~=1.0"),
        ("===1.0", "===1.0"),
        (">=1.0.post", ">=1.post0"),
        ("==1.0+Local.1", "==1+local.1"),
        ("!=1!2.*", "!=1!2.*"),
        ("<1.0RC1", "<1rc1"),
        (">=1.10", ">=1.10"),
        (">1.0", ">1"),
    ] {
        assert_eq!(
            canonical(&format!("a{written}"), Allow::default()),
            format!("a{spelled}")
        );
    }
    for wrong in [
        "==*", "==1*", "==1.*.*", "==1a1.*", "==1.*+x", "===1.*", "~=1.*", ">1+x", "~=1.0+x", "~=1", "~=1!1",
        "===foo", "==1.0;;", "= =1", "> =1", "==1.0 .*",
    ] {
        refusal(&format!("a{wrong}"), Allow::default());
    }
}

#[test]
fn python_is_in_or_out() {
    let version = |text: &str| {
        let parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
        python::Version {
            major: parts[0],
            minor: parts[1],
            patch: parts.get(2).copied(),
        }
    };
    for (spec, inside, outside) in [
        (
            ">=3.10",
            &["3.10.0", "3.10", "3.14.2"][..],
            &["3.9.19", "3.9", "2.7.18"][..],
        ),
        (">=3.10,<3.13", &["3.12.11", "3.12"], &["3.13.0", "3.13"]),
        (
            "==3.12.*",
            &["3.12.0", "3.12.9", "3.12"],
            &["3.1.2", "3.13.0", "3.11"],
        ),
        ("!=3.12.*", &["3.11.0"], &["3.12.0", "3.12"]),
        ("~=3.11", &["3.11.0", "3.14.0", "3.14"], &["3.10.0", "4.0.0"]),
        (
            "~=3.11.4",
            &["3.11.4", "3.11.9", "3.11"],
            &["3.11.3", "3.12.0", "3.12"],
        ),
        (">=3.12.4", &["3.12.4", "3.13.0", "3.12"], &["3.12.3"]),
        (">3.12", &["3.12.1", "3.12", "3.13.0"], &["3.12.0"]),
        ("<3.12", &["3.11.9", "3.11"], &["3.12.0", "3.12"]),
        ("<=3.12", &["3.12.0", "3.12", "3.11.1"], &["3.12.1", "3.13"]),
        ("==3.12", &["3.12.0", "3.12"], &["3.12.1"]),
        (
            "!=3.12.0,!=3.12.1,<3.12.3",
            &["3.12.2", "3.12"],
            &["3.12.0", "3.12.1", "3.12.3"],
        ),
        (">=3.13.0rc1", &["3.13.0", "3.13"], &["3.12.9"]),
        ("===3.12.1", &["3.12.1", "3.12"], &["3.12.0", "3.12.10"]),
        (">=1!3", &[], &["3.12.1", "3.12"]),
        (" >= 3 ", &["3.12.1"], &["2.7.1"]),
    ] {
        let python = PythonSpec::parse(spec).unwrap();
        for text in inside {
            assert!(python.contains(version(text)), "{text} is in {spec}");
        }
        for text in outside {
            assert!(!python.contains(version(text)), "{text} is not in {spec}");
        }
    }
    for wrong in ["", "3.10", ">=3.10 <4", ">=3.10;", ">=3.10,", "*", ">=3.x"] {
        assert!(PythonSpec::parse(wrong).is_err(), "{wrong}");
    }
    assert_eq!(
        PythonSpec::parse("<4 ,>= 3.10.0").unwrap().to_string(),
        ">=3.10,<4"
    );
}
