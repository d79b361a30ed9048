//! Versions of PEP 440.

use std::cmp::Ordering;
use std::fmt;

/// A version in its normal form. The derived order only sorts; [`Version::compare`] is the order of versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub epoch: u64,
    pub release: Vec<u64>,
    pub pre: Option<(Pre, u64)>,
    pub post: Option<u64>,
    pub dev: Option<u64>,
    pub local: Vec<Local>,
}

/// A kind of pre-release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pre {
    Alpha,
    Beta,
    Candidate,
}

/// A part of a local version. Numbers come after words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Local {
    Word(String),
    Number(u64),
}

/// Longer words first: `pre` is the beginning of `preview`, `c` of nothing else, `r` of `rev` and `rc`.
const PRE: [(&str, Pre); 8] = [
    ("alpha", Pre::Alpha),
    ("beta", Pre::Beta),
    ("preview", Pre::Candidate),
    ("pre", Pre::Candidate),
    ("rc", Pre::Candidate),
    ("a", Pre::Alpha),
    ("b", Pre::Beta),
    ("c", Pre::Candidate),
];
const POST: [(&str, ()); 3] = [("post", ()), ("rev", ()), ("r", ())];
const DEV: [(&str, ()); 1] = [("dev", ())];

impl Version {
    /// Reads any spelling that PEP 440 allows; a number that needs more than 64 bits is none.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let (public, local) = lower
            .split_once('+')
            .map_or((&*lower, None), |(public, local)| (public, Some(local)));
        let mut rest = public.strip_prefix('v').unwrap_or(public);
        let mut epoch = 0;
        if let Some((number, after)) = rest.split_once('!') {
            epoch = whole(number)?;
            rest = after;
        }
        let mut release = vec![number(&mut rest)?];
        while let Some(mut after) = rest.strip_prefix('.').filter(|after| starts_with_digit(after)) {
            release.push(number(&mut after)?);
            rest = after;
        }
        let pre = labelled(&mut rest, &PRE)?;
        let post = match rest.strip_prefix('-').filter(|after| starts_with_digit(after)) {
            Some(mut after) => {
                let post = number(&mut after)?;
                rest = after;
                Some(post)
            }
            None => labelled(&mut rest, &POST)?.map(|((), number)| number),
        };
        let dev = labelled(&mut rest, &DEV)?.map(|((), number)| number);
        let local = local.map_or(Some(Vec::new()), |local| {
            local.split(['-', '_', '.']).map(local_part).collect()
        })?;
        rest.is_empty().then_some(Self {
            epoch,
            release,
            pre,
            post,
            dev,
            local,
        })
    }

    /// Whether there is nothing but an epoch and a release.
    pub fn is_plain(&self) -> bool {
        self.pre.is_none() && self.post.is_none() && self.dev.is_none() && self.local.is_empty()
    }

    /// The same version without zeros at its end, which mean nothing to most comparisons.
    pub fn trimmed(mut self) -> Self {
        while self.release.len() > 1 && self.release.ends_with(&[0]) {
            self.release.pop();
        }
        self
    }

    /// The order of PEP 440.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }

    fn key(&self) -> impl Ord + '_ {
        let zeros = self.release.iter().rev().take_while(|part| **part == 0).count();
        // 1.dev1 < 1a1 < 1b1 < 1rc1 < 1 < 1.post1; and 1a1.dev1 < 1a1.
        let pre = match (self.pre, self.post, self.dev) {
            (Some((kind, number)), ..) => (1 + kind as u8, number),
            (None, None, Some(_)) => (0, 0),
            (None, ..) => (9, 0),
        };
        let dev = self.dev.map_or((1, 0), |number| (0, number));
        let release = &self.release[..self.release.len() - zeros];
        (self.epoch, release, pre, self.post, dev, &self.local)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.epoch != 0 {
            write!(f, "{}!", self.epoch)?;
        }
        for (index, part) in self.release.iter().enumerate() {
            write!(f, "{}{part}", if index == 0 { "" } else { "." })?;
        }
        if let Some((kind, number)) = self.pre {
            let label = match kind {
                Pre::Alpha => "a",
                Pre::Beta => "b",
                Pre::Candidate => "rc",
            };
            write!(f, "{label}{number}")?;
        }
        if let Some(number) = self.post {
            write!(f, ".post{number}")?;
        }
        if let Some(number) = self.dev {
            write!(f, ".dev{number}")?;
        }
        for (index, part) in self.local.iter().enumerate() {
            f.write_str(if index == 0 { "+" } else { "." })?;
            match part {
                Local::Word(word) => f.write_str(word)?,
                Local::Number(number) => write!(f, "{number}")?,
            }
        }
        Ok(())
    }
}

/// A label with what may stand around it: `.rc-1`, `rc1`, `_rc`. The outer `None` is a number that is too large.
fn labelled<L: Copy>(rest: &mut &str, labels: &[(&str, L)]) -> Option<Option<(L, u64)>> {
    let from = rest.strip_prefix(['-', '_', '.']).unwrap_or(rest);
    let found = labels
        .iter()
        .find_map(|(label, kind)| Some((*kind, from.strip_prefix(label)?)));
    let Some((kind, after)) = found else {
        return Some(None);
    };
    let mut digits = after.strip_prefix(['-', '_', '.']).unwrap_or(after);
    if starts_with_digit(digits) {
        let number = number(&mut digits)?;
        *rest = digits;
        Some(Some((kind, number)))
    } else {
        *rest = after;
        Some(Some((kind, 0)))
    }
}

fn local_part(part: &str) -> Option<Local> {
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        None
    } else if part.bytes().all(|byte| byte.is_ascii_digit()) {
        part.parse().ok().map(Local::Number)
    } else {
        Some(Local::Word(part.to_owned()))
    }
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|found: char| found.is_ascii_digit())
}

/// The digits at the front, taken off.
fn number(rest: &mut &str) -> Option<u64> {
    let end = rest
        .find(|found: char| !found.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits.parse().ok()
}

fn whole(text: &str) -> Option<u64> {
    let mut rest = text;
    number(&mut rest).filter(|_| rest.is_empty())
}
