//! From a list to a program: a binary search over runs of equal answers, with the argument checks at its leaves.
//!
//! The kernel walks the whole program once for every call number when it is loaded, so the depth of the search, not the
//! number of calls, is what a jar pays for. Programs are written from the end, because jumps only go forward: a
//! target exists before the jump to it does.

use super::bpf::{AND, ANY_BIT, AT_LEAST, EQUAL, Instruction, JUMP, LOAD, RETURN};
use super::table::{Case, Rule};
use super::{Action, Arch, Options};

/// Offset of the call number in the kernel's `struct seccomp_data`.
const NUMBER: u32 = 0;
/// Offset of the architecture there.
const ARCH: u32 = 4;
/// Offset of the first argument there.
const ARGS: u32 = 16;

/// Set in the number of every call that comes through the x32 entry.
pub(super) const X32_BIT: u32 = 0x4000_0000;
/// What a tracer writes to skip a call. It has the x32 bit, and the kernel answers ENOSYS.
pub(super) const SKIPPED: u32 = u32::MAX;

/// What a number gets: one answer, or checks of its arguments.
pub(super) enum Leaf {
    Answer(Action),
    Checks(Checks),
}

/// The cases of a rule that can matter under the given options, and the answer when none holds.
pub(super) struct Checks {
    cases: Vec<&'static Case>,
    otherwise: Action,
}

impl Checks {
    fn same(&self, other: &Checks) -> bool {
        let same =
            |(one, other): (&&Case, &&Case)| one.verdict == other.verdict && one.tests() == other.tests();
        self.otherwise == other.otherwise
            && self.cases.len() == other.cases.len()
            && self.cases.iter().zip(&other.cases).all(same)
    }
}

impl Leaf {
    /// Whether both give every call the same answer.
    pub(super) fn same(&self, other: &Leaf) -> bool {
        match (self, other) {
            (Leaf::Answer(one), Leaf::Answer(other)) => one == other,
            (Leaf::Checks(one), Leaf::Checks(other)) => one.same(other),
            _ => false,
        }
    }

    /// Drops the cases that are switched off or cannot change the answer.
    pub(super) fn of(rule: &'static Rule, options: &Options) -> Leaf {
        let mut cases = Vec::new();
        let mut otherwise = rule.verdict;
        for case in rule.cases().iter().filter(|case| case.applies(options)) {
            if case.tests().is_empty() {
                otherwise = case.verdict;
                break;
            }
            // The first that holds decides.
            if !cases
                .iter()
                .any(|earlier: &&Case| earlier.tests() == case.tests())
            {
                cases.push(case);
            }
        }
        while cases.last().is_some_and(|case| case.verdict == otherwise) {
            cases.pop();
        }
        if cases.is_empty() {
            Leaf::Answer(otherwise)
        } else {
            Leaf::Checks(Checks { cases, otherwise })
        }
    }
}

/// Neighbouring numbers with the same leaf, up to the start of the next run, but for a few numbers among them.
struct Run {
    start: u32,
    leaf: Leaf,
    exceptions: Vec<(u32, Leaf)>,
}

/// Single numbers that a run may step over: each costs one comparison, where a run of its own costs two.
const EXCEPTIONS: usize = 3;

/// Compiles `leaves`, sorted by number; a number between them is unknown.
pub(super) fn program(
    arch: Arch,
    unknown: Action,
    leaves: impl Iterator<Item = (u32, Leaf)>,
) -> Vec<Instruction> {
    let runs = runs(unknown, leaves);
    let mut emitter = Emitter {
        reversed: Vec::with_capacity(4 * runs.len()),
        answers: Vec::new(),
    };
    let entry = emitter.runs(arch, &runs);
    emitter.fall_through(entry);
    let native = emitter.push(LOAD, NUMBER);
    let kill = emitter.answer(Action::KillProcess);
    emitter.branch(EQUAL, arch.audit(), native, kill);
    emitter.push(LOAD, ARCH);
    emitter.reversed.reverse();
    emitter.reversed
}

/// Joins neighbours; the last run, of unknown numbers, has no end.
fn runs(unknown: Action, leaves: impl Iterator<Item = (u32, Leaf)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut next = 0;
    for (number, leaf) in leaves {
        if number > next {
            join(&mut runs, next, Leaf::Answer(unknown));
        }
        join(&mut runs, number, leaf);
        next = number + 1;
    }
    join(&mut runs, next, Leaf::Answer(unknown));
    runs
}

fn join(runs: &mut Vec<Run>, start: u32, leaf: Leaf) {
    let same = |run: &Run| run.leaf.same(&leaf);
    match runs.as_mut_slice() {
        [.., last] if same(last) => return,
        [.., before, last]
            if same(before)
                && last.start + 1 == start
                && last.exceptions.is_empty()
                && before.exceptions.len() < EXCEPTIONS =>
        {
            if let Some(Run { start, leaf, .. }) = runs.pop()
                && let Some(before) = runs.last_mut()
            {
                before.exceptions.push((start, leaf));
            }
            return;
        }
        _ => {}
    }
    runs.push(Run {
        start,
        leaf,
        exceptions: Vec::new(),
    });
}

/// A 32-bit comparison of a part of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word {
    offset: u32,
    mask: u32,
    value: u32,
}

impl Word {
    fn same_operand(&self, other: &Word) -> bool {
        (self.offset, self.mask) == (other.offset, other.mask)
    }
}

