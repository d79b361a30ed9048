//! Tracebacks as IPython and Jupyter print them.

use super::{FRAMES, Found, SOURCE, cut, exception, message, type_name};
use crate::pyerror::{Frame, PythonError};

/// The traceback that begins on a line, if one does, and the line after it.
pub(super) fn parse(lines: &[&str], at: usize) -> Option<(Found, usize)> {
    let name = lines[at].strip_suffix("Traceback (most recent call last)")?;
    let name = name.ends_with(' ').then(|| name.trim_end())?;
    exception(name)?;
    let mut error = PythonError::default();
    for (next, line) in lines.iter().enumerate().skip(at + 1) {
        if let Some((class, first)) = exception(line)
            && class.rsplit('.').next() == name.rsplit('.').next()
        {
            error.type_name = type_name(class);
            let (text, end) = message(lines, first, next + 1);
            error.message = text;
            return Some((Found::new(error, end), end));
        }
        if line.ends_with("Traceback (most recent call last)") {
            return None;
        }
        if let Some(frame) = location(line) {
            if error.frames.len() < FRAMES {
                error.frames.push(frame);
            }
        } else if let Some((number, source)) = arrow(line)
            && let Some(frame) = error.frames.last_mut()
        {
            frame.line = number;
            frame.source = Some(cut(source.trim(), SOURCE).to_owned());
        }
    }
    None
}

/// `Cell In[3], line 2, in f(x)`, `File ~/a.py:12, in f(x)`, and the older `Input In [3], in <cell line: 1>()`,
/// `/a.py in f(x)` and `<ipython-input-1-0a> in <module>`.
fn location(line: &str) -> Option<Frame> {
    let (place, function) = match line.split_once(" in ") {
        Some((place, function)) => (place.trim_end_matches(','), function),
        None => (line, "<module>"),
    };
    let (file, number) = if place.starts_with("Cell In[") || place.starts_with("Input In [") {
        place.split_once(", line ").unwrap_or((place, "0"))
    } else if let Some(place) = place.strip_prefix("File ") {
        place.rsplit_once(':')?
    } else if place.starts_with(['/', '~']) && place.ends_with(".py") || place.starts_with("<ipython-input") {
        (place, "0")
    } else {
        return None;
    };
    let function = function.split('(').next().unwrap_or(function);
    Some(Frame {
        file: cut(file, 4096).to_owned(),
        line: number.parse().ok()?,
        column: None,
        function: cut(function, SOURCE).to_owned(),
        source: None,
    })
}

/// `----> 2 source`
fn arrow(line: &str) -> Option<(u32, &str)> {
    let rest = line.trim_start_matches('-').strip_prefix("> ")?;
    let (number, source) = rest
        .trim_start()
        .split_once(' ')
        .unwrap_or((rest.trim_start(), ""));
    line.starts_with("--").then_some((number.parse().ok()?, source))
}
