//! From a policy and a host to a plan. Pure: nothing is read, nothing is tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use belljar_linux::confine::{Allow, Rule, Rules};

use super::{Namespace, Plan, Refusal, Resource, Rlimit, Step, environment, report, require, shown};
use crate::host::{Cgroup, Host, Userns};
use crate::policy::{Access, Policy, Resolver};
use crate::python::Interpreter;

/// The guest's user and group id, as it sees them.
const GUEST_ID: u32 = 1000;
/// Started as root, each jar's host id is above this; no distribution hands out ids up here.
const HOST_ID_BASE: u32 = 0x7000_0000;
/// Our own folder in the jar: the guest runtime and the job's text.
pub(crate) const RUNTIME: &str = "/run/belljar";
/// The folder that shows a script alone.
pub(crate) const SCRIPT: &str = "/script";
/// The fresh working directory.
pub(crate) const JAR: &str = "/jar";

pub(super) const RESOLVER: &str = "/etc/resolv.conf";
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];
/// World-readable parts of /proc that tell of the host and that no package needs; psutil does with an empty diskstats. What is
/// left belongs to the host's root, who is nobody in the jar.
const MASKED: [&str; 37] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/bootconfig",
    "/proc/buddyinfo",
    "/proc/bus",
    "/proc/cgroups",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/consoles",
    "/proc/crypto",
    "/proc/devices",
    "/proc/diskstats",
    "/proc/dma",
    "/proc/driver",
    "/proc/execdomains",
    "/proc/fs",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/irq",
    "/proc/kallsyms",
    "/proc/key-users",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/locks",
    "/proc/misc",
    "/proc/modules",
    "/proc/mtrr",
    "/proc/partitions",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/softirqs",
    "/proc/swaps",
    "/proc/sys/kernel",
    "/proc/tty",
    "/proc/zoneinfo",
];
/// Each close walks all locks of its file. With so many the host still opens and closes a file that it shares with a guest in less
/// than twice the time.
const FILE_LOCKS: u32 = 128;
/// Per-process limits that do not come from the policy.
const STACK: u64 = 8 << 20;
const LOCKED_MEMORY: u64 = 8 << 20;
const PENDING_SIGNALS: u64 = 1024;
const MESSAGE_QUEUES: u64 = 819_200;

impl Plan {
    /// Whether this host has what the policy needs of it, whatever the interpreter.
    pub(crate) fn require(policy: &Policy, host: &Host) -> Result<(), Refusal> {
        require::mechanisms(policy, host)
    }

    /// The policy on this host with this interpreter, or a refusal that names what is missing and the fix.
    pub fn resolve(policy: &Policy, host: &Host, python: &Interpreter) -> Result<Self, Refusal> {
        require::mechanisms(policy, host)?;
        let isolation = report::isolation(policy, host);
        require::layers(policy, &isolation)?;
        let current_dir = policy
            .workdir
            .as_ref()
            .map_or(PathBuf::from(JAR), |workdir| workdir.target.clone());
        Ok(Self {
            steps: steps(policy, host, python),
            isolation,
            limits: policy.limits.clone(),
            network: policy.network,
            interpreter: python.executable.clone(),
            base_interpreter: python.base_executable.clone(),
            venv: python.venv.is_some(),
            env: environment::environment(policy, python),
            workdir: policy.workdir.clone(),
            current_dir,
            fault: None,
        })
    }
}

/// The critical sequence. Limits come first, so that nothing ever runs without them; the root is complete before it
/// becomes the root; privileges go when there is nothing left to build; the filter is last, because what comes before
/// needs calls that it denies.
fn steps(policy: &Policy, host: &Host, python: &Interpreter) -> Vec<Step> {
    let mut steps = Vec::with_capacity(64);
    limits_of_the_jar(&mut steps, policy, host);
    rooms(&mut steps, policy, host);
    root(&mut steps, policy, host, python);
    steps.push(Step::Pivot);
    steps.push(Step::Privileges);
    if host.landlock > 0 {
        steps.push(Step::Landlock(second_wall(&steps, policy, host)));
    }
    steps.push(Step::Rlimits {
        limits: rlimits(policy, host),
    });
    if !counts_cpus(host) {
        steps.push(Step::Affinity {
            cpus: policy.limits.cpus.ceil() as u32,
        });
    }
    steps.push(Step::Descriptors);
    steps.push(Step::Seccomp {
        internet: policy.network.may_open_sockets(),
        affinity: counts_cpus(host),
        locks: locks(policy, host),
    });
    if let Some(timeout) = policy.limits.timeout {
        steps.push(Step::Deadline {
            seconds: timeout.as_secs_f64(),
        });
    }
    steps
}

/// How many file locks there may be. Before Linux 5.19 signals could keep whoever waits for an answer from ever getting one.
fn locks(policy: &Policy, host: &Host) -> u32 {
    if policy.locks && host.kernel >= (5, 19) {
        FILE_LOCKS
    } else {
        0
    }
}

