//! The system-call filter: which calls a guest may make, as a program that the kernel runs before each of them.
//!
//! What it stops: namespaces, mounts, tracing, kernel interfaces with a record of holes, and the ways around other layers
//! (file handles, terminals, descriptors of others). Without it a jar is refused.
//!
//! The lists are `policies/syscalls.txt` for guests, `policies/init.txt` for the jar's PID 1 and `policies/template.txt` for
//! templates, compiled in by the build script. [`decide`] reads them as a person would; [`program`] compiles them for the kernel; the tests hold
//! the two together over every number (`tests/seccomp_model.rs`) and against the kernel (`tests/seccomp_kernel.rs`).

pub mod bpf;
mod emit;
mod install;
mod listen;
mod table;

use std::fmt;

pub use bpf::Instruction;
pub use install::{install, install_listening};
pub use listen::{Asked, Listener};

use serde::{Deserialize, Serialize};

use emit::{Leaf, SKIPPED, X32_BIT};
use table::{Case, Rule};

/// An architecture that filters can be made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit Intel and AMD.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// Every architecture.
    pub const ALL: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

    /// The one this program was built for. Building for another one fails here.
    pub const fn native() -> Arch {
        #[cfg(target_arch = "x86_64")]
        return Arch::X86_64;
        #[cfg(target_arch = "aarch64")]
        return Arch::Aarch64;
    }

    /// The kernel's name for it, `AUDIT_ARCH_*`.
    pub const fn audit(self) -> u32 {
        match self {
            Arch::X86_64 => 0xc000_003e,
            Arch::Aarch64 => 0xc000_00b7,
        }
    }

    /// Its usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        }
    }
}

/// The socket families that a guest may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Families {
    /// AF_UNIX alone.
    #[default]
    Local,
    /// AF_UNIX, and TCP and UDP over AF_INET and AF_INET6.
    Internet,
}

/// What differs between jars. The default is the tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Options {
    /// Socket families.
    pub families: Families,
    /// The jar has a terminal of its own, and may set it up and make more.
    pub tty: bool,
    /// Threads may choose their CPUs; only where a cgroup, not the affinity, holds the CPU limit.
    pub affinity: bool,
    /// System V and POSIX queues, semaphores and segments; only in an IPC namespace of the jar's own.
    pub ipc: bool,
    /// A folder of the host can be written, so that flushing files means something.
    pub disk: bool,
    /// Files can be locked: each such call is asked about, and whoever installs the filter hands the listener to one who answers.
    pub locks: bool,
}

/// What a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// It runs.
    Allow,
    /// It returns this errno without running; 0 is success.
    Errno(u16),
    /// It waits until the holder of the listener has decided.
    Ask,
    /// It ends the process with SIGSYS.
    KillProcess,
}

impl Action {
    const UNKNOWN: Action = Action::Errno(libc::ENOSYS as u16);
    const UNLISTED: Action = Action::Errno(libc::EPERM as u16);

    /// The kernel's encoding.
    pub const fn raw(self) -> u32 {
        match self {
            Action::Allow => libc::SECCOMP_RET_ALLOW,
            Action::Errno(errno) => libc::SECCOMP_RET_ERRNO | errno as u32,
            Action::Ask => libc::SECCOMP_RET_USER_NOTIF,
            Action::KillProcess => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }

    /// The action behind the kernel's encoding, if it is one of ours.
    pub const fn from_raw(raw: u32) -> Option<Action> {
        match raw & libc::SECCOMP_RET_ACTION_FULL {
            libc::SECCOMP_RET_ALLOW => Some(Action::Allow),
            libc::SECCOMP_RET_ERRNO => Some(Action::Errno((raw & libc::SECCOMP_RET_DATA) as u16)),
            libc::SECCOMP_RET_USER_NOTIF => Some(Action::Ask),
            libc::SECCOMP_RET_KILL_PROCESS => Some(Action::KillProcess),
            _ => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Action::Allow => out.write_str("allow"),
            Action::Ask => out.write_str("ask"),
            Action::KillProcess => out.write_str("kill"),
            Action::Errno(errno) => match i32::from(errno) {
                0 => out.write_str("done"),
                libc::EPERM => out.write_str("EPERM"),
                libc::ENOMEM => out.write_str("ENOMEM"),
                libc::EINVAL => out.write_str("EINVAL"),
                libc::ENOTTY => out.write_str("ENOTTY"),
                libc::ENOLCK => out.write_str("ENOLCK"),
                libc::ENOSYS => out.write_str("ENOSYS"),
                libc::EPROTONOSUPPORT => out.write_str("EPROTONOSUPPORT"),
                libc::EOPNOTSUPP => out.write_str("EOPNOTSUPP"),
                libc::EAFNOSUPPORT => out.write_str("EAFNOSUPPORT"),
                other => write!(out, "errno {other}"),
            },
        }
    }
}

/// Compiles the guest's list.
pub fn program(arch: Arch, options: &Options) -> Vec<Instruction> {
    let known = table::known(arch).iter();
    emit::program(
        arch,
        Action::UNKNOWN,
        known.map(|known| (known.number, Leaf::of(known.guest(), options))),
    )
}

/// Compiles the list of the jar's PID 1, which is much shorter: it waits, reports and ends.
pub fn init_program(arch: Arch) -> Vec<Instruction> {
    let options = Options::default();
    let leaf = |rule: Option<&'static Rule>| {
        rule.map_or(Leaf::Answer(Action::UNLISTED), |rule| Leaf::of(rule, &options))
    };
    emit::program(
        arch,
        Action::UNKNOWN,
        table::known(arch)
            .iter()
            .map(|known| (known.number, leaf(known.init()))),
    )
}

