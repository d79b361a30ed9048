//! What every policy must satisfy, whichever front it came from.

use std::time::Duration;

use super::{Policy, PolicyError, environment, format_duration, format_size, paths};

/// The range of a limit, and a value that works.
struct Range {
    key: &'static str,
    least: u64,
    most: u64,
    size: bool,
    example: &'static str,
}

const fn range(key: &'static str, least: u64, most: u64, size: bool, example: &'static str) -> Range {
    Range {
        key,
        least,
        most,
        size,
        example,
    }
}

/// Below the least an interpreter cannot start; above the most the kernel's own counters end.
#[rustfmt::skip]
const RANGES: [Range; 7] = [
    range("memory", 16 << 20, 1 << 44, true, "\"512M\""),
    range("disk", 64 << 10, 1 << 44, true, "\"256M\""),
    range("file_size", 1, 1 << 44, true, "\"100M\""),
    range("output", 1, 1 << 40, true, "\"1M\""),
    range("pids", 2, 1 << 22, false, "128"),
    range("inodes", 64, 1 << 32, false, "65536"),
    range("open_files", 16, 1 << 20, false, "1024"),
];
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
const SHORTEST: Duration = Duration::from_millis(1);

impl Policy {
    /// Refuses a policy that no host could hold to: limits out of range, mounts that are missing or in belljar's own
    /// places, variables that would undo the jar.
    pub fn check(&self) -> Result<(), PolicyError> {
        self.clone().settled().map(drop)
    }

    /// As [`Policy::check`], with mounts and the workdir found on this host: their paths are then the ones that no link leads
    /// through, and what is planned is what was checked. Every front calls it before it plans.
    pub fn settled(mut self) -> Result<Self, PolicyError> {
        if let Some(request) = &self.python {
            python(request)?;
        }
        if let Some(venv) = &self.venv {
            paths::whole("venv", venv)?;
        }
        paths::settle(&mut self.mounts, self.workdir.as_mut())?;
        check_env(
            self.env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )?;
        let limits = &self.limits;
        for (key, value) in [
            ("memory", limits.memory),
            ("disk", limits.disk),
            ("output", limits.output),
            ("pids", limits.pids),
            ("inodes", limits.inodes),
            ("open_files", limits.open_files),
        ] {
            count(key, value)?;
        }
        limits
            .file_size
            .map_or(Ok(0), |bytes| count("file_size", bytes))?;
        amount("cpus", limits.cpus)?;
        limits
            .cpu_seconds
            .map_or(Ok(0.0), |seconds| amount("cpu_seconds", seconds))?;
        limits.timeout.map_or(Ok(LONGEST), timeout)?;
        Ok(self)
    }
}

/// Refuses variables that a guest must not be given.
pub fn check_env<'a>(
    variables: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
) -> Result<(), PolicyError> {
    environment::check_count(variables.len())?;
    for (name, value) in variables {
        variable(name, value)?;
    }
    Ok(())
}

/// Refuses a request that cannot be an interpreter's version or path.
pub(super) fn python(request: &str) -> Result<(), PolicyError> {
    let printable = !request.is_empty() && request.len() <= 4096 && !request.chars().any(char::is_control);
    if printable {
        return Ok(());
    }
    let value = format!("{:.64?}", request);
    Err(PolicyError::Value {
        key: "python",
        value,
        problem: "not a version or path",
        example: "\"3.12\"",
    })
}

/// Refuses a variable that a guest must not be given.
pub(super) fn variable(name: &str, value: &str) -> Result<(), PolicyError> {
    environment::check_name(name)?;
    environment::check_value(name, value)
}

/// Refuses a name that a guest must not be given.
pub(super) fn variable_name(name: &str) -> Result<(), PolicyError> {
    environment::check_name(name)
}

fn range_of(key: &str) -> &'static Range {
    RANGES.iter().find(|range| range.key == key).unwrap_or(&RANGES[0])
}

/// A value for a key that works.
pub(super) fn example(key: &str) -> &'static str {
    range_of(key).example
}

/// Refuses a size or count out of range.
pub(super) fn count(key: &'static str, value: u64) -> Result<u64, PolicyError> {
    let range = range_of(key);
    let problem = if value < range.least {
        "too little to start in"
    } else if value > range.most {
        "more than any host has"
    } else {
        return Ok(value);
    };
    let value = if range.size {
        format!("\"{}\"", format_size(value))
    } else {
        value.to_string()
    };
    Err(PolicyError::Value {
        key,
        value,
        problem,
        example: range.example,
    })
}

/// Refuses a number of processors or seconds out of range; a NaN is in no range.
pub(super) fn amount(key: &'static str, value: f64) -> Result<f64, PolicyError> {
    let (least, most, example) = if key == "cpus" {
        (0.01, 4096.0, "1.5")
    } else {
        (0.001, 1e9, "10")
    };
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let problem = "not a number in range: more than 0, and no more than any host has";
    Err(PolicyError::Value {
        key,
        value: value.to_string(),
        problem,
        example,
    })
}

/// Refuses a deadline that has passed before the start, or that nobody would live to see.
pub(super) fn timeout(value: Duration) -> Result<Duration, PolicyError> {
    let problem = if value < SHORTEST {
        "shorter than a millisecond"
    } else if value > LONGEST {
        "longer than a year, \"none\" is no limit"
    } else {
        return Ok(value);
    };
    let value = format!("\"{}\"", format_duration(value));
    Err(PolicyError::Value {
        key: "timeout",
        value,
        problem,
        example: "\"30s\"",
    })
}
