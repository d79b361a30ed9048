//! Why a requirement is refused. One line each: the item as it was written, what is wrong with it, and what to do instead.

use std::io;
use std::path::PathBuf;

use crate::error::{Hinted, next_step};
use crate::hint::{Hint, Setting};

/// What requirements look like.
pub(super) const EXAMPLE: &str = "write for example pandas>=2, or pandas>=2; python_version > '3.10'";

/// Why a requirement, or a file of them, is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The item is not a requirement.
    #[error("cannot read `{item}` at column {column}: expected {expected}{}", next_step(self.hint()))]
    Syntax {
        /// The item.
        item: String,
        /// What would have been right.
        expected: String,
        /// Where, counted from 1.
        column: usize,
    },
    /// A character that no requirement has.
    #[error("cannot read `{item}` at column {column}: '{}' cannot be part of a requirement{}", .character.escape_default(), next_step(self.hint()))]
    Character {
        /// The item.
        item: String,
        /// The character.
        character: char,
        /// Where, counted from 1.
        column: usize,
    },
    /// An option of an installer.
    #[error("`{item}` is an option, not a requirement{}", next_step(self.hint()))]
    Option {
        /// The item.
        item: String,
        /// What to do instead.
        hint: Hint,
    },
    /// A path.
    #[error("`{item}` is a path{}", next_step(self.hint()))]
    Path {
        /// The item.
        item: String,
    },
    /// The name of a file where the name of a package belongs.
    #[error("`{item}` is the name of a file, not of a package{}", next_step(self.hint()))]
    FileName {
        /// The item.
        item: String,
    },
    /// The name of a module where the name of its distribution belongs.
    #[error("`{item}` is the name of a module; the package is called {distribution}{}", next_step(self.hint()))]
    Module {
        /// The module.
        item: String,
        /// The distribution.
        distribution: &'static str,
    },
    /// A module that comes with Python.
    #[error("`{item}` is a module of the standard library{}", next_step(self.hint()))]
    Standard {
        /// The module.
        item: String,
    },
    /// A URL, which was not allowed.
    #[error("`{item}` comes from a URL and not from the index{}", next_step(self.hint()))]
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
    #[error("`{item}` has no wheel and must be built by running its own code{}", next_step(self.hint()))]
    Build {
        /// The item.
        item: String,
    },
    /// A hash on something that is not one version.
    #[error("`{item}` has a hash but leaves the version open{}", next_step(self.hint()))]
    HashOfRange {
        /// The item.
        item: String,
    },
    /// A hash that is none.
    #[error("`{hash}` is not a hash that can be checked{}", next_step(self.hint()))]
    Hash {
        /// The hash.
        hash: String,
    },
    /// The index has other files than those that were asked for.
    #[error("no file of `{item}` has a hash that was asked for: the index has other files now{}", next_step(self.hint()))]
    OtherFiles {
        /// The locked requirement.
        item: String,
    },
    /// Longer than any requirement.
    #[error("`{item}` is longer than {limit} characters{}", next_step(self.hint()))]
    TooLong {
        /// The item.
        item: String,
        /// What is allowed.
        limit: usize,
    },
    /// More than belljar takes.
    #[error("more than {limit} {what}{}", next_step(self.hint()))]
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
    #[error("a comment ends with `\\`, which installers read in two ways{}", next_step(self.hint()))]
    ContinuedComment,
    /// The document is not TOML.
    #[error("not valid TOML: {message}")]
    Toml {
        /// What the parser says.
        message: String,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}{}", next_step(self.hint()))]
    Kind {
        /// The key.
        key: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A key that the document must have.
    #[error("`{key}` is missing{}", next_step(self.hint()))]
    Missing {
        /// The key.
        key: String,
    },
    /// A key that means nothing here.
    #[error("unknown key `{key}`{}", next_step(self.hint()))]
    UnknownKey {
        /// The key.
        key: String,
        /// Those that are known.
        known: &'static str,
    },
    /// Dependencies that only a build of the project would tell.
    #[error("`{key}` is dynamic: only building the project would show its value{}", next_step(self.hint()))]
    Dynamic {
        /// The key.
        key: &'static str,
    },
    /// A group that is nowhere.
    #[error("there is no group or extra `{group}`{}", next_step(self.hint()))]
    NoGroup {
        /// The group.
        group: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// One name, twice.
    #[error("two groups have the same normalised name, `{group}`{}", next_step(self.hint()))]
    TwoGroups {
        /// The name.
        group: String,
    },
    /// A group that includes itself.
    #[error("group `{group}` includes itself{}", next_step(self.hint()))]
    Cycle {
        /// The group.
        group: String,
    },
    /// A package that the document takes from elsewhere; the index may have a stranger's of that name.
    #[error(
        "[tool.uv.sources] takes `{name}` from elsewhere than the index, which belljar does not follow{}", next_step(self.hint())
    )]
    Source {
        /// The package.
        name: String,
    },
    /// A lock file of another format.
    #[error("the lock file has version `{version}`, and belljar reads 1.x{}", next_step(self.hint()))]
    LockVersion {
        /// The version.
        version: String,
    },
    /// A locked package that comes from the machine where the lock was made.
    #[error("package `{name}` is locked to a path of another machine{}", next_step(self.hint()))]
    LockedPath {
        /// The package.
        name: String,
    },
    /// A locked package that nothing pins.
    #[error("package `{name}` is locked without {what}{}", next_step(self.hint()))]
    Unlocked {
        /// The package.
        name: String,
        /// What is missing.
        what: &'static str,
    },
    /// A script that has two blocks of metadata.
    #[error("there are two `# /// script` blocks{}", next_step(self.hint()))]
    TwoBlocks,
    /// A script whose block does not end.
    #[error("the `# /// script` block does not end{}", next_step(self.hint()))]
    OpenBlock,
    /// A script that says nothing of its requirements.
    #[error("there is no `# /// script` block{}", next_step(self.hint()))]
    NoBlock,
    /// A file of a kind that belljar does not read.
    #[error("{} is not a file of requirements (*.txt, *.in, pyproject.toml, pylock.toml, pylock.*.toml or *.py){}", file.display(), next_step(self.hint()))]
    UnknownFile {
        /// The file.
        file: PathBuf,
        /// Whether it is a lock of some tool.
        lock: bool,
    },
    /// A file that cannot be read.
    #[error("requirements cannot be read from {}: {cause}{}", file.display(), next_step(self.hint()))]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file that is larger than any of its kind.
    #[error("{} is larger than {limit} MiB{}", file.display(), next_step(self.hint()))]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// What is allowed.
        limit: u64,
    },
}

