//! A Python exception as data, with a hint that helps a person or a model to fix it.
//!
//! It comes from the guest's own report ([`PythonError::from_frame`]) or from any text ([`PythonError::parse`]). Both are
//! guest bytes: every length is capped, and what may reach a terminal goes through [`printable`].

mod chain;
mod frame;
mod hints;
mod parse;
mod printable;
mod stack;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hint::Hint;

pub use chain::Link;
pub use frame::FrameError;
pub use hints::{HintContext, hint};
pub use printable::{is_harmful, printable};
pub(crate) use stack::is_whole as is_whole_stack;

/// A guest's report has anything in the place of a hint; it is dropped later.
fn hint_or_none<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Option<Hint>, D::Error> {
    let found = serde_json::Value::deserialize(source)?;
    Ok(serde_json::from_value(found).unwrap_or_default())
}

/// A Python exception: what was raised, where in the user's code, and what to do about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonError {
    /// Name of the class, with its module unless that is builtins.
    pub type_name: String,
    /// The text of the exception.
    pub message: String,
    /// Line in the user's code, if it is known.
    pub line: Option<u32>,
    /// Column in the user's code, counted from 1, if it is known.
    pub column: Option<u32>,
    /// Frames, outermost first.
    pub frames: Vec<Frame>,
    /// What to do about it.
    #[serde(default)]
    #[serde(deserialize_with = "hint_or_none")]
    pub hint: Option<Hint>,
    /// The traceback as Python prints it.
    pub traceback: String,
    /// Names in scope that are close to one that was not found.
    #[serde(default)]
    pub names: Vec<String>,
    /// The error number, of an operating system error.
    #[serde(default)]
    pub errno: Option<i32>,
    /// The file that an operating system or syntax error names.
    #[serde(default)]
    pub filename: Option<String>,
    /// What led to it, as `Type: message`, nearest first.
    #[serde(default)]
    pub causes: Vec<String>,
    /// The builtin classes that it is an instance of, nearest first.
    #[serde(default)]
    pub bases: Vec<String>,
    /// Its arguments, where they are plain data.
    #[serde(default)]
    pub args: Option<serde_json::Value>,
    /// The exception itself, last, and before it what led to it and the members of groups; empty where no client asked
    /// for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
}

/// One frame of a traceback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// File name as Python knows it.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1, where the interpreter tells (3.11 and later).
    pub column: Option<u32>,
    /// Function or `<module>`.
    pub function: String,
    /// The line's source, if it could be had.
    pub source: Option<String>,
}

impl PythonError {
    /// The class without its module.
    pub fn class(&self) -> &str {
        self.type_name.rsplit('.').next().unwrap_or(&self.type_name)
    }

    /// Whether it is of a builtin class or of one derived from it.
    pub fn is(&self, class: &str) -> bool {
        self.class() == class || self.bases.iter().any(|base| base == class)
    }

    /// Whether a `raise` of the guest's own made it, and not the interpreter, as far as the source tells.
    pub fn is_own(&self) -> bool {
        let raises = |part: &str| part.split_whitespace().next() == Some("raise");
        let source = self.frames.last().and_then(|frame| frame.source.as_deref());
        source.is_some_and(|source| source.split([';', ':']).any(raises))
    }

    /// The innermost frame in the user's code, or else the innermost of all.
    pub fn place(&self) -> Option<&Frame> {
        let own = |frame: &&Frame| !is_library(&frame.file);
        self.frames.iter().rfind(own).or(self.frames.last())
    }
}

/// Whether a file belongs to the interpreter or to installed packages.
fn is_library(file: &str) -> bool {
    file.starts_with("<frozen ")
        || ["/site-packages/", "/dist-packages/", "/lib/python3"]
            .iter()
            .any(|part| file.contains(part))
}

impl fmt::Display for PythonError {
    /// For a terminal: what, where, and the next step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.type_name))?;
        if !self.message.is_empty() {
            write!(f, ": {}", printable(&self.message))?;
        }
        match (self.place(), self.line) {
            (Some(frame), line) => {
                write!(
                    f,
                    "\n  at {}:{}",
                    printable(&frame.file),
                    line.unwrap_or(frame.line)
                )?;
                if let Some(source) = &frame.source {
                    write!(f, ": {}", printable(source))?;
                }
            }
            (None, Some(line)) => {
                write!(
                    f,
                    "\n  at {}:{line}",
                    printable(self.filename.as_deref().unwrap_or("line"))
                )?;
            }
            (None, None) => {}
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", printable(&hint.to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_raised_it() {
        let from = |source: Option<&str>| PythonError {
            frames: vec![Frame {
                source: source.map(str::to_owned),
                ..Frame::default()
            }],
            ..PythonError::default()
        };
        for own in [
            "raise",
            "raise MemoryError",
            "if x: raise MemoryError(1)",
            "a = 1; raise e",
        ] {
            assert!(from(Some(own)).is_own(), "{own}");
        }
        for other in [
            "bytearray(1 << 50)",
            "raised = bytearray(n)",
            "x.raise_for_status()",
        ] {
            assert!(!from(Some(other)).is_own(), "{other}");
        }
        assert!(!from(None).is_own());
        assert!(!PythonError::default().is_own());
    }

    #[test]
    fn display_is_short_and_safe_for_a_terminal() {
        let error = PythonError {
            type_name: "ValueError".into(),
            message: "bad \u{1b}[31mred\u{1b}[0m \u{7}".into(),
            line: Some(4),
            frames: vec![
                Frame {
                    file: "/jar/a.py".into(),
                    line: 4,
                    source: Some("f()".into()),
                    ..Frame::default()
                },
                Frame {
                    file: "/usr/lib/python3.11/json/__init__.py".into(),
                    line: 300,
                    ..Frame::default()
                },
            ],
            hint: Some("give it a number".into()),
            ..PythonError::default()
        };
        assert_eq!(
            error.to_string(),
            "ValueError: bad red \n  at /jar/a.py:4: f()\n  hint: give it a number"
        );
    }
}
