//! A Python exception as data, with a hint that helps a person or a model to fix it.

use serde::{Deserialize, Serialize};

/// A Python exception: what was raised, where in the user's code, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub hint: Option<String>,
    /// The traceback as Python prints it.
    pub traceback: String,
}

/// One frame of a traceback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
