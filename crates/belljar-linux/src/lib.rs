//! Kernel mechanisms, one file each. The only unsafe code of belljar lives here, and nothing here knows of Python
//! or of policy: a caller says what to do, this crate does it and reports the errno.
//!
//! | file | mechanism |
//! |---|---|
//! | `caller` | who is behind a socket, and what of the caller's environment stays |
//! | `cgroup` | limits and figures of a jar as a whole |
//! | `dbus` | one message to a service manager, and its answer |
//! | `probe` | what the kernel has, and, by trying, what it lets us use |
//! | `process` | clone into namespaces, pidfds, waiting, exec |
//! | `pidfd` | a process that is somebody else's child |
//! | `userns` | id maps, and namespaces that only carry an id map for a mount |
//! | `mount` | detached trees, attributes, tmpfs, proc, overlay, pivot |
//! | `privileges` | capabilities, securebits, no_new_privs, ids, dumpability |
//! | `confine` | Landlock rulesets |
//! | `descriptors` | exact descriptor tables, passing descriptors |
//! | `inherit` | what of its caller a guest must not inherit |
//! | `inspect` | another process seen from outside, through /proc |
//! | `memfd` | memory as a file that can no longer change |
//! | `namespaces` | namespaces as descriptors: one's own, and joining |
//! | `network` | the loopback of a new network namespace |
//! | `seccomp` | the system-call filter: its list, emitter and loader |
//! | `signals` | signals as descriptors, and the default actions of a fresh process |

pub mod beneath;
pub mod caller;
pub mod cgroup;
pub mod confine;
pub mod dbus;
pub mod descriptors;
pub mod inherit;
pub mod inspect;
pub mod memfd;
pub mod mount;
pub mod namespaces;
pub mod network;
pub mod pidfd;
pub mod privileges;
pub mod probe;
pub mod process;
pub mod rlimits;
pub mod seccomp;
pub mod signals;
pub mod userns;
