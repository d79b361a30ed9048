//! Answers: outcomes as frames, and failures as faults.

use belljar::agent::{Encoding, Fault, Kind, OutputHead, OutputStream, PartsHead, ValueHead};
use belljar::outcome::{Captured, Outcome};
use belljar::parcel::Parcel;
use belljar::pool::{Spoken, Warmed};
use belljar::pyerror::PythonError;
use belljar::{Error, Hint, Hinted, without_number};
use serde_json::Value;

use crate::outbox::{Letter, Unsent};
use crate::stream::PIECE;

/// Every code that a fault has; docs/reference/agent.md says what they mean.
const CODES: [&str; 18] = [
    "version",
    "client",
    "protocol",
    "request",
    "buffer",
    "large",
    "policy",
    "interpreter",
    "refused",
    "dependencies",
    "unknown",
    "busy",
    "cancelled",
    "setup",
    "program",
    "files",
    "lost",
    "failed",
];

/// A fault of this kind.
pub fn fault(code: &str, message: impl Into<String>, hint: Option<&'static str>) -> Fault {
    debug_assert!(CODES.contains(&code), "{code} is not in docs/reference/agent.md");
    Fault {
        code: code.to_owned(),
        message: message.into(),
        hint: hint.map(Hint::from),
    }
}

/// belljar's own failure.
pub fn of_error(error: Error) -> Fault {
    let code = match &error {
        Error::Refused(_) => "refused",
        Error::Setup { .. } => "setup",
        Error::Program { .. } => "program",
        Error::Files(_) | Error::Apply(_) => "files",
        Error::Policy(_) | Error::Limit(_) | Error::Module { .. } | Error::NoModule { .. } => "policy",
        Error::Requirement(_) | Error::Environment(_) => "dependencies",
        Error::Busy { .. } => "busy",
        Error::Interpreter(_) => "interpreter",
        Error::Arguments(_) | Error::Tree(_) => "request",
        Error::Lost { .. } => "lost",
        _ => "failed",
    };
    Fault {
        hint: error.hint(),
        ..fault(code, without_number(&error.message()), None)
    }
}

/// The frame that tells of a fault.
pub fn error(id: u64, fault: &Fault) -> Letter {
    // Text of any length may be in a message; a frame has a cap.
    let mut fault = fault.clone();
    if let Some((end, _)) = fault.message.char_indices().nth(16 << 10) {
        fault.message.truncate(end);
    }
    // So may be in a hint, which then says too much to be of use.
    fault.hint = fault.hint.filter(|hint| hint.in_flags().len() <= 16 << 10);
    Letter::small(Kind::Error, id, &fault)
}

/// The frame that has a value, from a jar that is being emptied.
pub fn value(id: u64, spoken: &Spoken) -> Result<Letter, Fault> {
    let (stdout, stderr) = (&spoken.stdout, &spoken.stderr);
    let parts = [
        &spoken.json,
        &stdout.head,
        &stdout.tail,
        &stderr.head,
        &stderr.tail,
    ]
    .map(Vec::as_slice);
    let head = ValueHead {
        encoding: Encoding::Json,
        last: true,
        seconds: spoken.seconds,
        dropped: [stdout.dropped, stderr.dropped],
        parts: parts.iter().map(|part| part.len() as u64).collect(),
    };
    Letter::new(Kind::Value, id, &head, &parts).map_err(unsent)
}

/// The frame that has a value in the client's own encoding, which is handed on as it came.
pub fn parcel(
    id: u64,
    parcel: Parcel,
    last: bool,
    seconds: f64,
    streams: [&Captured; 2],
) -> Result<Letter, Fault> {
    let (parts, content) = parcel.into_parts();
    let head = ValueHead {
        encoding: Encoding::Belljar,
        last,
        seconds,
        dropped: streams.map(|stream| stream.dropped),
        parts,
    };
    Letter::whole(Kind::Value, id, &head, content).map_err(unsent)
}

/// Output that was kept and not sent while the job ran, as frames.
pub fn output(id: u64, streams: [&Captured; 2]) -> Vec<Letter> {
    let pieces = |stream, captured: &Captured| {
        let all = [&captured.head, &captured.tail];
        let pieces = all
            .iter()
            .flat_map(|bytes| bytes.chunks(PIECE))
            .filter_map(|piece| Letter::new(Kind::Output, id, &OutputHead { stream }, &[piece]).ok());
        pieces.collect::<Vec<_>>()
    };
    let [stdout, stderr] = streams;
    let mut letters = pieces(OutputStream::Stdout, stdout);
    letters.extend(pieces(OutputStream::Stderr, stderr));
    letters
}

