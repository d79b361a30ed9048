//! Generated pages and sections: the key table in each of its forms, the help of each command, the system calls. `make docs`
//! writes them, `make check` compares them.

use std::fmt::Write;

use anyhow::{Context, bail};

use crate::{keys, repository, syscalls, wrap};

/// What the tests compare with what the binary prints, so that a page needs no binary.
const HELP: &str = "tests/fronts/snapshots/fronts__help__help";
const COMMANDS: [&str; 11] = [
    "run",
    "exec",
    "shell",
    "plan",
    "env",
    "env list",
    "env build",
    "env prune",
    "doctor",
    "completions",
    "man",
];

/// Writes every generated page and section, or fails if one of them is not what would be written.
pub fn generate(check: bool) -> anyhow::Result<()> {
    let pages = [
        ("docs/reference/syscalls.md", wrap::wrapped(&syscalls::whole()?)),
        (
            "docs/reference/policy.md",
            section("docs/reference/policy.md", "keys", &belljar::policy::reference())?,
        ),
        ("docs/reference/policy.schema.json", keys::schema()?),
        ("python/belljar/_keys.py", keys::python()?),
        ("python/belljar/_keywords.py", keywords()?),
        (
            "docs/decisions/index.md",
            section("docs/decisions/index.md", "list", &decisions()?)?,
        ),
        (
            "docs/reference/cli.md",
            section("docs/reference/cli.md", "help", &help()?)?,
        ),
    ];
    let mut wrong = Vec::new();
    for (path, page) in &pages {
        if !check {
            std::fs::write(repository::top().join(path), page)
                .with_context(|| format!("cannot write {path}"))?;
        } else if repository::read(path)? != *page {
            wrong.push(*path);
        }
    }
    if !wrong.is_empty() {
        bail!(
            "{}: not what would be generated; `make docs` writes it again",
            wrong.join(", ")
        );
    }
    println!("{} generated references are up to date", pages.len());
    Ok(())
}

/// A page with another text between the two marks of this section.
fn section(path: &str, name: &str, text: &str) -> anyhow::Result<String> {
    between(&repository::read(path)?, name, text).with_context(|| format!("{path} has no section {name}"))
}

fn between(page: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), "<!-- end -->");
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", text.trim_end()))
}

/// The types of the keywords, which stand among others.
fn keywords() -> anyhow::Result<String> {
    let path = "python/belljar/_keywords.py";
    let page = repository::read(path)?;
    let (begin, end) = ("    # generated: keys\n", "    # end\n");
    let parts = page
        .split_once(begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.with_context(|| format!("{path} has no section keys"))?;
    Ok(format!("{before}{begin}{}{end}{after}", keys::types()?))
}

/// Every decision by its title.
fn decisions() -> anyhow::Result<String> {
    let mut text = String::new();
    for path in repository::tracked(".md")? {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.starts_with("docs/decisions") && name != "index.md" {
            let page = repository::read(&path)?;
            let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
            writeln!(text, "- [{title}]({name})")?;
        }
    }
    Ok(wrap::wrapped(&text))
}

fn help() -> anyhow::Result<String> {
    let mut text = String::new();
    for command in COMMANDS {
        let path = format!("{HELP}_{}.snap", command.replace(' ', "_"));
        let snapshot = repository::read(&path)?;
        // Below the snapshot's own header.
        let help = snapshot
            .splitn(3, "---\n")
            .nth(2)
            .with_context(|| format!("{path} is no snapshot"))?;
        write!(
            text,
            "### belljar {command}\n\n```text\n{}\n```\n\n",
            help.trim_end()
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        let page = "a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n<!-- generated: y -->\n<!-- end -->\n";
        let new = between(page, "x", "new\n").unwrap();
        assert_eq!(
            new,
            "a\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nb\n<!-- generated: y -->\n<!-- end -->\n"
        );
        assert_eq!(between(&new, "x", "new\n").unwrap(), new);
        assert_eq!(between(page, "z", ""), None);
    }
}
