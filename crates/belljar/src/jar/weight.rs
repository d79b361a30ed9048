//! What a guest's value would weigh once it is read. Text of a few megabytes can unfold into gigabytes: an object of one
//! entry is 8 bytes as text and 80 times as much in memory, which is the caller's and not the jar's.

use super::watch::Seen;
use crate::pyerror::PythonError;
use crate::wire::{Frame, Kind};

/// The heaviest value that is read.
const MOST: u64 = 512 << 20;
/// Upper bounds for what `serde_json::Value` takes: an object's first node, a list's first places, the text of a string,
/// and any value in a list that has just grown.
const OBJECT: u64 = 640;
const LIST: u64 = 192;
const STRING: u64 = 32;
const VALUE: u64 = 64;

/// Puts an exception in the place of a value that is too heavy to be read.
pub(super) fn refuse_heavy(seen: &mut Seen) {
    let Some(frame) = seen.frame.as_mut().filter(|frame| is_heavy(frame)) else {
        return;
    };
    let error = PythonError {
        type_name: "ValueError".into(),
        message: format!(
            "the value would take more than {} MiB once it is read; give it as text, or in a file",
            MOST >> 20
        ),
        bases: vec!["ValueError".into()],
        ..PythonError::default()
    };
    *frame = Frame {
        kind: Kind::Raised,
        header: serde_json::to_vec(&error).unwrap_or_default(),
        body: Vec::new(),
        descriptor: None,
    };
}

/// Whether a frame is a value that is too heavy to be read.
pub(super) fn is_heavy(frame: &Frame) -> bool {
    frame.kind == Kind::Returned && weight(&frame.body) > MOST
}

/// Never less than what the value takes in memory; of any bytes, JSON or not.
fn weight(body: &[u8]) -> u64 {
    let mut weight = body.len() as u64 + VALUE;
    let (mut quoted, mut escaped) = (false, false);
    for byte in body {
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        weight += match byte {
            b'{' => OBJECT,
            b'[' => LIST,
            b',' | b':' => VALUE,
            b'"' => STRING,
            _ => 0,
        };
        quoted = *byte == b'"';
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_weighs_and_text_does_not() {
        assert_eq!(weight(b"1"), 1 + VALUE);
        let text = br#""a { \" [ , : \\""#;
        assert_eq!(weight(text), text.len() as u64 + VALUE + STRING);
        let after = br#"["\\",{}]"#;
        assert_eq!(
            weight(after),
            after.len() as u64 + 2 * VALUE + LIST + STRING + OBJECT
        );
    }

    #[test]
    fn ordinary_values_pass_and_bombs_do_not() {
        let floats = "0.1234567,".repeat(6 << 20);
        assert!(weight(floats.as_bytes()) <= MOST, "60 MiB of numbers");
        assert!(weight(&vec![b'x'; 64 << 20]) <= MOST, "64 MiB of text");
        assert!(weight("{\"a\":0},".repeat(1 << 20).as_bytes()) > MOST);
    }
}
