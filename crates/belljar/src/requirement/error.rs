//! Why a requirement is refused. One line each: the item as it was written, what is wrong with it, and what to do instead.

use std::io;
use std::path::PathBuf;

/// Why a requirement, or a file of them, is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The item is not a requirement.
    #[error("cannot read `{item}` at column {column}: expected {expected}")]
    Syntax {
        /// The item.
        item: String,
        /// What would have been right.
        expected: String,
        /// Where, counted from 1.
        column: usize,
    },
    /// A character that no requirement has.
    #[error("cannot read `{item}` at column {column}: '{}' is no part of a requirement", .character.escape_default())]
    Character {
        /// The item.
        item: String,
        /// The character.
        character: char,
        /// Where, counted from 1.
        column: usize,
    },
    /// An option of an installer.
    #[error("`{item}` is an option, not a requirement; {hint}")]
    Option {
        /// The item.
        item: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// A path.
    #[error(
        "`{item}` is a path; name a package of the index, or a wheel as `name @ file:///folder/name.whl` with --allow-urls"
    )]
    Path {
        /// The item.
        item: String,
    },
    /// The name of a file where the name of a package belongs.
    #[error("`{item}` is the name of a file, not of a package; name a package of the index")]
    FileName {
        /// The item.
        item: String,
    },
    /// A URL, which was not allowed.
    #[error("`{item}` comes from a URL and not from the index; allow that with --allow-urls")]
    Url {
        /// The item.
        item: String,
    },
    /// A URL that cannot be used.
    #[error("cannot use the URL of `{item}`: {problem}")]
    Link {
        /// The item.
        item: String,
        /// What is wrong, and what to write.
        problem: &'static str,
    },
    /// Something whose own code must run to build it, which was not allowed.
    #[error(
        "`{item}` has no wheel and must be built by running its own code; allow that in a jar with --allow-builds"
    )]
    Build {
        /// The item.
        item: String,
    },
    /// A hash on something that is not one version.
    #[error("`{item}` has a hash but leaves the version open; pin it with `==`")]
    HashOfRange {
        /// The item.
        item: String,
    },
    /// A hash that is none.
    #[error(
        "`{hash}` is not a hash that can be checked; write sha256:, sha384: or sha512: and the digest in hexadecimal"
    )]
    Hash {
        /// The hash.
        hash: String,
    },
    /// The index has other files than those that were asked for.
    #[error(
        "no file of `{item}` has a hash that was asked for: the index has other files now; check where they come from, and write the hashes again"
    )]
    OtherFiles {
        /// The locked requirement.
        item: String,
    },
    /// Longer than any requirement.
    #[error("`{item}` is longer than {limit} characters; it is no requirement")]
    TooLong {
        /// The item.
        item: String,
        /// What is allowed.
        limit: usize,
    },
    /// More than belljar takes.
    #[error("more than {limit} {what}; ask for fewer")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// What is allowed.
        limit: usize,
    },
    /// The place of another problem in a document.
    #[error("{place}: {problem}")]
    At {
        /// Such as `line 3`.
        place: String,
        /// What is wrong there.
        problem: Box<RequirementError>,
    },
    /// The file of another problem.
    #[error("{}: {problem}", file.display())]
    In {
        /// The file.
        file: PathBuf,
        /// What is wrong in it.
        problem: Box<RequirementError>,
    },
    /// A comment goes on in the next line for one tool and ends for another.
    #[error("a comment ends with `\\`, which installers read in two ways; remove it")]
    ContinuedComment,
    /// The document is not TOML.
    #[error("not valid TOML: {message}")]
    Toml {
        /// What the parser says.
        message: String,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}")]
    Kind {
        /// The key.
        key: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A key that the document must have.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: String,
    },
    /// A key that means nothing here.
    #[error("unknown key `{key}`; there are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// Those that are known.
        known: &'static str,
    },
    /// Dependencies that only a build of the project would tell.
    #[error(
        "`{key}` is dynamic: only building the project would tell; list the dependencies in the file, or in a group"
    )]
    Dynamic {
        /// The key.
        key: &'static str,
    },
    /// A group that is nowhere.
    #[error("there is no group or extra `{group}`; there are {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    NoGroup {
        /// The group.
        group: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// One name, twice.
    #[error("there are two groups `{group}`, which are one name; rename one")]
    TwoGroups {
        /// The name.
        group: String,
    },
    /// A group that includes itself.
    #[error("group `{group}` includes itself; take the circle apart")]
    Cycle {
        /// The group.
        group: String,
    },
    /// A package that the document takes from elsewhere; the index may have a stranger's of that name.
    #[error(
        "[tool.uv.sources] takes `{name}` from elsewhere than the index, which belljar does not follow; remove the source, or the requirement"
    )]
    Source {
        /// The package.
        name: String,
    },
    /// A lock file of another format.
    #[error(
        "lock file of version `{version}`; belljar reads 1.x: write it again, for example with uv export --format pylock.toml"
    )]
    LockVersion {
        /// The version.
        version: String,
    },
    /// A locked package that comes from the machine where the lock was made.
    #[error("package `{name}` is locked to a path of another machine; take it from the index, or from a URL")]
    LockedPath {
        /// The package.
        name: String,
    },
    /// A locked package that nothing pins.
    #[error("package `{name}` is locked without {what}; write the lock again")]
    Unlocked {
        /// The package.
        name: String,
        /// What is missing.
        what: &'static str,
    },
    /// A script that has two blocks of metadata.
    #[error("there are two `# /// script` blocks; keep one")]
    TwoBlocks,
    /// A script whose block does not end.
    #[error("the `# /// script` block does not end; close it with a line `# ///`")]
    OpenBlock,
    /// A script that says nothing of its requirements.
    #[error("there is no `# /// script` block; add one with `dependencies = [...]`")]
    NoBlock,
    /// A file of a kind that belljar does not read.
    #[error("{} is none of *.txt, *.in, pyproject.toml, pylock.toml, pylock.*.toml and *.py{}", file.display(), if *lock { "; write a lock that can be read with uv export --format pylock.toml" } else { "" })]
    UnknownFile {
        /// The file.
        file: PathBuf,
        /// Whether it is a lock of some tool.
        lock: bool,
    },
    /// A file that cannot be read.
    #[error("requirements cannot be read from {}: {cause}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file that is larger than any of its kind.
    #[error("{} is larger than {limit} MiB; it is no list of requirements", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// What is allowed.
        limit: u64,
    },
}

impl RequirementError {
    /// This problem, and where it is.
    pub(super) fn at(self, place: impl Into<String>) -> Self {
        Self::At {
            place: place.into(),
            problem: Box::new(self),
        }
    }
}

/// An item as it was written, fit for a terminal and a log: one line, ASCII, at most 100 characters, without a password.
pub(super) fn printable(item: &str) -> String {
    let masked = without_password(item);
    let mut text = String::new();
    for character in masked.chars() {
        let length = text.len();
        match character {
            ' '..='~' => text.push(character),
            other => text.extend(other.escape_default()),
        }
        if text.len() > 100 {
            text.truncate(length.min(97));
            text.push_str("...");
            break;
        }
    }
    text
}

/// The item with what stands between `://` and `@` taken out.
fn without_password(item: &str) -> String {
    let mut text = String::new();
    let mut rest = item;
    while let Some((before, after)) = rest.split_once("://") {
        text.push_str(before);
        text.push_str("://");
        let host = after.find(['/', ' ', '\t', '?', '#']).unwrap_or(after.len());
        rest = match after[..host].rfind('@') {
            Some(at) => {
                text.push_str("***");
                &after[at..]
            }
            None => after,
        };
    }
    text + rest
}
