//! The user's own index settings, as uv and pip read them from variables and files. They go into the build's jar and
//! nowhere else. Files of a project are not read: a checkout that is not trusted must not choose where packages come from.

mod netrc;
mod pip;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{EnvironmentError, Variables};

/// What of a uv.toml says where packages come from and which are taken; the rest is none of a build's business.
const KEPT: [&str; 13] = [
    "index",
    "index-url",
    "extra-index-url",
    "no-index",
    "find-links",
    "index-strategy",
    "allow-insecure-host",
    "native-tls",
    "system-certs",
    "exclude-newer",
    "prerelease",
    "resolution",
    "fork-strategy",
];
/// Variables that decide which package a name means.
const DECIDING: [&str; 10] = [
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INDEX_STRATEGY",
    "UV_EXCLUDE_NEWER",
    "UV_PRERELEASE",
    "UV_RESOLUTION",
    "UV_TORCH_BACKEND",
];
/// The others of the same kind.
const FURTHER: [&str; 14] = [
    "UV_OFFLINE",
    "UV_INSECURE_HOST",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "UV_HTTP_TIMEOUT",
    "UV_HTTP_RETRIES",
    "UV_CONCURRENT_DOWNLOADS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSL_CLIENT_CERT",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];
const LARGEST: u64 = 1 << 20;

/// What a build is given of the user's settings.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct IndexSettings {
    /// As a uv.toml.
    pub file: Table,
    /// As variables.
    pub variables: BTreeMap<String, String>,
    /// As a netrc with the hosts of these indexes alone.
    pub netrc: String,
    /// Host files and folders that they name: local indexes, certificates.
    pub shown: Vec<PathBuf>,
}

/// Where settings are looked for; tests make their own.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub variables: BTreeMap<String, String>,
    /// uv.toml files, the weakest first.
    pub uv: Vec<PathBuf>,
    /// pip.conf files, the weakest first.
    pub pip: Vec<PathBuf>,
    pub netrc: Option<PathBuf>,
}

