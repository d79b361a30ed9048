//! What is handed from one process of ours to another: descriptors, each with its name.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use serde::{Deserialize, Serialize};

/// What a descriptor is. A jar that has more to hand over has another name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Name {
    /// The guest's first process.
    Guest,
    /// The working directory.
    Workdir,
    /// The upper layer of a draft.
    Upper,
    /// The other end of the guest's terminal.
    Terminal,
    /// The folder for a job's script: the guest only reads it, through this descriptor it can be written.
    Script,
    /// A namespace of the jar's; several come in the plan's order.
    Namespace,
    /// The Landlock ruleset.
    Ruleset,
}

/// Named descriptors.
#[derive(Debug, Default)]
pub(crate) struct Handed(Vec<(Name, OwnedFd)>);

impl Handed {
    /// `None` when there is not a descriptor for each name.
    pub(crate) fn new(names: Vec<Name>, fds: Vec<OwnedFd>) -> Option<Self> {
        (names.len() == fds.len()).then(|| Self(names.into_iter().zip(fds).collect()))
    }

    /// The first of this name.
    pub(crate) fn get(&self, name: Name) -> Option<BorrowedFd<'_>> {
        self.list().find(|(this, _)| *this == name).map(|(_, fd)| fd)
    }

    /// Takes all of this name out.
    pub(crate) fn take(&mut self, name: Name) -> Vec<OwnedFd> {
        let taken = self.0.extract_if(.., |(this, _)| *this == name);
        taken.map(|(_, fd)| fd).collect()
    }

    /// All of them.
    pub(crate) fn list(&self) -> impl Iterator<Item = (Name, BorrowedFd<'_>)> {
        self.0.iter().map(|(name, fd)| (*name, fd.as_fd()))
    }
}
