//! For `system = false`: the interpreter with exactly the shared objects that it and its extension modules load.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::{self, Elf};
use super::look;
use super::prefix::{Install, pieces};
use super::walk::{settle, walk};
use super::{Interpreter, InterpreterError, Needs};

/// Larger than any library that is loaded before a job starts; a bound on what is read, not a limit on users.
const LARGEST: u64 = 256 << 20;

/// What wheels take for granted on every host (the manylinux list, as far as it is no desktop's), and libgcc, which
/// glibc loads by name when a thread ends early.
const WHEELS: [&str; 9] = [
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libutil.so.1",
    "libresolv.so.2",
    "libz.so.1",
];

impl Interpreter {
    /// What the interpreter needs when /usr is not part of the base: itself, its standard library, and shared objects.
    pub fn alone(&self) -> Result<Needs, InterpreterError> {
        let install = Install {
            executable: self.base_executable.clone(),
            prefix: self.base_prefix.clone(),
            stdlib: self.stdlib.clone(),
            version: self.version,
        };
        let mut needs = Needs {
            mounts: self.mounts.clone(),
            links: self.links.clone(),
        };
        needs.mounts.extend(pieces(&install));
        needs.mounts.extend(self.venv.iter().cloned());
        // Links in /usr are visible to a jar with a system base, and must be made in one without.
        walk(&self.executable, &mut needs.links).ok();

        let mut closure = Closure::default();
        closure.add(&self.base_executable, true)?;
        for module in fs::read_dir(self.stdlib.join("lib-dynload"))
            .into_iter()
            .flatten()
            .flatten()
        {
            // A module whose library is not installed fails to import on the host as well.
            closure.add(&module.path(), false)?;
        }
        for name in WHEELS {
            closure.need(name, &self.base_executable, &[], false)?;
        }
        closure.finish()?;
        for found in &closure.found {
            needs.mounts.push(walk(found, &mut needs.links).map_err(|cause| {
                InterpreterError::Unreadable {
                    path: found.clone(),
                    cause,
                }
            })?);
        }
        // Outside the loader's own folders it finds a library only through its cache.
        if closure.cached {
            needs.mounts.push("/etc/ld.so.cache".into());
        }
        settle(&mut needs.mounts, &mut needs.links);
        Ok(needs)
    }
}

/// Shared objects, with everything that they need in turn.
#[derive(Default)]
struct Closure {
    /// Paths as the loader opens them.
    found: BTreeSet<PathBuf>,
    left: VecDeque<(PathBuf, bool)>,
    cached: bool,
}

impl Closure {
    fn finish(&mut self) -> Result<(), InterpreterError> {
        while let Some((path, must)) = self.left.pop_front() {
            self.add(&path, must)?;
        }
        Ok(())
    }

    /// Adds what one object needs.
    fn add(&mut self, object: &Path, must: bool) -> Result<(), InterpreterError> {
        let Some(Elf {
            loader,
            needed,
            search,
        }) = read(object)
        else {
            return Ok(());
        };
        if let Some(loader) = loader.map(PathBuf::from).filter(|path| look::is_object(path)) {
            self.found.insert(loader);
        }
        let origin = object.parent().unwrap_or(Path::new("/")).display().to_string();
        let search: Vec<PathBuf> = search
            .iter()
            .map(|folder| PathBuf::from(folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)))
            .filter(|folder| folder.is_absolute())
            .collect();
        needed
            .iter()
            .try_for_each(|name| self.need(name, object, &search, must))
    }

    /// Finds one library by name, as the loader would.
    fn need(
        &mut self,
        name: &str,
        object: &Path,
        search: &[PathBuf],
        must: bool,
    ) -> Result<(), InterpreterError> {
        let usual = usual_folders();
        let configured = || configured_folders(Path::new("/etc/ld.so.conf"), 0);
        // What an object names is shown in the jar, and the object may be a stranger's: only libraries count.
        let at = |folder: &PathBuf| Some(folder.join(name)).filter(|path| look::is_object(path));
        let found = match search.iter().chain(&usual).find_map(at) {
            Some(found) => Some(found),
            None => configured().iter().find_map(at).inspect(|_| self.cached = true),
        };
        match found {
            Some(found) => {
                if self.found.insert(found.clone()) {
                    self.left.push_back((found, must));
                }
                Ok(())
            }
            None if must => Err(InterpreterError::Library {
                object: object.to_path_buf(),
                name: name.to_owned(),
                looked: search
                    .iter()
                    .chain(&usual)
                    .map(|folder| folder.display().to_string())
                    .collect(),
            }),
            None => Ok(()),
        }
    }
}

fn read(path: &Path) -> Option<Elf> {
    let regular = path
        .metadata()
        .ok()
        .filter(|meta| meta.is_file() && meta.len() <= LARGEST);
    regular.and_then(|_| elf::parse(&fs::read(path).ok()?))
}

/// Folders that the loader searches on its own: Debian's multiarch ones, Fedora's lib64, and the plain ones.
fn usual_folders() -> Vec<PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    [format!("/lib/{triple}"), format!("/usr/lib/{triple}")]
        .into_iter()
        .chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(str::to_owned))
        .map(PathBuf::from)
        .collect()
}

/// Folders that `ld.so.conf` adds, includes of one folder's `*.conf` followed.
fn configured_folders(file: &Path, depth: u32) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(pattern) = line.strip_prefix("include ") {
            let folder = Path::new(pattern.trim()).parent().unwrap_or(Path::new("/"));
            if depth == 0 && pattern.ends_with("/*.conf") {
                let files = fs::read_dir(folder)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path());
                folders.extend(files.flat_map(|file| configured_folders(&file, depth + 1)));
            }
        } else if line.starts_with('/') {
            folders.push(PathBuf::from(line));
        }
    }
    folders
}
