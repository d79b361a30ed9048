//! What `python -m venv` makes, without starting anything: folders, four links and a file. They decide which interpreter a guest
//! has and where that finds its library, so they are looked at again when packages have been put beside them.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::python::Interpreter;

/// A virtualenv with no package in it.
pub(super) struct Skeleton {
    /// Parents first.
    parts: Vec<(PathBuf, Part)>,
    site: PathBuf,
}

enum Part {
    Folder,
    Link(PathBuf),
    File(String),
}

impl Skeleton {
    /// For an interpreter.
    pub(super) fn of(interpreter: &Interpreter) -> Self {
        let base = &interpreter.base_executable;
        let home = base.parent().unwrap_or(Path::new("/usr/bin"));
        let config = format!(
            "home = {}\nimplementation = CPython\nversion_info = {}\ninclude-system-site-packages = false\n",
            home.display(),
            interpreter.version,
        );
        let python = format!(
            "python{}.{}",
            interpreter.version.major, interpreter.version.minor
        );
        let site = Path::new("lib").join(&python).join("site-packages");
        let mut folders: Vec<&Path> = site.ancestors().collect();
        folders.reverse();
        folders.push(Path::new("bin"));
        let mut parts: Vec<(PathBuf, Part)> = folders
            .into_iter()
            .map(|path| (path.to_path_buf(), Part::Folder))
            .collect();
        for name in ["python", "python3", &python] {
            parts.push((Path::new("bin").join(name), Part::Link(base.clone())));
        }
        parts.push(("lib64".into(), Part::Link("lib".into())));
        parts.push(("pyvenv.cfg".into(), Part::File(config)));
        Self { parts, site }
    }

    /// Where packages are, in the environment.
    pub(super) fn site(&self) -> &Path {
        &self.site
    }

    /// Makes it.
    pub(super) fn make(&self, folder: &Path) -> io::Result<()> {
        for (path, part) in &self.parts {
            let path = folder.join(path);
            match part {
                Part::Folder => fs::create_dir(path)?,
                Part::Link(target) => symlink(target, path)?,
                Part::File(text) => fs::write(path, text)?,
            }
        }
        Ok(())
    }

    /// The first of its parts that is not what it was made as. No link is followed: a build may have left some, and what is done in
    /// these folders is done as the user.
    pub(super) fn changed(&self, folder: &Path) -> Option<&Path> {
        let same = |(path, part): &&(PathBuf, Part)| {
            let path = folder.join(path);
            let Ok(found) = fs::symlink_metadata(&path) else {
                return false;
            };
            match part {
                Part::Folder => found.is_dir(),
                Part::Link(target) => fs::read_link(&path).is_ok_and(|leads| leads == *target),
                Part::File(text) => {
                    let whole = found.is_file() && found.len() == text.len() as u64;
                    whole && fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes())
                }
            }
        };
        let changed = self.parts.iter().find(|part| !same(part));
        changed.map(|(path, _)| path.as_path())
    }
}
