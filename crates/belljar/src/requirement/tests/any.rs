//! What holds for any requirement and any text.

use proptest::prelude::*;

use super::*;
use crate::python::known::{is_standard, meant};

/// A piece in two spellings of the same.
type Pair = (String, String);

fn pair(one: &str, other: &str) -> Pair {
    (one.to_owned(), other.to_owned())
}

fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " ", "  ", "\t"])
}

fn name() -> impl Strategy<Value = Pair> {
    let joint = || prop::sample::select(vec!["-", "_", ".", "-_", "..", "--"]);
    let names = prop::collection::vec(("[a-z0-9]{1,6}", joint(), joint()), 1..4).prop_map(|parts| {
        let (mut one, mut other) = (String::new(), String::new());
        for (index, (word, left, right)) in parts.into_iter().enumerate() {
            let joints = if index == 0 { ("", "") } else { (left, right) };
            one += &format!("{}{word}", joints.0);
            other += &format!("{}{}", joints.1, word.to_uppercase());
        }
        (one, other)
    });
    // Those are refused, whatever else is asked for.
    names.prop_filter("the name of a module", |(one, _)| {
        super::super::name::normalise(one).is_some_and(|name| !is_standard(&name) && meant(&name).is_none())
    })
}

fn version() -> impl Strategy<Value = Pair> {
    let release = prop::collection::vec(0_u64..30, 1..4);
    let pre = prop::option::of((
        prop::sample::select(vec![
            ("a", ".Alpha-"),
            ("b", "_beta"),
            ("rc", "-c."),
            ("rc", "preview"),
        ]),
        0_u64..9,
    ));
    let post = prop::option::of((prop::sample::select(vec!["-r", ".Rev", "post_"]), 0_u64..9));
    let dev = prop::option::of((prop::sample::select(vec!["-dev", "DEV.", "_dev"]), 0_u64..9));
    (0_u64..3, release, pre, post, dev).prop_map(|(epoch, release, pre, post, dev)| {
        let (mut one, mut other) = (String::new(), "V".to_owned());
        if epoch > 0 {
            one += &format!("{epoch}!");
            other += &format!("0{epoch}!");
        }
        let numbers = |width: usize| {
            release
                .iter()
                .map(|part| format!("{part:0width$}"))
                .collect::<Vec<_>>()
                .join(".")
        };
        one += &numbers(0);
        other += &numbers(3);
        if let Some(((label, long), number)) = pre {
            one += &format!("{label}{number}");
            other += &format!("{long}{number}");
        }
        if let Some((label, number)) = post {
            one += &format!(".post{number}");
            other += &format!("{label}{number}");
        }
        if let Some((label, number)) = dev {
            one += &format!(".dev{number}");
            other += &format!("{label}{number}");
        }
        (one, other)
    })
}

fn specifier() -> impl Strategy<Value = Pair> {
    let compared = (
        prop::sample::select(vec!["==", "!=", ">=", "<=", ">", "<"]),
        version(),
        space(),
        any::<bool>(),
    )
        .prop_map(|(operator, (one, other), space, zero)| {
            let plain = other[1..]
                .chars()
                .all(|found| found.is_ascii_digit() || matches!(found, '.' | '!'));
            let zeros = if zero && plain { ".0.00" } else { "" };
            (
                format!("{operator}{one}"),
                format!("{operator}{space}{other}{zeros}"),
            )
        });
    let prefix =
        (prop::sample::select(vec!["==", "!="]), 0_u64..9, 0_u64..9).prop_map(|(operator, major, minor)| {
            (
                format!("{operator}{major}.{minor}.*"),
                format!("{operator} v0{major}.{minor}.*"),
            )
        });
    let compatible = (0_u64..9, 0_u64..9)
        .prop_map(|(major, minor)| (format!("~={major}.{minor}"), format!("~= 0{major}.0{minor}")));
    prop_oneof![4 => compared, 1 => prefix, 1 => compatible]
}

fn comparison() -> impl Strategy<Value = Pair> {
    let word = "[a-z0-9 .+-]{0,6}";
    prop_oneof![
        (
            prop::sample::select(vec![(">=", "<="), ("<", ">"), ("==", "=="), ("!=", "!=")]),
            version()
        )
            .prop_map(|((operator, back), (one, other))| (
                format!("python_version {operator} '{one}'"),
                format!("\"{other}\"{back}python_version")
            )),
        (
            prop::sample::select(vec![
                ("os_name", "os.name"),
                ("platform_machine", "platform.machine"),
                ("platform_python_implementation", "python_implementation")
            ]),
            word
        )
            .prop_map(|((variable, old), word)| (
                format!("{variable} == '{word}'"),
                format!("'{word}'=={old}")
            )),
        word.prop_map(|word| (
            format!("'{word}' not in sys_platform"),
            format!("\"{word}\"not  in sys.platform")
        )),
        name().prop_map(|(one, other)| (format!("extra == '{one}'"), format!("'{other}' == extra"))),
    ]
}

fn marker() -> impl Strategy<Value = Pair> {
    comparison().prop_recursive(3, 12, 3, |inner| {
        (
            prop::collection::vec(inner, 1..4),
            prop::sample::select(vec!["and", "or"]),
        )
            .prop_map(|(parts, word)| {
                let join = |parts: Vec<String>| format!("({})", parts.join(&format!(") {word} (")));
                let one = join(parts.iter().map(|(one, _)| one.clone()).collect());
                // The other way round, and the first of them twice.
                let other = parts
                    .iter()
                    .rev()
                    .chain(parts.first())
                    .map(|(_, other)| other.clone());
                (one, join(other.collect()))
            })
    })
}

