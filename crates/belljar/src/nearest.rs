//! The word that was meant where another was written.

/// The known word that a slip of the pen makes of another: one edit away, or two from seven letters on.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = if word.len() < 7 { 1 } else { 2 };
    let near = known.into_iter().map(|each| (distance(word, each), each));
    near.filter(|(steps, each)| *steps <= most && *each != word && word.len() > 1)
        .min()
        .map(|(_, each)| each)
}

/// Edits between two words, a swap of neighbours counted once.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    // A word of a hostile document may be a mebibyte long; nothing that long is a slip.
    if one.len() > 64 || other.len() > 64 {
        return usize::MAX;
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before = vec![0; other.len() + 1];
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let change = above[j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut steps = change.min(above[j] + 1).min(row[j - 1] + 1);
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
    fn slips_of_the_pen() {
        let known = ["run", "env", "json", "collections", "pandas", "tomllib"];
        for (word, meant) in [
            ("rnu", Some("run")),
            ("rn", Some("run")),
            ("jsno", Some("json")),
            ("colections", Some("collections")),
            ("panda", Some("pandas")),
            ("json", None),
            ("numpy", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance(&"a".repeat(1 << 20), "a"), usize::MAX);
    }
}
