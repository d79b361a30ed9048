//! What this machine can enforce. A plain value: probed once, and constructed by tests that pretend other machines.

mod own;
mod parse;
mod probe;

use serde::{Deserialize, Serialize};

mod system;

pub use belljar_linux::cgroup::Hierarchy as Cgroup;
pub use own::own_cgroup;
pub use system::System;

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Kernel version, such as (6, 18).
    pub kernel: (u32, u32),
    /// Machine, such as `x86_64`.
    pub arch: String,
    /// The caller's user and group id.
    pub uid: u32,
    /// The caller's group id.
    pub gid: u32,
    /// Supplementary groups that the caller holds.
    pub groups: Vec<u32>,
    /// Whether the caller has the capabilities of real root (SYS_ADMIN, SETUID, SETGID, CHOWN).
    pub privileged: bool,
    /// Whether user namespaces can be had, and if not, why.
    pub userns: Userns,
    /// Landlock's ABI; 0 when the kernel has none or it is switched off.
    pub landlock: u32,
    /// Whether seccomp filters can be loaded.
    pub seccomp: bool,
    /// The cgroups that this process may make below it.
    pub cgroup: Cgroup,
    /// Whether an overlay can be mounted in a user namespace with its upper layer on a tmpfs.
    pub overlay: bool,
    /// Whether mount_setattr and move_mount are there.
    pub mount_api: bool,
    /// Whether a mount can be shown under other ids (needed only when started as root).
    pub idmap: bool,
    /// The container that this process runs in, such as `docker`, if any.
    pub container: Option<String>,
    /// Processors that this process may run on.
    pub cpus: u32,
    /// How the system folders are laid out.
    pub system: System,
}

/// Whether user namespaces can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Userns {
    /// They work, with all the namespaces that go with them.
    Works,
    /// The kernel has none, or `max_user_namespaces` is 0.
    Off,
    /// Ubuntu's AppArmor rule takes every capability away inside.
    AppArmor,
    /// `kernel.unprivileged_userns_clone` is 0.
    Sysctl,
    /// Something outside, mostly a container's system-call filter, refuses them.
    Denied,
    /// They can be made, but a fresh /proc cannot be mounted inside: the outer one is masked.
    ProcMasked,
}
