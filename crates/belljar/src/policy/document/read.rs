//! From TOML to a [`PolicyDocument`]. Total: whatever the text, it is a document or an error with its line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::PolicyDocument;
use crate::policy::{
    Access, Amount, Key, Layer, LimitKey, Mount, Network, PolicyError, Tier, Unit, Workdir, WorkdirMode,
    check, keys, parse_duration, parse_size, paths,
};

type Value<'a> = Spanned<DeValue<'a>>;
type Result<T> = std::result::Result<T, PolicyError>;

/// What a pyproject.toml must be called to be read as one.
const PYPROJECT: &str = "pyproject.toml";

pub(super) fn parse(text: &str, origin: &Path) -> Result<PolicyDocument> {
    let reader = Reader { text, origin };
    let root = DeTable::parse(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        reader.at(error.span().unwrap_or(0..0), PolicyError::Syntax { message })
    })?;
    if origin.file_name().is_some_and(|name| name == PYPROJECT) {
        let table = root
            .get_ref()
            .get("tool")
            .and_then(|tool| tool.get_ref().get("belljar"));
        let table = table.ok_or_else(|| PolicyError::NoTable {
            file: origin.to_path_buf(),
        })?;
        return reader.document(
            table_of("tool.belljar", table).map_err(|error| reader.at(table.span(), error))?,
            false,
        );
    }
    reader.document(root.get_ref(), false)
}

struct Reader<'a> {
    text: &'a str,
    origin: &'a Path,
}

impl Reader<'_> {
    /// Gives a problem its place.
    fn at(&self, span: Range<usize>, problem: PolicyError) -> PolicyError {
        let before = self
            .text
            .as_bytes()
            .get(..span.start)
            .unwrap_or(self.text.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        PolicyError::In {
            file: self.origin.to_path_buf(),
            line,
            problem: Box::new(problem),
        }
    }

    fn document(&self, table: &DeTable<'_>, profile: bool) -> Result<PolicyDocument> {
        let mut document = PolicyDocument::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "profile" if !profile => document.profiles = self.profiles(value)?,
                _ if keys::KEYS
                    .iter()
                    .any(|known| known.name == name && name != "profile") =>
                {
                    set(&mut document, name, value).map_err(|problem| self.at(value.span(), problem))?;
                }
                _ => {
                    let nearest = keys::nearest(name).filter(|near| *near != name);
                    return Err(self.at(
                        key.span(),
                        PolicyError::UnknownKey {
                            key: plain(name),
                            nearest,
                        },
                    ));
                }
            }
        }
        Ok(document)
    }

    fn profiles(&self, value: &Value<'_>) -> Result<BTreeMap<String, PolicyDocument>> {
        let table = table_of("profile", value).map_err(|problem| self.at(value.span(), problem))?;
        let mut profiles = BTreeMap::new();
        for (name, value) in table {
            let name = name.get_ref().as_ref();
            let table = table_of(&format!("profile.{}", plain(name)), value)
                .map_err(|problem| self.at(value.span(), problem))?;
            profiles.insert(name.to_owned(), self.document(table, true)?);
        }
        Ok(profiles)
    }
}

fn set(document: &mut PolicyDocument, name: &str, value: &Value<'_>) -> Result<()> {
    match name {
        "python" => document.python = Some(python(text("python", value)?)?),
        "venv" => document.venv = Some(paths::absolute("venv", text("venv", value)?, None)?),
        "system" => document.system = Some(boolean("system", value)?),
        "locks" => document.locks = Some(boolean("locks", value)?),
        "site_packages" => document.site_packages = Some(boolean("site_packages", value)?),
        "network" => {
            document.network = Some(choice(
                "network",
                value,
                &Network::ALL.map(|network| (network.name(), network)),
                "none, loopback or host",
                "\"loopback\"",
            )?)
        }
        "mount" => document.mount = list("mount", value)?.map(mount).collect::<Result<_>>()?,
        "workdir" => document.workdir = Some(workdir(value)?),
        "draft" => document.draft = Some(boolean("draft", value)?),
        "apply" => document.apply = Some(boolean("apply", value)?),
        "env" => document.env = env(value)?,
        "require" => {
            document.require = Some(choice(
                "require",
                value,
                &Tier::ALL.map(|tier| (tier.name(), tier)),
                "sealed or screened",
                "\"sealed\"",
            )?)
        }
        "require_layers" => {
            let layers = list("require_layers", value)?;
            let named = Layer::ALL.map(|layer| (layer.name(), layer));
            let layer = |value| choice("require_layers", value, &named, LAYER_NAMES, "[\"cgroup\"]");
            document.require_layers = Some(layers.map(layer).collect::<Result<_>>()?);
        }
        _ => match Key::of(name).and_then(|key| Some((key, key.limit()?))) {
            Some((key, bounds)) => drop(document.limits.insert(key.name, limit(key, bounds, value)?)),
            None => unreachable!("every name in KEYS has its line here, and a test walks them"),
        },
    }
    Ok(())
}