fn limits_of_the_jar(steps: &mut Vec<Step>, policy: &Policy, host: &Host) {
    if matches!(host.cgroup, Cgroup::None { .. }) {
        return;
    }
    steps.push(Step::Cgroup {
        hierarchy: host.cgroup.clone(),
        // A tmpfs counts as memory: without the disk's share a full disk would end as an out-of-memory kill.
        memory: policy.limits.memory.saturating_add(policy.limits.disk),
        // One more for the jar's init.
        pids: policy.limits.pids + 1,
        cpus: policy.limits.cpus,
    });
}

fn rooms(steps: &mut Vec<Step>, policy: &Policy, host: &Host) {
    let mut kinds = vec![
        Namespace::User,
        Namespace::Mount,
        Namespace::Pid,
        Namespace::Ipc,
        Namespace::Uts,
        Namespace::Cgroup,
    ];
    if policy.network.has_own_namespace() {
        kinds.push(Namespace::Network);
    }
    steps.push(Step::Namespaces { kinds });
    let (host_uid, host_gid) = if host.privileged {
        (HOST_ID_BASE, HOST_ID_BASE)
    } else {
        (host.uid, host.gid)
    };
    steps.push(Step::Ids {
        inside: GUEST_ID,
        host_uid,
        host_gid,
        own: host.privileged,
    });
    steps.push(Step::Hostname {
        name: "belljar".into(),
    });
    if policy.network.has_own_loopback() {
        steps.push(Step::Loopback);
    }
}

fn root(steps: &mut Vec<Step>, policy: &Policy, host: &Host, python: &Interpreter) {
    steps.push(Step::Root);
    steps.extend(shown::steps(policy, host, python));
    let mut scratch = vec![PathBuf::from("/tmp"), PathBuf::from("/dev/shm")];
    if policy.workdir.is_none() {
        scratch.insert(0, JAR.into());
    }
    if policy.system {
        for (name, target) in &host.system.links {
            steps.push(Step::Symlink {
                path: Path::new("/").join(name),
                target: target.clone(),
            });
        }
    }
    for link in &python.links {
        steps.push(Step::Symlink {
            path: link.path.clone(),
            target: link.target.clone(),
        });
    }
    for (path, content) in etc(policy) {
        steps.push(Step::Text {
            path: path.into(),
            content,
        });
    }
    for device in DEVICES {
        steps.push(Step::Device { path: device.into() });
    }
    for (link, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        steps.push(Step::Symlink {
            path: Path::new("/dev").join(link),
            target: format!("/proc/self/fd{target}").into(),
        });
    }
    steps.push(Step::Proc);
    steps.push(Step::Scratch {
        size: policy.limits.disk,
        inodes: policy.limits.inodes,
        targets: scratch.clone(),
    });
    // What is shown below /tmp or /jar comes after them, or they would cover it: a virtualenv in /tmp, a mount at /jar/data.
    let below = |path: &Path| {
        scratch
            .iter()
            .any(|folder| path.starts_with(folder) && path != folder)
    };
    let late: Vec<Step> = steps
        .extract_if(.., |step| match step {
            Step::Symlink { path, .. } => below(path),
            step => step.target().is_some_and(below),
        })
        .collect();
    steps.extend(late);
    // Last: nothing of it is named by a rule, so the guest's process seals itself meanwhile.
    steps.push(Step::Mask {
        paths: MASKED.iter().map(PathBuf::from).collect(),
        read_only: vec!["/proc/sys".into()],
    });
}

/// What stands in /etc instead of the host's own.
fn etc(policy: &Policy) -> BTreeMap<&'static str, String> {
    let mut etc = BTreeMap::from([
        (
            "/etc/passwd",
            format!(
                "guest:x:{GUEST_ID}:{GUEST_ID}:guest:{}:/bin/sh\n",
                environment::HOME
            ),
        ),
        ("/etc/group", format!("guest:x:{GUEST_ID}:\n")),
        (
            "/etc/hosts",
            "127.0.0.1 localhost belljar\n::1 localhost belljar\n".to_owned(),
        ),
        ("/etc/hostname", "belljar\n".to_owned()),
        ("/etc/machine-id", format!("{:032x}\n", 0xbe11u32)),
        (
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files dns\n".to_owned(),
        ),
    ]);
    match policy.network.resolver() {
        Resolver::Nobody => drop(etc.insert(RESOLVER, String::new())),
        Resolver::Host => {}
    }
    etc
}

