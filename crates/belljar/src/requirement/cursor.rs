//! A place in the text of one item, which is known to be printable ASCII and tabs.

use super::RequirementError;
use super::error::printable;

/// Reads an item from left to right.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the front, if every character is one that any item may have.
    pub fn new(text: &'a str) -> Result<Self, RequirementError> {
        match text
            .chars()
            .enumerate()
            .find(|(_, found)| !matches!(found, ' '..='~' | '\t'))
        {
            None => Ok(Self { text, at: 0 }),
            Some((before, character)) => Err(RequirementError::Character {
                item: printable(text),
                character,
                column: before + 1,
            }),
        }
    }

    /// What is still to be read.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The whole item.
    pub fn whole(&self) -> &'a str {
        self.text
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether everything is read.
    pub fn is_done(&self) -> bool {
        self.rest().is_empty()
    }

    /// Passes over white space; tells whether there was any.
    pub fn space(&mut self) -> bool {
        !self.take(|found| matches!(found, ' ' | '\t')).is_empty()
    }

    /// Whether the last character was white space.
    pub fn is_after_space(&self) -> bool {
        self.text[..self.at].ends_with([' ', '\t'])
    }

    /// Passes over `wanted`, if it is next.
    pub fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// The longest run of characters of a kind; it may be empty.
    pub fn take(&mut self, kind: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|found| !kind(found)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// What was expected here, with the item as it was written.
    pub fn expected(&self, expected: impl Into<String>) -> RequirementError {
        self.expected_before(0, expected)
    }

    /// What was expected where the last `back` characters begin.
    pub fn expected_before(&self, back: usize, expected: impl Into<String>) -> RequirementError {
        RequirementError::Syntax {
            item: printable(self.text),
            expected: expected.into(),
            column: self.at - back + 1,
        }
    }
}
