//! Our programs against those of seccompiler, where its one action for a match can say the same: which calls are allowed.

use std::collections::BTreeMap;

use belljar_linux::seccomp::bpf::{self, Data};
use belljar_linux::seccomp::{Action, Arch, Families, Instruction, Options, number, program};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

#[path = "seccomp/samples.rs"]
mod samples;

use samples::list::{self, Case, Rule};
use samples::{GUEST, NUMBERS, Random, all_options, samples};

fn applies(case: &Case, options: &Options) -> bool {
    match case.option.map(|index| list::OPTIONS[index]) {
        None => true,
        Some("internet") => options.families == Families::Internet,
        Some("tty") => options.tty,
        Some("affinity") => options.affinity,
        Some("ipc") => options.ipc,
        Some("disk") => options.disk,
        Some("locks") => options.locks,
        Some(other) => panic!("unknown option {other}"),
    }
}

/// No call can meet both.
fn disjoint(one: &Case, other: &Case) -> bool {
    let differ =
        |a: &list::Test, b: &list::Test| a.arg == b.arg && a.mask & b.mask & (a.value ^ b.value) != 0;
    one.tests.iter().any(|a| other.tests.iter().any(|b| differ(a, b)))
}

/// The rule as alternatives that each allow, if it can be said so: refusals must not overlap what is allowed.
fn alternatives(rule: &Rule, options: &Options) -> Option<Vec<SeccompRule>> {
    let cases: Vec<&Case> = rule.cases.iter().filter(|case| applies(case, options)).collect();
    if rule.verdict.is_none() {
        return cases.is_empty().then(Vec::new);
    }
    let (allowed, refused): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.verdict.is_none());
    let overlap = allowed
        .iter()
        .any(|allow| refused.iter().any(|refuse| !disjoint(allow, refuse)));
    if overlap || allowed.is_empty() {
        return None;
    }
    if allowed.iter().any(|case| case.tests.is_empty()) {
        return Some(Vec::new());
    }
    let condition = |test: &list::Test| {
        let length = match u32::try_from(test.mask) {
            Ok(_) => SeccompCmpArgLen::Dword,
            Err(_) => SeccompCmpArgLen::Qword,
        };
        SeccompCondition::new(test.arg, length, SeccompCmpOp::MaskedEq(test.mask), test.value).unwrap()
    };
    let rule = |case: &&Case| SeccompRule::new(case.tests.iter().map(condition).collect()).unwrap();
    Some(allowed.iter().map(rule).collect())
}

fn theirs(arch: Arch, rules: BTreeMap<i64, Vec<SeccompRule>>) -> Vec<Instruction> {
    let target = match arch {
        Arch::X86_64 => TargetArch::x86_64,
        Arch::Aarch64 => TargetArch::aarch64,
    };
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, denied, SeccompAction::Allow, target).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    let convert = |raw: &seccompiler::sock_filter| Instruction {
        code: raw.code,
        jt: raw.jt,
        jf: raw.jf,
        k: raw.k,
    };
    program.iter().map(convert).collect()
}

#[test]
fn both_allow_the_same_calls() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let known = list::numbers(NUMBERS).unwrap();
    let rules = list::rules(GUEST, &known).unwrap();
    for arch in Arch::ALL {
        // x32 numbers and unknown ones are beyond what seccompiler can say; the model test holds them.
        let mut samples = samples(arch, GUEST, &mut random);
        samples.retain(|(number, _)| *number < 1024);
        for options in all_options() {
            let mut comparable = BTreeMap::new();
            let mut skipped = Vec::new();
            for rule in &rules {
                let Some(number) = number(arch, &rule.name) else {
                    continue;
                };
                match alternatives(rule, &options) {
                    Some(said) => drop(comparable.insert(i64::from(number), said)),
                    None if rule.verdict.is_none() || !rule.cases.is_empty() => skipped.push(number),
                    // Refused whatever its arguments: absent from theirs.
                    None => {}
                }
            }
            for call in [
                "ioctl",
                "prctl",
                "fchmod",
                "personality",
                "mknodat",
                "socketpair",
                "read",
            ] {
                assert!(
                    comparable.contains_key(&i64::from(number(arch, call).unwrap())),
                    "{call} is not compared"
                );
            }
            let (ours, theirs) = (program(arch, &options), theirs(arch, comparable));
            for &(number, args) in samples.iter().filter(|(number, _)| !skipped.contains(number)) {
                let data = Data {
                    number,
                    audit_arch: arch.audit(),
                    args,
                };
                let allows = |program: &[Instruction]| {
                    bpf::run(program, &data, |_| {}).expect("a program that loads") == Action::Allow.raw()
                };
                assert_eq!(
                    allows(&ours),
                    allows(&theirs),
                    "{arch:?} {options:?} {number} {args:#x?}"
                );
            }
        }
    }
}