fn hash() -> impl Strategy<Value = String> {
    "[0-9a-f]{64}".prop_map(|digest| format!("sha256:{digest}"))
}

prop_compose! {
    /// One requirement, written twice in other orders and spellings.
    fn requirement()(
        name in name(), extras in prop::collection::vec(name(), 0..3), specifiers in prop::collection::vec(specifier(), 0..4),
        marker in prop::option::of(marker()), hashes in prop::collection::vec(hash(), 0..3), pinned in any::<bool>(), space in space(),
    ) -> Pair {
        let (mut one, mut other) = name;
        if !extras.is_empty() {
            let all = extras.iter().map(|(one, _)| one.clone()).collect::<Vec<_>>();
            one += &format!("[{}]", all.join(","));
            let all = extras.iter().rev().map(|(_, other)| format!("{other}{space}")).collect::<Vec<_>>();
            other += &format!("{space}[{space}{}]", all.join(","));
        }
        let specifiers = if pinned { vec![pair("==1.5", "== v1.05.0")] } else { specifiers };
        if !specifiers.is_empty() {
            one += &specifiers.iter().map(|(one, _)| one.clone()).collect::<Vec<_>>().join(",");
            let all = specifiers.iter().rev().chain(specifiers.last()).map(|(_, other)| format!("{other}{space}"));
            other += &format!("{space}({space}{})", all.collect::<Vec<_>>().join(","));
        }
        if let Some((left, right)) = marker {
            one += &format!("; {left}");
            other += &format!(";{space}{right}{space}");
        }
        if pinned {
            hashes.iter().for_each(|hash| one += &format!(" --hash={hash}"));
            hashes.iter().rev().for_each(|hash| other += &format!("\t--hash {}  ", hash.to_uppercase()));
        }
        (one, other)
    }
}

proptest! {
    #[test]
    fn spelling_and_order_do_not_matter((one, other) in requirement()) {
        // Names such as x.zip are those of files.
        let (Ok(left), Ok(right)) = (Requirement::parse(&one, Allow::default()), Requirement::parse(&other, Allow::default())) else {
            let files = [".whl", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".egg", ".txt", ".toml", ".lock"];
            let named = |text: &str| files.iter().any(|end| text.to_lowercase().contains(end));
            prop_assert!(named(&one) || named(&other), "{one}\n{other}: {:?}", Requirement::parse(&other, Allow::default()));
            return Ok(());
        };
        prop_assert_eq!(&left, &right, "{} and {}", one, other);
        let spelled = left.to_string();
        prop_assert_eq!(&spelled, &right.to_string());
        prop_assert_eq!(Requirement::parse(&spelled, Allow::default()).unwrap(), left, "{}", spelled);
    }

    #[test]
    fn lists_and_files_give_the_same(pairs in prop::collection::vec(requirement(), 0..5)) {
        let list = Requirements::from_list(pairs.iter().map(|(one, _)| one), Allow::default());
        let text: String = pairs.iter().rev().map(|(_, other)| format!("{other} # x\n")).collect();
        if let (Ok(list), Ok(read)) = (list, Requirements::requirements_txt(&text, Allow::default())) {
            prop_assert_eq!(&list, &read);
            prop_assert_eq!(Requirements::requirements_txt(&list.to_string(), Allow::default()).unwrap(), list);
        }
    }

    /// Whatever is taken is one line of printable ASCII that no installer takes for an option, and reads back the same.
    #[test]
    fn any_text_is_a_requirement_or_refused(text in any_text()) {
        for allow in [Allow::default(), URLS, ALL] {
            match Requirement::parse(&text, allow) {
                Ok(requirement) => {
                    let line = requirement.to_string();
                    prop_assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
                    prop_assert!(line.starts_with(|found: char| found.is_ascii_lowercase() || found.is_ascii_digit()));
                    prop_assert!(!line.contains(['$', '`', '\\', '|', '&', '{']) && !line.contains(" #"), "{line}");
                    prop_assert_eq!(Requirement::parse(&line, allow).unwrap(), requirement);
                }
                Err(error) => {
                    let message = error.to_string();
                    prop_assert!(message.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{message:?}");
                    // Whatever was written, the text is cut where the next step begins.
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    prop_assert_eq!(error.message() + &hint, message);
                }
            }
        }
    }

    #[test]
    fn documents_are_read_or_refused(text in ".{0,200}") {
        let _ = Requirements::requirements_txt(&text, ALL);
        let _ = Requirements::pyproject(&text, Some("a"), ALL);
        let _ = Requirements::pylock(&text, ALL);
        let _ = Requirements::script(&text, ALL);
    }
}

/// Anything, and pieces of requirements in any order.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a",
        "B.c",
        "1",
        "1.0",
        "2!",
        "rc1",
        ".*",
        "+x",
        "==",
        "===",
        "~=",
        ">=",
        "<",
        "!=",
        ",",
        "(",
        ")",
        "[",
        "]",
        ";",
        " ",
        "\t",
        "@",
        "'",
        "\"",
        "linux",
        "3.10",
        "python_version",
        "os.name",
        "extra",
        "and",
        "or",
        "not",
        "in",
        "--hash=",
        "sha256:",
        "#",
        "\\",
        "\n",
        "$",
        "é",
        "/",
        ":",
        "-",
        "-r",
        "%41",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "a @ ",
        "https://",
        "file://",
        "git+https://",
        "x.org",
        "a-1-py3-none-any.whl",
        "x.tar.gz",
        "#sha256=",
    ];
    prop_oneof![
        ".{0,80}",
        prop::collection::vec(prop::sample::select(pieces), 0..14).prop_map(|pieces| pieces.concat())
    ]
}
