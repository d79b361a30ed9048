//! Version specifiers of PEP 440, and the versions of Python that a project takes.

use std::collections::BTreeSet;
use std::fmt;

use super::RequirementError;
use super::cursor::Cursor;
use super::version::Version;
use crate::python;

/// How a version is compared. The order is the one in which specifiers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operator {
    Equal,
    Arbitrary,
    Compatible,
    AtLeast,
    Above,
    AtMost,
    Below,
    Unequal,
}

/// Longer ones first, since the first that fits is taken.
pub(super) const OPERATORS: [(&str, Operator); 8] = [
    ("===", Operator::Arbitrary),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("~=", Operator::Compatible),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::Above),
    ("<", Operator::Below),
];

impl Operator {
    pub fn text(self) -> &'static str {
        OPERATORS
            .iter()
            .find(|(_, operator)| *operator == self)
            .map_or("", |(text, _)| text)
    }

    /// The operator at the cursor.
    pub fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let (text, operator) = OPERATORS
            .iter()
            .find(|(text, _)| cursor.rest().starts_with(text))?;
        cursor.eat(text);
        Some(*operator)
    }
}

/// One comparison, such as `>=2` or `==1.5.*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Specifier {
    operator: Operator,
    version: Version,
    prefix: bool,
}

impl Specifier {
    /// A comparison with a version as written, or what was expected of the version.
    pub fn new(operator: Operator, written: &str) -> Result<Self, &'static str> {
        const VERSION: &str = "a version such as 1.2.3 or 2.0rc1";
        let (text, prefix) = written
            .strip_suffix(".*")
            .map_or((written, false), |text| (text, true));
        let version = Version::parse(text).ok_or(VERSION)?;
        let equality = matches!(operator, Operator::Equal | Operator::Unequal);
        if prefix && !equality {
            return Err("a version without `.*`, which only `==` and `!=` take");
        }
        if prefix && !version.is_plain() {
            return Err("only numbers before `.*`");
        }
        if !version.local.is_empty() && !equality && operator != Operator::Arbitrary {
            return Err("a version without `+`, which only `==` and `!=` take");
        }
        if operator == Operator::Compatible && version.release.len() < 2 {
            return Err("a version of at least two numbers after `~=`, such as 2.1");
        }
        // These four look at how many numbers were written; to the rest 2 and 2.0 are one version.
        let keep = prefix || matches!(operator, Operator::Compatible | Operator::Arbitrary);
        Ok(Self {
            operator,
            version: if keep { version } else { version.trimmed() },
            prefix,
        })
    }

    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Whether it ends in `.*`.
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// The version as it is written, with `.*`.
    pub fn operand(&self) -> String {
        format!("{}{}", self.version, if self.prefix { ".*" } else { "" })
    }

    /// Whether a final release is one of those meant.
    fn takes(&self, release: &Version) -> bool {
        let order = release.compare(&self.version);
        match self.operator {
            Operator::Arbitrary => *release == self.version,
            Operator::Equal if self.prefix => self.begins(release, self.version.release.len()),
            Operator::Unequal if self.prefix => !self.begins(release, self.version.release.len()),
            Operator::Equal => order.is_eq(),
            Operator::Unequal => order.is_ne(),
            Operator::AtLeast => order.is_ge(),
            Operator::AtMost => order.is_le(),
            Operator::Above => order.is_gt(),
            Operator::Below => order.is_lt(),
            Operator::Compatible => {
                order.is_ge() && self.begins(release, self.version.release.len().saturating_sub(1))
            }
        }
    }

    /// Whether the first numbers are the same; those that are missing are zeros.
    fn begins(&self, release: &Version, numbers: usize) -> bool {
        let padded = release.release.iter().copied().chain(std::iter::repeat(0));
        release.epoch == self.version.epoch
            && padded.take(numbers).eq(self.version.release[..numbers].to_vec())
    }
}

impl fmt::Display for Specifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.operator.text(), self.operand())
    }
}

/// Specifiers as they are written: `>=2,<3`.
pub(super) fn join(specifiers: &BTreeSet<Specifier>) -> String {
    let texts: Vec<String> = specifiers.iter().map(Specifier::to_string).collect();
    texts.join(",")
}

/// Reads `>=2, <3`, at least one; stops at what cannot be part of it.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<BTreeSet<Specifier>, RequirementError> {
    let mut specifiers = BTreeSet::new();
    loop {
        cursor.space();
        specifiers.insert(one(cursor)?);
        cursor.space();
        if !cursor.eat(",") {
            return Ok(specifiers);
        }
    }
}

fn one(cursor: &mut Cursor<'_>) -> Result<Specifier, RequirementError> {
    let Some(operator) = Operator::read(cursor) else {
        return Err(cursor.expected(match cursor.rest().get(..2) {
            Some("=>") => "`>=`, not `=>`".to_owned(),
            Some("=<") => "`<=`, not `=<`".to_owned(),
            _ if cursor.peek() == Some('=') => "`==`, not `=`".to_owned(),
            _ => "an operator (== != ~= >= <= > <) and a version".to_owned(),
        }));
    };
    cursor.space();
    let written = cursor.take(|found| found.is_ascii_alphanumeric() || ".*+!_-".contains(found));
    Specifier::new(operator, written).map_err(|expected| {
        let after = if written.is_empty() {
            format!(" after `{}`", operator.text())
        } else {
            String::new()
        };
        cursor.expected_before(written.len(), format!("{expected}{after}"))
    })
}

/// The versions of Python that will do, such as `>=3.10,<3.14`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonSpec {
    specifiers: BTreeSet<Specifier>,
}

impl PythonSpec {
    /// Reads what stands in `requires-python`.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let mut cursor = Cursor::new(text)?;
        let specifiers = read(&mut cursor)?;
        if !cursor.is_done() {
            return Err(cursor.expected("`,` or the end"));
        }
        Ok(Self { specifiers })
    }

    /// Whether a version will do. Of a version whose last number is not known: whether it can.
    pub fn contains(&self, version: python::Version) -> bool {
        let takes = |patch: u64| {
            let release = Version {
                epoch: 0,
                release: vec![version.major.into(), version.minor.into(), patch],
                pre: None,
                post: None,
                dev: None,
                local: Vec::new(),
            };
            self.specifiers.iter().all(|specifier| specifier.takes(&release))
        };
        match version.patch {
            Some(patch) => takes(patch.into()),
            // What is taken changes only next to a number that is written.
            None => {
                let written = self
                    .specifiers
                    .iter()
                    .filter_map(|one| one.version.release.get(2));
                let mut around =
                    written.flat_map(|patch| [patch.saturating_sub(1), *patch, patch.saturating_add(1)]);
                takes(0) || takes(1) || around.any(takes)
            }
        }
    }

    /// What both take.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.specifiers.extend(other.specifiers);
        self
    }
}

impl fmt::Display for PythonSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join(&self.specifiers))
    }
}
