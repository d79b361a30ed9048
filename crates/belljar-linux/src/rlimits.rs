//! Resource limits of one process: for a forked child to set on itself, or on another from outside.
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
    set_all(None, limits)
}

/// As [`apply`], on another process: of the same user, or below a user namespace that this one has SYS_RESOURCE over.
pub fn set_for(pid: i32, limits: &[Rlimit]) -> Result<(), RlimitError> {
    set_all(Some(pid), limits)
}

/// The limit that another process has now.
pub fn get_for(pid: i32, resource: Resource) -> std::io::Result<Rlimit> {
    let mut found = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: no new limit, and a valid place for the present one.
    let done = unsafe { libc::prlimit64(pid, resource as _, std::ptr::null(), &raw mut found) };
    if done < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let finite = |limit: u64| (limit != libc::RLIM64_INFINITY).then_some(limit);
    Ok(Rlimit {
        resource,
        soft: finite(found.rlim_cur),
        hard: finite(found.rlim_max),
    })
}

fn set_all(pid: Option<i32>, limits: &[Rlimit]) -> Result<(), RlimitError> {
    limits.iter().try_for_each(|limit| {
        match set(pid, limit.resource, limit.soft, limit.hard) {
            Err(Errno::PERM) => present(pid, limit.resource).and_then(|present| {
                let hard = lower(limit.hard, present.hard);
                set(pid, limit.resource, limit.soft, hard)
            }),
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
    set(None, Resource::Nofile, hard, hard).map_err(std::io::Error::from)
}

fn present(pid: Option<i32>, resource: Resource) -> rustix::io::Result<Rlimit> {
    match pid {
        None => Ok(Rlimit::current(resource)),
        Some(pid) => {
            get_for(pid, resource).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
        }
    }
}

fn set(pid: Option<i32>, resource: Resource, soft: Option<u64>, hard: Option<u64>) -> rustix::io::Result<()> {
    let limit = rustix::process::Rlimit {
        current: lower(soft, hard),
        maximum: hard,
    };
    match pid {
        None => rustix::process::setrlimit(resource, limit),
        Some(pid) => {
            let pid = rustix::process::Pid::from_raw(pid).ok_or(Errno::SRCH)?;
            rustix::process::prlimit(Some(pid), resource, limit).map(|_| ())
        }
    }
}

/// The tighter of two limits.
fn lower(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
