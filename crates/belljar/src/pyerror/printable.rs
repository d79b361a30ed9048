//! Text of a guest, made safe for a terminal.

use std::borrow::Cow;

/// Takes out escape sequences and control characters other than newline and tab, and marks that reorder text.
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
    matches!(c, '\n' | '\t')
        || !(c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
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
