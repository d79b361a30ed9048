//! What the guest may use up, one limit at a time: its value, its range, its place in [`Limits`].

use std::time::Duration;

use super::{Key, Limits, PolicyError, format_duration, format_size, parse_duration, parse_size};

/// The value of a limit.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Amount {
    /// Bytes, or a count.
    Whole(u64),
    /// Processors, or seconds of processor time.
    Number(f64),
    /// A time.
    Time(Duration),
}

/// What a limit is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things.
    Count,
    /// Processors.
    Number,
    /// Seconds of processor time.
    Seconds,
    /// Wall time.
    Time,
}

/// What makes a key a limit.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LimitKey {
    /// What it is counted in.
    pub unit: Unit,
    /// The least that it can be.
    pub least: Amount,
    /// The most that it can be.
    pub most: Amount,
    /// Whether `none` switches it off.
    pub none: bool,
    /// A value that works, as a document has it.
    pub works: &'static str,
    /// What its flag does.
    pub help: &'static str,
    pub(super) field: Field,
}

/// Where a limit is in [`Limits`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub get: fn(&Limits) -> Option<Amount>,
    pub set: fn(&mut Limits, Option<Amount>),
}

/// The field of this name.
macro_rules! field {
    ($name:ident) => {
        $crate::policy::limit::Field {
            get: |limits| $crate::policy::limit::Value::amount(limits.$name),
            set: |limits, amount| {
                if let Some(value) = $crate::policy::limit::Value::of(amount) {
                    limits.$name = value;
                }
            },
        }
    };
}

pub(super) use field;

/// What a field of [`Limits`] holds. An amount of another kind is none of its values.
pub(super) trait Value: Sized {
    fn amount(self) -> Option<Amount>;
    fn of(amount: Option<Amount>) -> Option<Self>;
}

macro_rules! values {
    ($($kind:ty: $variant:ident),+) => {$(
        impl Value for $kind {
            fn amount(self) -> Option<Amount> {
                Some(Amount::$variant(self))
            }

            fn of(amount: Option<Amount>) -> Option<Self> {
                match amount {
                    Some(Amount::$variant(value)) => Some(value),
                    _ => None,
                }
            }
        }
    )+};
}

values!(u64: Whole, f64: Number, Duration: Time);

/// A limit that can be switched off.
impl<Some_: Value> Value for Option<Some_> {
    fn amount(self) -> Option<Amount> {
        self.and_then(Value::amount)
    }

    fn of(amount: Option<Amount>) -> Option<Self> {
        match amount {
            None => Some(None),
            amount => Value::of(amount).map(Some),
        }
    }
}

impl LimitKey {
    /// For the reference.
    pub(super) fn words(&self) -> &'static str {
        match (self.unit, self.none) {
            (Unit::Bytes, false) => "size",
            (Unit::Bytes, true) => "size or \"none\"",
            (Unit::Count, _) => "integer",
            (Unit::Number, _) => "number",
            (Unit::Seconds, _) => "seconds or \"none\"",
            (Unit::Time, _) => "duration, seconds or \"none\"",
        }
    }

    /// How help names the value of its flag.
    pub fn value_name(&self) -> &'static str {
        match self.unit {
            Unit::Bytes => "SIZE",
            Unit::Count | Unit::Number => "N",
            Unit::Seconds | Unit::Time => "TIME",
        }
    }

    /// Reads what was typed for its flag. Whether it is in range is found out with the whole policy.
    pub fn read(&self, text: &str) -> Result<Option<Amount>, &'static str> {
        if self.none && text == "none" {
            return Ok(None);
        }
        let (read, wanted) = match self.unit {
            Unit::Bytes => (
                parse_size(text).map(Amount::Whole),
                "write a size such as 512M or 2G",
            ),
            Unit::Count => (
                text.parse().ok().map(Amount::Whole),
                "write a whole number such as 128",
            ),
            Unit::Number => (
                text.parse().ok().map(Amount::Number),
                "write a number such as 2 or 0.5",
            ),
            Unit::Seconds => (
                parse_duration(text).map(|time| Amount::Number(time.as_secs_f64())),
                "write a time such as 500ms, 30s or 5m, or none",
            ),
            Unit::Time => (
                parse_duration(text).map(Amount::Time),
                "write a time such as 500ms, 30s or 5m, or none",
            ),
        };
        read.map(Some).ok_or(wanted)
    }

    /// What a policy has.
    pub(super) fn of(&self, limits: &Limits) -> Option<Amount> {
        (self.field.get)(limits)
    }

    /// Gives it to a policy.
    pub(super) fn set(&self, limits: &mut Limits, amount: Option<Amount>) {
        (self.field.set)(limits, amount);
    }

    /// Refuses what is out of range; a NaN is in no range.
    pub(super) fn check(&self, key: &'static Key, amount: Amount) -> Result<Amount, PolicyError> {
        if (self.least..=self.most).contains(&amount) {
            return Ok(amount);
        }
        let little = amount < self.least;
        let (value, problem) = match amount {
            Amount::Whole(value) => (
                match self.unit {
                    Unit::Bytes => format!("\"{}\"", format_size(value)),
                    _ => value.to_string(),
                },
                if little {
                    "too little to start in"
                } else {
                    "more than any host has"
                },
            ),
            Amount::Number(value) => (
                value.to_string(),
                "not a number in range: more than 0, and no more than any host has",
            ),
            Amount::Time(value) => (
                format!("\"{}\"", format_duration(value)),
                if little {
                    "shorter than a millisecond"
                } else {
                    "longer than a year, \"none\" is no limit"
                },
            ),
        };
        Err(PolicyError::Value {
            key: key.name,
            value,
            problem,
            example: self.works,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::KEYS;
    use super::*;

    #[test]
    fn every_limit_has_a_field_of_its_own() {
        let limits = Limits::default();
        for key in KEYS {
            let Some(limit) = key.limit() else { continue };
            let mut changed = limits.clone();
            limit.set(&mut changed, Some(limit.least));
            assert_eq!(limit.of(&changed), Some(limit.least), "{}", key.name);
            for other in KEYS.iter().filter(|other| other.name != key.name) {
                let Some(other) = other.limit() else { continue };
                assert_eq!(other.of(&changed), other.of(&limits), "{}", key.name);
            }
            limit.set(&mut changed, None);
            let off = if limit.none { None } else { Some(limit.least) };
            assert_eq!(limit.of(&changed), off, "{}", key.name);
        }
    }
}
