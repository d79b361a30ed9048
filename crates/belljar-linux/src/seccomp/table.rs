//! The compiled lists. Offsets instead of references, so that the tables need no relocation at start.

use super::{Action, Families, Options};

include!(concat!(env!("OUT_DIR"), "/syscalls.rs"));

/// A part of one of the shared tables.
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: u32,
    len: u16,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.len)
    }

    pub(super) fn text(self) -> &'static str {
        &TEXT[self.range()]
    }
}

/// A call with a number on some architecture, and where its rules are.
pub(super) struct Known {
    pub(super) number: u32,
    guest: u16,
    init: Option<u16>,
    template: Option<u16>,
}

/// A line of a list with the cases below it.
pub(super) struct Rule {
    pub(super) name: Span,
    pub(super) verdict: Action,
    cases: Span,
    pub(super) reason: Span,
}

/// A case below a line.
pub(super) struct Case {
    pub(super) verdict: Action,
    pub(super) option: Option<Switch>,
    tests: Span,
    pub(super) reason: Span,
}

/// `args[arg] & mask == value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) arg: u8,
    pub(super) mask: u64,
    pub(super) value: u64,
}

/// The option that a case depends on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Switch {
    Internet,
    Tty,
    Affinity,
    Ipc,
    Disk,
    Locks,
}

impl Switch {
    fn is_on(self, options: &Options) -> bool {
        match self {
            Switch::Internet => options.families == Families::Internet,
            Switch::Tty => options.tty,
            Switch::Affinity => options.affinity,
            Switch::Ipc => options.ipc,
            Switch::Disk => options.disk,
            Switch::Locks => options.locks,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Switch::Internet => "internet",
            Switch::Tty => "tty",
            Switch::Affinity => "affinity",
            Switch::Ipc => "ipc",
            Switch::Disk => "disk",
            Switch::Locks => "locks",
        }
    }
}

impl Known {
    pub(super) fn guest(&self) -> &'static Rule {
        &GUEST[usize::from(self.guest)]
    }

    pub(super) fn init(&self) -> Option<&'static Rule> {
        self.init.map(|index| &INIT[usize::from(index)])
    }

    /// The template's own line, or the guest's.
    pub(super) fn template(&self) -> &'static Rule {
        self.template
            .map_or(self.guest(), |index| &TEMPLATE[usize::from(index)])
    }
}

impl Rule {
    pub(super) fn cases(&self) -> &'static [Case] {
        &CASES[self.cases.range()]
    }
}

impl Case {
    pub(super) fn tests(&self) -> &'static [Test] {
        &TESTS[self.tests.range()]
    }

    pub(super) fn applies(&self, options: &Options) -> bool {
        self.option.is_none_or(|switch| switch.is_on(options))
    }
}

/// The calls of an architecture in the order of their numbers.
pub(super) fn known(arch: super::Arch) -> &'static [Known] {
    match arch {
        super::Arch::X86_64 => X86_64,
        super::Arch::Aarch64 => AARCH64,
    }
}

/// The guest's list, in the order of the file.
pub(super) fn guest() -> &'static [Rule] {
    GUEST
}
