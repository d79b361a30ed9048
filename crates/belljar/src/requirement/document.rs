//! What the TOML documents have in common.

use toml::{Table, Value};

use super::error::printable;
use super::{Allow, PythonSpec, Requirement, RequirementError, Requirements, name};

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<Table, RequirementError> {
    text.parse().map_err(|error: toml::de::Error| {
        let problem = RequirementError::Toml {
            message: printable(error.message()),
        };
        match error.span().and_then(|span| text.get(..span.start)) {
            Some(before) => problem.at(format!("line {}", before.matches('\n').count() + 1)),
            None => problem,
        }
    })
}

/// A table within a table, if it is there.
pub(super) fn table<'a>(of: &'a Table, key: &str, path: &str) -> Result<Option<&'a Table>, RequirementError> {
    let kind = |value: &'a Value| value.as_table().ok_or_else(|| kind(path, "a table"));
    of.get(key).map(kind).transpose()
}

/// A list, if it is there.
pub(super) fn list<'a>(of: &'a Table, key: &str, path: &str) -> Result<&'a [Value], RequirementError> {
    match of.get(key) {
        None => Ok(&[]),
        Some(value) => value
            .as_array()
            .map(Vec::as_slice)
            .ok_or_else(|| kind(path, "a list")),
    }
}

/// A string, if it is there.
pub(super) fn string<'a>(of: &'a Table, key: &str, path: &str) -> Result<Option<&'a str>, RequirementError> {
    let kind = |value: &'a Value| value.as_str().ok_or_else(|| kind(path, "a string"));
    of.get(key).map(kind).transpose()
}

/// The refusal of a value of the wrong kind.
pub(super) fn kind(key: &str, expected: &'static str) -> RequirementError {
    RequirementError::Kind {
        key: printable(key),
        expected,
    }
}

/// Each requirement of a list of strings.
pub(super) fn requirements(
    list: &[Value],
    path: &str,
    allow: Allow,
    mut take: impl FnMut(Requirement) -> Result<(), RequirementError>,
) -> Result<(), RequirementError> {
    for value in list {
        let item = value.as_str().ok_or_else(|| kind(path, "a list of strings"))?;
        Requirement::parse(item, allow)
            .and_then(&mut take)
            .map_err(|problem| problem.at(printable(path)))?;
    }
    Ok(())
}

/// Notes the versions of Python that a document asks for.
pub(super) fn requires_python(
    of: &Table,
    path: &str,
    all: &mut Requirements,
) -> Result<(), RequirementError> {
    if let Some(text) = string(of, "requires-python", path)? {
        all.require_python(PythonSpec::parse(text).map_err(|problem| problem.at(path))?);
    }
    Ok(())
}

/// Refuses a requirement that the document takes from elsewhere. From the index it would be another package, which
/// anybody may have put there under that name.
pub(super) fn refuse_sources(document: &Table, all: &Requirements) -> Result<(), RequirementError> {
    let Some(tool) = table(document, "tool", "tool")? else {
        return Ok(());
    };
    let sources = tool
        .get("uv")
        .and_then(|uv| uv.get("sources"))
        .and_then(Value::as_table);
    let named = sources
        .into_iter()
        .flat_map(Table::keys)
        .filter_map(|key| name::normalise(key));
    for name in named {
        if all.iter().any(|requirement| requirement.name() == name) {
            return Err(RequirementError::Source { name });
        }
    }
    Ok(())
}
