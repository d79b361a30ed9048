//! requirements.txt: requirements, their hashes, comments, lines that go on. Options are refused.

use super::error::printable;
use super::{Allow, Requirement, RequirementError, Requirements};

/// Reads the text of a file.
pub(super) fn read(text: &str, allow: Allow) -> Result<Requirements, RequirementError> {
    let mut all = Requirements::default();
    // The requirement so far, and the line it began in.
    let mut open: Option<(usize, String)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.split('\n').enumerate() {
        let number = index + 1;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let code = without_comment(line);
        if code.len() < line.len() && line.ends_with('\\') && !code.trim().is_empty() {
            return Err(RequirementError::ContinuedComment.at(place(number)));
        }
        let (start, mut item) = open.take().unwrap_or((number, String::new()));
        match code.strip_suffix('\\') {
            Some(part) => {
                item.push_str(part);
                open = Some((start, item));
            }
            None => {
                item.push_str(code);
                finish(&mut all, start, &item, allow)?;
            }
        }
    }
    match open {
        Some((start, item)) if !item.trim().is_empty() => Err(RequirementError::Syntax {
            item: printable(&item),
            expected: "another line after `\\`".to_owned(),
            column: item.chars().count() + 1,
        }
        .at(place(start))),
        _ => Ok(all),
    }
}

fn finish(all: &mut Requirements, line: usize, item: &str, allow: Allow) -> Result<(), RequirementError> {
    let item = item.trim_matches([' ', '\t']);
    if item.is_empty() {
        return Ok(());
    }
    Requirement::parse(item, allow)
        .and_then(|requirement| all.add(requirement))
        .map_err(|problem| problem.at(place(line)))
}

fn place(line: usize) -> String {
    format!("line {line}")
}

/// A `#` begins a comment at the front of a line and after white space; elsewhere it is part of a URL.
fn without_comment(line: &str) -> &str {
    let starts = |at: usize| line[..at].is_empty() || line[..at].ends_with([' ', '\t']);
    line.match_indices('#')
        .find(|(at, _)| starts(*at))
        .map_or(line, |(at, _)| &line[..at])
}
