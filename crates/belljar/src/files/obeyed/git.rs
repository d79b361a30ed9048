//! What a repository leads git to: its folder where `.git` is a file, and the hooks, settings and programs that its
//! settings name. Total: what is no settings file leads nowhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Lead;

/// Most bytes of a settings file, and most of them that include each other.
const LARGEST: u64 = 1 << 20;
const FILES: usize = 32;

/// What git obeys because `.git` of `worktree` is `end`, which is a folder or a file.
pub(super) fn leads(worktree: &Path, end: &Path) -> Vec<Lead> {
    let mut found = Found {
        worktree,
        leads: Vec::new(),
        files: Vec::new(),
    };
    let mut folder = end.to_path_buf();
    if end.is_file() {
        let Some(named) = word(end, b"gitdir:") else {
            return Vec::new();
        };
        folder = worktree.join(named);
        found.add(folder.clone(), "a .git file leads to it", false);
    }
    let mut folders = vec![folder.clone()];
    if let Some(named) = word(&folder.join("commondir"), b"") {
        let common = folder.join(named);
        found.add(common.clone(), "a repository's commondir leads to it", false);
        folders.push(common);
    }
    for folder in folders {
        found.settings(&folder, &folder.join("config"));
        found.settings(&folder, &folder.join("config.worktree"));
    }
    found.leads
}

struct Found<'a> {
    worktree: &'a Path,
    leads: Vec<Lead>,
    /// Settings that were read.
    files: Vec<PathBuf>,
}

impl Found<'_> {
    fn add(&mut self, path: PathBuf, why: &str, file: bool) {
        self.leads.push(Lead {
            path,
            why: why.into(),
            file,
        });
    }

    /// All that a settings file of the repository in `folder` names.
    fn settings(&mut self, folder: &Path, path: &Path) {
        if self.files.len() >= FILES || self.files.iter().any(|read| read == path) {
            return;
        }
        self.files.push(path.to_path_buf());
        for Setting { section, key, value } in read(path).map(|text| parse(&text)).unwrap_or_default() {
            let named = Path::new(OsStr::from_bytes(&value));
            match (&section[..], &key[..]) {
                (b"include" | b"includeif", b"path") => {
                    let included = path.parent().unwrap_or(path).join(named);
                    self.add(included.clone(), "git's settings include it", false);
                    self.settings(folder, &included);
                }
                (b"core", b"hookspath") => {
                    // From the top of the worktree; in a bare repository from the repository.
                    for base in [self.worktree, folder] {
                        self.add(base.join(named), "git runs hooks in it", false);
                    }
                }
                _ => self.words(&value),
            }
        }
    }

    /// Files that a command names, whichever setting it is in.
    fn words(&mut self, value: &[u8]) {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`!;&|()=<>".contains(byte);
        for word in value.split(ends).filter(|word| word.contains(&b'/')) {
            let path = self.worktree.join(OsStr::from_bytes(word));
            self.add(path, "git's settings name it", true);
        }
    }
}

/// One setting, section and key in lower case.
struct Setting {
    section: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Settings as git reads them: sections, `key = value`, quotes, escapes, comments, lines that go on.
fn parse(text: &[u8]) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut section = Vec::new();
    let mut lines = text.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        let mut line = line.trim_ascii();
        if let Some(rest) = line.strip_prefix(b"[") {
            let end = rest
                .iter()
                .position(|byte| b" \t.]\"".contains(byte))
                .unwrap_or(rest.len());
            section = rest[..end].to_ascii_lowercase();
            // A setting may stand on the same line.
            let close = rest.iter().rposition(|byte| *byte == b']');
            line = close.map_or(&b""[..], |close| rest[close + 1..].trim_ascii());
        }
        if line.is_empty() || line.starts_with(b"#") || line.starts_with(b";") {
            continue;
        }
        let Some(equals) = line.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let key = line[..equals].trim_ascii().to_ascii_lowercase();
        let mut rest = line[equals + 1..].to_vec();
        while rest.ends_with(b"\\") {
            rest.pop();
            let Some(more) = lines.next() else { break };
            rest.extend(more.strip_suffix(b"\r").unwrap_or(more));
        }
        settings.push(Setting {
            section: section.clone(),
            key,
            value: unquote(&rest),
        });
    }
    settings
}

fn unquote(text: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(text.len());
    let (mut quoted, mut kept) = (false, 0);
    let mut bytes = text.trim_ascii().iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' => value.push(match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(other) => *other,
                None => break,
            }),
            b'#' | b';' if !quoted => break,
            other => value.push(*other),
        }
        // Blanks at the end do not count unless they are quoted.
        if quoted || !byte.is_ascii_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

/// The path in a file of one line, after what it begins with.
fn word(path: &Path, begins: &[u8]) -> Option<PathBuf> {
    let text = read(path)?;
    let rest = text.strip_prefix(begins)?.trim_ascii();
    (!rest.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(rest)))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = b"[core]\n\thooksPath = \"my hooks\" # why\n[includeIf \"gitdir:~/x/\"] path = a\\\nb\n; no\n[alias]\nx = !\"sh -c './y z'\"\n[broken\nflag\n[CORE \"s]\"]k=v  ";
        let found: Vec<(String, String, String)> = parse(text)
            .into_iter()
            .map(|Setting { section, key, value }| {
                let text = |bytes| String::from_utf8(bytes).unwrap();
                (text(section), text(key), text(value))
            })
            .collect();
        let expected = [
            ("core", "hookspath", "my hooks"),
            ("includeif", "path", "ab"),
            ("alias", "x", "!sh -c './y z'"),
            ("core", "k", "v"),
        ];
        let expected = expected.map(|(section, key, value)| (section.into(), key.into(), value.into()));
        assert_eq!(found, expected);
    }

    #[test]
    fn anything_else_leads_nowhere() {
        for text in [
            &b"\0\xff["[..],
            b"[",
            b"=",
            b"[a]=",
            b"\\",
            b"[x]\ny=\\",
            b"\"",
            b"[a]b=\"\\",
        ] {
            parse(text);
        }
        assert!(leads(Path::new("/nonexistent"), Path::new("/nonexistent/.git")).is_empty());
    }
}
