//! What a script printed, made harmless for a terminal that shows other scripts and belljar's own lines too.

use super::escape::escape;

/// Lines, tabs and colours stay; whatever else would move the cursor, erase, set a title or reorder text is written out.
pub fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let (mut rest, mut coloured) = (text, false);
    while let Some(character) = rest.chars().next() {
        let (taken, kept) = match character {
            '\n' | '\t' => (1, true),
            // A line end of another system; alone it would write over what stands there.
            '\r' if rest.starts_with("\r\n") => (2, true),
            '\u{1b}' => match colour(rest) {
                Some(length) => {
                    coloured = true;
                    (length, true)
                }
                None => (1, false),
            },
            other => (other.len_utf8(), false),
        };
        let (piece, after) = rest.split_at(taken);
        if kept {
            safe.push_str(piece);
        } else {
            safe.push_str(&escape(piece));
        }
        rest = after;
    }
    if coloured {
        safe.push_str("\u{1b}[0m");
    }
    safe
}

/// The length of a sequence at the beginning that only sets colours, bold and the like.
fn colour(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|character: char| !character.is_ascii_digit() && character != ';')?;
    // Concealed text could hide what follows.
    let conceals = || inner[..end].split(';').any(|number| number == "8");
    (inner[end..].starts_with('m') && !conceals()).then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn colours_stay_and_end_with_the_script() {
        assert_eq!(harmless("a\u{1b}[1;31mb\n"), "a\u{1b}[1;31mb\n\u{1b}[0m");
        assert_eq!(harmless("plain\ttext\r\nä数\n"), "plain\ttext\r\nä数\n");
    }

    #[test]
    fn nothing_else_reaches_the_terminal() {
        for code in [
            "\u{1b}[2J",
            "\u{1b}[1A",
            "\u{1b}[8m",
            "\u{1b}[0;8m",
            "\u{1b}]0;title\u{7}",
            "\u{1b}c",
            "\u{9b}2J",
            "\u{1b}[31",
            "\u{1b}",
            "\u{1b}[?25l",
            "over\rwritten",
            "\u{8}",
            "\u{202e}",
            "\u{61c}",
            "\u{ad}",
        ] {
            let shown = harmless(code);
            assert!(
                !shown.contains(belljar::pyerror::is_harmful),
                "{code:?}: {shown:?}"
            );
            assert!(!shown.is_empty());
        }
    }
}
