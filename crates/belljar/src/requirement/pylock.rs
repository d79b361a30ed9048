//! pylock.toml (PEP 751): each package at its version, held by its hashes. The URLs in it are not used: the index decides
//! where files come from, and the hashes decide which files will do.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::error::printable;
use super::marker::{self, Chosen, Marker};
use super::specifier::{Operator, Specifier};
use super::{Allow, Requirement, RequirementError, Requirements, document, link, name, parse};

/// Which extras and groups a reader chose.
struct Choice {
    extras: BTreeSet<String>,
    groups: BTreeSet<String>,
}

/// Reads the text of a file.
pub(super) fn read(text: &str, group: Option<&str>, allow: Allow) -> Result<Requirements, RequirementError> {
    let lock = document::parse(text)?;
    let version = document::string(&lock, "lock-version", "lock-version")?;
    match version {
        Some(version) if version == "1" || version.starts_with("1.") => {}
        other => {
            return Err(RequirementError::LockVersion {
                version: printable(other.unwrap_or_default()),
            });
        }
    }
    let choice = choose(&lock, group)?;
    let mut all = Requirements::default();
    document::requires_python(&lock, "requires-python", &mut all)?;
    for package in document::list(&lock, "packages", "packages")? {
        let package = package
            .as_table()
            .ok_or_else(|| document::kind("packages", "a list of tables"))?;
        let written =
            document::string(package, "name", "packages.name")?.ok_or_else(|| RequirementError::Missing {
                key: "packages.name".to_owned(),
            })?;
        let name = name::normalise(written)
            .ok_or_else(|| document::kind("packages.name", "the name of a package"))?;
        let place = format!("package {name}");
        let locked = locked(package, name, &choice, allow).map_err(|problem| problem.at(&place))?;
        locked.map_or(Ok(()), |requirement| all.add(requirement))?;
    }
    Ok(all)
}

fn choose(lock: &Table, group: Option<&str>) -> Result<Choice, RequirementError> {
    let extras = names(lock, "extras")?;
    let groups = names(lock, "dependency-groups")?;
    let default = names(lock, "default-groups")?;
    let Some(group) = group else {
        return Ok(Choice {
            extras: BTreeSet::new(),
            groups: default,
        });
    };
    match name::normalise(group) {
        Some(name) if groups.contains(&name) => Ok(Choice {
            extras: BTreeSet::new(),
            groups: [name].into(),
        }),
        Some(name) if extras.contains(&name) => Ok(Choice {
            extras: [name].into(),
            groups: default,
        }),
        _ => Err(RequirementError::NoGroup {
            group: printable(group),
            known: groups.into_iter().chain(extras).collect(),
        }),
    }
}

fn names(lock: &Table, key: &str) -> Result<BTreeSet<String>, RequirementError> {
    let name = |value: &Value| value.as_str().and_then(name::normalise);
    let list = document::list(lock, key, key)?;
    list.iter()
        .map(|value| name(value).ok_or_else(|| document::kind(key, "a list of names")))
        .collect()
}

/// The requirement that a package comes to; `None` if it belongs to a group that was not chosen.
fn locked(
    package: &Table,
    name: String,
    choice: &Choice,
    allow: Allow,
) -> Result<Option<Requirement>, RequirementError> {
    let marker = match document::string(package, "marker", "marker")? {
        None => None,
        Some(text) if text.len() > parse::LONGEST => {
            return Err(RequirementError::TooLong {
                item: printable(text),
                limit: parse::LONGEST,
            });
        }
        Some(text) => match marker::whole(text, true)?.choose(&choice.extras, &choice.groups) {
            Chosen::Never => return Ok(None),
            Chosen::Always => None,
            Chosen::When(marker) => Some(marker),
        },
    };
    if let Some(url) = elsewhere(package, &name, allow)? {
        return at_url(&url, name, marker, allow).map(Some);
    }
    let version = document::string(package, "version", "version")?.ok_or(RequirementError::Unlocked {
        name: name.clone(),
        what: "a version",
    })?;
    let pin = Specifier::new(Operator::Equal, version)
        .ok()
        .filter(|pin| !pin.is_prefix());
    let hashes = hashes(package, &name, allow)?;
    Ok(Some(Requirement {
        name,
        extras: BTreeSet::new(),
        specifiers: [pin.ok_or_else(|| document::kind("version", "a version"))?].into(),
        url: None,
        marker,
        hashes,
    }))
}

