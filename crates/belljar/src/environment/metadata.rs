//! What is installed, from the metadata that packages bring. Strangers wrote it: sizes are capped, names are checked.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::about::Package;
use super::store::children;

/// Far more than the metadata of any real package.
const LARGEST: u64 = 32 << 20;
/// A package with more top-level modules than this is a collection, and nobody wants them all imported.
const MOST_MODULES: usize = 6;

/// The packages in a folder, by name. `asked` are the normalised names of what was asked for.
pub(super) fn packages(site: &Path, asked: &BTreeSet<String>) -> Vec<Package> {
    let mut found: Vec<Package> = children(site)
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "dist-info"))
        .filter_map(|path| package(path, asked))
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn package(folder: &Path, asked: &BTreeSet<String>) -> Option<Package> {
    // A link would lead to whatever the host has there.
    fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    let metadata = read(&folder.join("METADATA"))?;
    // Headers end with the first empty line; the description may say anything.
    let headers = metadata.lines().take_while(|line| !line.is_empty());
    let field = |name: &str| {
        let mut values = headers
            .clone()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.next().map(str::trim).filter(|value| is_plain(value))
    };
    let name = normalise(field("Name")?);
    Some(Package {
        version: field("Version")?.to_owned(),
        asked: asked.contains(&name),
        modules: modules(&read(&folder.join("RECORD")).unwrap_or_default(), &name),
        name,
    })
}

/// What a package is imported by: top-level folders and files that its record lists, the one of its own name first.
fn modules(record: &str, name: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    for line in record.lines() {
        let path = line.split(',').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            [file] => found.extend(module_of_file(file).map(str::to_owned)),
            [package, "__init__.py"] => {
                found.extend(Some(*package).filter(|name| is_name(name)).map(str::to_owned))
            }
            _ => {}
        }
    }
    // A namespace package has nothing at the top; its first level is what can be imported.
    if found.is_empty() {
        for line in record.lines() {
            let path = line.split(',').next().unwrap_or_default();
            if let [space, package, "__init__.py"] = path.split('/').collect::<Vec<_>>().as_slice()
                && is_name(space)
                && is_name(package)
            {
                found.insert(format!("{space}.{package}"));
            }
        }
    }
    let own = name.replace(['-', '.'], "_");
    let (mut first, rest): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|module| normalise(module) == normalise(&own));
    if first.is_empty() && rest.len() > MOST_MODULES {
        return first;
    }
    first.extend(rest.into_iter().take(MOST_MODULES));
    first.truncate(MOST_MODULES);
    first
}

/// `six.py` and `lxml.cpython-311-x86_64-linux-gnu.so` are modules; what begins with an underscore is somebody's own.
fn module_of_file(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".py").or_else(|| {
        let (stem, tag) = file.strip_suffix(".so")?.split_once('.')?;
        (tag.starts_with("cpython-") || tag == "abi3").then_some(stem)
    });
    stem.filter(|stem| is_name(stem))
}

/// A public name that a statement could import.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && text.len() <= 100
        && characters.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
        && !["test", "tests", "docs", "doc", "examples", "setup", "conftest"].contains(&text)
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A package's name as the index knows it.
fn normalise(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            other => normal.push(other.to_ascii_lowercase()),
        }
    }
    normal
}

fn read(path: &Path) -> Option<String> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_from_the_record() {
        let found = |record: &str, name: &str| modules(record, name);
        assert_eq!(found("six.py,,\nsix-1.dist-info/RECORD,,\n", "six"), ["six"]);
        assert_eq!(
            found(
                "PIL/__init__.py,,\nPIL/Image.py,,\npillow.libs/x.so,,\n",
                "pillow"
            ),
            ["PIL"]
        );
        assert_eq!(
            found(
                "_yaml/__init__.py,,\nyaml/__init__.py,,\n../../../bin/y,,\n",
                "pyyaml"
            ),
            ["yaml"]
        );
        assert_eq!(
            found(
                "google/protobuf/__init__.py,,\ngoogle/protobuf/x/__init__.py,,\n",
                "protobuf"
            ),
            ["google.protobuf"]
        );
        assert_eq!(
            found("lx.cpython-311-x86_64-linux-gnu.so,,\nb.abi3.so,,\n", "lx"),
            ["lx", "b"]
        );
        assert_eq!(
            found(
                "a b/__init__.py,,\n../x.py,,\ntests/__init__.py,,\n;x.py,,\n",
                "z"
            ),
            [""; 0]
        );
    }

    #[test]
    fn a_collection_is_not_imported_whole() {
        let many: String = (0..20).map(|number| format!("m{number}.py,,\n")).collect();
        assert_eq!(modules(&many, "many"), [""; 0]);
        assert_eq!(
            modules(&format!("{many}many/__init__.py,,\n"), "many")
                .first()
                .unwrap(),
            "many"
        );
    }
}
