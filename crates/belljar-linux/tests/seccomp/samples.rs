//! Calls to ask filters about, shared by the tests that compare them.

#![allow(dead_code)]

use belljar_linux::seccomp::{Arch, Families, Options, number};

#[path = "../../build/list.rs"]
pub mod list;

pub const NUMBERS: &str = include_str!("../../../../policies/syscall-numbers.txt");
pub const GUEST: &str = include_str!("../../../../policies/syscalls.txt");
pub const TEMPLATE: &str = include_str!("../../../../policies/template.txt");
pub const INIT: &str = include_str!("../../../../policies/init.txt");

pub fn all_options() -> Vec<Options> {
    let mut all = Vec::new();
    for bits in 0..64 {
        let families = if bits & 1 == 0 {
            Families::Local
        } else {
            Families::Internet
        };
        all.push(Options {
            families,
            tty: bits & 2 != 0,
            affinity: bits & 4 != 0,
            ipc: bits & 8 != 0,
            disk: bits & 16 != 0,
            locks: bits & 32 != 0,
        });
    }
    all
}

/// A small deterministic generator, so that a failure can be repeated.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn args(&mut self) -> [u64; 6] {
        std::array::from_fn(|_| self.next())
    }
}

/// Calls worth asking about: each case of each rule met, missed by one bit or by one, and with noise where it must not matter.
pub fn samples(arch: Arch, text: &str, random: &mut Random) -> Vec<(u32, [u64; 6])> {
    let mut samples = Vec::new();
    for number in (0..=1023).chain([u32::MAX, 0x8000_0000, 0xbfff_ffff, 0x7fff_ffff, 0x4000_0000]) {
        samples.push((number, [0; 6]));
        samples.push((number, [u64::MAX; 6]));
        samples.push((number, random.args()));
        samples.push((number | 0x4000_0000, random.args()));
    }
    for _ in 0..2_000 {
        samples.push((random.next() as u32, random.args()));
    }
    let known = list::numbers(NUMBERS).unwrap();
    for rule in list::rules(text, &known).unwrap() {
        let Some(number) = number(arch, &rule.name) else {
            continue;
        };
        for case in &rule.cases {
            let mut met = [0u64; 6];
            for test in &case.tests {
                met[usize::from(test.arg)] |= test.value;
            }
            samples.push((number, met));
            // A neighbour must not fall into these checks.
            samples.push((number + 1, met));
            samples.push((number.saturating_sub(1), met));
            let noise = random.args();
            let mut noisy = noise;
            for test in &case.tests {
                let arg = usize::from(test.arg);
                noisy[arg] = (noisy[arg] & !test.mask) | test.value;
            }
            samples.push((number, noisy));
            for test in &case.tests {
                let arg = usize::from(test.arg);
                for bit in 0..64 {
                    let mut flipped = met;
                    flipped[arg] ^= 1 << bit;
                    samples.push((number, flipped));
                }
                for edge in [
                    test.value.wrapping_add(1),
                    test.value.wrapping_sub(1),
                    u64::MAX,
                    test.mask,
                ] {
                    let mut near = met;
                    near[arg] = edge;
                    samples.push((number, near));
                    near[arg] |= 0x1_0000_0000;
                    samples.push((number, near));
                }
            }
        }
    }
    samples
}
