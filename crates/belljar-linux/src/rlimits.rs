//! Resource limits of one process, for a forked child to set on itself.
//!
//! What it stops: core files, endless descriptors, files and CPU time, where no cgroup counts them.

use rustix::io::Errno;
pub use rustix::process::Resource;

/// One limit to set; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rlimit {
    /// Of what.
    pub resource: Resource,
    /// Where the kernel refuses or signals; taken as `hard` where it is above.
    pub soft: Option<u64>,
    /// How far the process may raise `soft`.
    pub hard: Option<u64>,
}

impl Rlimit {
    /// A limit that the process cannot raise.
    pub const fn fixed(resource: Resource, limit: u64) -> Rlimit {
        Rlimit {
            resource,
            soft: Some(limit),
            hard: Some(limit),
        }
    }

    /// The limit that this process has now.
    pub fn current(resource: Resource) -> Rlimit {
        let found = rustix::process::getrlimit(resource);
        Rlimit {
            resource,
            soft: found.current,
            hard: found.maximum,
        }
    }
}

/// A limit that could not be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot set resource limit {resource:?}: {errno}")]
pub struct RlimitError {
    /// Of what.
    pub resource: Resource,
    /// Why not.
    pub errno: Errno,
}

/// Sets the limits on this process, in order. Plain system calls, no memory: safe in a forked child.
///
/// Lowering always works. A hard limit above the current one is cut to it where raising is not permitted, so what
/// holds in the end is never looser than what was asked for.
pub fn apply(limits: &[Rlimit]) -> Result<(), RlimitError> {
    limits.iter().try_for_each(|limit| {
        match set(limit.resource, limit.soft, limit.hard) {
            Err(Errno::PERM) => {
                let hard = lower(limit.hard, Rlimit::current(limit.resource).hard);
                set(limit.resource, limit.soft, hard)
            }
            other => other,
        }
        .map_err(|errno| RlimitError {
            resource: limit.resource,
            errno,
        })
    })
}

/// Raises the soft limit on open files to the hard one.
pub fn most_files() -> std::io::Result<()> {
    let hard = Rlimit::current(Resource::Nofile).hard;
    set(Resource::Nofile, hard, hard).map_err(std::io::Error::from)
}

fn set(resource: Resource, soft: Option<u64>, hard: Option<u64>) -> rustix::io::Result<()> {
    let limit = rustix::process::Rlimit {
        current: lower(soft, hard),
        maximum: hard,
    };
    rustix::process::setrlimit(resource, limit)
}

/// The tighter of two limits.
fn lower(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
