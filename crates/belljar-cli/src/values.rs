//! Values of flags: times, sizes, mounts, variables. Relative paths are taken from the current folder, because the
//! person who types them sees it; in policy files they are refused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar::policy::{Access, Layer, Network, Tier};
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A wall-time limit, or explicitly none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub Option<Duration>);

/// A host file or folder in the jar, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// On the host.
    pub source: PathBuf,
    /// In the jar.
    pub target: PathBuf,
    /// Whether the guest may write.
    pub access: Access,
}

/// A working directory, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workdir {
    /// On the host.
    pub source: PathBuf,
    /// In the jar; the default when `None`.
    pub target: Option<PathBuf>,
}

/// One of a few names.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    names: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names.map(|(name, _)| name)).map(move |typed| {
        let found = names.iter().find(|(name, _)| *name == typed);
        found.expect("only these names are let through").1
    })
}

/// Reads what the guest can reach.
pub fn network() -> impl TypedValueParser<Value = Network> {
    one_of([
        ("none", Network::None),
        ("loopback", Network::Loopback),
        ("host", Network::Host),
    ])
}

/// Reads a tier.
pub fn tier() -> impl TypedValueParser<Value = Tier> {
    one_of([("sealed", Tier::Sealed), ("screened", Tier::Screened)])
}

/// Reads a layer.
pub fn layer() -> impl TypedValueParser<Value = Layer> {
    one_of(
        [
            Layer::Namespaces,
            Layer::Root,
            Layer::Privileges,
            Layer::Seccomp,
            Layer::Landlock,
            Layer::Cgroup,
            Layer::Rlimits,
            Layer::Descriptors,
            Layer::Clock,
        ]
        .map(|layer| (layer.name(), layer)),
    )
}

/// Reads `NAME=VALUE`, or `NAME` for the value that it has here.
pub fn variable(text: &str) -> Result<(String, String), String> {
    if let Some((name, value)) = text.split_once('=') {
        return Ok((name.to_owned(), value.to_owned()));
    }
    match std::env::var(text) {
        Ok(value) => Ok((text.to_owned(), value)),
        Err(std::env::VarError::NotPresent) => Err(format!("{text} is not set here; give {text}=VALUE")),
        Err(std::env::VarError::NotUnicode(_)) => Err(format!("the value of {text} is not UTF-8")),
    }
}

/// Reads `SRC[:DST][:ro|rw]`.
pub fn mount(text: &str) -> Result<Mount, String> {
    let (text, access) = match text.rsplit_once(':') {
        Some((rest, "ro")) => (rest, Access::ReadOnly),
        Some((rest, "rw")) => (rest, Access::ReadWrite),
        _ => (text, Access::ReadOnly),
    };
    let (source, target) = place(text)?;
    let source = absolute(source)?;
    let target = target.unwrap_or_else(|| source.clone());
    Ok(Mount {
        source,
        target,
        access,
    })
}

/// Reads `DIR[:DST]`.
pub fn workdir(text: &str) -> Result<Workdir, String> {
    let (source, target) = place(text)?;
    Ok(Workdir {
        source: absolute(source)?,
        target,
    })
}

/// Splits `SRC[:DST]`. A path with a colon in it can be given in a policy file.
fn place(text: &str) -> Result<(&str, Option<PathBuf>), String> {
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((_, target)) if !target.starts_with('/') => {
            Err(format!("`{target}` is not an absolute path in the jar"))
        }
        Some((source, target)) => Ok((source, Some(PathBuf::from(target)))),
    }
}

/// A path from the current folder, without `.` and `..`.
pub fn absolute(path: impl AsRef<Path>) -> Result<PathBuf, String> {
    let path = path.as_ref();
    let tell = |error: std::io::Error| format!("{}: {}", path.display(), plain(&error));
    let joined = std::path::absolute(path).map_err(tell)?;
    // `..` means the parent of what a link leads to, so the system itself has to follow it.
    if joined
        .components()
        .any(|part| part == std::path::Component::ParentDir)
    {
        return joined.canonicalize().map_err(tell);
    }
    Ok(joined.components().collect())
}

/// What the system says, without the error number.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// Reads a size such as 512M.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit
        .trim()
        .to_ascii_lowercase()
        .trim_end_matches("ib")
        .trim_end_matches('b')
    {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(format!("`{text}` is not a size such as 512M or 2G")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a size such as 512M or 2G"))?;
    Ok((number * 1024f64.powi(power)) as u64)
}

/// Reads a time such as 30s, or `none`.
pub fn timeout(text: &str) -> Result<Timeout, String> {
    if text == "none" {
        return Ok(Timeout(None));
    }
    seconds(text).map(|time| Timeout(Some(time)))
}

/// Reads a time such as 30s.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time such as 500ms, 30s or 5m");
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * factor).map_err(|_| wrong())
}

/// Reads a number of processors.
pub fn cpus(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number such as 2 or 0.5"))?;
    if number.is_finite() && number > 0.0 {
        Ok(number)
    } else {
        Err(format!("`{text}` is not a number above 0"))
    }
}
