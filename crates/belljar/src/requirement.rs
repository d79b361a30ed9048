//! What an environment shall hold: requirements of PEP 508, strictly read and spelled one way.
//!
//! Requirements come from strangers as often as the code does, and go to a tool that reads options, paths and variables in
//! the same places. So nothing is passed on as it came: it is parsed in full, and what is passed on is written anew.

mod cursor;
mod document;
mod error;
mod link;
mod marker;
mod name;
mod parse;
mod pylock;
mod pyproject;
mod script;
mod set;
mod source;
mod specifier;
mod text;
mod version;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

pub use error::RequirementError;
pub use set::Requirements;
pub use specifier::PythonSpec;

use marker::Marker;
use parse::LONGEST;
use specifier::{Operator, Specifier};

/// What may be asked for beyond packages of the index as wheels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allow {
    /// Packages whose own code must run to build them.
    pub builds: bool,
    /// Packages from a URL instead of the index.
    pub urls: bool,
}

/// One requirement of PEP 508, checked and normalised. Its `Display` is the canonical spelling: the same for every order
/// and spelling of the same wish, and one line of a requirements file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    name: String,
    extras: BTreeSet<String>,
    specifiers: BTreeSet<Specifier>,
    url: Option<String>,
    marker: Option<Marker>,
    hashes: BTreeSet<String>,
}

impl Requirement {
    /// Reads one requirement, such as `pandas[excel]>=2,<3; python_version >= "3.10"`, also with `--hash=sha256:…` after it.
    pub fn parse(text: &str, allow: Allow) -> Result<Self, RequirementError> {
        let requirement = parse::requirement(text, allow)?;
        requirement.check_size()?;
        Ok(requirement)
    }

    /// The package, normalised: `Foo.Bar_baz` is `foo-bar-baz`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The extras asked for, normalised and sorted.
    pub fn extras(&self) -> impl Iterator<Item = &str> {
        self.extras.iter().map(String::as_str)
    }

    /// The versions that will do, such as `>=2,<3`; empty if any does.
    pub fn specifiers(&self) -> String {
        specifier::join(&self.specifiers)
    }

    /// Where the package comes from, if not from the index.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// When the requirement counts, such as `python_version >= '3.10'`.
    pub fn marker(&self) -> Option<String> {
        self.marker.as_ref().map(Marker::to_string)
    }

    /// The files that will do, such as `sha256:…`; empty if any does.
    pub fn hashes(&self) -> &BTreeSet<String> {
        &self.hashes
    }

    /// The version that `==` asks for, if that is all that is asked.
    pub fn pinned(&self) -> Option<String> {
        let only = self.specifiers.first().filter(|_| self.specifiers.len() == 1)?;
        (only.operator() == Operator::Equal && !only.is_prefix()).then(|| only.operand())
    }
}

impl Requirement {
    /// Whether a lock's line is of the version or URL that this requirement pins.
    fn is_locked_as(&self, locked: &Self) -> bool {
        match (self.pinned(), locked.pinned()) {
            // `==1.0` also takes 1.0+cpu.
            (Some(own), Some(found)) if !own.contains('+') => found.split('+').next() == Some(own.as_str()),
            (own, found) => own == found && self.url == locked.url,
        }
    }

    /// Refuses what could not be read back: its one spelling may be longer than what was written, and markers are put
    /// together where a project names itself.
    fn check_size(&self) -> Result<(), RequirementError> {
        let body = Body(self).to_string();
        let deep = self
            .marker
            .as_ref()
            .is_some_and(|marker| marker.depth() > marker::DEEPEST);
        if body.len() > LONGEST || deep {
            return Err(RequirementError::TooLong {
                item: error::printable(&body),
                limit: LONGEST,
            });
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Body(self).fmt(f)?;
        if self.url.is_none() {
            for hash in &self.hashes {
                write!(f, " --hash={hash}")?;
            }
        }
        Ok(())
    }
}

/// A requirement without the hashes that follow it.
struct Body<'a>(&'a Requirement);

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(this) = self;
        f.write_str(&this.name)?;
        if !this.extras.is_empty() {
            write!(f, "[{}]", this.extras().collect::<Vec<_>>().join(","))?;
        }
        f.write_str(&this.specifiers())?;
        if let Some(url) = &this.url {
            write!(f, " @ {url}")?;
            // A URL has one file and so at most one hash.
            for hash in &this.hashes {
                write!(f, "#{}", hash.replacen(':', "=", 1))?;
            }
        }
        if let Some(marker) = &this.marker {
            write!(f, " ; {marker}")?;
        }
        Ok(())
    }
}