const LAYER_NAMES: &str =
    "the layers are namespaces, root, privileges, seccomp, landlock, cgroup, rlimits, descriptors and clock";

fn choice<T: Copy>(
    key: &'static str,
    value: &Value<'_>,
    choices: &[(&str, T)],
    names: &'static str,
    example: &'static str,
) -> Result<T> {
    let word = text(key, value)?;
    let found = choices.iter().find(|(name, _)| *name == word);
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| wrong(key, value, names, example))
}

/// A version or a whole path: a relative one would mean another file in every folder that the document is used from.
fn python(text: &str) -> Result<String> {
    if text.contains('/') {
        paths::absolute("python", text, None)?;
    }
    check::python(text)?;
    Ok(text.to_owned())
}

fn mount(value: &Value<'_>) -> Result<Mount> {
    let mount = match value.get_ref() {
        DeValue::String(text) => Mount::parse(text, None)?,
        DeValue::Table(table) => {
            let [source, target, access] = fields("mount", table, ["source", "target", "access"])?;
            let source = path(
                "mount",
                source.ok_or_else(|| kind("mount", "a table with a source", value))?,
            )?;
            Mount {
                target: target.map_or_else(|| Ok(source.clone()), |target| path("mount", target))?,
                source,
                access: access.map_or(Ok(Access::ReadOnly), |access| {
                    choice(
                        "mount",
                        access,
                        &Access::ALL.map(|access| (access.name(), access)),
                        "access is ro or rw",
                        "[\"/srv/data:/data:ro\"]",
                    )
                })?,
            }
        }
        _ => {
            return Err(kind(
                "mount",
                "a list of \"SRC[:DST][:ro|rw]\" or of tables",
                value,
            ));
        }
    };
    mount.check_words()?;
    Ok(mount)
}

fn workdir(value: &Value<'_>) -> Result<Workdir> {
    let workdir = match value.get_ref() {
        DeValue::String(text) => Workdir::parse(text, None)?,
        DeValue::Table(table) => {
            let [source, target, mode] = fields("workdir", table, ["source", "target", "mode"])?;
            let source = source.ok_or_else(|| kind("workdir", "a table with a source", value))?;
            Workdir {
                source: path("workdir", source)?,
                target: target
                    .map_or_else(|| Ok(PathBuf::from(paths::JAR)), |target| path("workdir", target))?,
                mode: mode.map_or(Ok(WorkdirMode::Write), |mode| {
                    choice(
                        "workdir",
                        mode,
                        &WorkdirMode::ALL.map(|mode| (mode.name(), mode)),
                        "mode is read, write, draft or apply",
                        "\"/home/me/project\"",
                    )
                })?,
            }
        }
        _ => return Err(kind("workdir", "\"DIR[:DST]\" or a table", value)),
    };
    workdir.check_words()?;
    Ok(workdir)
}

