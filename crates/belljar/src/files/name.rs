//! Names chosen by a guest, as text that is safe to print and can be turned back into the same bytes.

use std::fmt::Write;

use crate::pyerror::is_harmful;

/// The bytes of a path as printable text: what could move a cursor, hide or reorder text is escaped, a backslash is
/// doubled, and bytes that are not UTF-8 are `\xNN`. No two paths have the same text.
pub fn display(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            push(&mut text, c);
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn push(text: &mut String, c: char) {
    match c {
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\0'..='\x1f' | '\x7f' => {
            let _ = write!(text, "\\x{:02x}", u32::from(c));
        }
        c if is_harmful(c) => {
            let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
        }
        c => text.push(c),
    }
}

/// The bytes behind a text that [`display`] made; nothing if it is not such a text.
pub fn parse(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        let length = match escape.as_bytes().first()? {
            b'\\' => {
                bytes.push(b'\\');
                1
            }
            b'n' => {
                bytes.push(b'\n');
                1
            }
            b'r' => {
                bytes.push(b'\r');
                1
            }
            b't' => {
                bytes.push(b'\t');
                1
            }
            b'x' => {
                bytes.push(u8::from_str_radix(escape.get(1..3)?, 16).ok()?);
                3
            }
            b'u' => {
                let end = escape.find('}')?;
                let code = u32::from_str_radix(escape.get(2..end)?, 16).ok()?;
                let c = char::from_u32(code)?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                end + 1
            }
            _ => return None,
        };
        rest = &escape[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    (display(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_names_print_as_plain_text() {
        assert_eq!(display(b"plain/n\xc3\xa4me.txt"), "plain/näme.txt");
        assert_eq!(display(b"a\nb"), "a\\nb");
        assert_eq!(display(b"\x1b[2J"), "\\x1b[2J");
        assert_eq!(display(b"a\\nb"), "a\\\\nb");
        assert_eq!(display(b"\xff\xfe"), "\\xff\\xfe");
        assert_eq!(display("txt.\u{202e}exe".as_bytes()), "txt.\\u{202e}exe");
        assert_eq!(display("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(display(b"-rf"), "-rf");
    }

    #[test]
    fn twins_stay_apart() {
        assert_ne!(display("é".as_bytes()), display("e\u{301}".as_bytes()));
        assert_ne!(display(b"\\x1b"), display(b"\x1b"));
    }

    #[test]
    fn other_text_is_not_a_path() {
        for text in [
            "\\",
            "\\q",
            "\\x1",
            "\\xzz",
            "\\u{110000}",
            "\\u{",
            "\\x41",
            "a\nb",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_path_comes_back(path in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = display(&path);
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert_eq!(parse(&text), Some(path));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,60}") {
            if let Some(bytes) = parse(&text) {
                prop_assert_eq!(display(&bytes), text);
            }
        }
    }
}
