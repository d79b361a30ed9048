//! Names of packages, extras and groups.

use super::RequirementError;
use super::cursor::Cursor;

/// The normalised form of PEP 503, or `None` if it is no name.
pub(super) fn normalise(text: &str) -> Option<String> {
    let edge = |found: Option<char>| found.is_some_and(|found| found.is_ascii_alphanumeric());
    if !edge(text.chars().next()) || !edge(text.chars().next_back()) || !text.chars().all(is_part) {
        return None;
    }
    let mut name = String::with_capacity(text.len());
    for found in text.chars() {
        match found {
            '-' | '_' | '.' if name.ends_with('-') => {}
            '-' | '_' | '.' => name.push('-'),
            other => name.push(other.to_ascii_lowercase()),
        }
    }
    Some(name)
}

/// The name at the cursor, as written and normalised.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, what: &str) -> Result<(&'a str, String), RequirementError> {
    let written = cursor.take(is_part);
    match normalise(written) {
        Some(name) => Ok((written, name)),
        None if written.is_empty() => Err(cursor.expected(format!("the name of {what}"))),
        None => Err(cursor.expected_before(
            written.len(),
            format!("the name of {what}, which begins and ends with a letter or digit"),
        )),
    }
}

fn is_part(found: char) -> bool {
    found.is_ascii_alphanumeric() || matches!(found, '-' | '_' | '.')
}
