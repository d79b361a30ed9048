//! Lines of notebooks and chats that Python cannot read: `!pip install x`, `%matplotlib inline`, Markdown fences.

use crate::hint::{Hint, Setting};
use crate::pyerror::PythonError;

/// Packages that a hint names.
const NAMED: usize = 5;
const INSTALLERS: [&str; 7] = [
    "pip install",
    "pip3 install",
    "python -m pip install",
    "python3 -m pip install",
    "uv pip install",
    "conda install",
    "mamba install",
];

/// What to do about a line that is no Python, if it is one of those.
pub(super) fn hint(error: &PythonError) -> Option<Hint> {
    let line = unread(&error.traceback)?;
    if line.starts_with("```") || line.starts_with("~~~") {
        return Some(Hint::code(
            "this is a Markdown fence; leave out the fences and all text around the code",
        ));
    }
    let command = line.trim_start_matches(['!', '%', ' ']);
    if let Some(rest) = INSTALLERS.iter().find_map(|words| command.strip_prefix(words)) {
        let names: Vec<&str> = packages(rest).collect();
        let how = match names.as_slice() {
            [] => ", and name the packages with ",
            _ => ", and add what it installs with ",
        };
        let hint = Hint::code("packages cannot be installed from inside a jar; leave the line out");
        return Some(hint.say(how).set_to(Setting::Dependencies, names));
    }
    line.starts_with(['!', '%']).then(|| {
        Hint::code("a line that begins with ! or % is a command of notebooks and no Python; leave it out, or run a program with subprocess.run()")
    })
}

/// The line that Python could not read, as the traceback shows it.
fn unread(traceback: &str) -> Option<&str> {
    let lines: Vec<&str> = traceback.lines().collect();
    let file = lines.iter().rposition(|line| line.starts_with("  File \""))?;
    lines.get(file + 1).map(|line| line.trim())
}

/// The packages among the words of an install command; versions are left to whoever adds them.
fn packages(words: &str) -> impl Iterator<Item = &str> {
    words
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_alphanumeric()))
        .filter(|word| !word.contains('/') && !word.ends_with(".txt"))
        .filter_map(|word| {
            let part = |found: char| found.is_ascii_alphanumeric() || "-_.".contains(found);
            word.split(|found| !part(found)).next()
        })
        .take(NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<String> {
        let error = PythonError {
            type_name: "SyntaxError".into(),
            message: "invalid syntax (<string>, line 1)".into(),
            traceback: format!(
                "  File \"<string>\", line 1\n    {line}\n    ^\nSyntaxError: invalid syntax\n"
            ),
            ..PythonError::default()
        };
        hint(&error).map(|hint| hint.in_flags())
    }

    #[test]
    fn what_notebooks_take_and_python_does_not() {
        for (line, wants) in [
            (
                "!pip install -q requests 'pandas>=2'",
                "add what it installs with --with requests --with pandas",
            ),
            ("%pip install scikit-learn[alldeps]", "--with scikit-learn"),
            ("pip install -r requirements.txt", "name the packages with --with"),
            (
                "!python -m pip install ./x git+https://example.org/y",
                "name the packages with --with",
            ),
            ("%matplotlib inline", "leave it out"),
            ("%%time", "leave it out"),
            ("!ls -l", "subprocess.run()"),
            ("```python", "Markdown fence"),
        ] {
            let told = told(line).unwrap_or_default();
            assert!(told.contains(wants) && told.len() < 220, "{line}: {told}");
        }
        for line in ["x = = 1", "piper install x", "", "x %"] {
            assert_eq!(told(line), None, "{line}");
        }
    }
}