/// Compiles the list of a template, and of its workers until the guest's filter is on top: what any guest with these
/// families may do without a terminal, and what walking into a jar takes.
pub fn template_program(arch: Arch, families: Families) -> Vec<Instruction> {
    let options = template_options(families);
    let known = table::known(arch).iter();
    emit::program(
        arch,
        Action::UNKNOWN,
        known.map(|known| (known.number, Leaf::of(known.template(), &options))),
    )
}

/// Compiles the guest's list for a worker, on which the template's lies already: only what the guest's says otherwise. Of
/// two filters the stricter answer counts, so the two together are the guest's list.
pub fn worker_program(arch: Arch, options: &Options) -> Vec<Instruction> {
    let below = template_options(options.families);
    let known = table::known(arch).iter();
    let leaf = |known: &'static table::Known| {
        let leaf = Leaf::of(known.guest(), options);
        if leaf.same(&Leaf::of(known.template(), &below)) {
            Leaf::Answer(Action::Allow)
        } else {
            leaf
        }
    };
    emit::program(
        arch,
        Action::Allow,
        known.map(|known| (known.number, leaf(known))),
    )
}

/// The loosest that a guest of a template may have.
const fn template_options(families: Families) -> Options {
    Options {
        families,
        tty: false,
        affinity: true,
        ipc: true,
        disk: false,
        locks: false,
    }
}

/// What the guest's list says about a call that comes through the entry of `arch`.
pub fn decide(arch: Arch, options: &Options, number: u32, args: [u64; 6]) -> Action {
    if let Some(action) = foreign(arch, number) {
        return action;
    }
    match find(arch, number) {
        None => Action::UNKNOWN,
        Some(known) => evaluate(known.guest(), options, &args),
    }
}

/// What the list of the jar's PID 1 says about a call.
pub fn decide_init(arch: Arch, number: u32, args: [u64; 6]) -> Action {
    if let Some(action) = foreign(arch, number) {
        return action;
    }
    match find(arch, number).map(table::Known::init) {
        None => Action::UNKNOWN,
        Some(None) => Action::UNLISTED,
        Some(Some(rule)) => evaluate(rule, &Options::default(), &args),
    }
}

/// What the list of a template says about a call.
pub fn decide_template(arch: Arch, families: Families, number: u32, args: [u64; 6]) -> Action {
    if let Some(action) = foreign(arch, number) {
        return action;
    }
    match find(arch, number) {
        None => Action::UNKNOWN,
        Some(known) => evaluate(known.template(), &template_options(families), &args),
    }
}

/// The name of a call number.
pub fn name(arch: Arch, number: u32) -> Option<&'static str> {
    find(arch, number).map(|known| known.guest().name.text())
}

/// The number of a call; `None` where the architecture lacks it.
pub fn number(arch: Arch, name: &str) -> Option<u32> {
    table::known(arch)
        .iter()
        .find(|known| known.guest().name.text() == name)
        .map(|known| known.number)
}

/// A line of the guest's list as written, or a case below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The call.
    pub name: &'static str,
    /// What it gets.
    pub action: Action,
    /// Whether this is a case, which depends on arguments or on an option, and not the line of the call.
    pub is_case: bool,
    /// The option without which the case does not exist.
    pub option: Option<&'static str>,
    /// Why.
    pub reason: &'static str,
}

/// The guest's list in the order of its file, for documents and for `plan`.
pub fn lines() -> impl Iterator<Item = Line> {
    table::guest().iter().flat_map(|rule| {
        let name = rule.name.text();
        let reason = rule.reason.text();
        let line = Line {
            name,
            action: rule.verdict,
            is_case: false,
            option: None,
            reason,
        };
        let case = move |case: &'static Case| Line {
            name,
            action: case.verdict,
            is_case: true,
            option: case.option.map(table::Switch::name),
            reason: case.reason.text(),
        };
        std::iter::once(line).chain(rule.cases().iter().map(case))
    })
}

fn foreign(arch: Arch, number: u32) -> Option<Action> {
    let x32 = arch == Arch::X86_64 && number & X32_BIT != 0 && number != SKIPPED;
    x32.then_some(Action::KillProcess)
}

fn find(arch: Arch, number: u32) -> Option<&'static table::Known> {
    let known = table::known(arch);
    known
        .binary_search_by_key(&number, |known| known.number)
        .ok()
        .map(|index| &known[index])
}

fn evaluate(rule: &Rule, options: &Options, args: &[u64; 6]) -> Action {
    let holds = |case: &&Case| {
        case.applies(options)
            && case
                .tests()
                .iter()
                .all(|test| args[usize::from(test.arg)] & test.mask == test.value)
    };
    rule.cases()
        .iter()
        .find(holds)
        .map_or(rule.verdict, |case| case.verdict)
}
