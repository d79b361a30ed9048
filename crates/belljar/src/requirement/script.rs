//! The block of metadata in a script (PEP 723).

use super::{Allow, RequirementError, Requirements, document};

/// Reads the block of a script; `None` if there is none.
pub(super) fn read(source: &str, allow: Allow) -> Result<Option<Requirements>, RequirementError> {
    let Some(block) = block(source)? else {
        return Ok(None);
    };
    let table = document::parse(&block)?;
    for key in table.keys() {
        if !matches!(key.as_str(), "dependencies" | "requires-python" | "tool") {
            return Err(RequirementError::UnknownKey {
                key: super::error::printable(key),
                known: "dependencies, requires-python and tool",
            });
        }
    }
    let mut all = Requirements::default();
    let list = document::list(&table, "dependencies", "dependencies")?;
    document::requirements(list, "dependencies", allow, |requirement| all.add(requirement))?;
    document::requires_python(&table, "requires-python", &mut all)?;
    document::refuse_sources(&table, &all)?;
    Ok(Some(all))
}

/// The text of the `script` block, out of its comments.
fn block(source: &str) -> Result<Option<String>, RequirementError> {
    let lines: Vec<&str> = source
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    let mut found = None;
    let mut at = 0;
    while at < lines.len() {
        let Some(kind) = opening(lines[at]) else {
            at += 1;
            continue;
        };
        // The block ends at the last `# ///` of the comment, since `# ///` may be part of what it holds.
        let content = &lines[at + 1..];
        let length = content
            .iter()
            .position(|line| uncomment(line).is_none())
            .unwrap_or(content.len());
        let end = content[..length]
            .iter()
            .rposition(|line| *line == "# ///")
            .filter(|end| *end > 0);
        match end {
            None if kind == "script" => {
                return Err(RequirementError::OpenBlock.at(format!("line {}", at + 1)));
            }
            None => at += 1,
            Some(_) if kind == "script" && found.is_some() => return Err(RequirementError::TwoBlocks),
            Some(end) => {
                if kind == "script" {
                    let text: Vec<&str> = content[..end].iter().filter_map(|line| uncomment(line)).collect();
                    found = Some(text.join("\n"));
                }
                at += end + 2;
            }
        }
    }
    Ok(found)
}

/// The kind of block that a line opens.
fn opening(line: &str) -> Option<&str> {
    let kind = line.strip_prefix("# /// ")?;
    let plain = |found: char| found.is_ascii_alphanumeric() || found == '-';
    (!kind.is_empty() && kind.chars().all(plain)).then_some(kind)
}

/// What a line of a block holds.
fn uncomment(line: &str) -> Option<&str> {
    let after = line.strip_prefix('#')?;
    if after.is_empty() {
        Some("")
    } else {
        after.strip_prefix(' ')
    }
}
