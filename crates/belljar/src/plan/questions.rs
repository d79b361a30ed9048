//! What a plan is asked by those who carry it out. The steps answer, not the policy: a test that takes one out changes the
//! answers with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar_linux::confine::Rules;

use super::{Namespace, Plan, Resource, Rlimit, Step};
use crate::host::Cgroup;
use crate::policy::Access;

/// The jar's cgroup.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub hierarchy: &'a Cgroup,
    /// Bytes, tmpfs included.
    pub memory: u64,
    /// Processes and threads, the jar's init included.
    pub pids: u64,
    pub cpus: f64,
}

/// Who the guest is.
#[derive(Clone, Copy)]
pub(crate) struct Ids {
    /// User and group inside.
    pub inside: u32,
    pub host_uid: u32,
    pub host_gid: u32,
    /// Whether each jar gets an id of its own, from the host's on.
    pub own: bool,
}

/// The system-call filter.
#[derive(Clone, Copy)]
pub(crate) struct Filter {
    pub internet: bool,
    pub affinity: bool,
    pub locks: u32,
}

/// The tmpfs for everything that the guest writes.
#[derive(Clone, Copy)]
pub(crate) struct Scratch<'a> {
    pub size: u64,
    pub inodes: u64,
    pub targets: &'a [PathBuf],
}

/// Something of the host that the jar shows.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub path: &'a Path,
    pub kind: SourceKind,
    /// Started as root: whether the owner's files shall belong to the guest.
    pub own: bool,
    /// Whether the policy names it, so that no link on its way is followed.
    pub named: bool,
}

/// What may be done with it.
#[derive(Clone, Copy)]
pub(crate) enum SourceKind {
    Read,
    Write,
    Device,
}

impl Plan {
    fn find<'a, T>(&'a self, pick: impl Fn(&'a Step) -> Option<T>) -> Option<T> {
        self.steps.iter().find_map(pick)
    }

    fn has(&self, which: impl Fn(&Step) -> bool) -> bool {
        self.steps.iter().any(which)
    }

