//! Links and paths in the documents lead somewhere.

use std::path::Path;

use anyhow::bail;

use crate::repository;

/// Folders of the repository: a path in backticks that begins with one must exist.
const FOLDERS: [&str; 8] = [
    ".ci/",
    "crates/",
    "docs/",
    "examples/",
    "guest/",
    "policies/",
    "tests/",
    "fuzz/",
];

/// Fails with every link and path that leads nowhere.
pub fn check() -> anyhow::Result<()> {
    let documents = repository::tracked(".md")?;
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in &documents {
        let text = prose(&repository::read(document)?);
        let folder = document.parent().unwrap_or(Path::new(""));
        let links = links(&text)
            .into_iter()
            .map(|link| (folder.join(link.split('#').next().unwrap_or(link)), link));
        let paths = paths(&text).into_iter().map(|path| (path.into(), path));
        for (target, shown) in links.chain(paths) {
            count += 1;
            if !repository::top().join(target).exists() {
                wrong.push(format!("{}: {shown} leads nowhere", document.display()));
            }
        }
    }
    if wrong.is_empty() {
        println!(
            "{} documents, {count} links and paths lead somewhere",
            documents.len()
        );
        return Ok(());
    }
    bail!("{}", wrong.join("\n"))
}

/// The text without its code blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with('#') && !target.is_empty())
        .collect()
}

fn paths(text: &str) -> Vec<&str> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted
        .filter(|path| FOLDERS.iter().any(|folder| path.starts_with(folder)))
        .filter(|path| !path.contains(['*', ' ', '{', '<', '…']))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_found_outside_code() {
        let text =
            prose("[a](docs/a.md#x) [b](https://c) `crates/x.rs` `guest/*.py` `run`\n```\n[c](no.md)\n```\n");
        assert_eq!(links(&text), ["docs/a.md#x"]);
        assert_eq!(paths(&text), ["crates/x.rs"]);
    }
}
