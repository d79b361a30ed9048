//! Comparing an environment with its manifest: whole and before anything else, or while the interpreter that uses it starts.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::manifest::{Manifest, Verdict};
use super::{About, Environment, Ready, store};

/// An environment that is there, and is not yet compared with its manifest.
#[derive(Debug)]
pub(super) struct Found {
    pub folder: PathBuf,
    pub about: About,
    pub manifest: Manifest,
    /// Locked, so that nobody prunes it.
    pub used: Arc<File>,
}

impl Found {
    /// It as one that is ready, for whoever knows that it is what it was.
    pub(super) fn ready(&self) -> Environment {
        store::touch(&self.used);
        Environment {
            inner: Arc::new(Ready {
                folder: self.folder.join("env"),
                about: self.about.clone(),
                _used: Arc::clone(&self.used),
            }),
        }
    }

    /// Compares all of it; the new marks of what was only linked are kept.
    pub(super) fn check(&mut self) -> Verdict {
        let verdict = self.manifest.check(&self.folder.join("env"));
        if let Ok(Verdict::Moved) = verdict {
            // Where that cannot be written, the next one compares contents again.
            let _ = store::write(&self.folder.join("manifest"), &self.manifest.encode());
        }
        self.told(verdict)
    }

    /// Compares what an interpreter reads when it starts, if that is nothing of the packages.
    pub(super) fn check_front(&mut self) -> bool {
        let checked = |found: &mut Self| found.manifest.check_front(&found.folder.join("env"));
        self.manifest.waits_to_be_imported() && matches!(checked(self), Ok(Verdict::Same))
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

/// What is still to be compared of an environment. Until that is done, only an interpreter may be started in it, and nothing of
/// its packages be used.
#[derive(Debug)]
pub struct Checking(pub(super) Found);

impl Checking {
    /// Whether every file is what it was when the environment was built.
    pub fn run(mut self) -> bool {
        !matches!(self.0.check(), Verdict::Changed(_))
    }
}
