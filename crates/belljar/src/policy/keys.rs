//! Every key of a policy document, in the order in which it is written and explained.
//!
//! This table is the only one. The reader of documents, the checks and the flags of the command line work from it, and
//! `make docs` writes the others: docs/reference/policy.md, policy.schema.json beside it, and the keywords of the Python
//! package.

use std::fmt::Write as _;
use std::time::Duration;

use super::limit::{Amount, Field, LimitKey, Unit, field};
use super::{Network, Tier, builtin};

/// One key of a policy document.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The flag of the command line that sets it.
    pub flag: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds without it.
    pub default: &'static str,
    /// A line that works.
    pub example: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// What a key takes. Not for growing in silence: whoever writes another form of this table must know every kind.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// The version of an interpreter, or its path.
    Python,
    /// A path.
    Path,
    /// True or false.
    Switch,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// Host files and folders.
    Mounts,
    /// A host folder.
    Workdir,
    /// Environment variables.
    Variables,
    /// A limit.
    Limit(LimitKey),
    /// Some of the layers.
    Layers,
    /// Tables of keys; to Python, the name of a built-in one.
    Profiles,
}

impl Takes {
    /// For the reference.
    fn words(&self) -> String {
        match self {
            Self::Python => "version or absolute path".into(),
            Self::Path => "absolute path".into(),
            Self::Switch => "boolean".into(),
            Self::Choice(names) => either(names),
            Self::Mounts => "list of \"SRC[:DST][:ro|rw]\" or { source, target, access }".into(),
            Self::Workdir => "\"DIR[:DST]\" or { source, target, mode }".into(),
            Self::Variables => "table, or list of \"NAME=VALUE\" and \"NAME\"".into(),
            Self::Limit(limit) => limit.words().into(),
            Self::Layers => "list of layers".into(),
            Self::Profiles => "tables by name".into(),
        }
    }
}

/// Names as a sentence has them: `none, loopback or host`.
fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).into(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

const fn key(
    name: &'static str,
    flag: &'static str,
    takes: Takes,
    default: &'static str,
    example: &'static str,
    about: &'static str,
) -> Key {
    Key {
        name,
        flag,
        takes,
        default,
        example,
        about,
    }
}

const fn bytes(
    least: u64,
    most: u64,
    none: bool,
    works: &'static str,
    field: Field,
    help: &'static str,
) -> Takes {
    limit(
        Unit::Bytes,
        Amount::Whole(least),
        Amount::Whole(most),
        none,
        works,
        field,
        help,
    )
}

const fn count(least: u64, most: u64, works: &'static str, field: Field, help: &'static str) -> Takes {
    limit(
        Unit::Count,
        Amount::Whole(least),
        Amount::Whole(most),
        false,
        works,
        field,
        help,
    )
}

const fn limit(
    unit: Unit,
    least: Amount,
    most: Amount,
    none: bool,
    works: &'static str,
    field: Field,
    help: &'static str,
) -> Takes {
    Takes::Limit(LimitKey {
        unit,
        least,
        most,
        none,
        works,
        field,
        help,
    })
}

const SHORTEST: Amount = Amount::Time(Duration::from_millis(1));
const LONGEST: Amount = Amount::Time(Duration::from_secs(366 * 86_400));
const NETWORKS: [&str; 3] = [
    Network::ALL[0].name(),
    Network::ALL[1].name(),
    Network::ALL[2].name(),
];
const TIERS: [&str; 2] = [Tier::ALL[0].name(), Tier::ALL[1].name()];

/// Every key. Of a limit: below the least an interpreter cannot start; above the most the kernel's own counters end.
#[rustfmt::skip]
pub const KEYS: [Key; 24] = [
    key("python", "--python", Takes::Python, "the first `python3` on PATH", "python = \"3.12\"", "the interpreter: CPython 3.10 or later"),
    key("venv", "--venv", Takes::Path, "none", "venv = \"/srv/app/.venv\"", "a virtualenv, shown read-only together with the interpreter below it; folders that its `.pth` files name are not shown"),
    key("system", "--no-system", Takes::Switch, "true", "system = false", "whether /usr is there; without it only what the interpreter needs"),
    key("site_packages", "--site-packages", Takes::Switch, "false", "site_packages = true", "whether the guest sees packages that are installed in its interpreter itself, or in one of /usr"),
    key("locks", "--no-locks", Takes::Switch, "true", "locks = false", "whether files can be locked, by at most 128 locks at once; `false` answers ENOLCK"),
    key("network", "--network", Takes::Choice(&NETWORKS), "\"none\"", "network = \"loopback\"", "what the guest reaches: nothing, a loopback of its own, or whatever the host reaches"),
    key("mount", "--mount", Takes::Mounts, "[]", "mount = [\"/srv/data:/data:ro\"]", "host files and folders in the jar, read-only unless told"),
    key("workdir", "--workdir", Takes::Workdir, "a fresh, empty /jar", "workdir = \"/home/me/project\"", "a host folder as the working directory; mode is read, write, draft or apply"),
    key("draft", "--draft", Takes::Switch, "false", "draft = true", "changes to the workdir are listed and dropped"),
    key("apply", "--apply", Takes::Switch, "false", "apply = true", "changes to the workdir are written after a clean exit"),
    key("env", "--env", Takes::Variables, "{}", "env = { API_URL = \"http://127.0.0.1\" }", "the guest's variables; nothing is inherited but a name that stands alone in a list"),
    key("timeout", "--timeout", limit(Unit::Time, SHORTEST, LONGEST, true, "\"30s\"", field!(timeout), "Wall-clock time, such as 500ms, 30s, 5m, or none"),
        "\"30s\"", "timeout = \"2m\"", "wall time, from delivery to the empty jar"),
    key("memory", "--memory", bytes(16 << 20, 1 << 44, false, "\"512M\"", field!(memory), "Memory of all processes together"),
        "\"1G\"", "memory = \"512M\"", "memory of all processes together"),
    key("cpus", "--cpus", limit(Unit::Number, Amount::Number(0.01), Amount::Number(4096.0), false, "1.5", field!(cpus), "Number of processors, such as 2 or 0.5"),
        "1.0", "cpus = 0.5", "processors, also as a fraction"),
    key("cpu_seconds", "--cpu-seconds", limit(Unit::Seconds, Amount::Number(0.001), Amount::Number(1e9), true, "10", field!(cpu_seconds), "Processor time of all processes together"),
        "\"none\"", "cpu_seconds = 10", "processor time of all processes together"),
    key("pids", "--pids", count(2, 1 << 22, "128", field!(pids), "Number of processes and threads"),
        "128", "pids = 64", "processes and threads at once"),
    key("disk", "--disk", bytes(64 << 10, 1 << 44, false, "\"256M\"", field!(disk), "Size of /jar, /tmp and /dev/shm together"),
        "\"256M\"", "disk = \"1G\"", "bytes in /jar, /tmp and /dev/shm together"),
    key("inodes", "--inodes", count(64, 1 << 32, "65536", field!(inodes), "Number of files and folders in /jar, /tmp and /dev/shm together"),
        "65536", "inodes = 10000", "files and folders in /jar, /tmp and /dev/shm together"),
    key("open_files", "--open-files", count(16, 1 << 20, "1024", field!(open_files), "Number of open files of one process"),
        "1024", "open_files = 256", "open files of one process"),
    key("file_size", "--file-size", bytes(1, 1 << 44, true, "\"100M\"", field!(file_size), "Size of one file"),
        "\"none\"", "file_size = \"100M\"", "size of one file"),
    key("output", "--output", bytes(1, 1 << 40, false, "\"1M\"", field!(output), "Size of stdout, and of stderr"),
        "\"1M\"", "output = \"64K\"", "bytes of standard output that are kept, and as many of standard error"),
    key("require", "--require", Takes::Choice(&TIERS), "\"sealed\"", "require = \"sealed\"", "the least tier that is acceptable; a host that cannot is refused"),
    key("require_layers", "--require-layer", Takes::Layers, "[]", "require_layers = [\"cgroup\", \"landlock\"]", "layers that must be enforced in full"),
    key("profile", "--profile", Takes::Profiles, "none", "[profile.ci]", "a table of the same keys that `--profile NAME` lays over the rest"),
];

impl Key {
    /// Every key.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The key of this name.
    pub fn of(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|key| key.name == name)
    }

    /// What bounds it, where it is a limit.
    pub fn limit(&self) -> Option<&LimitKey> {
        match &self.takes {
            Takes::Limit(limit) => Some(limit),
            _ => None,
        }
    }
}

