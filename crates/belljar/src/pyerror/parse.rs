//! Finds the last traceback in any text: plain CPython, exception groups, syntax errors, IPython and Jupyter.
//!
//! The text comes from a guest. One pass over at most [`MOST`] bytes; what does not fit the forms is not a traceback.

mod ipython;
mod plain;

use super::{PythonError, is_library, printable};

/// How much of the end of a text is looked at.
const MOST: usize = 1 << 20;
const FRAMES: usize = 256;
const MESSAGE: usize = 64 << 10;
const SOURCE: usize = 500;
const CAUSES: usize = 16;

impl PythonError {
    /// The last exception that a text shows, if it shows one. Escape sequences for colours do not matter.
    pub fn parse(text: &str) -> Option<Self> {
        let text = printable(&text[text.ceil_char_boundary(text.len().saturating_sub(MOST))..]);
        let lines: Vec<&str> = text.lines().collect();
        let mut best = None;
        let mut at = 0;
        while at < lines.len() {
            let found = ipython::parse(&lines, at).or_else(|| plain::parse(&lines, at));
            match found {
                Some((error, end)) => {
                    best = Some(joined(best, error, &lines, at));
                    at = end.max(at + 1);
                }
                None => at += 1,
            }
        }
        best.map(|found| found.finish(&lines))
    }
}

/// An exception and the lines that show it.
struct Found {
    error: PythonError,
    /// First line of the chain that it ends.
    start: usize,
    end: usize,
}

const LINKS: [&str; 2] = [
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
];

/// Puts an exception after the one that led to it, if the lines between say so.
fn joined(before: Option<Found>, mut next: Found, lines: &[&str], at: usize) -> Found {
    next.start = at;
    if let Some(before) = before
        && before.end <= at
        && at - before.end <= 4
        && lines[before.end..at]
            .iter()
            .any(|line| LINKS.contains(&margin(line).1))
    {
        next.start = before.start;
        next.error.causes.push(summary(&before.error));
        next.error.causes.extend(before.error.causes);
        next.error.causes.truncate(CAUSES);
    }
    next
}

impl Found {
    fn new(error: PythonError, end: usize) -> Self {
        Self { error, start: 0, end }
    }

    fn finish(self, lines: &[&str]) -> PythonError {
        let mut error = self.error;
        if error.line.is_none() {
            let own = error.frames.iter().rfind(|frame| !is_library(&frame.file));
            error.line = own.or(error.frames.last()).map(|frame| frame.line);
        }
        if let Some(rest) = error.message.strip_prefix("[Errno ")
            && let Some((number, _)) = rest.split_once(']')
        {
            error.errno = number.parse().ok();
        }
        error.traceback = lines[self.start..self.end].join("\n") + "\n";
        error
    }
}

fn summary(error: &PythonError) -> String {
    let text = format!("{}: {}", error.type_name, error.message);
    cut(text.trim_end_matches([':', ' ']), 2000).to_owned()
}

/// A line without the bars of an exception group, and how far it is indented then.
fn margin(line: &str) -> (usize, &str) {
    let bare = line.trim_start_matches([' ', '|', '+']);
    (line.len() - bare.len(), bare.trim_end())
}

/// Splits `package.Class: message`. A class begins with a capital or an underscore, or is what Python calls an error.
fn exception(line: &str) -> Option<(&str, &str)> {
    let (name, message) = match line.split_once(':') {
        Some((name, message)) if message.is_empty() || message.starts_with(' ') => {
            (name, message.trim_start())
        }
        Some(_) => return None,
        None => (line, ""),
    };
    let dotted = name.split('.').all(|part| {
        let part = if part == "<locals>" { "locals" } else { part };
        part.chars().enumerate().all(|(i, c)| {
            c == '_'
                || if i == 0 {
                    c.is_alphabetic()
                } else {
                    c.is_alphanumeric()
                }
        }) && !part.is_empty()
    });
    (dotted && name.len() <= 300).then_some((name, message))
}

/// Without `__main__.`, which some versions print and others do not.
fn type_name(name: &str) -> String {
    name.strip_prefix("__main__.").unwrap_or(name).to_owned()
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The message on the exception's own line and on those after it, up to an empty line or the next traceback.
fn message(lines: &[&str], first: &str, at: usize) -> (String, usize) {
    let mut text = cut(first, MESSAGE).to_owned();
    let mut end = at;
    while let Some(line) = lines.get(end)
        && !line.trim().is_empty()
        && !margin(line).1.ends_with("Traceback (most recent call last):")
        && !line.starts_with("----------")
    {
        if text.len() + line.len() < MESSAGE {
            text.push('\n');
            text.push_str(line);
        }
        end += 1;
    }
    (text, end)
}

#[cfg(test)]
mod tests;
