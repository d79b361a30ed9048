//! Values of flags: times, sizes, mounts, variables. Relative paths are taken from the current folder, because the
//! person who types them sees it; in policy files they are refused.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar::policy::{Layer, Mount, Network, Tier, Workdir, parse_duration, parse_size};
use clap::builder::{PossibleValuesParser, TypedValueParser};

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
    one_of(Network::ALL.map(|network| (network.name(), network)))
}

/// Reads a tier.
pub fn tier() -> impl TypedValueParser<Value = Tier> {
    one_of(Tier::ALL.map(|tier| (tier.name(), tier)))
}

/// Reads a layer.
pub fn layer() -> impl TypedValueParser<Value = Layer> {
    one_of(Layer::ALL.map(|layer| (layer.name(), layer)))
}

/// Reads `NAME=VALUE`, or `NAME` alone.
pub fn variable(text: &str) -> Result<(String, Option<String>), Infallible> {
    Ok(match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    })
}

/// Reads `SRC[:DST][:ro|rw]`.
pub fn mount(text: &str) -> Result<Mount, String> {
    let mut mount = Mount::parse(text, Some(&here()?)).map_err(|error| error.to_string())?;
    let same = mount.target == mount.source;
    mount.source = absolute(&mount.source)?;
    if same {
        mount.target.clone_from(&mount.source);
    }
    Ok(mount)
}

/// Reads `DIR[:DST]`.
pub fn workdir(text: &str) -> Result<Workdir, String> {
    let mut workdir = Workdir::parse(text, Some(&here()?)).map_err(|error| error.to_string())?;
    workdir.source = absolute(&workdir.source)?;
    Ok(workdir)
}

fn here() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            "the current folder no longer exists; change to another one".to_owned()
        }
        _ => format!("cannot tell the current folder: {}", plain(&error)),
    })
}

/// A path from the current folder, without `.` and `..`.
pub fn absolute(path: impl AsRef<Path>) -> Result<PathBuf, String> {
    let path = path.as_ref();
    if path.as_os_str().is_empty() {
        return Err("the path is empty".to_owned());
    }
    let tell = |error: std::io::Error| format!("{}: {}", path.display(), plain(&error));
    let joined = if path.is_absolute() {
        path.to_path_buf()
    } else {
        here()?.join(path)
    };
    // `..` means the parent of what a link leads to, so the system itself has to follow it.
    if joined
        .components()
        .any(|part| part == std::path::Component::ParentDir)
    {
        // What the path ends in stays what it is, so that a link in the place of a folder is seen.
        return match (joined.parent(), joined.file_name()) {
            (Some(parent), Some(name)) => Ok(parent.canonicalize().map_err(tell)?.join(name)),
            _ => joined.canonicalize().map_err(tell),
        };
    }
    Ok(joined.components().collect())
}

/// What the system says, without the error number.
pub fn plain(error: &std::io::Error) -> String {
    belljar::without_number(&error.to_string()).to_lowercase()
}

/// Reads a whole number.
pub fn count(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "write a whole number such as 128")
}

/// Reads a size such as 512M.
pub fn size(text: &str) -> Result<u64, String> {
    parse_size(text).ok_or_else(|| "write a size such as 512M or 2G".to_owned())
}

/// Reads an age such as 30d or 12h.
pub fn age(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "write a time such as 30d or 12h".to_owned())
}
