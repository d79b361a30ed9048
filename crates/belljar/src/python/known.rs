//! What is known of modules by their names alone. The lists are read only when a name is in question, so they cost nothing
//! before.

const DISTRIBUTIONS: &str = include_str!("../../../../policies/distributions.txt");
const STANDARD_LIBRARY: &str = include_str!("../../../../policies/standard-library.txt");
/// Stands behind a distribution whose module has the name of another distribution.
const TAKEN: &str = "taken";

/// Modules of the standard library, without those that newer versions of Python have dropped.
pub(crate) fn standard_library() -> impl Iterator<Item = &'static str> {
    lines(STANDARD_LIBRARY)
}

/// The distribution of a module that is called otherwise.
pub(crate) fn distribution(module: &str) -> Option<&'static str> {
    rows().find(|row| row[0] == module).map(|row| row[1])
}

/// The distribution that somebody means who asks for one by the name of its module, in lower case and with dashes. None
/// where the index has a distribution of that name that somebody may want.
pub(crate) fn meant(asked: &str) -> Option<&'static str> {
    rows()
        .find(|row| normal(row[0]) == asked && normal(row[1]) != asked && row.get(2) != Some(&TAKEN))
        .map(|row| row[1])
}

/// Whether somebody asks for a module that comes with Python.
pub(crate) fn is_standard(asked: &str) -> bool {
    standard_library().any(|name| normal(name) == asked)
}

/// A name as an index compares it.
fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    lines(DISTRIBUTIONS).map(|line| line.split(' ').collect())
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_large_enough() {
        let imports: Vec<&str> = rows().map(|row| row[0]).collect();
        assert!(imports.is_sorted() && imports.len() >= 52, "{}", imports.len());
        assert!(rows().all(|row| row.len() == 2 || row[2..] == [TAKEN]));
        assert!(standard_library().is_sorted() && standard_library().any(|name| name == "json"));
        for known in ["cv2", "PIL", "sklearn", "yaml", "bs4", "dateutil", "Crypto"] {
            assert!(distribution(known).is_some(), "{known}");
        }
    }

    #[test]
    fn the_name_of_a_module_is_told_from_that_of_a_distribution() {
        for (asked, name) in [
            ("sklearn", "scikit-learn"),
            ("pil", "pillow"),
            ("crypto", "pycryptodome"),
            ("rest-framework", "djangorestframework"),
        ] {
            assert_eq!(meant(asked), Some(name), "{asked}");
        }
        for other in [
            "pandas",
            "psycopg2",
            "multipart",
            "cx-oracle",
            "azure-storage-blob",
            "pillow",
        ] {
            assert_eq!(meant(other), None, "{other}");
        }
        assert!(is_standard("json") && is_standard("cprofile") && !is_standard("jsonschema"));
    }
}
