//! Tracebacks as CPython prints them, 3.10 and later.

use super::{FRAMES, Found, SOURCE, cut, exception, margin, message, type_name};
use crate::pyerror::{Frame, PythonError};

const HEADER: &str = "Traceback (most recent call last):";
const SYNTAX: [&str; 3] = ["SyntaxError", "IndentationError", "TabError"];

/// The traceback that begins on a line, if one does, and the line after it.
pub(super) fn parse(lines: &[&str], at: usize) -> Option<(Found, usize)> {
    let (_, head) = margin(lines[at]);
    let group = head == "Exception Group Traceback (most recent call last):";
    if !group && head != HEADER {
        return syntax(lines, at);
    }
    // A group's header stands at a plus sign, its lines at bars.
    let indent = if group {
        lines[at].len() - lines[at].trim_start().len() + 2
    } else {
        margin(lines[at]).0
    };
    let (mut error, message_line) = body(lines, at + 1, indent)?;
    let end = if group {
        let end = after_group(lines, message_line + 1);
        error.causes = members(&lines[message_line + 1..end]);
        end
    } else {
        let (text, end) = message(lines, &error.message, message_line + 1);
        error.message = text;
        end
    };
    Some((Found::new(error, end), end))
}

/// Frames and the exception's own line, with the number of that line.
fn body(lines: &[&str], mut at: usize, indent: usize) -> Option<(PythonError, usize)> {
    let mut error = PythonError::default();
    while let Some(line) = lines.get(at) {
        let (depth, bare) = margin(line);
        if bare.is_empty() || bare.ends_with(HEADER) {
            return None;
        }
        if depth <= indent {
            let (name, first) = exception(bare)?;
            (error.type_name, error.message) = (type_name(name), first.to_owned());
            return Some((error, at));
        }
        at += 1;
        let Some((file, number, function)) = location(bare) else {
            continue;
        };
        let source = source_after(lines, at, depth);
        match function {
            Some(function) if error.frames.len() < FRAMES => error.frames.push(Frame {
                file: cut(file, 4096).to_owned(),
                line: number,
                column: None,
                function: cut(function, SOURCE).to_owned(),
                source,
            }),
            Some(_) => {}
            None => (error.line, error.filename) = (Some(number), Some(file.to_owned())),
        }
    }
    None
}

/// A syntax error of the main program has no header: a place, a line, carets, the exception.
fn syntax(lines: &[&str], at: usize) -> Option<(Found, usize)> {
    let (depth, bare) = margin(lines[at]);
    let (file, number, None) = location(bare)? else {
        return None;
    };
    let end = (at + 1..lines.len().min(at + 6)).find(|&next| margin(lines[next]).0 < depth)?;
    let (name, first) = exception(margin(lines[end]).1)?;
    if !SYNTAX.contains(&name) {
        return None;
    }
    let (text, end) = message(lines, first, end + 1);
    let error = PythonError {
        type_name: name.to_owned(),
        message: text,
        line: Some(number),
        filename: Some(file.to_owned()),
        ..PythonError::default()
    };
    Some((Found::new(error, end), end))
}

/// `File "x.py", line 3, in f`; a syntax error has no function. IPython writes `Cell In[1], line 1`.
fn location(bare: &str) -> Option<(&str, u32, Option<&str>)> {
    let (file, rest) = match bare.strip_prefix("File \"") {
        Some(rest) => rest.split_once("\", line ")?,
        None if bare.starts_with("Cell In[") => bare.split_once(", line ")?,
        None => return None,
    };
    match rest.split_once(", in ") {
        Some((number, function)) => Some((file, number.parse().ok()?, Some(function))),
        None => Some((file, rest.parse().ok()?, None)),
    }
}

fn source_after(lines: &[&str], at: usize, depth: usize) -> Option<String> {
    let (next_depth, bare) = margin(lines.get(at)?);
    let is_source = next_depth > depth
        && location(bare).is_none()
        && !bare.starts_with("[Previous line repeated")
        && bare.contains(|c| !matches!(c, '^' | '~' | ' '));
    is_source.then(|| cut(bare, SOURCE).to_owned())
}

fn after_group(lines: &[&str], at: usize) -> usize {
    let inside = |line: &&&str| line.trim_start().starts_with(['|', '+']);
    at + lines[at..].iter().take_while(inside).count()
}

/// The exceptions in a group, without those of groups inside of it being told apart.
fn members(lines: &[&str]) -> Vec<String> {
    let bodies = lines
        .iter()
        .filter_map(|line| line.trim_start().strip_prefix("| "));
    bodies
        .filter(|body| exception(body).is_some_and(|(_, message)| !message.is_empty()))
        .take(super::CAUSES)
        .map(|body| cut(body, 2000).to_owned())
        .collect()
}