/// Takes the known fields of a table, and refuses any other.
fn fields<'t, 'i, const N: usize>(
    key: &'static str,
    table: &'t DeTable<'i>,
    names: [&'static str; N],
) -> Result<[Option<&'t Value<'i>>; N]> {
    if let Some((other, _)) = table
        .iter()
        .find(|(name, _)| !names.contains(&name.get_ref().as_ref()))
    {
        return Err(PolicyError::UnknownKey {
            key: format!("{key}.{}", plain(other.get_ref())),
            nearest: None,
        });
    }
    Ok(names.map(|name| table.get(name)))
}

fn env(value: &Value<'_>) -> Result<BTreeMap<String, Option<String>>> {
    let pairs: Vec<(&str, Option<&str>)> = match value.get_ref() {
        DeValue::Table(table) => table
            .iter()
            .map(|(name, value)| Ok((name.get_ref().as_ref(), Some(text("env", value)?))))
            .collect::<Result<_>>()?,
        DeValue::Array(_) => list("env", value)?
            .map(|entry| {
                let entry = text("env", entry)?;
                Ok(entry
                    .split_once('=')
                    .map_or((entry, None), |(name, value)| (name, Some(value))))
            })
            .collect::<Result<_>>()?,
        _ => return Err(kind("env", "a table or a list of \"NAME=VALUE\"", value)),
    };
    let mut env = BTreeMap::new();
    for (name, value) in pairs {
        check::variable(name, value.unwrap_or_default())?;
        env.insert(name.to_owned(), value.map(str::to_owned));
    }
    Ok(env)
}

fn limit(key: &'static Key, limit: &LimitKey, value: &Value<'_>) -> Result<Option<Amount>> {
    if limit.none && value.get_ref().as_str() == Some("none") {
        return Ok(None);
    }
    let amount = match limit.unit {
        Unit::Time => Amount::Time(time(key, limit, value)?),
        Unit::Bytes => Amount::Whole(size(key, limit, value)?),
        Unit::Count => Amount::Whole(integer(key, limit, value)?),
        Unit::Number | Unit::Seconds => Amount::Number(number(key, value)?),
    };
    limit.check(key, amount).map(Some)
}

fn time(key: &'static Key, limit: &LimitKey, value: &Value<'_>) -> Result<Duration> {
    let words = match value.get_ref() {
        DeValue::String(text) => Cow::from(text.as_ref()),
        DeValue::Integer(number) if number.radix() == 10 => Cow::from(number.as_str()),
        DeValue::Float(number) => Cow::from(number.as_str()),
        _ => {
            return Err(kind(
                key.name,
                "a duration such as \"30s\", a number of seconds or \"none\"",
                value,
            ));
        }
    };
    parse_duration(&words).ok_or_else(|| wrong(key.name, value, "not a duration", limit.works))
}

fn size(key: &'static Key, limit: &LimitKey, value: &Value<'_>) -> Result<u64> {
    let bytes = match value.get_ref() {
        DeValue::String(text) => parse_size(text),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => {
            return Err(kind(
                key.name,
                "a size such as \"512M\" or a number of bytes",
                value,
            ));
        }
    };
    bytes.ok_or_else(|| wrong(key.name, value, "not a size", limit.works))
}

fn integer(key: &'static Key, limit: &LimitKey, value: &Value<'_>) -> Result<u64> {
    let DeValue::Integer(number) = value.get_ref() else {
        return Err(kind(key.name, "an integer", value));
    };
    let number = u64::from_str_radix(number.as_str(), number.radix());
    number.map_err(|_| wrong(key.name, value, "not a count", limit.works))
}

fn number(key: &'static Key, value: &Value<'_>) -> Result<f64> {
    let number = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => return Err(kind(key.name, "a number", value)),
    };
    Ok(number.unwrap_or(f64::NAN))
}

fn text<'v>(key: &'static str, value: &'v Value<'_>) -> Result<&'v str> {
    value
        .get_ref()
        .as_str()
        .ok_or_else(|| kind(key, "a string", value))
}

fn path(key: &'static str, value: &Value<'_>) -> Result<PathBuf> {
    text(key, value).map(PathBuf::from)
}

fn boolean(key: &'static str, value: &Value<'_>) -> Result<bool> {
    value
        .get_ref()
        .as_bool()
        .ok_or_else(|| kind(key, "true or false", value))
}

fn list<'v, 'i>(key: &'static str, value: &'v Value<'i>) -> Result<impl Iterator<Item = &'v Value<'i>>> {
    value
        .get_ref()
        .as_array()
        .map(|list| list.iter())
        .ok_or_else(|| kind(key, "a list", value))
}

fn table_of<'v, 'i>(key: &str, value: &'v Value<'i>) -> Result<&'v DeTable<'i>> {
    value
        .get_ref()
        .as_table()
        .ok_or_else(|| kind(key, "a table", value))
}

fn kind(key: &str, expected: &'static str, value: &Value<'_>) -> PolicyError {
    PolicyError::Kind {
        key: key.to_owned(),
        expected,
        found: value.get_ref().type_str(),
    }
}

fn wrong(key: &'static str, value: &Value<'_>, problem: &'static str, example: &'static str) -> PolicyError {
    let value = match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", plain(text)),
        DeValue::Integer(number) => plain(&number.to_string()),
        other => other.type_str().to_owned(),
    };
    PolicyError::Value {
        key,
        value,
        problem,
        example,
    }
}

/// Text of a document as a message may show it: short, and without anything that a terminal obeys.
fn plain(text: &str) -> String {
    let mut plain: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    if text.chars().nth(64).is_some() {
        plain.push('…');
    }
    plain
}
