//! Text that others chose, made harmless for a terminal and kept on one line.

use std::borrow::Cow;

use belljar::pyerror::is_harmful;

/// Writes control characters, and those that reorder or hide text, as `\u{…}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            harmful if is_harmful(harmful) => safe.extend(harmful.escape_unicode()),
            plain => safe.push(plain),
        }
    }
    Cow::Owned(safe)
}

/// As [`escape`], in JSON, where what is harmful can only stand in strings but for the line ends and blanks between them.
pub fn in_json(text: &str) -> Cow<'_, str> {
    let harmful = |character: char| is_harmful(character) && character != '\n';
    if !text.chars().any(harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if harmful(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{escape, in_json};

    #[test]
    fn a_name_cannot_drive_the_terminal_or_forge_a_line() {
        assert_eq!(escape("a\u{1b}]0;owned\u{7}b"), "a\\u{1b}]0;owned\\u{7}b");
        assert_eq!(escape("x\nbelljar: fine"), "x\\nbelljar: fine");
        assert_eq!(escape("\u{9b}2J\u{202e}gpj.exe"), "\\u{9b}2J\\u{202e}gpj.exe");
        assert_eq!(escape("\u{61c}a\u{ad}b"), "\\u{61c}a\\u{ad}b");
    }

    #[test]
    fn json_drives_no_terminal_and_means_the_same() {
        let text = "\u{9b}31m\u{7f}\u{202e}\u{feff} \u{1b}[2J\n🫙 ü";
        let written = serde_json::to_string_pretty(&[text]).expect("JSON");
        assert!(written.contains('\u{9b}'), "control: serde leaves it");
        let safe = in_json(&written);
        assert_eq!(
            safe,
            "[\n  \"\\u009b31m\\u007f\\u202e\\ufeff \\u001b[2J\\n🫙 ü\"\n]"
        );
        assert_eq!(serde_json::from_str::<[String; 1]>(&safe).expect("JSON")[0], text);
        assert!(matches!(in_json("[\n]"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn plain_text_of_any_language_stays_as_it_is() {
        for plain in ["plot.png", "Übergröße", "数据.csv", "🫙"] {
            assert_eq!(escape(plain), plain);
        }
    }
}
