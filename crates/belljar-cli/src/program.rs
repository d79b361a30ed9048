//! From what was typed to the program that a job runs. Scripts are read here, on the host: the guest sees the text and
//! nothing of the folder that it came from.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use belljar::Policy;
use belljar::job::Program;

use crate::args::Source;
use crate::failure::Failure;
use crate::values::{absolute, plain};

/// The largest script, in bytes. A larger one is a mistake, and would be held in memory several times.
const LARGEST: u64 = 64 << 20;

/// The program for a source.
pub fn program(source: Source, policy: &Policy) -> Result<Program, Failure> {
    match source {
        Source::Code(code) => Ok(Program::Code {
            source: code.into_vec(),
            from_stdin: false,
        }),
        Source::Stdin => {
            let source = read(std::io::stdin().lock(), "stdin")?;
            Ok(Program::Code {
                source,
                from_stdin: true,
            })
        }
        Source::Module(name) => match name.into_string() {
            Ok(name) if !name.is_empty() => Ok(Program::Module(name)),
            Ok(_) => Err(Failure::new("-m needs the name of a module")),
            Err(name) => Err(Failure::new(format!("module {} is not UTF-8", name.display()))),
        },
        Source::File(path) => script(Path::new(&path), policy),
    }
}

fn script(typed: &Path, policy: &Policy) -> Result<Program, Failure> {
    let cannot = |cause: String| Failure::new(format!("cannot read script {}: {cause}", typed.display()));
    if typed.as_os_str().is_empty() {
        return Err(Failure::with_hint(
            "the name of the script is empty",
            "name a script, or give -c CODE, -m MODULE or - for stdin",
        ));
    }
    let path = absolute(typed).map_err(cannot)?;
    let meta = path.metadata().map_err(|error| missing(typed, &error))?;
    let visible = in_jar(&path, policy);
    let package = meta.is_dir() || is_archive(&path);
    match visible {
        Some(target) if !meta.is_dir() || path.join("__main__.py").is_file() => Ok(Program::ScriptAt(target)),
        None if package => Err(Failure::with_hint(
            format!(
                "{} is {}",
                typed.display(),
                if meta.is_dir() { "a folder" } else { "an archive" }
            ),
            "show it to the guest with --workdir DIR or --mount, or name a script",
        )),
        Some(_) => Err(Failure::with_hint(
            format!("folder {} has no __main__.py", typed.display()),
            "name a script in it",
        )),
        None if !meta.is_file() && !meta_is_pipe(&meta) => Err(cannot("it is not a file".into())),
        None => {
            let file = File::open(&path).map_err(|error| cannot(plain(&error)))?;
            let source = read(file, &format!("script {}", typed.display()))?;
            let name = path
                .file_name()
                .map_or_else(|| OsString::from("script.py"), OsString::from);
            Ok(Program::Script { source, name })
        }
    }
}

/// A shell's `<(…)` is a pipe, and reads well.
fn meta_is_pipe(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    meta.file_type().is_fifo()
}

fn is_archive(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "zip" || extension == "pyz")
}

fn missing(typed: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot read script {}: {}", typed.display(), plain(error));
    if error.kind() == std::io::ErrorKind::NotFound {
        return Failure::with_hint(message, "write code after -c, a module after -m");
    }
    Failure::new(message)
}

/// Where the guest sees a host path: the last of the policy's folders that shows it.
fn in_jar(path: &Path, policy: &Policy) -> Option<PathBuf> {
    let folders = policy
        .mounts
        .iter()
        .map(|mount| (&mount.source, &mount.target))
        .chain(
            policy
                .workdir
                .iter()
                .map(|workdir| (&workdir.source, &workdir.target)),
        );
    let found = |path: &Path| {
        let mut shown = folders.clone().filter_map(|(source, target)| {
            let rest = path.strip_prefix(source).ok()?;
            Some(if rest.as_os_str().is_empty() {
                target.clone()
            } else {
                target.join(rest)
            })
        });
        shown.next_back()
    };
    found(path).or_else(|| found(&path.canonicalize().ok()?))
}

fn read(from: impl Read, what: &str) -> Result<Vec<u8>, Failure> {
    let mut source = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut source)
        .map_err(|error| Failure::new(format!("cannot read {what}: {}", plain(&error))))?;
    if source.len() as u64 > LARGEST {
        return Err(Failure::with_hint(
            format!("{what} is larger than {} MiB", LARGEST >> 20),
            "put data into a file and show it with --mount",
        ));
    }
    Ok(source)
}