impl Around {
    fn of(variables: &Variables) -> Self {
        let variables = variables.clone();
        let folder = |name: &str| {
            variables
                .get(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = folder("HOME");
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        let config = folder("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let in_config = |path: &str| config.as_ref().map(|config| config.join(path));
        let uv = match (folder("UV_CONFIG_FILE"), variables.contains_key("UV_NO_CONFIG")) {
            (_, true) => Vec::new(),
            (Some(named), false) => vec![named],
            (None, false) => [Some("/etc/uv/uv.toml".into()), in_config("uv/uv.toml")]
                .into_iter()
                .flatten()
                .collect(),
        };
        let pip = [
            Some("/etc/pip.conf".into()),
            below(".pip/pip.conf"),
            in_config("pip/pip.conf"),
            folder("PIP_CONFIG_FILE"),
        ];
        let netrc = folder("NETRC").or_else(|| below(".netrc"));
        Self {
            uv,
            // That one name is how pip is told to read no file at all.
            pip: match folder("PIP_CONFIG_FILE") {
                Some(file) if file == Path::new("/dev/null") => Vec::new(),
                _ => pip.into_iter().flatten().collect(),
            },
            netrc,
            variables,
        }
    }
}

impl IndexSettings {
    /// Those that these variables, and the files that they lead to, hold.
    pub(super) fn of(variables: &Variables) -> Result<Self, EnvironmentError> {
        Self::read(&Around::of(variables))
    }

    pub(super) fn read(around: &Around) -> Result<Self, EnvironmentError> {
        let mut settings = Self::default();
        for path in &around.uv {
            if let Some(text) = read(path)? {
                settings.add_file(path, &text)?;
            }
        }
        settings.add_variables(around);
        pip::add(&mut settings, around)?;
        settings.add_shown();
        if let Some(path) = &around.netrc
            && let Some(text) = read(path)?
        {
            settings.netrc = netrc::only(&text, &settings.hosts());
        }
        Ok(settings)
    }

    /// What decides which package a name means, without passwords: those change, and have no place in a name.
    pub(super) fn identity(&self) -> String {
        let file = self
            .file
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()));
        let variables = self
            .variables
            .iter()
            .filter(|(name, _)| DECIDING.contains(&name.as_str()));
        let all = file.chain(variables.map(|(name, value)| (name.as_str(), value.clone())));
        all.map(|(name, value)| format!("{name}={}\n", without_secrets(&value)))
            .collect()
    }

    /// Whether one of these is set, in a file or as a variable.
    fn has(&self, key: &str, variables: &[&str]) -> bool {
        self.file.contains_key(key) || variables.iter().any(|name| self.variables.contains_key(*name))
    }

    fn add_file(&mut self, path: &Path, text: &str) -> Result<(), EnvironmentError> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| EnvironmentError::Settings {
                path: path.to_path_buf(),
                problem: error.message().to_owned(),
            })?;
        let pip = table
            .get("pip")
            .and_then(Value::as_table)
            .cloned()
            .unwrap_or_default();
        for (name, value) in table.into_iter().chain(pip) {
            if !KEPT.contains(&name.as_str()) {
                continue;
            }
            match (self.file.get_mut(&name), value) {
                // uv joins lists, the nearer file's first.
                (Some(Value::Array(there)), Value::Array(mut nearer)) => {
                    nearer.append(there);
                    *there = nearer;
                }
                (_, value) => {
                    self.file.insert(name, value);
                }
            }
        }
        Ok(())
    }

    fn add_variables(&mut self, around: &Around) {
        for (name, value) in &around.variables {
            let upper = name.to_ascii_uppercase();
            let proxy = upper.ends_with("_PROXY") && FURTHER.contains(&upper.as_str());
            // Names and passwords for an index that has a name of its own.
            let secret =
                name.starts_with("UV_INDEX_") && (name.ends_with("_USERNAME") || name.ends_with("_PASSWORD"));
            let known = DECIDING.iter().chain(&FURTHER).any(|known| known == name);
            if known || proxy || secret {
                self.variables.insert(name.clone(), value.clone());
            }
        }
    }

    /// Local files and folders that the settings name, to be shown to the build at the same path.
    fn add_shown(&mut self) {
        let mut texts: Vec<&str> = Vec::new();
        for value in self.file.values() {
            strings(value, &mut texts);
        }
        let links = [
            "UV_FIND_LINKS",
            "UV_INDEX",
            "UV_DEFAULT_INDEX",
            "UV_INDEX_URL",
            "UV_EXTRA_INDEX_URL",
        ];
        for name in links {
            let value = self.variables.get(name).map_or("", String::as_str);
            texts.extend(value.split([',', ' ']));
        }
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT"] {
            texts.extend(self.variables.get(name).map(String::as_str));
        }
        let mut shown: Vec<PathBuf> = texts
            .into_iter()
            .map(|text| text.split_once('=').map_or(text, |(_, value)| value))
            .map(|text| text.strip_prefix("file://").unwrap_or(text))
            .filter(|text| text.starts_with('/'))
            .map(PathBuf::from)
            .filter(|path| path.exists())
            // What the base of every jar has needs no mount of its own.
            .filter(|path| crate::policy::can_be_shown(path))
            .collect();
        shown.sort();
        shown.dedup();
        self.shown = shown;
    }

    /// Hosts that packages may come from.
    fn hosts(&self) -> Vec<String> {
        let mut texts: Vec<&str> = Vec::new();
        for value in self.file.values() {
            strings(value, &mut texts);
        }
        for value in self.variables.values() {
            texts.extend(value.split([',', ' ']));
        }
        texts.into_iter().filter_map(host).map(str::to_owned).collect()
    }
}

/// All strings in a value.
fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Table(table) => table.values().for_each(|item| strings(item, found)),
        _ => {}
    }
}

/// The host of a URL.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    (!host.is_empty()).then_some(host)
}

/// A text without what stands between `://` and `@`.
pub(super) fn without_secrets(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let end = after
            .find(['/', '?', '#', ' ', ',', '"', '\''])
            .unwrap_or(after.len());
        let authority = &after[..end];
        clean.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        rest = &after[end..];
    }
    clean.push_str(rest);
    clean
}

/// The text of a file; `None` where there is none, or another user's that we may not read.
fn read(path: &Path) -> Result<Option<String>, EnvironmentError> {
    let wrong = |problem: String| EnvironmentError::Settings {
        path: path.to_path_buf(),
        problem,
    };
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Ok(metadata) if metadata.len() > LARGEST => return Err(wrong("it is larger than 1 MiB".into())),
        Ok(_) => {}
        Err(_) => return Ok(None),
    }
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| wrong("it is not UTF-8".into())),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}