/// The comparisons of a case: the machine has 32 bits, so a test that reaches into the upper half becomes two.
fn words(case: &Case) -> Vec<Word> {
    let mut words = Vec::new();
    for test in case.tests() {
        let low = ARGS + 8 * u32::from(test.arg);
        for (offset, shift) in [(low, 0), (low + 4, 32)] {
            let (mask, value) = ((test.mask >> shift) as u32, (test.value >> shift) as u32);
            if mask != 0 {
                words.push(Word { offset, mask, value });
            }
        }
    }
    words
}

/// An instruction already written, counted from the end of the program.
type Label = usize;

struct Emitter {
    reversed: Vec<Instruction>,
    /// The nearest copy of each answer, so that neighbours share it.
    answers: Vec<(Action, Label)>,
}

impl Emitter {
    fn push(&mut self, code: u16, k: u32) -> Label {
        self.reversed.push(Instruction {
            code,
            jt: 0,
            jf: 0,
            k,
        });
        self.reversed.len() - 1
    }

    /// Instructions between the next one to be written and `label`.
    fn distance(&self, label: Label) -> usize {
        self.reversed.len() - label - 1
    }

    fn answer(&mut self, action: Action) -> Label {
        let found = self.answers.iter().position(|(known, _)| *known == action);
        if let Some(index) = found
            && self.distance(self.answers[index].1) < 240
        {
            return self.answers[index].1;
        }
        let label = self.push(RETURN, action.raw());
        match found {
            Some(index) => self.answers[index].1 = label,
            None => self.answers.push((action, label)),
        }
        label
    }

    /// A conditional jump reaches 255 instructions; a target further away gets a stepping stone.
    fn reachable(&mut self, label: Label) -> Label {
        if self.distance(label) < 250 {
            return label;
        }
        match self.reversed[label] {
            Instruction { code: RETURN, k, .. } => self.push(RETURN, k),
            _ => {
                let skip = self.distance(label) as u32;
                self.push(JUMP, skip)
            }
        }
    }

    fn branch(&mut self, code: u16, k: u32, yes: Label, no: Label) -> Label {
        let no = self.reachable(no);
        let yes = self.reachable(yes);
        let (jt, jf) = (self.distance(yes) as u8, self.distance(no) as u8);
        self.reversed.push(Instruction { code, jt, jf, k });
        self.reversed.len() - 1
    }

    /// Makes `label` the next instruction that runs.
    fn fall_through(&mut self, label: Label) {
        let skip = self.distance(label) as u32;
        if skip > 0 {
            self.push(JUMP, skip);
        }
    }

    fn runs(&mut self, arch: Arch, runs: &[Run]) -> Label {
        let (last, before) = runs.split_last().expect("numbers without end have a last run");
        let mut unknown = self.leaf(&last.leaf);
        if arch == Arch::X86_64 {
            // Beyond every known number, so that no known call pays for it.
            let kill = self.answer(Action::KillProcess);
            let x32 = self.branch(EQUAL, SKIPPED, unknown, kill);
            unknown = self.branch(ANY_BIT, X32_BIT, x32, unknown);
        }
        let unknown = self.exceptions(last, unknown);
        let below = self.search(before, last.start);
        self.branch(AT_LEAST, last.start, unknown, below)
    }

    /// Splits where both halves hold as many numbers: the kernel asks for each of them once when it loads the program.
    fn search(&mut self, runs: &[Run], end: u32) -> Label {
        if let [run] = runs {
            let otherwise = self.leaf(&run.leaf);
            return self.exceptions(run, otherwise);
        }
        let middle = runs[0].start + (end - runs[0].start) / 2;
        let split = runs
            .partition_point(|run| run.start < middle)
            .clamp(1, runs.len() - 1);
        let (below, above) = runs.split_at(split);
        let yes = self.search(above, end);
        let no = self.search(below, above[0].start);
        self.branch(AT_LEAST, above[0].start, yes, no)
    }

    fn exceptions(&mut self, run: &Run, otherwise: Label) -> Label {
        run.exceptions.iter().fold(otherwise, |next, (number, leaf)| {
            let holds = self.leaf(leaf);
            self.branch(EQUAL, *number, holds, next)
        })
    }

    fn leaf(&mut self, leaf: &Leaf) -> Label {
        match leaf {
            Leaf::Answer(action) => self.answer(*action),
            Leaf::Checks(checks) => self.checks(checks),
        }
    }

    fn checks(&mut self, checks: &Checks) -> Label {
        let cases: Vec<(Vec<Word>, bool)> = with_loads(&checks.cases);
        let mut next = self.answer(checks.otherwise);
        for (case, (words, load)) in checks.cases.iter().zip(cases).rev() {
            let mut holds = self.answer(case.verdict);
            for (index, word) in words.iter().enumerate().rev() {
                holds = self.branch(EQUAL, word.value, holds, next);
                let loaded = if index == 0 {
                    !load
                } else {
                    words[index - 1].same_operand(word)
                };
                if !loaded {
                    if word.mask != u32::MAX {
                        self.push(AND, word.mask);
                    }
                    holds = self.push(LOAD, word.offset);
                }
            }
            next = holds;
        }
        next
    }
}

/// For each case its comparisons, and whether the first must load its operand or finds it loaded by the case before.
fn with_loads(cases: &[&'static Case]) -> Vec<(Vec<Word>, bool)> {
    let mut loaded: Option<Word> = None;
    let mut result = Vec::with_capacity(cases.len());
    for case in cases {
        let words = words(case);
        let load = !loaded.is_some_and(|word| word.same_operand(&words[0]));
        loaded = words
            .iter()
            .all(|word| word.same_operand(&words[0]))
            .then_some(words[0]);
        result.push((words, load));
    }
    result
}
