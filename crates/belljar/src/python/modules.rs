//! Whether a guest can import a module, as far as names of files tell: nothing is read or started.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::known::standard_library;
use super::{Interpreter, InterpreterError, for_environment, for_policy};
use crate::Environment;
use crate::nearest::nearest;
use crate::policy::Policy;

/// Files that add nothing to what can be imported, though others of their kind may.
const HARMLESS: [&str; 2] = ["distutils-precedence.pth", "_virtualenv.pth"];

/// The first of some modules that guests of a policy lack, and the one that may be meant. `own` are those that the caller
/// brings. Only the first part of a name counts: packages may make the others when they are imported.
pub fn lacking<'a>(
    policy: &Policy,
    environment: Option<&Environment>,
    own: &[String],
    wanted: &'a [String],
) -> Result<Option<(&'a str, Option<String>)>, InterpreterError> {
    let interpreter = match environment {
        Some(environment) => for_environment(policy, environment)?,
        None => for_policy(policy)?,
    };
    let folders = folders(&interpreter, policy.site_packages);
    let mut names = BTreeSet::new();
    for entry in folders.iter().flat_map(fs::read_dir).flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.ends_with(".pth") && !HARMLESS.contains(&name.as_str()) {
            // It may lead to other folders, or put a finder of its own in place.
            return Ok(None);
        }
        names.insert(top(&name).to_owned());
    }
    let shown = policy
        .mounts
        .iter()
        .filter_map(|mount| mount.target.file_name()?.to_str());
    names.extend(shown.map(|name| top(name).to_owned()));
    names.extend(own.iter().map(|name| top(name).to_owned()));
    names.extend(standard_library().map(str::to_owned));
    // Modules of the interpreter's own, which need not be files, begin with an underscore.
    let absent = |name: &&String| !name.starts_with('_') && !names.contains(top(name));
    Ok(wanted.iter().find(absent).map(|name| {
        let near = nearest(top(name), names.iter().map(String::as_str));
        (name.as_str(), near.map(str::to_owned))
    }))
}

/// Where its guests look for modules.
fn folders(interpreter: &Interpreter, site_packages: bool) -> Vec<PathBuf> {
    let version = interpreter.version;
    let library = format!("lib/python{}.{}/site-packages", version.major, version.minor);
    let mut folders = vec![interpreter.stdlib.clone(), interpreter.stdlib.join("lib-dynload")];
    let environment = interpreter.environment.as_ref().or(interpreter.venv.as_ref());
    folders.extend(environment.map(|folder: &PathBuf| Path::join(folder, library)));
    if site_packages || interpreter.shares_packages {
        folders.extend(interpreter.packages.iter().cloned());
    }
    folders
}

/// The module that a dotted name or the name of a file begins with.
fn top(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(policy: &Policy, own: &[&str], wanted: &str) -> Option<(String, Option<String>)> {
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        let wanted = [wanted.to_owned()];
        lacking(policy, None, &own, &wanted)
            .unwrap()
            .map(|(name, near)| (name.to_owned(), near))
    }

    #[test]
    fn what_no_import_would_find() {
        let policy = Policy::default();
        for there in [
            "json",
            "os.path",
            "sys",
            "_io",
            "lib2to3x",
            "xml.nowhere",
            "mine.deep",
        ] {
            let found = told(&policy, &["mine", "lib2to3x"], there);
            assert_eq!(found, None, "{there}");
        }
        let typo = Some(("jsno.tool".to_owned(), Some("json".to_owned())));
        assert_eq!(told(&policy, &[], "jsno.tool"), typo);
        assert_eq!(told(&policy, &[], "mine"), Some(("mine".to_owned(), None)));
    }

    #[test]
    fn what_lies_in_a_virtualenv_counts() {
        let policy = Policy::default();
        let interpreter = for_policy(&policy).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (root, version) = (folder.path(), interpreter.version);
        let library = root.join(format!(
            "lib/python{}.{}/site-packages",
            version.major, version.minor
        ));
        fs::create_dir_all(library.join("pandas")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        let home = interpreter.base_executable.parent().unwrap();
        fs::write(root.join("pyvenv.cfg"), format!("home = {}\n", home.display())).unwrap();
        std::os::unix::fs::symlink(&interpreter.base_executable, root.join("bin/python")).unwrap();
        let policy = Policy {
            venv: Some(root.to_path_buf()),
            ..policy
        };
        fs::write(library.join("distutils-precedence.pth"), "").unwrap();
        assert_eq!(told(&policy, &[], "pandas.core"), None);
        assert_eq!(
            told(&policy, &[], "panda"),
            Some(("panda".into(), Some("pandas".into())))
        );
        fs::write(library.join("editable.pth"), "/elsewhere\n").unwrap();
        assert_eq!(told(&policy, &[], "panda"), None, "nobody knows");
    }
}