/// The frame that tells of an outcome.
pub fn outcome(id: u64, mut outcome: Outcome) -> Result<Letter, Fault> {
    let value = outcome.value.take();
    let value = value.map_or_else(Vec::new, |value| serde_json::to_vec(&value).unwrap_or_default());
    let (stdout, stderr) = (&mut outcome.stdout, &mut outcome.stderr);
    let streams = [
        &mut stdout.head,
        &mut stdout.tail,
        &mut stderr.head,
        &mut stderr.tail,
    ]
    .map(std::mem::take);
    let document = document(&outcome);
    let mut parts = vec![document.as_slice(), value.as_slice()];
    parts.extend(streams.iter().map(Vec::as_slice));
    parts.extend(outcome.files.iter().map(|file| file.content.as_slice()));
    let lengths = parts.iter().map(|part| part.len() as u64).collect();
    Letter::new(Kind::Outcome, id, &PartsHead { parts: lengths }, &parts).map_err(unsent)
}

/// The frame that tells of an exception in a text, or that there is none.
pub fn parsed(id: u64, error: Option<&PythonError>) -> Result<Letter, Fault> {
    object(Kind::Parsed, id, &error)
}

/// The frame that tells how warming up went.
pub fn warmed(id: u64, warmed: &Warmed) -> Result<Letter, Fault> {
    object(Kind::Warmed, id, warmed)
}

/// A frame whose body is one object: it has text of any length.
fn object(kind: Kind, id: u64, object: &impl serde::Serialize) -> Result<Letter, Fault> {
    let json = serde_json::to_vec(object).unwrap_or_default();
    let parts = vec![json.len() as u64];
    Letter::new(kind, id, &PartsHead { parts }, &[&json]).map_err(unsent)
}

/// The JSON object of an outcome, without what is sent as it is.
fn document(outcome: &Outcome) -> Vec<u8> {
    let mut json = serde_json::to_value(outcome.json()).unwrap_or_default();
    if let Value::Object(fields) = &mut json {
        for raw in ["stdout", "stderr", "value"] {
            fields.remove(raw);
        }
        if let (Some(Value::Object(told)), Some(error)) = (fields.get_mut("exception"), &outcome.exception) {
            // What a client needs to raise it: the nearest classes, and the data that those carry.
            told.insert(
                "hint".into(),
                serde_json::to_value(&error.hint).unwrap_or_default(),
            );
            told.insert("bases".into(), error.bases.clone().into());
            told.insert("errno".into(), error.errno.into());
            told.insert("filename".into(), error.filename.clone().into());
            told.insert("args".into(), error.args.clone().unwrap_or_default());
            told.insert(
                "chain".into(),
                serde_json::to_value(&error.chain).unwrap_or_default(),
            );
        }
        fields.insert("cold".into(), outcome.cold.as_deref().into());
        if let Some(refused) = &outcome.refused {
            fields.insert(
                "refused".into(),
                serde_json::to_value(refused).unwrap_or_default(),
            );
        }
        let paths = outcome.files.iter().map(|file| file.path.as_str());
        fields.insert("files".into(), paths.collect());
    }
    serde_json::to_vec(&json).unwrap_or_default()
}

/// Why an answer cannot be sent.
pub fn unsent(why: Unsent) -> Fault {
    match why {
        Unsent::TooLarge => fault(
            "large",
            "the answer is larger than a frame can be",
            Some("lower the limits on output and disk, or collect fewer files"),
        ),
        Unsent::Buffer(error) => fault("buffer", format!("cannot send the answer: {error}"), None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::CODES;
    use crate::start::KEPT;

    /// The words between back quotes.
    fn quoted(text: &str) -> BTreeSet<&str> {
        text.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_manual_has_the_codes_and_the_variables() {
        let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/agent.md");
        let page = std::fs::read_to_string(manual).unwrap();
        let (_, table) = page
            .split_once("| code | what |\n|---|---|\n")
            .expect("a table of codes");
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let codes: BTreeSet<&str> = rows
            .flat_map(|row| quoted(row.split('|').nth(1).unwrap_or_default()))
            .collect();
        assert_eq!(codes, BTreeSet::from(CODES));

        let (_, after) = page
            .split_once("of the environment only")
            .expect("a list of variables");
        let (list, _) = after.split_once(");").expect("the end of the list");
        assert_eq!(quoted(list), BTreeSet::from(KEPT));
    }
}
