//! Who carries out each step, cold and warm. A step that is missing here does not compile; one that is here, and that its
//! hands know nothing of, ends the run before anything of the guest's starts.

use std::io;

use super::{Plan, Step};
use crate::policy::Access;

/// Who carries out steps. Each finds its own by [`Plan::steps_for`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    /// The warden of a run, or of a cabinet: before the first process of the jar, and beside it.
    Warden,
    /// Cold: PID 1 of the jar.
    Init,
    /// Cold: the guest's process, as long as it is ours.
    Guest,
    /// Warm: PID 1 of a cabinet's outer namespaces, which builds the root of all its jars.
    Builder,
    /// Warm: PID 1 of a cabinet's inner namespaces.
    Keeper,
    /// Warm: PID 1 of one jar.
    Room,
    /// Warm: the interpreter that workers are forked from, before its exec.
    Template,
    /// Warm: the process of the job, by guest/seal.py.
    Worker,
    /// Warm: the engine, which hands the job over and watches.
    Pool,
}

/// The hands of one step; several where each does its part.
pub(super) struct Hands {
    cold: &'static [Hand],
    /// Or why a plan with this step cannot run warm.
    warm: Result<&'static [Hand], &'static str>,
}

impl Step {
    /// The table.
    pub(super) fn hands(&self) -> Hands {
        use Hand::*;
        let both = |cold, warm| Hands { cold, warm: Ok(warm) };
        let cold_only = |cold, reason| Hands {
            cold,
            warm: Err(reason),
        };
        match self {
            Self::Cgroup { .. } => both(
                &[Warden, Init, Guest],
                &[Warden, Pool, Builder, Room, Template, Worker],
            ),
            Self::Namespaces { .. } => both(&[Warden, Init, Guest], &[Warden, Builder, Keeper, Room, Worker]),
            Self::Ids { .. } => both(&[Warden, Init, Guest], &[Warden, Builder, Keeper, Room]),
            Self::Hostname { .. } => both(&[Init], &[Builder, Room]),
            Self::Loopback => both(&[Guest], &[Room]),
            Self::Bind {
                access: Access::ReadWrite,
                ..
            } => cold_only(
                &[Init],
                "a template is not shown a folder of the host that can be written",
            ),
            Self::Overlay { .. } => cold_only(&[Init], "a draft belongs to one run"),
            // Those below folders that each jar has afresh are covered there, and shown once more.
            Self::Bind {
                access: Access::ReadOnly,
                ..
            }
            | Self::Symlink { .. } => both(&[Init], &[Builder, Room]),
            Self::Root
            | Self::Protect { .. }
            | Self::Keep { .. }
            | Self::Hide { .. }
            | Self::Folder { .. }
            | Self::Text { .. }
            | Self::Tree { .. }
            | Self::Device { .. }
            | Self::Pivot => both(&[Init], &[Builder]),
            Self::Proc => both(&[Init], &[Builder, Keeper, Room]),
            Self::Mask { .. } | Self::Scratch { .. } => both(&[Init], &[Builder, Room]),
            Self::Privileges => both(&[Init, Guest], &[Builder, Room, Template, Worker]),
            Self::Landlock(_) => both(&[Init, Guest], &[Room, Worker]),
            Self::Rlimits { .. } => both(&[Guest], &[Template, Worker, Pool]),
            Self::Affinity { .. } => both(&[Guest], &[Worker]),
            Self::Descriptors => both(&[Init, Guest], &[Builder, Room, Template, Worker]),
            Self::Seccomp { .. } => both(&[Init, Guest], &[Builder, Room, Template, Worker]),
            Self::Deadline { .. } => both(&[Warden], &[Pool]),
        }
    }

    /// Whether it is, in part at least, for this one to carry out.
    pub(crate) fn is_for(&self, hand: Hand) -> bool {
        let Hands { cold, warm } = self.hands();
        cold.contains(&hand) || warm.is_ok_and(|warm| warm.contains(&hand))
    }

    /// What whoever meets a step of its own that it cannot carry out says: nothing is left out in silence.
    pub(crate) fn left_undone(&self) -> io::Error {
        io::Error::new(
            io::ErrorKind::Unsupported,
            format!("nobody carries out {}", self.name()),
        )
    }
}

