//! The grammar of one requirement.

use std::collections::BTreeSet;

use super::cursor::Cursor;
use super::error::printable;
use super::{Allow, Requirement, RequirementError, link, marker, name, specifier};
use crate::hint::{Hint, Setting};
use crate::python::known::{is_standard, meant};

/// The longest requirement, without its hashes.
pub(super) const LONGEST: usize = 4096;
/// A popular package has a hundred wheels for a version.
const MOST_HASHES: usize = 1000;

const FILES: [&str; 10] = [
    ".whl", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".egg", ".txt", ".toml", ".lock",
];

/// Reads one requirement with its hashes.
pub(super) fn requirement(text: &str, allow: Allow) -> Result<Requirement, RequirementError> {
    let text = text.trim_matches([' ', '\t']);
    let body = text.split("--hash").next().unwrap_or(text);
    if body.len() > LONGEST {
        return Err(RequirementError::TooLong {
            item: printable(text),
            limit: LONGEST,
        });
    }
    let mut cursor = Cursor::new(text)?;
    refuse_other_kinds(text, allow)?;

    let (written, name) = name::read(&mut cursor, "a package")?;
    let lower = written.to_ascii_lowercase();
    if FILES.iter().any(|end| lower.ends_with(end)) {
        return Err(RequirementError::FileName {
            item: printable(text),
        });
    }
    if matches!(cursor.peek(), Some('/' | '\\' | ':')) {
        return Err(RequirementError::Path {
            item: printable(text),
        });
    }
    cursor.space();
    let mut requirement = Requirement {
        name,
        extras: extras(&mut cursor)?,
        specifiers: BTreeSet::new(),
        url: None,
        marker: None,
        hashes: BTreeSet::new(),
    };
    cursor.space();
    if cursor.eat("@") {
        cursor.space();
        let url = cursor.take(|found| !matches!(found, ' ' | '\t'));
        let link = link::parse(url, &requirement.name, allow).map_err(|problem| problem.of(text))?;
        requirement.url = Some(link.url);
        requirement.hashes.extend(link.hash);
    } else if cursor.eat("(") {
        requirement.specifiers = specifier::read(&mut cursor)?;
        if !cursor.eat(")") {
            return Err(cursor.expected("`,` or `)`"));
        }
    } else if matches!(cursor.peek(), Some('=' | '!' | '~' | '>' | '<')) {
        requirement.specifiers = specifier::read(&mut cursor)?;
    }
    cursor.space();
    if cursor.eat(";") {
        requirement.marker = Some(marker::read(&mut cursor, false)?);
    }
    hashes(&mut cursor, &mut requirement)?;
    if !cursor.is_done() {
        return Err(left_over(&cursor, written, &requirement));
    }
    refuse_modules(&requirement, written)?;
    Ok(requirement)
}

/// Refuses the name of a module in the place of its distribution's: the index has nothing of that name, or a stranger's.
/// Whoever names one version, or one address, knows what is there; and a marker is for versions of Python gone by.
fn refuse_modules(requirement: &Requirement, written: &str) -> Result<(), RequirementError> {
    if requirement.url.is_some() || requirement.marker.is_some() || requirement.pinned().is_some() {
        return Ok(());
    }
    let item = || printable(written);
    if is_standard(&requirement.name) {
        return Err(RequirementError::Standard { item: item() });
    }
    match meant(&requirement.name) {
        Some(distribution) => Err(RequirementError::Module {
            item: item(),
            distribution,
        }),
        None => Ok(()),
    }
}

/// Gives what is no requirement at all a message of its own.
fn refuse_other_kinds(text: &str, allow: Allow) -> Result<(), RequirementError> {
    let item = || printable(text);
    if text.starts_with('-') {
        return Err(option(text));
    }
    let scheme = text.find("://").or_else(|| {
        let file = text
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case("file:"));
        file.then_some(4)
    });
    let named = |scheme: usize| text[..scheme].contains(['@', ';']);
    match scheme {
        Some(at) if !named(at) && !allow.urls => return Err(RequirementError::Url { item: item() }),
        Some(at) if !named(at) => {
            return Err(RequirementError::Link {
                item: item(),
                problem: "the package has no name; write `name @ URL`",
            });
        }
        _ => {}
    }
    if text.starts_with(['.', '/', '~', '\\']) {
        return Err(RequirementError::Path { item: item() });
    }
    Ok(())
}