/// The hashes of the files that may be installed: wheels, and the source too where it may be built.
fn hashes(package: &Table, name: &str, allow: Allow) -> Result<BTreeSet<String>, RequirementError> {
    let wheels = document::list(package, "wheels", "wheels")?.iter();
    let source = package.get("sdist").filter(|_| allow.builds);
    let mut hashes = BTreeSet::new();
    for file in wheels.chain(source) {
        let file = file
            .as_table()
            .ok_or_else(|| document::kind("wheels", "a list of tables"))?;
        hashes.insert(hash(file)?.ok_or(RequirementError::Unlocked {
            name: name.to_owned(),
            what: "a sha256 hash for each file",
        })?);
    }
    if !hashes.is_empty() {
        Ok(hashes)
    } else if package.contains_key("sdist") {
        Err(RequirementError::Build {
            item: name.to_owned(),
        })
    } else {
        Err(RequirementError::Unlocked {
            name: name.to_owned(),
            what: "any file",
        })
    }
}

/// The sha256 hash of a file.
fn hash(file: &Table) -> Result<Option<String>, RequirementError> {
    let hashes = document::table(file, "hashes", "hashes")?;
    let digest = hashes
        .map(|hashes| document::string(hashes, "sha256", "hashes.sha256"))
        .transpose()?;
    digest
        .flatten()
        .map(|digest| parse::hash(&format!("sha256:{digest}")))
        .transpose()
}

/// The URL of a package that is not of the index.
fn elsewhere(package: &Table, name: &str, allow: Allow) -> Result<Option<String>, RequirementError> {
    let path = || RequirementError::LockedPath {
        name: name.to_owned(),
    };
    if package.contains_key("directory") {
        return Err(path());
    }
    let (archive, vcs) = (
        document::table(package, "archive", "archive")?,
        document::table(package, "vcs", "vcs")?,
    );
    let Some(place) = archive.or(vcs) else {
        return Ok(None);
    };
    if !allow.urls {
        return Err(RequirementError::Url {
            item: name.to_owned(),
        });
    }
    let url = document::string(place, "url", "url")?.ok_or_else(path)?;
    if archive.is_some() {
        let hash = hash(place)?.ok_or(RequirementError::Unlocked {
            name: name.to_owned(),
            what: "a sha256 hash",
        })?;
        return Ok(Some(format!("{url}#{}", hash.replacen(':', "=", 1))));
    }
    let commit =
        document::string(place, "commit-id", "vcs.commit-id")?.ok_or(RequirementError::Unlocked {
            name: name.to_owned(),
            what: "a commit",
        })?;
    let kind = document::string(place, "type", "vcs.type")?.unwrap_or_default();
    let folder = document::string(place, "subdirectory", "vcs.subdirectory")?;
    let folder = folder
        .map(|folder| format!("#subdirectory={folder}"))
        .unwrap_or_default();
    Ok(Some(format!("{kind}+{url}@{commit}{folder}")))
}

fn at_url(
    url: &str,
    name: String,
    marker: Option<Marker>,
    allow: Allow,
) -> Result<Requirement, RequirementError> {
    let link = link::parse(url, &name, allow).map_err(|problem| problem.of(url))?;
    Ok(Requirement {
        name,
        extras: BTreeSet::new(),
        specifiers: BTreeSet::new(),
        url: Some(link.url),
        marker,
        hashes: link.hash.into_iter().collect(),
    })
}
