//! Environment markers of PEP 508: when a requirement counts.

mod comparison;
mod parse;

use std::collections::BTreeSet;
use std::fmt;

pub(super) use comparison::Comparison;
pub(super) use parse::{DEEPEST, read, whole};

use comparison::{Relation, Variable};

/// A condition, flat and sorted: no `and` directly in an `and`, no `or` directly in an `or`, none of fewer than two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Marker {
    Compare(Comparison),
    And(BTreeSet<Marker>),
    Or(BTreeSet<Marker>),
}

/// What a lock file's marker comes to when extras and groups are chosen.
pub(super) enum Chosen {
    Always,
    Never,
    When(Marker),
}

impl Marker {
    /// All of these.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut flat = BTreeSet::new();
        for part in parts {
            match part {
                Self::And(inner) => flat.extend(inner),
                other => _ = flat.insert(other),
            }
        }
        Self::join(flat, Self::And)
    }

    /// Any of these.
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut flat = BTreeSet::new();
        for part in parts {
            match part {
                Self::Or(inner) => flat.extend(inner),
                other => _ = flat.insert(other),
            }
        }
        Self::join(flat, Self::Or)
    }

    fn join(mut flat: BTreeSet<Self>, kind: fn(BTreeSet<Self>) -> Self) -> Option<Self> {
        if flat.len() < 2 {
            flat.pop_first()
        } else {
            Some(kind(flat))
        }
    }

    /// How deep the parentheses are that it is written with.
    pub fn depth(&self) -> usize {
        let deepest = |parts: &BTreeSet<Self>| parts.iter().map(Self::depth).max().unwrap_or(0);
        match self {
            Self::Compare(_) => 0,
            Self::Or(parts) => deepest(parts),
            Self::And(parts) => {
                let open = parts.iter().any(|part| matches!(part, Self::Or(_)));
                deepest(parts) + usize::from(open)
            }
        }
    }

    /// Puts in which extras and groups are chosen, since only lock files know these variables.
    pub fn choose(self, extras: &BTreeSet<String>, groups: &BTreeSet<String>) -> Chosen {
        let settled = |holds| if holds { Chosen::Always } else { Chosen::Never };
        match self {
            Self::Compare(one) => match (one.variable, one.relation) {
                (Variable::Extras, Relation::Holds) => settled(extras.contains(&one.value)),
                (Variable::Extras, _) => settled(!extras.contains(&one.value)),
                (Variable::DependencyGroups, Relation::Holds) => settled(groups.contains(&one.value)),
                (Variable::DependencyGroups, _) => settled(!groups.contains(&one.value)),
                _ => Chosen::When(Self::Compare(one)),
            },
            Self::And(parts) => {
                let mut open = Vec::new();
                for part in parts {
                    match part.choose(extras, groups) {
                        Chosen::Never => return Chosen::Never,
                        Chosen::Always => {}
                        Chosen::When(marker) => open.push(marker),
                    }
                }
                Self::all(open).map_or(Chosen::Always, Chosen::When)
            }
            Self::Or(parts) => {
                let mut open = Vec::new();
                for part in parts {
                    match part.choose(extras, groups) {
                        Chosen::Always => return Chosen::Always,
                        Chosen::Never => {}
                        Chosen::When(marker) => open.push(marker),
                    }
                }
                Self::any(open).map_or(Chosen::Never, Chosen::When)
            }
        }
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, word) = match self {
            Self::Compare(comparison) => return comparison.fmt(f),
            Self::And(parts) => (parts, " and "),
            Self::Or(parts) => (parts, " or "),
        };
        for (index, part) in parts.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { word })?;
            match (self, part) {
                (Self::And(_), Self::Or(_)) => write!(f, "({part})")?,
                _ => part.fmt(f)?,
            }
        }
        Ok(())
    }
}