impl Plan {
    /// The steps that one has a part in, in their order.
    pub(crate) fn steps_for(&self, hand: Hand) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.is_for(hand))
    }

    /// Why no step of it can be carried out warm, if one cannot.
    pub(crate) fn is_cold_only(&self) -> Option<&'static str> {
        self.steps.iter().find_map(|step| step.hands().warm.err())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Namespace, Resource};
    use super::*;
    use crate::host::Cgroup;

    const SEAL: &str = include_str!("../../../../guest/seal.py");

    /// What `seal` does for a step, as it is written there. In the order of its lines.
    const DOES: [(&str, &str); 8] = [
        ("cgroup", "write(fds[at], b\"0\")"),
        ("namespaces", "syscall(SETNS, fds[at], 0)"),
        ("descriptors", "close_from("),
        ("rlimits", "syscall(PRLIMIT, 0, resource, values, 0)"),
        ("affinity", "sched_setaffinity(0, processors)"),
        ("privileges", "syscall(CAPSET, header, nothing)"),
        ("landlock", "syscall(LANDLOCK_RESTRICT_SELF, 4, order.quiet)"),
        ("seccomp", "syscall(SECCOMP, MODE_FILTER"),
    ];

    /// One of each kind.
    fn examples() -> Vec<Step> {
        let path = || std::path::PathBuf::from("/x");
        let bind = |access| Step::Bind {
            source: path(),
            target: path(),
            access,
            own: true,
            named: true,
        };
        let steps = vec![
            Step::Cgroup {
                hierarchy: Cgroup::None {
                    reason: String::new(),
                },
                memory: 1,
                pids: 1,
                cpus: 1.0,
            },
            Step::Namespaces {
                kinds: vec![Namespace::Pid],
            },
            Step::Ids {
                inside: 1,
                host_uid: 1,
                host_gid: 1,
                own: true,
            },
            Step::Hostname { name: "x".into() },
            Step::Loopback,
            Step::Root,
            bind(Access::ReadOnly),
            bind(Access::ReadWrite),
            Step::Protect {
                source: path(),
                target: path(),
            },
            Step::Keep { target: path() },
            Step::Hide { target: path() },
            Step::Overlay {
                source: path(),
                target: path(),
            },
            Step::Folder { path: path() },
            Step::Symlink {
                path: path(),
                target: path(),
            },
            Step::Text {
                path: path(),
                content: String::new(),
            },
            Step::Tree {
                target: path(),
                digest: String::new(),
                files: 1,
                bytes: 1,
            },
            Step::Device { path: path() },
            Step::Proc,
            Step::Mask {
                paths: Vec::new(),
                read_only: Vec::new(),
            },
            Step::Scratch {
                size: 1,
                inodes: 1,
                targets: Vec::new(),
            },
            Step::Pivot,
            Step::Privileges,
            Step::Landlock(belljar_linux::confine::Rules {
                abi: 6,
                paths: Vec::new(),
                tcp: false,
                scoped: true,
            }),
            Step::Rlimits { limits: Vec::new() },
            Step::Affinity { cpus: 1 },
            Step::Descriptors,
            Step::Seccomp {
                internet: false,
                affinity: true,
                locks: 1,
            },
            Step::Deadline { seconds: 1.0 },
        ];
        // serde knows all kinds, and names them when it meets none of them.
        let unknown = serde_json::from_str::<Step>(r#"{"op": "?"}"#).expect_err("no step");
        for name in unknown.to_string().split('`').skip(3).step_by(2) {
            assert!(
                steps.iter().any(|step| step.name() == name),
                "no example of {name}"
            );
        }
        steps
    }

    /// The body of one function.
    fn body(name: &str) -> &'static str {
        let (_, rest) = SEAL.split_once(&format!("\ndef {name}(")).expect("the function");
        rest.split("\n\n\n").next().unwrap_or(rest)
    }

    #[test]
    fn the_workers_part_of_every_step_is_in_its_seal() {
        let mut wanted: Vec<&str> = examples()
            .iter()
            .filter(|step| step.is_for(Hand::Worker))
            .map(Step::name)
            .collect();
        let mut known: Vec<&str> = DOES.iter().map(|(name, _)| *name).collect();
        wanted.sort_unstable();
        known.sort_unstable();
        assert_eq!(
            wanted, known,
            "what the table gives to workers, and what this test looks for"
        );
        let (seal, mut last) = (body("seal"), 0);
        for (name, line) in DOES {
            let at = seal
                .find(line)
                .unwrap_or_else(|| panic!("{name}: no `{line}` in seal"));
            assert!(at > last, "{name}: not in its order");
            last = at;
        }
    }

    #[test]
    fn a_worker_knows_the_limits_that_are_its_own() {
        let (_, names) = SEAL.split_once("RLIMITS = dict(").expect("the table");
        let names = names.split('"').nth(1).unwrap_or_default();
        let numbers: Vec<&str> = names.split(' ').collect();
        for resource in Resource::ALL {
            let at = numbers.iter().position(|name| *name == resource.name());
            assert_eq!(at, Some(resource.kernel() as usize), "{}", resource.name());
        }
        let own = Resource::ALL
            .into_iter()
            .filter(|resource| resource.is_workers_own());
        assert_eq!(own.collect::<Vec<_>>(), [Resource::Cpu, Resource::Nproc]);
    }

    #[test]
    fn every_step_is_carried_out_cold_and_refused_or_carried_out_warm() {
        for step in examples() {
            let Hands { cold, warm } = step.hands();
            assert!(!cold.is_empty(), "{}", step.name());
            assert!(
                warm.is_err() || warm.is_ok_and(|warm| !warm.is_empty()),
                "{}",
                step.name()
            );
        }
    }
}
