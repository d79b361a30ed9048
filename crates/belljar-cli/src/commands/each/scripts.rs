//! The scripts of one command: all are read before the first one runs, so that a name that is none costs nothing.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use belljar::job::{Collect, Program};
use belljar::{Job, Policy};

use crate::args::Source;
use crate::failure::Failure;
use crate::program;
use crate::values::{absolute, plain};

/// One script, and what is left of it once it has its job.
#[derive(Debug)]
pub struct Script {
    /// As it was typed.
    pub name: String,
    /// The folder that gets what it leaves.
    pub collect: Option<PathBuf>,
    path: PathBuf,
    program: Option<Program>,
}

/// Reads all of them.
pub fn read(names: &[OsString], policy: &Policy) -> Result<Vec<Script>, Failure> {
    if names.is_empty() {
        return Err(Failure::with_hint(
            "nothing to run",
            "name scripts after --each, such as `belljar run --each a.py b.py`",
        ));
    }
    let script = |typed: &OsString| {
        look(typed)?;
        let path = absolute(typed).map_err(|cause| Failure::new(format!("cannot read script {cause}")))?;
        Ok(Script {
            name: typed.display().to_string(),
            collect: None,
            path,
            program: Some(program::program(Source::File(typed.clone()), policy)?),
        })
    };
    names.iter().map(script).collect()
}

/// A name that is no file is more often a misplaced flag or argument than a script that is missing.
fn look(typed: &OsStr) -> Result<(), Failure> {
    let name = typed.display();
    match Path::new(typed).metadata() {
        Err(_) if typed.as_encoded_bytes().starts_with(b"-") => Err(Failure::with_hint(
            format!("{name} stands after a script, and is none"),
            "options of belljar go before the scripts, arguments for every script after `--`",
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !typed.is_empty() => {
            Err(Failure::with_hint(
                format!("cannot read script {name}: {}", plain(&error)),
                "nothing was run; arguments for every script go after `--`",
            ))
        }
        _ => Ok(()),
    }
}

/// Gives each script a folder of its own name below this one; of several with one name, the later ones get a number.
pub fn name_folders(scripts: &mut [Script], below: &Path) {
    let mut taken = HashSet::new();
    for script in scripts {
        let name = script.path.file_name().unwrap_or(OsStr::new("script"));
        let numbered = |number: usize| {
            let mut name = name.to_os_string();
            if number > 1 {
                name.push(format!("-{number}"));
            }
            name
        };
        let free = (1..).map(numbered).find(|name| taken.insert(name.clone()));
        script.collect = free.map(|name| below.join(name));
    }
}

/// The job of each, in order.
pub fn jobs(scripts: &mut [Script], args: &[OsString]) -> Vec<Job> {
    let job = |script: &mut Script| {
        let mut job = Job::new(script.program.take()?);
        job.args = args.to_vec();
        job.collect = script.collect.clone().map(Collect::Folder);
        Some(job)
    };
    scripts.iter_mut().filter_map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_the_scripts_names_and_never_meet() {
        let script = |path: &str| Script {
            name: path.into(),
            collect: None,
            path: path.into(),
            program: None,
        };
        let mut scripts = ["/x/a.py", "/y/a.py", "/z/a.py-2", "/x/b.py", "/x/a.py"].map(script);
        name_folders(&mut scripts, Path::new("/out"));
        let names = scripts.map(|script| script.collect.expect("a folder").display().to_string());
        let expected = ["a.py", "a.py-2", "a.py-2-2", "b.py", "a.py-3"];
        assert_eq!(names, expected.map(|name| format!("/out/{name}")));
    }
}