/// The refusal of an option, with what to do instead.
fn option(text: &str) -> RequirementError {
    let end = text.find([' ', '\t', '=']).unwrap_or(text.len());
    let hint = match &text[..end] {
        "-r" | "--requirement" | "--requirements" | "-c" | "--constraint" | "--constraints" => {
            "name each file of requirements itself"
        }
        "-e" | "--editable" => "folders of the host are not installed; name a package of the index",
        "-i" | "--index-url" | "--extra-index-url" | "--index" | "--default-index" | "-f"
        | "--find-links" | "--no-index" | "--trusted-host" | "--client-cert" | "--cert" | "--proxy" => {
            "give index settings by uv's or pip's own settings"
        }
        "--no-binary" => {
            return RequirementError::Option {
                item: printable(text),
                hint: Hint::from("allow packages to be built with ").set(Setting::AllowBuilds),
            };
        }
        "--hash" => "write it after the requirement that it belongs to",
        short if short.starts_with("-r") || short.starts_with("-c") => {
            "name each file of requirements itself"
        }
        short if short.starts_with("-i") || short.starts_with("-f") => {
            "give index settings by uv's or pip's own settings"
        }
        _ => "only requirements such as pandas>=2 are taken",
    };
    RequirementError::Option {
        item: printable(text),
        hint: hint.into(),
    }
}

fn extras(cursor: &mut Cursor<'_>) -> Result<BTreeSet<String>, RequirementError> {
    let mut extras = BTreeSet::new();
    if !cursor.eat("[") {
        return Ok(extras);
    }
    cursor.space();
    if cursor.eat("]") {
        return Ok(extras);
    }
    loop {
        cursor.space();
        extras.insert(name::read(cursor, "an extra")?.1);
        cursor.space();
        if cursor.eat("]") {
            return Ok(extras);
        }
        if !cursor.eat(",") {
            return Err(cursor.expected("`,` or `]`"));
        }
    }
}

/// Reads `--hash=sha256:…`, any number of them.
fn hashes(cursor: &mut Cursor<'_>, requirement: &mut Requirement) -> Result<(), RequirementError> {
    cursor.space();
    while cursor.is_after_space() && cursor.eat("--hash") {
        if !cursor.eat("=") && !cursor.space() {
            return Err(cursor.expected("`=` and a hash such as sha256:…"));
        }
        let written = cursor.take(|found| !matches!(found, ' ' | '\t'));
        requirement.hashes.insert(hash(written)?);
        if requirement.hashes.len() > MOST_HASHES {
            return Err(RequirementError::TooMany {
                what: "hashes of one requirement",
                limit: MOST_HASHES,
            });
        }
        cursor.space();
    }
    let item = || printable(cursor.whole());
    match &requirement.url {
        // Without a version the tool that checks them passes over hashes in silence.
        None if !requirement.hashes.is_empty() && requirement.pinned().is_none() => {
            Err(RequirementError::HashOfRange { item: item() })
        }
        Some(url) if requirement.hashes.len() > 1 || !requirement.hashes.is_empty() && link::is_git(url) => {
            Err(RequirementError::Link {
                item: item(),
                problem: "a file has one hash, and a repository none; write the hash as #sha256=… behind the file",
            })
        }
        _ => Ok(()),
    }
}

/// A hash in its one spelling, if its algorithm is strong and its length right.
pub(super) fn hash(written: &str) -> Result<String, RequirementError> {
    let lower = written.to_ascii_lowercase();
    let digits = |(algorithm, digest): (&str, &str)| {
        let length = match algorithm {
            "sha256" => 64,
            "sha384" => 96,
            "sha512" => 128,
            _ => return false,
        };
        digest.len() == length && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match lower.split_once(':').is_some_and(digits) {
        true => Ok(lower),
        false => Err(RequirementError::Hash {
            hash: printable(written),
        }),
    }
}

/// What to say of the rest of an item that should have ended.
fn left_over(cursor: &Cursor<'_>, written: &str, requirement: &Requirement) -> RequirementError {
    let rest = cursor.rest();
    if rest.starts_with('-') && cursor.is_after_space() {
        return option(rest);
    }
    let bare = requirement.specifiers.is_empty() && requirement.url.is_none() && requirement.marker.is_none();
    if requirement.marker.is_some() {
        cursor.expected("`and`, `or` or the end")
    } else if bare && rest.starts_with(|found: char| found.is_ascii_digit()) {
        let version = rest.split([' ', '\t', ',', ';']).next().unwrap_or(rest);
        cursor.expected(format!(
            "an operator before the version, such as `{written}=={}`",
            printable(version)
        ))
    } else if bare && rest.starts_with(|found: char| found.is_ascii_alphanumeric()) {
        cursor.expected("the end: each requirement is an item of its own")
    } else if requirement.url.is_some() {
        cursor.expected("`;` and a marker, or the end")
    } else {
        cursor.expected("`,` and another version, `;` and a marker, or the end")
    }
}
