//! The guest runtime that is embedded in this library: what a jar gets in its runtime folder, as bytecode where that is
//! known already, as source otherwise.

mod cache;

use std::borrow::Cow;
use std::ffi::OsString;

use crate::job::{Job, Program, Stdin};
use crate::plan::Plan;

/// How many of them a cold run needs. Those up to the template belong to jobs with a parcel, the others to templates.
const COLD: usize = 5;
/// The runtime as source: the file that is started first, then those that it loads when it needs them.
const SOURCE: [(&str, &[u8]); 15] = [
    ("boot.py", include_bytes!("../../../guest/boot.py")),
    ("ended.py", include_bytes!("../../../guest/ended.py")),
    ("report.py", include_bytes!("../../../guest/report.py")),
    ("script.py", include_bytes!("../../../guest/script.py")),
    ("call.py", include_bytes!("../../../guest/call.py")),
    ("invoke.py", include_bytes!("../../../guest/invoke.py")),
    ("values.py", include_bytes!("../../../guest/values.py")),
    (
        "values_types.py",
        include_bytes!("../../../guest/values_types.py"),
    ),
    ("values_path.py", include_bytes!("../../../guest/values_path.py")),
    (
        "belljar_guest.py",
        include_bytes!("../../../guest/belljar_guest.py"),
    ),
    ("template.py", include_bytes!("../../../guest/template.py")),
    ("seal.py", include_bytes!("../../../guest/seal.py")),
    ("seeds.py", include_bytes!("../../../guest/seeds.py")),
    ("worker.py", include_bytes!("../../../guest/worker.py")),
    ("preload.py", include_bytes!("../../../guest/preload.py")),
];

/// Compiles the parts that come over standard input (a count, lengths, sources) and writes the same form with bytecode.
const COMPILE: &str = "
import sys, marshal, importlib.util as u
i, o = sys.stdin.buffer, sys.stdout.buffer
n = lambda: int.from_bytes(i.read(4), 'little')
parts = []
for k in range(n()):
    name = i.read(n()).decode()
    code = compile(i.read(n()), '/run/belljar/' + name, 'exec', dont_inherit=True)
    parts.append(((name + 'c').encode(), u.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)))
o.write(len(parts).to_bytes(4, 'little'))
for part in parts:
    for piece in part:
        o.write(len(piece).to_bytes(4, 'little') + piece)
";

/// The runtime in the form that a jar gets.
pub(crate) struct Runtime {
    files: Vec<(String, Cow<'static, [u8]>)>,
    wants_compiling: bool,
}

impl Runtime {
    /// For a program that is not Python.
    pub(crate) fn none() -> Self {
        Self {
            files: Vec::new(),
            wants_compiling: false,
        }
    }

    /// For the plan's interpreter.
    pub(crate) fn of(plan: &Plan) -> Self {
        let entry = cache::Entry::of(plan);
        let cached = entry
            .as_ref()
            .and_then(cache::Entry::read)
            .and_then(|bytes| unpack(&bytes));
        match cached {
            Some(files) => Self {
                files: files
                    .into_iter()
                    .map(|(name, code)| (name, code.into()))
                    .collect(),
                wants_compiling: false,
            },
            None => Self {
                files: SOURCE
                    .iter()
                    .map(|(name, source)| ((*name).to_owned(), Cow::Borrowed(*source)))
                    .collect(),
                // Where it cannot be kept, every run would compile it anew: a second jar each time.
                wants_compiling: entry.is_some_and(|entry| entry.can_be_written()),
            },
        }
    }

    /// Names and contents for a cold run; the first is started.
    pub(crate) fn files(&self, job: &Job) -> &[(String, Cow<'static, [u8]>)] {
        let template = |(name, _): &(String, _)| name.starts_with("template.");
        let count = match job.parcel() {
            Some(_) => self.files.iter().position(template).unwrap_or(COLD),
            None => COLD,
        };
        &self.files[..count.min(self.files.len())]
    }

    /// Names and contents for a cabinet.
    pub(crate) fn with_template(&self) -> &[(String, Cow<'static, [u8]>)] {
        &self.files
    }

    /// Whether it would start faster if it were compiled, and the bytecode could be kept.
    pub(crate) fn wants_compiling(&self) -> bool {
        self.wants_compiling
    }
}

/// The job that compiles the runtime with the plan's base interpreter: no site, no virtualenv, nothing but our source.
/// It runs in a jar like any other, and what it gives is only ever run in jars, by the same interpreter.
pub(crate) fn compile_job(plan: &Plan) -> Job {
    let mut job = Job::new(Program::Command(
        plan.base_interpreter().as_os_str().to_os_string(),
    ));
    job.args = ["-I", "-S", "-c", COMPILE].map(OsString::from).into();
    job.stdin = Stdin::Bytes(pack(&SOURCE));
    job
}

/// Keeps what the job gave, if it is whole.
pub(crate) fn keep(plan: &Plan, compiled: &[u8]) {
    if unpack(compiled).is_some_and(|files| files.len() == SOURCE.len() && files[0].0 == "boot.pyc")
        && let Some(entry) = cache::Entry::of(plan)
    {
        entry.write(compiled);
    }
}

fn pack(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = (files.len() as u32).to_le_bytes().to_vec();
    for piece in files
        .iter()
        .flat_map(|(name, content)| [name.as_bytes(), content])
    {
        bytes.extend((piece.len() as u32).to_le_bytes());
        bytes.extend(piece);
    }
    bytes
}

/// Total: what is not whole is nothing.
fn unpack(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut rest = bytes;
    let count = number(&mut rest)?;
    let mut files = Vec::new();
    for _ in 0..count.min(SOURCE.len() as u32) {
        let name = String::from_utf8(piece(&mut rest)?.to_vec()).ok()?;
        if !SOURCE
            .iter()
            .any(|(known, _)| name.strip_suffix('c') == Some(known))
        {
            return None;
        }
        files.push((name, piece(&mut rest)?.to_vec()));
    }
    (rest.is_empty() && count as usize == files.len()).then_some(files)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*bytes))
}

fn piece<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(rest)? as usize;
    let (piece, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_packs_of_known_files_are_taken() {
        let compiled: Vec<(String, &[u8])> = SOURCE
            .iter()
            .map(|(name, code)| (format!("{name}c"), *code))
            .collect();
        let compiled: Vec<(&str, &[u8])> = compiled
            .iter()
            .map(|(name, code)| (name.as_str(), *code))
            .collect();
        let whole = pack(&compiled);
        assert_eq!(unpack(&whole).unwrap().len(), SOURCE.len());
        for length in 0..whole.len() {
            assert!(unpack(&whole[..length]).is_none(), "{length}");
        }
        assert!(unpack(&pack(&[("../evil.pyc", b"")])).is_none());
        assert!(unpack(&pack(&SOURCE)).is_none(), "source is no bytecode");
    }
}