/// Every path that the root shows, once more as Landlock rules.
fn second_wall(steps: &[Step], policy: &Policy, host: &Host) -> Rules {
    let mut paths: BTreeMap<PathBuf, Allow> = BTreeMap::from([
        (PathBuf::from("/"), Allow::List),
        (PathBuf::from("/etc"), Allow::Read),
        (PathBuf::from("/proc"), Allow::Read),
        (PathBuf::from("/dev"), Allow::Read),
        (PathBuf::from(RUNTIME), Allow::Read),
        (PathBuf::from(SCRIPT), Allow::Read),
    ]);
    for step in steps {
        match step {
            Step::Bind {
                target,
                access: Access::ReadOnly,
                ..
            } => paths.insert(target.clone(), Allow::Read),
            Step::Bind {
                target,
                access: Access::ReadWrite,
                ..
            }
            | Step::Overlay { target, .. } => paths.insert(target.clone(), Allow::Write),
            // Nobody needs to write to the random ones.
            Step::Device { path } if !path.ends_with("random") && !path.ends_with("urandom") => {
                paths.insert(path.clone(), Allow::Write)
            }
            Step::Scratch { targets, .. } => {
                paths.extend(targets.iter().map(|target| (target.clone(), Allow::Write)));
                None
            }
            // Read in /dev, /etc, /proc or the folder that they are in, or no path at all; `with_tree` adds its own.
            Step::Device { .. }
            | Step::Protect { .. }
            | Step::Keep { .. }
            | Step::Hide { .. }
            | Step::Folder { .. }
            | Step::Symlink { .. }
            | Step::Text { .. }
            | Step::Tree { .. }
            | Step::Proc
            | Step::Mask { .. }
            | Step::Root
            | Step::Pivot
            | Step::Cgroup { .. }
            | Step::Namespaces { .. }
            | Step::Ids { .. }
            | Step::Hostname { .. }
            | Step::Loopback
            | Step::Privileges
            | Step::Landlock(_)
            | Step::Rlimits { .. }
            | Step::Affinity { .. }
            | Step::Descriptors
            | Step::Seccomp { .. }
            | Step::Deadline { .. } => None,
        };
    }
    // What a folder above allows already needs no rule of its own; each costs every start a few microseconds.
    let allowed_above = |path: &Path, allow: Allow| {
        let mut above = path.ancestors().skip(1).filter_map(|path| paths.get(path));
        above.any(|above| *above >= allow)
    };
    let rules = paths.iter().filter(|(path, allow)| !allowed_above(path, **allow));
    Rules {
        abi: host.landlock,
        paths: rules
            .map(|(path, allow)| Rule {
                path: path.clone(),
                allow: *allow,
            })
            .collect(),
        tcp: policy.network.may_open_sockets(),
        scoped: true,
    }
}

fn rlimits(policy: &Policy, host: &Host) -> Vec<Rlimit> {
    let limits = &policy.limits;
    let mut list = Vec::new();
    let mut set = |resource, soft, hard| list.push(Rlimit { resource, soft, hard });
    // Not 0: to a handler that core_pattern names behind a pipe the kernel sends any core but one limited to exactly 1.
    set(Resource::Core, 1, 1);
    set(Resource::Nofile, limits.open_files, limits.open_files);
    set(Resource::Stack, STACK, STACK);
    set(Resource::Memlock, LOCKED_MEMORY, LOCKED_MEMORY);
    set(Resource::Sigpending, PENDING_SIGNALS, PENDING_SIGNALS);
    set(Resource::Msgqueue, MESSAGE_QUEUES, MESSAGE_QUEUES);
    set(Resource::Rtprio, 0, 0);
    set(Resource::Nice, 0, 0);
    if let Some(size) = limits.file_size {
        set(Resource::Fsize, size, size);
    }
    if let Some(seconds) = limits.cpu_seconds {
        // The soft limit's SIGXCPU says why; the hard one ends a guest that ignores it.
        set(Resource::Cpu, seconds.ceil() as u64, seconds.ceil() as u64 + 1);
    }
    if !counts_memory(host) {
        set(Resource::Data, limits.memory, limits.memory);
    }
    // Where a cgroup counts them, too: the kernel asks that one last, when the new process is there already with all its
    // memory. Processes that fork at their limit would keep it busy with that, and wait for its locks together with everyone.
    // Without a user namespace of the jar's own it would count everything that the user runs.
    if !counts_pids(host) || host.userns == Userns::Works {
        set(Resource::Nproc, limits.pids + 1, limits.pids + 1);
    }
    list
}

pub(super) fn counts_memory(host: &Host) -> bool {
    match &host.cgroup {
        Cgroup::None { .. } => false,
        Cgroup::V1 { memory, .. } => memory.is_some(),
        Cgroup::V2 { controllers, .. } | Cgroup::Scope { controllers } => {
            controllers.iter().any(|name| name == "memory")
        }
    }
}

pub(super) fn counts_pids(host: &Host) -> bool {
    match &host.cgroup {
        Cgroup::None { .. } => false,
        Cgroup::V1 { pids, .. } => pids.is_some(),
        Cgroup::V2 { controllers, .. } | Cgroup::Scope { controllers } => {
            controllers.iter().any(|name| name == "pids")
        }
    }
}

pub(super) fn counts_cpus(host: &Host) -> bool {
    match &host.cgroup {
        Cgroup::None { .. } => false,
        Cgroup::V1 { cpu, .. } => cpu.is_some(),
        Cgroup::V2 { controllers, .. } | Cgroup::Scope { controllers } => {
            controllers.iter().any(|name| name == "cpu")
        }
    }
}