impl Hinted for RequirementError {
    fn hint(&self) -> Option<Hint> {
        let step = match self {
            Self::Syntax { .. } | Self::Character { .. } => EXAMPLE,
            Self::Option { hint, .. } => return Some(hint.clone()),
            Self::Path { .. } => {
                return Some(
                    Hint::from(
                        "name a package of the index, or a wheel as `name @ file:///folder/name.whl` with ",
                    )
                    .set(Setting::AllowUrls),
                );
            }
            Self::FileName { .. } => "name a package of the index",
            Self::Module { item, distribution } => {
                return Some(
                    format!("ask for {distribution}; a package that is called {item} itself must be pinned: {item}==VERSION").into(),
                );
            }
            Self::Standard { .. } => "leave it out: every guest has it",
            Self::Url { .. } => return Some(Hint::from("allow that with ").set(Setting::AllowUrls)),
            // What is wrong with these says what to write.
            Self::Link { .. } | Self::Toml { .. } => return None,
            Self::Build { .. } => {
                return Some(Hint::from("allow that in a jar with ").set(Setting::AllowBuilds));
            }
            Self::HashOfRange { .. } => "pin it with `==`",
            Self::Hash { .. } => "write sha256:, sha384: or sha512: and the digest in hexadecimal",
            Self::OtherFiles { .. } => "check where they come from, and write the hashes again",
            Self::TooLong { .. } => "name a package, and each in an item of its own",
            Self::TooMany { .. } => "ask for fewer",
            Self::At { problem, .. } | Self::In { problem, .. } => return problem.hint(),
            Self::ContinuedComment => "remove it",
            Self::Kind {
                expected: "a list of strings",
                ..
            } => "write for example [\"pandas>=2\"]",
            Self::Kind {
                expected: "a list", ..
            } => "write it in brackets, [ ]",
            Self::Kind {
                expected: "a string", ..
            } => "put it in quotes",
            Self::Kind { .. } => "change it in the file, or write the file again",
            Self::Missing { key } if key == "[project]" => {
                return Some(
                    Hint::from("add it with `dependencies = [...]`, or name a group of the file with ")
                        .set(Setting::Group),
                );
            }
            Self::Missing { .. } => "write the file again",
            Self::UnknownKey { known, .. } => return Some(format!("there are {known}").into()),
            Self::Dynamic { .. } => "list the dependencies in the file, or in a group",
            Self::NoGroup { known, .. } if known.is_empty() => "there are none",
            Self::NoGroup { known, .. } => return Some(format!("there are {}", known.join(", ")).into()),
            Self::TwoGroups { .. } => "rename one",
            Self::Cycle { .. } => "remove one of the includes",
            Self::Source { .. } => "remove the source, or the requirement",
            Self::LockVersion { .. } => "write it again, for example with `uv export --format pylock.toml`",
            Self::LockedPath { .. } => "take it from the index, or from a URL",
            Self::Unlocked { .. } => "write the lock again",
            Self::TwoBlocks => "keep one",
            Self::OpenBlock => "close it with a line `# ///`",
            Self::NoBlock => "add one with `dependencies = [...]`",
            Self::UnknownFile { lock: true, .. } => {
                "write a lock that can be read with `uv export --format pylock.toml`"
            }
            Self::UnknownFile { .. } => "name one of these",
            Self::Read { cause, .. } => unread(cause),
            Self::TooLarge { .. } => "name a list of requirements",
        };
        Some(step.into())
    }
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

/// What to do about a file that cannot be read.
fn unread(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound => "name an existing file",
        io::ErrorKind::PermissionDenied => "make it readable for you (`ls -l` shows the owner)",
        io::ErrorKind::InvalidData => "save it as UTF-8",
        _ => "name a plain file",
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
