//! The grammar of markers.

use super::Marker;
use super::comparison::{Comparison, Relation, Variable};
use crate::requirement::RequirementError;
use crate::requirement::cursor::Cursor;
use crate::requirement::specifier::Operator;

/// Parentheses within each other; nobody writes more, and each costs stack.
pub(in crate::requirement) const DEEPEST: usize = 32;

/// Characters of a string besides letters and digits. PEP 508 has more, but a `#` would begin a comment where requirements
/// are lines of a file, and `$` a variable.
const PUNCTUATION: &str = " .-_*+:,/()~=<>!@";

enum Side {
    Variable(Variable),
    Text(String),
}

/// A marker and nothing else; `lock` if it is one of a lock file.
pub(in crate::requirement) fn whole(text: &str, lock: bool) -> Result<Marker, RequirementError> {
    let mut cursor = Cursor::new(text)?;
    let marker = read(&mut cursor, lock)?;
    if cursor.is_done() {
        Ok(marker)
    } else {
        Err(cursor.expected("`and`, `or` or the end"))
    }
}

/// The marker at the cursor, and the white space around it.
pub(in crate::requirement) fn read(cursor: &mut Cursor<'_>, lock: bool) -> Result<Marker, RequirementError> {
    any(cursor, lock, 0)
}

fn any(cursor: &mut Cursor<'_>, lock: bool, depth: usize) -> Result<Marker, RequirementError> {
    let mut parts = vec![all(cursor, lock, depth)?];
    while word(cursor, "or") {
        parts.push(all(cursor, lock, depth)?);
    }
    Marker::any(parts).ok_or_else(|| cursor.expected("a marker"))
}

fn all(cursor: &mut Cursor<'_>, lock: bool, depth: usize) -> Result<Marker, RequirementError> {
    let mut parts = vec![part(cursor, lock, depth)?];
    while word(cursor, "and") {
        parts.push(part(cursor, lock, depth)?);
    }
    Marker::all(parts).ok_or_else(|| cursor.expected("a marker"))
}

fn part(cursor: &mut Cursor<'_>, lock: bool, depth: usize) -> Result<Marker, RequirementError> {
    cursor.space();
    if !cursor.eat("(") {
        let comparison = comparison(cursor, lock)?;
        cursor.space();
        return Ok(Marker::Compare(comparison));
    }
    if depth == DEEPEST {
        return Err(cursor.expected("fewer parentheses within each other"));
    }
    let inner = any(cursor, lock, depth + 1)?;
    if !cursor.eat(")") {
        return Err(cursor.expected("`)`, `and` or `or`"));
    }
    cursor.space();
    Ok(inner)
}

fn comparison(cursor: &mut Cursor<'_>, lock: bool) -> Result<Comparison, RequirementError> {
    let start = cursor.rest().len();
    let left = side(cursor, lock)?;
    cursor.space();
    let relation = relation(cursor)?;
    cursor.space();
    let right = side(cursor, lock)?;
    let length = start - cursor.rest().len();
    let compared = match (left, right) {
        (Side::Variable(variable), Side::Text(text)) => Comparison::new(variable, relation, &text),
        (Side::Text(text), Side::Variable(variable)) => match relation.exchanged() {
            Some(relation) => Comparison::new(variable, relation, &text),
            None => Err("the variable before `~=`"),
        },
        _ => Err("a variable on one side and a quoted string on the other"),
    };
    compared.map_err(|expected| cursor.expected_before(length, expected))
}

fn side(cursor: &mut Cursor<'_>, lock: bool) -> Result<Side, RequirementError> {
    for quote in ["'", "\""] {
        if cursor.eat(quote) {
            let text = cursor.take(|found| found.is_ascii_alphanumeric() || PUNCTUATION.contains(found));
            return if cursor.eat(quote) {
                Ok(Side::Text(text.to_owned()))
            } else {
                Err(cursor.expected(format!(
                    "the closing {quote}, or a letter, a digit or one of {}",
                    PUNCTUATION.trim()
                )))
            };
        }
    }
    let name = cursor.take(is_word);
    match Variable::named(name, lock) {
        Some(variable) => Ok(Side::Variable(variable)),
        None => Err(cursor.expected_before(
            name.len(),
            "a marker variable such as python_version or sys_platform, or a quoted string",
        )),
    }
}

fn relation(cursor: &mut Cursor<'_>) -> Result<Relation, RequirementError> {
    if let Some(operator) = Operator::read(cursor) {
        return Ok(Relation::Is(operator));
    }
    if word(cursor, "in") {
        return Ok(Relation::In);
    }
    if word(cursor, "not") {
        cursor.space();
        return if word(cursor, "in") {
            Ok(Relation::NotIn)
        } else {
            Err(cursor.expected("`in` after `not`"))
        };
    }
    Err(cursor.expected("an operator (== != ~= >= <= > < in, not in)"))
}

/// Passes over a word, if it is next and no part of a longer one.
fn word(cursor: &mut Cursor<'_>, wanted: &str) -> bool {
    let after = cursor.rest().strip_prefix(wanted);
    after.is_some_and(|after| !after.starts_with(is_word)) && cursor.eat(wanted)
}

fn is_word(found: char) -> bool {
    found.is_ascii_alphanumeric() || matches!(found, '_' | '.')
}
