//! Any text is survived.

use proptest::prelude::*;

use super::parse;

proptest! {
    #[test]
    fn reader_is_total(text in ".{0,200}") {
        parse(&text).ok();
    }

    /// Words of a policy in any order reach further than noise.
    #[test]
    fn reader_is_total_on_words(words in prop::collection::vec(prop::sample::select(vec![
        "memory", "=", "\"1G\"", "mount", "[", "]", "{", "}", "env", "profile", ".", "x", "\n", "1", "-1", "nan", "timeout", ",",
        "source", "\"/a\"", "[profile.a]\n", "require_layers", "true", "0x7fffffffffffffff", "workdir", "python",
    ]), 0..24)) {
        parse(&words.join(" ")).ok();
    }
}
