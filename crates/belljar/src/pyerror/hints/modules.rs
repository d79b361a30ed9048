//! Modules that are not there.

use super::{HintContext, between};
use crate::pyerror::PythonError;

/// Read only when a module is missing, so it costs nothing before.
const DISTRIBUTIONS: &str = include_str!("../../../../../policies/distributions.txt");
const STANDARD_LIBRARY: &str = include_str!("../../../../../policies/standard-library.txt");

pub(super) fn hint(error: &PythonError, context: &HintContext) -> Option<String> {
    if !error.is("ModuleNotFoundError") {
        return None;
    }
    let module = between(&error.message, "No module named '", "'")?;
    let top = module.split('.').next().unwrap_or(module);
    if error.message.ends_with("is not a package") {
        return Some(format!(
            "a file named {top}.py hides the package of that name; rename your file"
        ));
    }
    if top == "pip" || top == "ensurepip" {
        return Some(
            "a jar cannot install packages; name what it needs with --with, and it is there from the start"
                .into(),
        );
    }
    if standard().any(|name| name == top) {
        return Some(format!(
            "{module} is not part of this interpreter's standard library; try another one with --python"
        ));
    }
    let wanted = imported(error, top).unwrap_or(module);
    let known = prefixes(wanted).find_map(distribution);
    let what = match known {
        Some(name) => format!("{top} comes from the distribution {name}"),
        None => format!("{top} is not installed here"),
    };
    let name = known.unwrap_or(top);
    let how = if context.venv {
        format!("install {name} into the virtualenv that --venv names")
    } else {
        format!("add it with --with {name}, or show it with --workdir DIR if it is your own code")
    };
    Some(match nearest(top).filter(|_| known.is_none()) {
        Some(near) => format!("did you mean the module {near}? If not: {how}"),
        None => format!("{what}; {how}"),
    })
}

/// The whole dotted name that the failing line imports; the message has only the part that was not found.
fn imported<'a>(error: &'a PythonError, top: &str) -> Option<&'a str> {
    let source = error.place()?.source.as_deref()?;
    let rest = source
        .strip_prefix("import ")
        .or_else(|| source.strip_prefix("from "))?;
    let name = rest.split([' ', ',', ';']).next()?;
    (name.split('.').next() == Some(top)).then_some(name)
}

/// `a.b.c`, `a.b`, `a`
fn prefixes(module: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(module), |name| name.rsplit_once('.').map(|(front, _)| front))
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

fn standard() -> impl Iterator<Item = &'static str> {
    lines(STANDARD_LIBRARY)
}

fn distribution(module: &str) -> Option<&'static str> {
    let mut rows = lines(DISTRIBUTIONS).filter_map(|line| line.split_once(' '));
    rows.find(|(import, _)| *import == module).map(|(_, name)| name)
}

/// The module of the standard library that a name is a slip of.
fn nearest(name: &str) -> Option<&'static str> {
    if !(3..=30).contains(&name.len()) {
        return None;
    }
    let most = if name.len() < 7 { 1 } else { 2 };
    let ranked = standard().map(|known| (distance(name.as_bytes(), known.as_bytes()), known));
    ranked
        .filter(|(steps, _)| *steps <= most)
        .min()
        .map(|(_, known)| known)
}

/// Edits between two words, a swap of neighbours counted once.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut before = vec![0; other.len() + 1];
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let same = usize::from(one[i - 1] != other[j - 1]);
            let mut steps = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + same);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                steps = steps.min(before[j - 2] + 1);
            }
            row.push(steps);
        }
        (before, above) = (above, row);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_large_enough() {
        let imports: Vec<&str> = lines(DISTRIBUTIONS)
            .map(|line| line.split_once(' ').unwrap().0)
            .collect();
        assert!(imports.is_sorted() && imports.len() >= 52, "{}", imports.len());
        assert!(standard().is_sorted() && standard().any(|name| name == "json"));
        for known in ["cv2", "PIL", "sklearn", "yaml", "bs4", "dateutil", "Crypto"] {
            assert!(distribution(known).is_some(), "{known}");
        }
    }

    #[test]
    fn slips_of_the_pen() {
        for (name, meant) in [
            ("jsno", Some("json")),
            ("colections", Some("collections")),
            ("numpy", None),
            ("xx", None),
        ] {
            assert_eq!(nearest(name), meant);
        }
        assert_eq!(distance(b"kitten", b"sitting"), 3);
    }
}
