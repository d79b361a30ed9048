//! Text of a guest, made safe for a terminal.

use std::borrow::Cow;

/// Whether a terminal obeys a character or does not show it, or text is reordered by it. The one list of these: whatever
/// shows text of others asks here, and python/tests/test_escapes.py compares it with what the package writes out.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Takes out escape sequences, and what is harmful but for newline and tab.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            // C1 form of the same introducer.
            '\u{9b}' => skip_control_sequence(&mut chars),
            c if is_plain(c) => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

fn is_plain(c: char) -> bool {
    matches!(c, '\n' | '\t') || !is_harmful(c)
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        // Strings for the terminal (titles, links): up to BEL or ESC \, never past the line.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(&c) = chars.peek() {
                if c == '\n' {
                    return;
                }
                chars.next();
                if c == '\u{7}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        Some(' '..='~') => {
            chars.next();
        }
        _ => {}
    }
}

/// Parameters and intermediates, then one final character.
fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_go_and_text_stays() {
        for (text, plain) in [
            ("a\tb\nc", "a\tb\nc"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ends\nnext", "\nnext"),
            ("\u{9b}31mx\r\u{8}y\0", "xy"),
            ("\u{1b}cx", "x"),
            ("\u{1b}", ""),
            ("\u{202e}abc\u{2066}", "abc"),
            ("\u{61c}a\u{ad}b\u{200b}c\u{feff}\u{e0041}", "abc"),
            ("h\u{e9} \u{1f40d}", "h\u{e9} \u{1f40d}"),
        ] {
            assert_eq!(printable(text), plain, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_plain_text_comes_out(text in any::<String>()) {
            prop_assert!(printable(&text).chars().all(is_plain));
        }
    }
}
