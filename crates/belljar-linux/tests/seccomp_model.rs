//! The compiled programs against the lists they come from: every number, the edges of every argument test, both
//! architectures, every combination of options, every instruction.

use belljar_linux::seccomp::bpf::{self, Data, EQUAL, Instruction, RETURN};
use belljar_linux::seccomp::{
    Action, Arch, Families, Options, decide, decide_init, decide_template, init_program, program,
    template_program, worker_program,
};

#[path = "seccomp/samples.rs"]
mod samples;

use samples::{GUEST, INIT, Random, TEMPLATE, all_options, samples};

/// Compares, and fails unless every instruction ran at least once.
fn check(
    arch: Arch,
    program: &[Instruction],
    samples: &[(u32, [u64; 6])],
    expected: impl Fn(u32, [u64; 6]) -> Action,
) {
    let mut passed = vec![false; program.len()];
    for &(number, args) in samples {
        let data = Data {
            number,
            audit_arch: arch.audit(),
            args,
        };
        let answer = bpf::run(program, &data, |at| passed[at] = true).expect("a program that loads");
        assert_eq!(
            answer,
            expected(number, args).raw(),
            "{arch:?} {number} {args:#x?}"
        );
        for foreign in [
            0x4000_0003,
            0x4000_0028,
            0,
            arch.audit() ^ 1,
            arch.audit() ^ 0x8000_0000,
        ] {
            let data = Data {
                audit_arch: foreign,
                ..data
            };
            let answer = bpf::run(program, &data, |at| passed[at] = true).expect("a program that loads");
            assert_eq!(answer, Action::KillProcess.raw(), "{foreign:#x}");
        }
    }
    let missed: Vec<usize> = passed
        .iter()
        .enumerate()
        .filter(|(_, ran)| !**ran)
        .map(|(at, _)| at)
        .collect();
    assert!(
        missed.is_empty(),
        "{arch:?}: instructions that never ran: {missed:?}"
    );
    assert!(
        program.len() <= 4096,
        "the kernel takes 4096 instructions, not {}",
        program.len()
    );
}

#[test]
fn guest_programs_say_what_the_list_says() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for arch in Arch::ALL {
        let samples = samples(arch, GUEST, &mut random);
        for options in all_options() {
            let program = program(arch, &options);
            check(arch, &program, &samples, |number, args| {
                decide(arch, &options, number, args)
            });
        }
    }
}

#[test]
fn init_programs_say_what_the_list_says() {
    let mut random = Random(0xd1b5_4a32_d192_ed03);
    for arch in Arch::ALL {
        let samples = samples(arch, INIT, &mut random);
        check(arch, &init_program(arch), &samples, |number, args| {
            decide_init(arch, number, args)
        });
    }
}

#[test]
fn template_programs_say_what_the_list_says() {
    let mut random = Random(0x6c62_272e_07bb_0142);
    for arch in Arch::ALL {
        let mut samples = samples(arch, TEMPLATE, &mut random);
        samples.extend(self::samples(arch, GUEST, &mut random));
        for families in [Families::Local, Families::Internet] {
            check(
                arch,
                &template_program(arch, families),
                &samples,
                |number, args| decide_template(arch, families, number, args),
            );
        }
    }
}

/// A guest's filter is loaded on top of the template's, so a call runs only where both allow it.
#[test]
fn a_template_allows_whatever_any_of_its_guests_may_do() {
    let mut random = Random(0x27d4_eb2f_1656_67c5);
    for arch in Arch::ALL {
        let mut samples = samples(arch, GUEST, &mut random);
        samples.extend(self::samples(arch, TEMPLATE, &mut random));
        for options in all_options()
            .into_iter()
            .filter(|options| !options.tty && !options.disk)
        {
            for &(number, args) in &samples {
                if decide(arch, &options, number, args) == Action::Allow {
                    assert_eq!(
                        decide_template(arch, options.families, number, args),
                        Action::Allow,
                        "{arch:?} {options:?} {number} {args:#x?}"
                    );
                }
            }
        }
    }
}

/// What the kernel makes of two filters: the stricter answer, and of two that are as strict the later filter's.
#[test]
fn a_template_s_program_and_a_worker_s_are_the_guest_s_list() {
    let strictness = |answer: u32| match Action::from_raw(answer) {
        Some(Action::KillProcess) => 3,
        Some(Action::Errno(_)) => 2,
        Some(Action::Ask) => 1,
        Some(Action::Allow) => 0,
        None => panic!("no answer of ours: {answer:#x}"),
    };
    let mut random = Random(0x517c_c1b7_2722_0a95);
    for arch in Arch::ALL {
        let mut samples = samples(arch, GUEST, &mut random);
        samples.extend(self::samples(arch, TEMPLATE, &mut random));
        for options in all_options()
            .into_iter()
            .filter(|options| !options.tty && !options.disk)
        {
            let below = template_program(arch, options.families);
            let above = worker_program(arch, &options);
            let mut alone = 0;
            for &(number, args) in &samples {
                let data = Data {
                    number,
                    audit_arch: arch.audit(),
                    args,
                };
                let run = |program| bpf::run(program, &data, |_| ()).expect("a program that loads");
                let (first, second) = (run(&below), run(&above));
                let both = if strictness(first) > strictness(second) {
                    first
                } else {
                    second
                };
                let wanted = decide(arch, &options, number, args).raw();
                assert_eq!(both, wanted, "{arch:?} {options:?} {number} {args:#x?}");
                alone += usize::from(first != wanted);
            }
            assert!(alone > 0, "the template's program alone is not the guest's list");
            let whole = program(arch, &options).len();
            assert!(4 * above.len() < whole, "{} of {whole} instructions", above.len());
        }
    }
}

/// The control of the tests above: no single constant of a program can be wrong without a sample that tells.
#[test]
fn samples_tell_every_wrong_constant() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let options = Options {
        families: Families::Internet,
        tty: true,
        affinity: true,
        ipc: true,
        disk: false,
        locks: true,
    };
    for arch in Arch::ALL {
        let samples = samples(arch, GUEST, &mut random);
        let good = program(arch, &options);
        for at in 0..good.len() {
            if !matches!(good[at].code, EQUAL | RETURN | bpf::AT_LEAST | bpf::AND) {
                continue;
            }
            let mut bad = good.clone();
            // The lowest bit of a mask may not matter: an earlier case has taken what it would tell apart.
            bad[at].k = if good[at].code == bpf::AND {
                good[at].k >> 1
            } else {
                good[at].k ^ 1
            };
            let tells = |data: &Data, expected: Action| bpf::run(&bad, data, |_| {}) != Some(expected.raw());
            let told = samples.iter().any(|&(number, args)| {
                let native = Data {
                    number,
                    audit_arch: arch.audit(),
                    args,
                };
                let foreign = Data {
                    audit_arch: 0x4000_0003,
                    ..native
                };
                tells(&native, decide(arch, &options, number, args)) || tells(&foreign, Action::KillProcess)
            });
            assert!(
                told,
                "{arch:?}: no sample notices a change of instruction {at}: {:?}",
                good[at]
            );
        }
    }
}
