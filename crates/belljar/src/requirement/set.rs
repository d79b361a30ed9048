//! All that an environment shall hold.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use super::{Allow, PythonSpec, Requirement, RequirementError, pylock, pyproject, script, source, text};

/// The most that one environment may be asked to hold.
pub(super) const MOST: usize = 1000;

/// What an environment shall hold, sorted and without duplicates: `numpy` and `numpy>=2` are two lines that both count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    requirements: BTreeSet<Requirement>,
    requires_python: Option<PythonSpec>,
}

impl Requirements {
    /// Requirements one by one, as in `dependencies=[…]`.
    pub fn from_list<S: AsRef<str>>(
        items: impl IntoIterator<Item = S>,
        allow: Allow,
    ) -> Result<Self, RequirementError> {
        let mut all = Self::default();
        for item in items {
            all.add(Requirement::parse(item.as_ref(), allow)?)?;
        }
        Ok(all)
    }

    /// Reads a file by its name: `*.txt` and `*.in`, `pyproject.toml`, `pylock.toml` and `pylock.*.toml`, `*.py`.
    /// A group is one of `[dependency-groups]` or an extra of the project.
    pub fn read(path: &Path, group: Option<&str>, allow: Allow) -> Result<Self, RequirementError> {
        source::read(path, group, allow)
    }

    /// Reads the text of a requirements.txt: requirements, hashes and comments, no options.
    pub fn requirements_txt(text: &str, allow: Allow) -> Result<Self, RequirementError> {
        text::read(text, allow)
    }

    /// Reads the text of a pyproject.toml. Without a group: the dependencies of the project. A dependency group stands
    /// alone; an extra is added to the dependencies of the project.
    pub fn pyproject(text: &str, group: Option<&str>, allow: Allow) -> Result<Self, RequirementError> {
        pyproject::read(text, group, allow)
    }

    /// Reads the text of a pylock.toml (PEP 751). Versions and hashes count; the URLs in it do not.
    pub fn pylock(text: &str, allow: Allow) -> Result<Self, RequirementError> {
        pylock::read(text, None, allow)
    }

    /// Reads the metadata block of a script (PEP 723); `None` if there is none.
    pub fn script(source: &str, allow: Allow) -> Result<Option<Self>, RequirementError> {
        script::read(source, allow)
    }

    /// What both ask for.
    pub fn merge(mut self, other: Self) -> Self {
        self.requirements.extend(other.requirements);
        if let Some(spec) = other.requires_python {
            self.require_python(spec);
        }
        self
    }

    /// Whether no package is asked for.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// How many requirements there are.
    pub fn len(&self) -> usize {
        self.requirements.len()
    }

    /// The requirements in order.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter()
    }

    /// The versions of Python that will do; `None` if nothing was said.
    pub fn requires_python(&self) -> Option<&PythonSpec> {
        self.requires_python.as_ref()
    }

    /// The lines of a requirements file, canonical, with hashes.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.requirements.iter().map(Requirement::to_string)
    }

    /// A lock of these requirements with only those files in it that hashes here name. The resolver writes the hashes of
    /// whatever the index has now, in place of those that were asked for.
    pub fn narrow(&self, lock: Self) -> Result<Self, RequirementError> {
        let narrow = |mut locked: Requirement| {
            let own = self.iter().filter(|own| own.name == locked.name);
            let (held, open): (Vec<_>, Vec<_>) = own.partition(|own| !own.hashes.is_empty());
            let mut same = held.iter().filter(|own| own.is_locked_as(&locked)).peekable();
            if held.is_empty() || same.peek().is_none() && !open.is_empty() {
                return Ok(locked);
            }
            let asked: BTreeSet<&String> = same.flat_map(|own| &own.hashes).collect();
            locked.hashes.retain(|hash| asked.contains(hash));
            if locked.hashes.is_empty() {
                return Err(RequirementError::OtherFiles {
                    item: locked.to_string(),
                });
            }
            Ok(locked)
        };
        Ok(Self {
            requirements: lock
                .requirements
                .into_iter()
                .map(narrow)
                .collect::<Result<_, _>>()?,
            requires_python: lock.requires_python,
        })
    }

    pub(super) fn add(&mut self, requirement: Requirement) -> Result<(), RequirementError> {
        requirement.check_size()?;
        self.requirements.insert(requirement);
        if self.requirements.len() > MOST {
            return Err(RequirementError::TooMany {
                what: "requirements",
                limit: MOST,
            });
        }
        Ok(())
    }

    pub(super) fn require_python(&mut self, spec: PythonSpec) {
        self.requires_python = Some(match self.requires_python.take() {
            Some(other) => other.and(spec),
            None => spec,
        });
    }
}

impl fmt::Display for Requirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().try_for_each(|line| writeln!(f, "{line}"))
    }
}
