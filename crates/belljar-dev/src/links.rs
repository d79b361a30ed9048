//! Links and paths in the documents lead somewhere.

use std::path::Path;

use anyhow::bail;

use crate::repository;

/// Folders of the repository: a path in backticks that begins with one must exist.
const FOLDERS: [&str; 10] = [
    ".ci/",
    "benches/",
    "crates/",
    "docs/",
    "examples/",
    "guest/",
    "policies/",
    "python/",
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
        for link in links(&text) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                document.clone()
            } else {
                folder.join(file)
            };
            if !repository::top().join(&target).exists()
                || !heading.is_empty() && !has_heading(&repository::read(&target)?, heading)
            {
                wrong.push(format!("{}: {link} leads nowhere", document.display()));
            }
        }
        for path in paths(&text) {
            count += 1;
            if !repository::top().join(path).exists() {
                wrong.push(format!("{}: {path} leads nowhere", document.display()));
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
        .filter(|target| !target.contains("://") && !target.is_empty())
        .collect()
}

/// Whether a document has a heading that is linked to by this name.
fn has_heading(document: &str, name: &str) -> bool {
    let text = prose(document);
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).eq(name.chars())
    })
}

/// Paths in backticks, without the name of a test behind them.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted
        .filter_map(|path| path.split(": ").next())
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
        assert_eq!(paths("`python/a.py: test_b`"), ["python/a.py"]);
    }

    #[test]
    fn headings_are_found_by_the_name_that_links_use() {
        let text = "# A page\n\n## What's `kept`, and why\n\n```sh\n# no heading\n```\n";
        assert!(has_heading(text, "a-page"));
        assert!(has_heading(text, "whats-kept-and-why"));
        assert!(!has_heading(text, "no-heading"));
        assert!(!has_heading(text, "a"));
    }
}
