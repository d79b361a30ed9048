//! Where a package comes from when not from the index: a URL of one file, or a git repository.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::error::printable;
use super::{Allow, RequirementError, name, parse};

/// A URL in its one spelling, without the hash.
pub(super) struct Link {
    pub url: String,
    pub hash: Option<String>,
}

/// Why a URL is refused.
pub(super) enum Problem {
    Url,
    Build,
    Link(&'static str),
}

impl Problem {
    /// The refusal, naming the whole item.
    pub fn of(self, item: &str) -> RequirementError {
        let item = printable(item);
        match self {
            Self::Url => RequirementError::Url { item },
            Self::Build => RequirementError::Build { item },
            Self::Link(problem) => RequirementError::Link { item, problem },
        }
    }
}

/// What must be built before it can be installed.
const ARCHIVES: [&str; 5] = [".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip"];

const KINDS: &str = "only https://, http://, file:/// and git+https:// are read";
const CHARACTERS: &str =
    "it has a character that belljar does not pass on; write letters, digits, - . _ ~ + , = / and %XX";

/// Reads a URL for the package of that name.
pub(super) fn parse(text: &str, package: &str, allow: Allow) -> Result<Link, Problem> {
    if !allow.urls {
        return Err(Problem::Url);
    }
    if text.ends_with(';') {
        return Err(Problem::Link("put a space before the `;`"));
    }
    let (place, fragment) = text
        .split_once('#')
        .map_or((text, None), |(place, fragment)| (place, Some(fragment)));
    let (scheme, rest) = place.split_once("://").ok_or(Problem::Link(KINDS))?;
    match scheme.to_ascii_lowercase().as_str() {
        "git+https" => git(rest, fragment, allow),
        "file" if !rest.starts_with('/') => Err(Problem::Link(
            "a file has three slashes and an absolute path: file:///folder/name.whl",
        )),
        scheme @ ("https" | "http" | "file") => file(scheme, rest, fragment, package, allow),
        _ => Err(Problem::Link(KINDS)),
    }
}

/// Whether a URL leads to a repository.
pub(super) fn is_git(url: &str) -> bool {
    url.starts_with("git+")
}

fn file(
    scheme: &str,
    rest: &str,
    fragment: Option<&str>,
    package: &str,
    allow: Allow,
) -> Result<Link, Problem> {
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = if scheme == "file" {
        String::new()
    } else {
        authority(host)?
    };
    let (path, decoded) = segments(path)?;
    let file = decoded
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    if let Some(wheel) = file.strip_suffix(".whl") {
        let parts: Vec<&str> = wheel.split('-').collect();
        if !matches!(parts.len(), 5 | 6) || name::normalise(parts[0]).as_deref() != Some(package) {
            return Err(Problem::Link(
                "the file is not a wheel of this package, name-version-python-abi-platform.whl",
            ));
        }
    } else if !ARCHIVES.iter().any(|end| file.ends_with(end)) {
        return Err(Problem::Link(
            "it names neither a wheel (.whl) nor an archive (.tar.gz, .zip)",
        ));
    } else if !allow.builds {
        return Err(Problem::Build);
    }
    let hash = fragment.map(|fragment| parse::hash(&fragment.replacen('=', ":", 1)));
    let hash = hash
        .transpose()
        .map_err(|_| Problem::Link("after `#` only sha256= and 64 hexadecimal digits may stand"))?;
    Ok(Link {
        url: format!("{scheme}://{host}{path}"),
        hash,
    })
}

fn git(rest: &str, fragment: Option<&str>, allow: Allow) -> Result<Link, Problem> {
    if !allow.builds {
        return Err(Problem::Build);
    }
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority(host)?;
    let (path, revision) = path
        .split_once('@')
        .map_or((path, None), |(path, revision)| (path, Some(revision)));
    let (path, _) = segments(path)?;
    if path.len() < 2 {
        return Err(Problem::Link("it names no repository"));
    }
    let mut url = format!("git+https://{host}{path}");
    if let Some(revision) = revision {
        if !is_relative(revision) {
            return Err(Problem::Link("after `@` belongs a branch, tag or commit"));
        }
        url = format!("{url}@{revision}");
    }
    if let Some(fragment) = fragment {
        let folder = fragment
            .strip_prefix("subdirectory=")
            .filter(|folder| is_relative(folder));
        let folder = folder.ok_or(Problem::Link(
            "after `#` only subdirectory= and a folder of the repository may stand",
        ))?;
        url = format!("{url}#subdirectory={folder}");
    }
    Ok(Link { url, hash: None })
}

/// A name with slashes that git takes neither for an option nor for a way out.
fn is_relative(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with(['-', '.']) && !part.contains("..");
    let plain = |found: char| found.is_ascii_alphanumeric() || "._-/+".contains(found);
    text.chars().all(plain) && text.split('/').all(part)
}

/// The host and port. Passwords would be kept with the environment and shown, so they are not taken.
fn authority(text: &str) -> Result<String, Problem> {
    const HOST: Problem = Problem::Link("the host is neither a name nor an address");
    if text.contains('@') {
        return Err(Problem::Link(
            "it has a user or password; give these by netrc or by uv's own settings",
        ));
    }
    let lower = text.to_ascii_lowercase();
    let port_at = lower.rfind(':').filter(|at| !lower[*at..].contains(']'));
    let (host, port) = port_at.map_or((&*lower, None), |at| (&lower[..at], Some(&lower[at + 1..])));
    if port
        .is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit()) || port.parse::<u16>().is_err())
    {
        return Err(Problem::Link("the port is not a number up to 65535"));
    }
    let local = if let Some(inner) = host.strip_prefix('[') {
        let address: Ipv6Addr = inner
            .strip_suffix(']')
            .and_then(|inner| inner.parse().ok())
            .ok_or(HOST)?;
        address.is_unicast_link_local()
            || address
                .to_ipv4_mapped()
                .is_some_and(|address| address.is_link_local())
    } else if let Ok(address) = host.parse::<Ipv4Addr>() {
        address.is_link_local()
    } else {
        let label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        // 2852039166 and 0xa9fea9fe are addresses to some resolvers.
        let last = host.rsplit('.').next().unwrap_or_default();
        if !host.split('.').all(label) || last.starts_with(|found: char| found.is_ascii_digit()) {
            return Err(HOST);
        }
        false
    };
    if local {
        return Err(Problem::Link(
            "link-local addresses are where clouds keep their keys",
        ));
    }
    Ok(lower)
}

/// A path in one spelling, and what it means.
fn segments(path: &str) -> Result<(String, String), Problem> {
    const BAD: Problem = Problem::Link(CHARACTERS);
    let mut canonical = String::new();
    let mut decoded = String::new();
    let mut rest = path.chars();
    while let Some(found) = rest.next() {
        if found == '%' {
            let hex = rest.as_str().get(..2).ok_or(BAD)?;
            let byte = u8::from_str_radix(hex, 16)
                .ok()
                .filter(|_| !hex.starts_with('+'))
                .ok_or(BAD)?;
            if !byte.is_ascii_graphic() || matches!(byte, b'/' | b'\\' | b'%') {
                return Err(BAD);
            }
            decoded.push(char::from(byte));
            canonical.push('%');
            canonical.push_str(&hex.to_ascii_uppercase());
            rest = rest.as_str()[2..].chars();
        } else if found.is_ascii_alphanumeric() || "-._~/+,=".contains(found) {
            canonical.push(found);
            decoded.push(found);
        } else {
            return Err(BAD);
        }
    }
    if decoded.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(Problem::Link("it has a `.` or `..` in its path"));
    }
    Ok((canonical, decoded))
}
