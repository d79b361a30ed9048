//! Comparing an environment with its manifest: whole and before anything else, or while the interpreter that uses it starts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::manifest::{Manifest, Verdict};
use super::{About, Environment, EnvironmentError, Ready, store};
use crate::python::Interpreter;

/// An environment that is there, and is not yet compared with its manifest.
#[derive(Debug)]
pub(super) struct Found {
    pub folder: PathBuf,
    pub about: About,
    /// Locked, so that nobody prunes it.
    pub used: Arc<File>,
}

impl Found {
    /// It as one that is ready, for whoever knows that it is what it was.
    pub(super) fn ready(&self, interpreter: &Interpreter) -> Environment {
        store::touch(&self.used);
        Environment {
            inner: Arc::new(Ready {
                folder: self.folder.join("env"),
                about: self.about.clone(),
                interpreter: interpreter.clone(),
                _used: Arc::clone(&self.used),
            }),
        }
    }

    /// Compares all of it, by this thread alone or by several.
    pub(super) fn check(&self, alone: bool) -> Verdict {
        let Some(mut manifest) = read(&self.folder.join("manifest")) else {
            return self.told(Err(io::ErrorKind::NotFound.into()));
        };
        let root = self.folder.join("env");
        let verdict = if alone {
            manifest.check_alone(&root)
        } else {
            manifest.check(&root)
        };
        if let Ok(Verdict::Moved) = verdict {
            // The new marks of what was only linked. Where they cannot be written, the next one compares contents again.
            let _ = write(&manifest, &self.folder);
        }
        self.told(verdict)
    }

    /// Whether what an interpreter reads when it starts is nothing of the packages, and is what it was.
    pub(super) fn check_front(&self) -> bool {
        let front = read(&self.folder.join("front"));
        front
            .is_some_and(|mut front| matches!(front.check_alone(&self.folder.join("env")), Ok(Verdict::Same)))
    }

    fn told(&self, verdict: io::Result<Verdict>) -> Verdict {
        let key = &self.about.key;
        match verdict {
            Ok(Verdict::Changed(paths)) => {
                tracing::warn!(key, ?paths, "changed since it was built; it is built anew");
                Verdict::Changed(paths)
            }
            Ok(verdict) => verdict,
            Err(error) => {
                tracing::warn!(key, %error, "cannot be checked; it is built anew");
                Verdict::Changed(Vec::new())
            }
        }
    }
}

/// Writes a manifest, and beside it the part of it that is compared before an interpreter starts, if the rest can wait.
pub(super) fn write(manifest: &Manifest, folder: &Path) -> Result<(), EnvironmentError> {
    store::write(&folder.join("manifest"), &manifest.encode())?;
    match manifest.front() {
        Some(front) => store::write(&folder.join("front"), &front.encode()),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Option<Manifest> {
    Manifest::decode(fs::read(path).ok()?)
}

/// What is still to be compared of an environment. Until that is done, only an interpreter may be started in it, and nothing of
/// its packages be used.
#[derive(Debug)]
pub struct Checking(pub(super) Found);

impl Checking {
    /// Whether every file is what it was when the environment was built. One thread does it: the interpreter needs a processor
    /// too.
    pub fn run(self) -> bool {
        !matches!(self.0.check(true), Verdict::Changed(_))
    }
}