    /// Where its processes are counted together.
    pub(crate) fn cgroup(&self) -> Option<Group<'_>> {
        self.find(|step| match step {
            Step::Cgroup {
                hierarchy,
                memory,
                pids,
                cpus,
            } => Some(Group {
                hierarchy,
                memory: *memory,
                pids: *pids,
                cpus: *cpus,
            }),
            _ => None,
        })
    }

    /// The namespaces that are the jar's own.
    pub(crate) fn namespaces(&self) -> &[Namespace] {
        self.find(|step| match step {
            Step::Namespaces { kinds } => Some(&kinds[..]),
            _ => None,
        })
        .unwrap_or_default()
    }

    /// Whether the jar has a namespace of its own of this kind.
    pub(crate) fn has_own(&self, kind: Namespace) -> bool {
        self.namespaces().contains(&kind)
    }

    /// Who the guest is, inside and on the host.
    pub(crate) fn ids(&self) -> Option<Ids> {
        self.find(|step| match step {
            Step::Ids {
                inside,
                host_uid,
                host_gid,
                own,
            } => Some(Ids {
                inside: *inside,
                host_uid: *host_uid,
                host_gid: *host_gid,
                own: *own,
            }),
            _ => None,
        })
    }

    /// Whether a loopback of the jar's own is up.
    pub(crate) fn has_loopback(&self) -> bool {
        self.has(|step| matches!(step, Step::Loopback))
    }

    /// Whether there is a /proc.
    pub(crate) fn has_proc(&self) -> bool {
        self.has(|step| matches!(step, Step::Proc))
    }

    /// Whether all privileges go.
    pub(crate) fn drops_privileges(&self) -> bool {
        self.has(|step| matches!(step, Step::Privileges))
    }

    /// The rules of the second wall.
    pub(crate) fn landlock(&self) -> Option<&Rules> {
        self.find(|step| match step {
            Step::Landlock(rules) => Some(rules),
            _ => None,
        })
    }

    /// Limits of each process.
    pub(crate) fn rlimits(&self) -> &[Rlimit] {
        self.find(|step| match step {
            Step::Rlimits { limits } => Some(&limits[..]),
            _ => None,
        })
        .unwrap_or_default()
    }

    /// Whether processes are counted by user, for which each jar needs a user namespace of its own.
    pub(crate) fn counts_by_user(&self) -> bool {
        let mut limits = self.rlimits().iter();
        limits.any(|limit| limit.resource == Resource::Nproc)
    }

    /// What the filter lets through.
    pub(crate) fn filter(&self) -> Option<Filter> {
        self.find(|step| match step {
            Step::Seccomp {
                internet,
                affinity,
                locks,
            } => Some(Filter {
                internet: *internet,
                affinity: *affinity,
                locks: *locks,
            }),
            _ => None,
        })
    }

    /// Whether a jar leaves nothing in its network namespace: the filter allows no socket but AF_UNIX, and those end with it.
    pub(crate) fn leaves_network_empty(&self) -> bool {
        self.filter().is_some_and(|filter| !filter.internet)
    }

    /// How many file locks its processes may have.
    pub(crate) fn locks(&self) -> u32 {
        // Who answers counts in the jar's own /proc.
        let counts = self.steps().iter().any(|step| matches!(step, Step::Proc));
        self.filter().filter(|_| counts).map_or(0, |filter| filter.locks)
    }

    /// How many processors a guest is bound to, where affinity is what holds the limit: it may not change that, not even to
    /// have more of them again.
    pub(crate) fn affinity(&self) -> Option<usize> {
        self.find(|step| match step {
            Step::Affinity { cpus } => Some(*cpus as usize),
            _ => None,
        })
    }

    /// How long a job may take, from its delivery to the empty jar.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.find(|step| match step {
            Step::Deadline { seconds } => Some(Duration::from_secs_f64(*seconds)),
            _ => None,
        })
    }

    /// Memory that the source files of its jars take: beside what the guest may have, for whoever is charged for them.
    pub(crate) fn tree_bytes(&self) -> u64 {
        self.find(|step| match step {
            Step::Tree { bytes, .. } => Some(*bytes),
            _ => None,
        })
        .unwrap_or_default()
    }

    /// What the guest writes to, where not to the host.
    pub(crate) fn scratch(&self) -> Option<Scratch<'_>> {
        self.find(|step| match step {
            Step::Scratch {
                size,
                inodes,
                targets,
            } => Some(Scratch {
                size: *size,
                inodes: *inodes,
                targets,
            }),
            _ => None,
        })
    }

    /// What of /proc is hidden.
    pub(crate) fn masked(&self) -> &[PathBuf] {
        self.find(|step| match step {
            Step::Mask { paths, .. } => Some(&paths[..]),
            _ => None,
        })
        .unwrap_or_default()
    }

    /// Whether the guest may write to a folder of the host.
    pub(crate) fn writes_to_host(&self) -> bool {
        self.has(|step| {
            matches!(
                step,
                Step::Bind {
                    access: Access::ReadWrite,
                    ..
                }
            )
        })
    }

    /// The step that shows a folder as a draft.
    pub(crate) fn draft(&self) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.position(|step| matches!(step, Step::Overlay { .. }))
    }

    /// Folders of the host that the guest writes, and in which what tools obey is kept from it.
    pub(crate) fn protected(&self) -> impl Iterator<Item = &Path> {
        self.steps.iter().filter_map(|step| match step {
            Step::Protect { source, .. } => Some(source.as_path()),
            _ => None,
        })
    }

    /// What is taken from the host, by the position of its step.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (usize, Source<'_>)> {
        let steps = self.steps.iter().enumerate();
        steps.filter_map(|(position, step)| Some((position, step.source()?)))
    }

    /// The innermost of what steps before this one show around `target`, and whether the guest can write it. `None` where that
    /// is a folder of our own, in which places are made.
    pub(crate) fn around(&self, position: usize, target: &Path) -> Option<(&Path, bool)> {
        let earlier = self.steps[..position].iter();
        let around = earlier.filter_map(|step| match step {
            Step::Bind {
                target: outer,
                access,
                ..
            } => Some((outer.as_path(), Some(*access == Access::ReadWrite))),
            // What is renamed in a draft is a copy, and a folder of the host cannot be.
            Step::Overlay { target: outer, .. } => Some((outer.as_path(), Some(false))),
            Step::Hide { target: outer } => Some((outer.as_path(), None)),
            _ => None,
        });
        let (outer, writable) = around
            .filter(|(outer, _)| target.starts_with(outer))
            .max_by_key(|(outer, _)| outer.components().count())?;
        Some((outer, writable?))
    }

    /// Trees of the host and links below these folders, in their order, and whether each is a tree.
    pub(crate) fn shown_below(&self, folders: &[PathBuf]) -> impl Iterator<Item = (&Path, bool)> {
        let shown = self.steps.iter().filter_map(|step| match step {
            Step::Bind { target, .. } => Some((target.as_path(), true)),
            Step::Symlink { path, .. } => Some((path.as_path(), false)),
            _ => None,
        });
        shown.filter(move |(path, _)| folders.iter().any(|folder| path.starts_with(folder)))
    }
}
