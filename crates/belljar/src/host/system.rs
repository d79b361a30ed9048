//! How this host lays out its system folders: which of /bin, /lib … are links into /usr, and what of /etc programs need.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::python::packages_of_system;

/// Top-level names that belong to the system beside /usr.
const NAMES: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// What of /etc a jar shows: certificates, fonts, and what the dynamic loader and /usr's own links need. No secrets.
const SHARED: [&str; 8] = [
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
    "/etc/fonts",
    "/etc/alternatives",
    "/etc/ld.so.cache",
];

/// System folders of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Top-level links, such as `bin` to `usr/bin`.
    pub links: BTreeMap<String, PathBuf>,
    /// Top-level system folders that are no links.
    pub folders: Vec<PathBuf>,
    /// What there is of the shared parts of /etc.
    pub shared: Vec<PathBuf>,
    /// Folders in /usr with packages of its interpreters.
    pub packages: Vec<PathBuf>,
}

impl System {
    /// Looks at this host.
    pub fn probe() -> Self {
        let mut system = Self::default();
        for name in NAMES {
            let path = Path::new("/").join(name);
            if let Ok(target) = std::fs::read_link(&path) {
                let target = target.strip_prefix("/").map(Path::to_path_buf).unwrap_or(target);
                system.links.insert(name.into(), target);
            } else if path.is_dir() {
                system.folders.push(path);
            }
        }
        system.shared = SHARED
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.exists())
            .collect();
        system.packages = packages_of_system();
        system
    }
}
