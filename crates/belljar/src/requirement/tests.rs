//! What is taken, how it is spelled, and what is refused.

mod any;
mod documents;
mod links;
mod locks;
mod markers;
mod refused;
mod specifiers;
mod txt;

use super::error::EXAMPLE;
use super::*;
use crate::error::Hinted;

const URLS: Allow = Allow {
    builds: false,
    urls: true,
};
const ALL: Allow = Allow {
    builds: true,
    urls: true,
};
const SHA: &str = "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef";

fn canonical(text: &str, allow: Allow) -> String {
    match Requirement::parse(text, allow) {
        Ok(requirement) => requirement.to_string(),
        Err(error) => panic!("{text}: {error}"),
    }
}

/// A refusal as it is told, but for the example that ends each mistake in an item.
fn told(error: RequirementError) -> String {
    if error.hint() == Some(EXAMPLE.into()) {
        error.message()
    } else {
        format!(
            "{}{}",
            error.message(),
            crate::error::next_step(error.hint().map(|hint| hint.in_flags()))
        )
    }
}

/// The message of a refusal.
#[track_caller]
fn refusal(text: &str, allow: Allow) -> String {
    match Requirement::parse(text, allow) {
        Ok(requirement) => panic!("{text:?} was taken as `{requirement}`"),
        Err(error) => told(error),
    }
}

#[test]
fn one_wish_has_one_spelling() {
    for (written, spelled) in [
        ("pandas", "pandas"),
        ("  Pandas\t", "pandas"),
        ("Foo.Bar__baz-.-qux", "foo-bar-baz-qux"),
        ("discord.py", "discord-py"),
        ("pandas[excel]", "pandas[excel]"),
        ("pandas [Excel , aws_s3,excel]", "pandas[aws-s3,excel]"),
        ("pandas[]", "pandas"),
        ("pandas>=2", "pandas>=2"),
        ("pandas (>=2.0.0)", "pandas>=2"),
        ("pandas < 3 , >= 2.0, >=2", "pandas>=2,<3"),
        ("pandas!=2.1,<3,>2,~=2.2", "pandas~=2.2,>2,<3,!=2.1"),
        ("a==1.0;python_version<'4'", "a==1 ; python_version < '4'"),
        ("A", "a"),
        ("7zip", "7zip"),
    ] {
        assert_eq!(canonical(written, Allow::default()), spelled, "{written}");
    }
}

#[test]
fn parts_can_be_asked_for() {
    let text = format!("Pandas[excel]==2.2.0 ; sys_platform == \"linux\" --hash=sha256:{SHA}");
    let requirement = Requirement::parse(&text, Allow::default()).unwrap();
    assert_eq!(requirement.name(), "pandas");
    assert_eq!(requirement.extras().collect::<Vec<_>>(), ["excel"]);
    assert_eq!(requirement.specifiers(), "==2.2");
    assert_eq!(requirement.pinned().as_deref(), Some("2.2"));
    assert_eq!(requirement.marker().as_deref(), Some("sys_platform == 'linux'"));
    assert_eq!(requirement.url(), None);
    let hash = format!("sha256:{}", SHA.to_lowercase());
    assert_eq!(requirement.hashes().iter().collect::<Vec<_>>(), [&hash]);
    for open in ["a", "a>=1", "a==1.*", "a==1,>0", "a===1"] {
        assert_eq!(
            Requirement::parse(open, Allow::default()).unwrap().pinned(),
            None,
            "{open}"
        );
    }
}

#[test]
fn lists_are_sorted_and_without_duplicates() {
    let list = |items: &[&str]| Requirements::from_list(items, Allow::default()).unwrap();
    let one = list(&["numpy>=2", "Pandas", "numpy", "numpy >= 2.0"]);
    assert_eq!(one.lines().collect::<Vec<_>>(), ["numpy", "numpy>=2", "pandas"]);
    assert_eq!(one.to_string(), "numpy\nnumpy>=2\npandas\n");
    assert_eq!(one, list(&["pandas", "numpy", "numpy>=2.0.0"]));
    assert_eq!(one, list(&["pandas"]).merge(list(&["numpy", "numpy>=2"])));
    assert_eq!((one.len(), one.is_empty()), (3, false));
    assert!(list(&[]).is_empty());
    assert!(one.requires_python().is_none());
}

#[test]
fn there_is_an_end_to_lists_and_items() {
    let names = |count: usize| (0..count).map(|number| format!("p{number}"));
    assert_eq!(
        Requirements::from_list(names(1000), Allow::default())
            .unwrap()
            .len(),
        1000
    );
    let error = Requirements::from_list(names(1001), Allow::default()).unwrap_err();
    assert!(
        matches!(error, RequirementError::TooMany { limit: 1000, .. }),
        "{error}"
    );

    assert_eq!(canonical(&"a".repeat(4096), Allow::default()).len(), 4096);
    let error = refusal(&"a".repeat(4097), Allow::default());
    assert_eq!(
        error,
        format!(
            "`{}...` is longer than 4096 characters; name a package, and each in an item of its own",
            "a".repeat(97)
        )
    );

    let hashes = |count: usize| {
        (0..count)
            .map(|number| format!(" --hash=sha256:{number:064x}"))
            .collect::<String>()
    };
    assert!(Requirement::parse(&format!("a==1{}", hashes(1000)), Allow::default()).is_ok());
    assert!(Requirement::parse(&format!("a==1{}", hashes(1001)), Allow::default()).is_err());
}
