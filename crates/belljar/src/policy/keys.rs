//! Every key of a policy document, in the order in which it is written and explained.

use std::fmt::Write as _;

/// One key of a policy document.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The flag of the command line that sets it.
    pub flag: &'static str,
    /// What it takes.
    pub kind: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// A line that works.
    pub example: &'static str,
    /// What it does.
    pub about: &'static str,
}

const fn key(
    name: &'static str,
    flag: &'static str,
    kind: &'static str,
    default: &'static str,
    example: &'static str,
    about: &'static str,
) -> Key {
    Key {
        name,
        flag,
        kind,
        default,
        example,
        about,
    }
}

/// Every key.
#[rustfmt::skip]
pub const KEYS: [Key; 24] = [
    key("python", "--python", "version or absolute path", "the first `python3` on PATH", "python = \"3.12\"", "the interpreter: CPython 3.10 or later"),
    key("venv", "--venv", "absolute path", "none", "venv = \"/srv/app/.venv\"", "a virtualenv, shown read-only together with the interpreter below it; folders that its `.pth` files name are not shown"),
    key("system", "--no-system", "boolean", "true", "system = false", "whether /usr is there; without it only what the interpreter needs"),
    key("site_packages", "--site-packages", "boolean", "false", "site_packages = true", "whether the guest sees packages that are installed in its interpreter itself, or in one of /usr"),
    key("locks", "--no-locks", "boolean", "true", "locks = false", "whether files can be locked, by at most 128 locks at once; `false` answers ENOLCK"),
    key("network", "--network", "none, loopback or host", "\"none\"", "network = \"loopback\"", "what the guest reaches: nothing, a loopback of its own, or whatever the host reaches"),
    key("mount", "--mount", "list of \"SRC[:DST][:ro|rw]\" or { source, target, access }", "[]", "mount = [\"/srv/data:/data:ro\"]", "host files and folders in the jar, read-only unless told"),
    key("workdir", "--workdir", "\"DIR[:DST]\" or { source, target, mode }", "a fresh, empty /jar", "workdir = \"/home/me/project\"", "a host folder as the working directory; mode is read, write, draft or apply"),
    key("draft", "--draft", "boolean", "false", "draft = true", "changes to the workdir are listed and dropped"),
    key("apply", "--apply", "boolean", "false", "apply = true", "changes to the workdir are written after a clean exit"),
    key("env", "--env", "table, or list of \"NAME=VALUE\" and \"NAME\"", "{}", "env = { API_URL = \"http://127.0.0.1\" }", "the guest's variables; nothing is inherited but a name that stands alone in a list"),
    key("timeout", "--timeout", "duration, seconds or \"none\"", "\"30s\"", "timeout = \"2m\"", "wall time, from delivery to the empty jar"),
    key("memory", "--memory", "size", "\"1G\"", "memory = \"512M\"", "memory of all processes together"),
    key("cpus", "--cpus", "number", "1.0", "cpus = 0.5", "processors, also as a fraction"),
    key("cpu_seconds", "--cpu-seconds", "seconds or \"none\"", "\"none\"", "cpu_seconds = 10", "processor time of all processes together"),
    key("pids", "--pids", "integer", "128", "pids = 64", "processes and threads at once"),
    key("disk", "--disk", "size", "\"256M\"", "disk = \"1G\"", "bytes in /jar, /tmp and /dev/shm together"),
    key("inodes", "--inodes", "integer", "65536", "inodes = 10000", "files and folders in /jar, /tmp and /dev/shm together"),
    key("open_files", "--open-files", "integer", "1024", "open_files = 256", "open files of one process"),
    key("file_size", "--file-size", "size or \"none\"", "\"none\"", "file_size = \"100M\"", "size of one file"),
    key("output", "--output", "size", "\"1M\"", "output = \"64K\"", "bytes of standard output that are kept, and as many of standard error"),
    key("require", "--require", "sealed or screened", "\"sealed\"", "require = \"sealed\"", "the least tier that is acceptable; a host that cannot is refused"),
    key("require_layers", "--require-layer", "list of layers", "[]", "require_layers = [\"cgroup\", \"landlock\"]", "layers that must be enforced in full"),
    key("profile", "--profile", "tables by name", "none", "[profile.ci]", "a table of the same keys that `--profile NAME` lays over the rest"),
];

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
        let (kind, example, about) = (cell(key.kind), cell(key.example), cell(key.about));
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
