//! The guest runtime that is embedded in this library: what a jar gets in its runtime folder, as bytecode where that is
//! known already, as source otherwise.

mod cache;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;

use crate::job::{Job, Program, Stdin};
use crate::plan::Plan;

/// How many of them a cold run needs: those for any job, one more for a call, all before the template for a parcel.
const COLD: usize = 4;
const COLD_CALL: usize = COLD + 1;
const COLD_PARCEL: usize = COLD_CALL + 11;
/// Bytecode of the first files is well within this; more is read only if it is not.
const FIRST_READ: usize = 64 << 10;
/// The runtime as source: the file that is started first, then those that it loads when it needs them.
const SOURCE: [(&str, &[u8]); 21] = [
    ("boot.py", include_bytes!("../../../guest/boot.py")),
    ("ended.py", include_bytes!("../../../guest/ended.py")),
    ("report.py", include_bytes!("../../../guest/report.py")),
    ("script.py", include_bytes!("../../../guest/script.py")),
    ("call.py", include_bytes!("../../../guest/call.py")),
    ("invoke.py", include_bytes!("../../../guest/invoke.py")),
    ("chain.py", include_bytes!("../../../guest/chain.py")),
    ("fences.py", include_bytes!("../../../guest/fences.py")),
    ("values.py", include_bytes!("../../../guest/values.py")),
    (
        "values_arrow.py",
        include_bytes!("../../../guest/values_arrow.py"),
    ),
    (
        "values_pandas.py",
        include_bytes!("../../../guest/values_pandas.py"),
    ),
    (
        "values_polars.py",
        include_bytes!("../../../guest/values_polars.py"),
    ),
    (
        "values_numpy.py",
        include_bytes!("../../../guest/values_numpy.py"),
    ),
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

/// Compiles the parts that come over standard input as a pack (see [`pack`]) and writes a pack of bytecode.
const COMPILE: &str = "
import sys, marshal, importlib.util as u
i, o = sys.stdin.buffer, sys.stdout.buffer
n = lambda: int.from_bytes(i.read(4), 'little')
names = [(i.read(n()).decode(), n()) for _ in range(n())]
parts = []
for name, size in names:
    code = compile(i.read(size), '/run/belljar/' + name, 'exec', dont_inherit=True)
    parts.append(((name + 'c').encode(), u.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)))
number = lambda value: len(value).to_bytes(4, 'little')
o.write(number(parts) + b''.join(number(name) + name + number(code) for name, code in parts))
o.write(b''.join(code for _, code in parts))
";

/// One file: its name and what is in it.
pub(crate) type RuntimeFile<'a> = (Cow<'a, str>, &'a [u8]);

/// Names of files, and where in a pack their contents are.
type Index = Vec<(String, Range<usize>)>;

/// The runtime in the form that a jar gets.
pub(crate) struct Runtime {
    /// A pack of bytecode, or its beginning; empty where the source is used.
    bytes: Vec<u8>,
    /// Names, and where in it their contents are.
    index: Index,
    /// How many files it is.
    count: usize,
    wants_compiling: bool,
}

impl Runtime {
    /// For a program that is not Python.
    fn none() -> Self {
        Self {
            bytes: Vec::new(),
            index: Vec::new(),
            count: 0,
            wants_compiling: false,
        }
    }

    /// What a cold run of this job needs, for the plan's interpreter.
    pub(crate) fn cold(plan: &Plan, job: &Job) -> Self {
        let count = match &job.program {
            _ if !job.is_python() => return Self::none(),
            _ if job.parcel().is_some() => COLD_PARCEL,
            Program::Call { .. } => COLD_CALL,
            _ => COLD,
        };
        Self::of(plan, count)
    }

    /// All of it, for the plan's interpreter.
    pub(crate) fn whole(plan: &Plan) -> Self {
        Self::of(plan, SOURCE.len())
    }

    fn of(plan: &Plan, count: usize) -> Self {
        let entry = cache::Entry::of(plan);
        let cached = entry.as_ref().and_then(|entry| read(entry.open()?, count));
        match cached {
            Some((bytes, index)) => Self {
                bytes,
                index,
                count,
                wants_compiling: false,
            },
            None => Self {
                // Where it cannot be kept, every run would compile it anew: a second jar each time.
                wants_compiling: entry.is_some_and(|entry| entry.can_be_written()),
                count,
                ..Self::none()
            },
        }
    }

    /// Its files; the first is started, but for a template.
    pub(crate) fn files(&self) -> Vec<RuntimeFile<'_>> {
        if self.index.is_empty() {
            let source = SOURCE[..self.count].iter();
            return source.map(|(name, code)| (Cow::Borrowed(*name), *code)).collect();
        }
        let compiled = self.index.iter();
        compiled
            .map(|(name, place)| (Cow::Borrowed(name.as_str()), &self.bytes[place.clone()]))
            .collect()
    }

    /// Whether it would start faster if it were compiled, and the bytecode could be kept.
    pub(crate) fn wants_compiling(&self) -> bool {
        self.wants_compiling
    }
}

