//! An outcome as the documented JSON object (docs/reference/outcome.md). The fields here are a public surface: they change only
//! together with the schema and its test.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::{Captured, Changes, Enforcement, Limit, Outcome, Status};
use crate::hint::Hint;
use crate::policy::{Layer, Tier};
use crate::pyerror::{Frame, PythonError};

/// The documented JSON form of an [`Outcome`].
#[derive(Debug, Serialize)]
pub struct Json<'a> {
    status: Status,
    limit: Option<Limit>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    value: Option<&'a serde_json::Value>,
    exception: Option<Exception<'a>>,
    stdout: Cow<'a, str>,
    stderr: Cow<'a, str>,
    dropped: Dropped,
    changes: &'a Changes,
    usage: Usage,
    isolation: Isolation<'a>,
}

#[derive(Debug, Serialize)]
struct Exception<'a> {
    r#type: &'a str,
    message: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    frames: &'a [Frame],
    causes: &'a [String],
    hint: Option<String>,
    traceback: &'a str,
}

#[derive(Debug, Serialize)]
struct Dropped {
    stdout: u64,
    stderr: u64,
}

#[derive(Debug, Serialize)]
struct Usage {
    wall: f64,
    cpu: f64,
    cpu_estimated: bool,
    memory_peak: Option<u64>,
    processes_peak: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Isolation<'a> {
    tier: Tier,
    layers: &'a BTreeMap<Layer, Enforcement>,
}

impl Outcome {
    /// The documented JSON form.
    pub fn json(&self) -> Json<'_> {
        Json {
            status: self.status,
            limit: self.limit,
            exit_code: self.exit_code,
            signal: self.signal,
            value: self.value.as_ref(),
            exception: self.exception.as_ref().map(exception),
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
            dropped: Dropped {
                stdout: self.stdout.dropped,
                stderr: self.stderr.dropped,
            },
            changes: &self.changes,
            usage: Usage {
                wall: self.usage.wall_seconds,
                cpu: self.usage.cpu_seconds,
                cpu_estimated: self.usage.cpu_estimated,
                memory_peak: self.usage.memory_peak,
                processes_peak: self.usage.processes_peak,
            },
            isolation: Isolation {
                tier: self.isolation.tier,
                layers: &self.isolation.layers,
            },
        }
    }
}

fn exception(error: &PythonError) -> Exception<'_> {
    Exception {
        r#type: &error.type_name,
        message: &error.message,
        line: error.line,
        column: error.column,
        frames: &error.frames,
        causes: &error.causes,
        hint: error.hint.as_ref().map(Hint::in_flags),
        traceback: &error.traceback,
    }
}

/// A stream as text: bytes that are not UTF-8 are replaced, and a line marks the place where some were dropped.
fn text(captured: &Captured) -> Cow<'_, str> {
    let Captured { head, tail, dropped } = captured;
    if *dropped > 0 {
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        return Cow::Owned(format!("{head}\n[belljar: {dropped} bytes dropped]\n{tail}"));
    }
    if tail.is_empty() {
        return String::from_utf8_lossy(head);
    }
    // Joined as bytes first: a character may begin in one and end in the other.
    Cow::Owned(String::from_utf8_lossy(&[head.as_slice(), tail].concat()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_was_cut_says_where_and_how_much() {
        let cut = Captured {
            head: b"begin\xff".to_vec(),
            tail: b"end".to_vec(),
            dropped: 7,
        };
        assert_eq!(text(&cut), "begin\u{fffd}\n[belljar: 7 bytes dropped]\nend");
        let whole = Captured {
            head: b"all".to_vec(),
            ..Captured::default()
        };
        assert_eq!(text(&whole), "all");
        let joined = Captured {
            head: "é".as_bytes()[..1].to_vec(),
            tail: "é".as_bytes()[1..].to_vec(),
            dropped: 0,
        };
        assert_eq!(text(&joined), "é");
    }
}