/// In one place, so that references to it last.
static ALL: [Key; KEYS.len()] = KEYS;

/// Names of the profiles that belljar brings along.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    builtin::names()
}

/// The key that is most like a misspelt one.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    let flat = word.replace('-', "_").to_ascii_lowercase();
    // Names that other tools have for the same thing.
    let other = [
        ("mounts", "mount"),
        ("networking", "network"),
        ("net", "network"),
        ("mem", "memory"),
        ("processes", "pids"),
        ("cwd", "workdir"),
        ("virtualenv", "venv"),
        ("environment", "env"),
        ("profiles", "profile"),
    ];
    if let Some((_, name)) = other.iter().find(|(other, _)| *other == flat) {
        return Some(name);
    }
    let distances = KEYS
        .iter()
        .map(|key| (crate::nearest::distance(&flat, key.name), key.name));
    distances
        .min()
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .map(|(_, name)| name)
}

/// The reference of all keys, as the table in `docs/reference/policy.md`.
pub fn reference() -> String {
    let mut text = String::from(
        "| key | flag | takes | default | example | what it does |\n|---|---|---|---|---|---|\n",
    );
    for key in KEYS {
        let cell = |text: &str| text.replace('|', "\\|");
        let default = if key.default.starts_with(['"', '[', '{'])
            || key.default.starts_with(|c: char| c.is_ascii_digit())
            || ["true", "false"].contains(&key.default)
        {
            format!("`{}`", key.default)
        } else {
            key.default.to_owned()
        };
        let (name, flag) = (key.name, key.flag);
        let (kind, example, about) = (cell(&key.takes.words()), cell(key.example), cell(key.about));
        writeln!(
            text,
            "| `{name}` | `{flag}` | {kind} | {default} | `{example}` | {about} |"
        )
        .ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_key() {
        for (word, name) in [
            ("memroy", "memory"),
            ("Memory", "memory"),
            ("time_out", "timeout"),
            ("open-files", "open_files"),
            ("mounts", "mount"),
            ("pid", "pids"),
            ("cpu", "cpus"),
            ("requires", "require"),
        ] {
            assert_eq!(nearest(word), Some(name), "{word}");
        }
        for word in ["", "colour", "x", "privileged", &"a".repeat(1 << 20)] {
            assert_eq!(nearest(word), None, "{word:.20}");
        }
    }
}