/// The first files of a pack that is kept; no more of it is read than they need.
fn read((file, size): (File, usize), count: usize) -> Option<(Vec<u8>, Index)> {
    let whole = count == SOURCE.len();
    let mut bytes = Vec::new();
    fill(&file, &mut bytes, if whole { size } else { size.min(FIRST_READ) })?;
    let mut index = unpack(&bytes, size)?;
    index.truncate(count);
    let end = index.last()?.1.end;
    fill(&file, &mut bytes, end)?;
    Some((bytes, index))
}

/// Reads on until there are as many bytes, and zeroes none of them before.
fn fill(file: &File, bytes: &mut Vec<u8>, length: usize) -> Option<()> {
    while bytes.len() < length {
        bytes.reserve_exact(length - bytes.len());
        if rustix::io::read(file, rustix::buffer::spare_capacity(bytes)).ok()? == 0 {
            return None;
        }
    }
    Some(())
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
    if unpack(compiled, compiled.len()).is_some()
        && let Some(entry) = cache::Entry::of(plan)
    {
        entry.write(compiled);
    }
}

/// How many files, each one's name and size, and then their contents, one after the other.
fn pack(files: &[(&str, &[u8])]) -> Vec<u8> {
    let number = |length: usize| (length as u32).to_le_bytes();
    let mut bytes = number(files.len()).to_vec();
    for (name, content) in files {
        bytes.extend(number(name.len()));
        bytes.extend(name.as_bytes());
        bytes.extend(number(content.len()));
    }
    bytes.extend(files.iter().flat_map(|(_, content)| *content));
    bytes
}

/// Names and places of the files in a pack of `size` bytes, from its beginning. Total: what is not a whole pack of all that
/// we have, in our order, is nothing.
fn unpack(bytes: &[u8], size: usize) -> Option<Index> {
    let mut rest = bytes;
    if number(&mut rest)? != SOURCE.len() {
        return None;
    }
    let mut sizes = Vec::with_capacity(SOURCE.len());
    for (source, _) in SOURCE {
        let length = number(&mut rest)?;
        let (name, after) = rest.split_at_checked(length)?;
        rest = after;
        let name = std::str::from_utf8(name).ok()?;
        if name.strip_suffix('c') != Some(source) {
            return None;
        }
        sizes.push((name.to_owned(), number(&mut rest)?));
    }
    let mut start = bytes.len() - rest.len();
    let mut index = Vec::with_capacity(sizes.len());
    for (name, length) in sizes {
        let end = start.checked_add(length)?;
        index.push((name, start..end));
        start = end;
    }
    (start == size).then_some(index)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn every_file_of_the_guest_is_here() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest");
        let here = |name: &str| SOURCE.iter().any(|(known, _)| *known == name);
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".py") {
                assert!(here(&name), "{name} is not in SOURCE");
                files += 1;
            }
        }
        assert_eq!(files, SOURCE.len());
        assert_eq!(SOURCE[COLD_PARCEL].0, "template.py");
    }

    fn compiled() -> Vec<u8> {
        let compiled: Vec<(String, &[u8])> = SOURCE
            .iter()
            .map(|(name, code)| (format!("{name}c"), *code))
            .collect();
        let compiled: Vec<(&str, &[u8])> = compiled
            .iter()
            .map(|(name, code)| (name.as_str(), *code))
            .collect();
        pack(&compiled)
    }

    #[test]
    fn only_whole_packs_of_known_files_are_taken() {
        let whole = compiled();
        let found = unpack(&whole, whole.len()).unwrap();
        for ((name, place), (source, code)) in found.iter().zip(SOURCE) {
            assert_eq!(name.strip_suffix('c'), Some(source));
            assert_eq!(&whole[place.clone()], code);
        }
        for length in 0..whole.len() {
            assert!(unpack(&whole[..length], length).is_none(), "{length}");
        }
        assert!(unpack(&whole, whole.len() + 1).is_none());
        let evil = pack(&[("../evil.pyc", b"")]);
        assert!(unpack(&evil, evil.len()).is_none());
        let source = pack(&SOURCE);
        assert!(unpack(&source, source.len()).is_none(), "source is no bytecode");
    }

    #[test]
    fn templates_come_last() {
        assert_eq!(SOURCE[COLD].0, "call.py");
        assert_eq!(SOURCE[COLD_PARCEL].0, "template.py");
    }

    #[test]
    fn no_more_is_read_than_is_needed_and_no_less() {
        // Files of which the first two are within what is read at first.
        let contents: Vec<Vec<u8>> = (0..SOURCE.len()).map(|n| vec![n as u8; 30_000]).collect();
        let names: Vec<String> = SOURCE.iter().map(|(name, _)| format!("{name}c")).collect();
        let files: Vec<(&str, &[u8])> = names
            .iter()
            .map(String::as_str)
            .zip(contents.iter().map(Vec::as_slice))
            .collect();
        let whole = pack(&files);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&whole).unwrap();
        for count in 1..=SOURCE.len() {
            let mut again = file.try_clone().unwrap();
            std::io::Seek::rewind(&mut again).unwrap();
            let (bytes, index) = read((again, whole.len()), count).unwrap();
            assert_eq!(index.len(), count);
            for ((_, place), content) in index.iter().zip(&contents) {
                assert_eq!(&bytes[place.clone()], content);
            }
            let least = index.last().unwrap().1.end;
            assert!((least..=least.max(FIRST_READ)).contains(&bytes.len()), "{count}");
        }
    }
}
