//! How far a build has come, for someone who waits.

use std::fmt;

/// How far a build has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process builds the same.
    Waiting,
    /// Versions are chosen.
    Resolving {
        /// How many requirements there are.
        requirements: usize,
    },
    /// uv fetches and unpacks.
    Installing {
        /// How many packages there are.
        packages: usize,
    },
    /// What uv says of one package, such as `numpy (16.1MiB)`.
    Downloading(String),
    /// Bytecode is made.
    Compiling {
        /// How many files have none yet.
        files: usize,
    },
    /// Caches that packages would make in every run are made.
    Caching,
    /// What was built is measured and put into its place.
    Finishing,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting for another process that builds the same environment"),
            Self::Resolving { requirements: 1 } => f.write_str("choosing versions for 1 requirement"),
            Self::Resolving { requirements } => {
                write!(f, "choosing versions for {requirements} requirements")
            }
            Self::Installing { packages: 1 } => f.write_str("installing 1 package"),
            Self::Installing { packages } => write!(f, "installing {packages} packages"),
            Self::Downloading(what) => write!(f, "downloading {what}"),
            Self::Compiling { files } => write!(f, "compiling {files} files"),
            Self::Caching => f.write_str("making caches of packages"),
            Self::Finishing => f.write_str("putting it into place"),
        }
    }
}
