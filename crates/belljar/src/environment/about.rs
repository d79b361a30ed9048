//! What is known of an environment without opening it.

use serde::{Deserialize, Serialize};

/// What is in an environment. Written once, when it is built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What it is known by.
    pub key: String,
    /// What was asked for, when it was built.
    pub requirements: Vec<String>,
    /// The version of its interpreter.
    pub python: String,
    /// What is installed.
    pub packages: Vec<Package>,
    /// Caches of packages that are made already.
    #[serde(default)]
    pub caches: Vec<String>,
    /// Bytes of its files. Some are shared with other environments on disk.
    pub size: u64,
    /// How many files.
    pub files: u64,
    /// When it was built, in seconds since 1970.
    pub built: u64,
    /// What built it.
    pub tool: String,
    /// By which recipe; what another one built is built anew.
    #[serde(default)]
    pub recipe: u32,
}

/// One package of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its normalised name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it was asked for, and is not only needed by another.
    pub asked: bool,
    /// What it is imported by.
    pub modules: Vec<String>,
}

impl About {
    /// Modules of what was asked for.
    pub(super) fn modules(&self) -> Vec<String> {
        let asked = self.packages.iter().filter(|package| package.asked);
        asked
            .flat_map(|package| package.modules.iter().cloned())
            .collect()
    }
}
