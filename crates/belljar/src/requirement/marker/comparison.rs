//! One comparison of a marker: a variable with a string.

use std::fmt;

use crate::requirement::name;
use crate::requirement::specifier::{Operator, Specifier};

/// What a marker can ask about. The last two are known to lock files alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::requirement) enum Variable {
    PythonVersion,
    PythonFullVersion,
    OsName,
    SysPlatform,
    PlatformRelease,
    PlatformSystem,
    PlatformVersion,
    PlatformMachine,
    PlatformPythonImplementation,
    ImplementationName,
    ImplementationVersion,
    Extra,
    Extras,
    DependencyGroups,
}

/// The first spelling of each is the one that is written; the dotted ones are of older standards.
const VARIABLES: [(&str, Variable); 20] = [
    ("python_version", Variable::PythonVersion),
    ("python_full_version", Variable::PythonFullVersion),
    ("os_name", Variable::OsName),
    ("sys_platform", Variable::SysPlatform),
    ("platform_release", Variable::PlatformRelease),
    ("platform_system", Variable::PlatformSystem),
    ("platform_version", Variable::PlatformVersion),
    ("platform_machine", Variable::PlatformMachine),
    (
        "platform_python_implementation",
        Variable::PlatformPythonImplementation,
    ),
    ("implementation_name", Variable::ImplementationName),
    ("implementation_version", Variable::ImplementationVersion),
    ("extra", Variable::Extra),
    ("extras", Variable::Extras),
    ("dependency_groups", Variable::DependencyGroups),
    ("os.name", Variable::OsName),
    ("sys.platform", Variable::SysPlatform),
    ("platform.version", Variable::PlatformVersion),
    ("platform.machine", Variable::PlatformMachine),
    (
        "platform.python_implementation",
        Variable::PlatformPythonImplementation,
    ),
    ("python_implementation", Variable::PlatformPythonImplementation),
];

impl Variable {
    /// The variable of a name; `lock` if the marker is one of a lock file.
    pub fn named(text: &str, lock: bool) -> Option<Self> {
        let (_, variable) = VARIABLES.iter().find(|(name, _)| *name == text)?;
        (lock || !variable.is_selection()).then_some(*variable)
    }

    fn is_selection(self) -> bool {
        matches!(self, Self::Extras | Self::DependencyGroups)
    }

    fn is_version(self) -> bool {
        matches!(
            self,
            Self::PythonVersion | Self::PythonFullVersion | Self::ImplementationVersion
        )
    }

    fn text(self) -> &'static str {
        VARIABLES
            .iter()
            .find(|(_, variable)| *variable == self)
            .map_or("", |(text, _)| text)
    }
}

/// How variable and string stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::requirement) enum Relation {
    Is(Operator),
    /// `variable in 'string'`.
    In,
    NotIn,
    /// `'string' in variable`.
    Holds,
    HoldsNot,
}

impl Relation {
    /// The relation with its two sides exchanged, where there is one.
    pub fn exchanged(self) -> Option<Self> {
        Some(match self {
            Self::Is(Operator::AtLeast) => Self::Is(Operator::AtMost),
            Self::Is(Operator::AtMost) => Self::Is(Operator::AtLeast),
            Self::Is(Operator::Above) => Self::Is(Operator::Below),
            Self::Is(Operator::Below) => Self::Is(Operator::Above),
            Self::Is(Operator::Compatible) => return None,
            Self::Is(same) => Self::Is(same),
            Self::In => Self::Holds,
            Self::NotIn => Self::HoldsNot,
            Self::Holds => Self::In,
            Self::HoldsNot => Self::NotIn,
        })
    }
}

/// A variable compared with a string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::requirement) struct Comparison {
    pub(super) variable: Variable,
    pub(super) relation: Relation,
    pub(super) value: String,
}

impl Comparison {
    /// Checks that the comparison has a meaning and spells the string one way, or tells what was expected.
    pub fn new(variable: Variable, relation: Relation, written: &str) -> Result<Self, &'static str> {
        let value = match (variable, relation) {
            (Variable::Extra, Relation::Is(Operator::Equal | Operator::Unequal)) => {
                name::normalise(written).ok_or("the name of an extra")?
            }
            (Variable::Extra, _) => return Err("`extra ==` or `extra !=` and the name of an extra"),
            (Variable::Extras | Variable::DependencyGroups, Relation::Holds | Relation::HoldsNot) => {
                name::normalise(written).ok_or("the name of an extra or group")?
            }
            (Variable::Extras | Variable::DependencyGroups, _) => {
                return Err("a quoted name and `in` or `not in` before this variable");
            }
            (variable, Relation::Is(operator)) if variable.is_version() => {
                Specifier::new(operator, written)?.operand()
            }
            (_, Relation::Is(Operator::Compatible | Operator::Arbitrary)) => {
                return Err("`==` or another operator that compares strings");
            }
            _ => written.to_owned(),
        };
        Ok(Self {
            variable,
            relation,
            value,
        })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variable, value) = (self.variable.text(), &self.value);
        match self.relation {
            Relation::Is(operator) => write!(f, "{variable} {} '{value}'", operator.text()),
            Relation::In => write!(f, "{variable} in '{value}'"),
            Relation::NotIn => write!(f, "{variable} not in '{value}'"),
            Relation::Holds => write!(f, "'{value}' in {variable}"),
            Relation::HoldsNot => write!(f, "'{value}' not in {variable}"),
        }
    }
}
