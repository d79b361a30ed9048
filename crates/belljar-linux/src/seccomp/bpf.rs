//! The little machine that filters run on: its instructions, a reader of programs and an interpreter for tests.

use std::fmt::{self, Write as _};

/// One instruction, laid out as the kernel's `struct sock_filter`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// Instructions to skip when a comparison holds.
    pub jt: u8,
    /// Instructions to skip when it does not.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

/// Load the 32-bit word of the call's data at offset `k`.
pub const LOAD: u16 = 0x20;
/// Keep only the bits of `k`.
pub const AND: u16 = 0x54;
/// Skip `k` instructions.
pub const JUMP: u16 = 0x05;
/// Compare for equality.
pub const EQUAL: u16 = 0x15;
/// Compare for greater or equal, without sign.
pub const AT_LEAST: u16 = 0x35;
/// Test whether any bit of `k` is set.
pub const ANY_BIT: u16 = 0x45;
/// Answer `k`.
pub const RETURN: u16 = 0x06;

/// The kernel's `struct seccomp_data`, without the instruction pointer, which no filter of ours reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// The call's number.
    pub number: u32,
    /// The kernel's name of the architecture, `AUDIT_ARCH_*`.
    pub audit_arch: u32,
    /// The six argument registers, whole.
    pub args: [u64; 6],
}

impl Data {
    fn word(&self, offset: u32) -> Option<u32> {
        match offset {
            0 => Some(self.number),
            4 => Some(self.audit_arch),
            16..=60 if offset.is_multiple_of(4) => {
                let register = self.args[(offset as usize - 16) / 8];
                Some(if offset.is_multiple_of(8) {
                    register as u32
                } else {
                    (register >> 32) as u32
                })
            }
            _ => None,
        }
    }
}

/// Runs a program as the kernel would and reports each instruction it passes to `visit`. `None` means that the
/// kernel would have refused to load it.
pub fn run(program: &[Instruction], data: &Data, mut visit: impl FnMut(usize)) -> Option<u32> {
    let mut accumulator = 0u32;
    let mut at = 0usize;
    loop {
        let Instruction { code, jt, jf, k } = *program.get(at)?;
        visit(at);
        at += 1;
        let holds = match code {
            LOAD => {
                accumulator = data.word(k)?;
                continue;
            }
            AND => {
                accumulator &= k;
                continue;
            }
            JUMP => {
                at += k as usize;
                continue;
            }
            RETURN => return Some(k),
            EQUAL => accumulator == k,
            AT_LEAST => accumulator >= k,
            ANY_BIT => accumulator & k != 0,
            _ => return None,
        };
        at += usize::from(if holds { jt } else { jf });
    }
}

/// Writes a program down, one instruction a line with absolute targets. `name` turns a call number into its name.
pub fn disassemble(program: &[Instruction], name: impl Fn(u32) -> Option<&'static str>) -> String {
    let mut out = String::new();
    let holds_number = holds_number(program);
    for (at, instruction) in program.iter().enumerate() {
        let Instruction { code, jt, jf, k } = *instruction;
        let target = |skip: u32| at + 1 + skip as usize;
        let (yes, no) = (target(u32::from(jt)), target(u32::from(jf)));
        let call = if k < 1024 {
            name(k).unwrap_or("(unknown)")
        } else {
            "(beyond all)"
        };
        let _ = match code {
            LOAD => writeln!(out, "{at:4}  load {}", Word(k)),
            AND => writeln!(out, "{at:4}  and  {k:#x}"),
            JUMP => writeln!(out, "{at:4}  jump {}", target(k)),
            EQUAL if holds_number[at] => writeln!(out, "{at:4}  == {k} ? {yes} : {no}    {call}"),
            EQUAL => writeln!(out, "{at:4}  == {k:#x} ? {yes} : {no}"),
            AT_LEAST => writeln!(out, "{at:4}  >= {k} ? {yes} : {no}    {call}"),
            ANY_BIT => writeln!(out, "{at:4}  &  {k:#x} ? {yes} : {no}"),
            RETURN => writeln!(out, "{at:4}  {}", Answer(k)),
            _ => writeln!(out, "{at:4}  ?? {code:#x} {jt} {jf} {k:#x}"),
        };
    }
    out
}

/// For each instruction whether it finds the call number loaded. Jumps only go forward, so one pass is enough.
fn holds_number(program: &[Instruction]) -> Vec<bool> {
    let mut holds = vec![false; program.len()];
    for (at, instruction) in program.iter().enumerate() {
        let Instruction { code, jt, jf, k } = *instruction;
        let (skips, after) = match code {
            RETURN => continue,
            LOAD => ([0, 0], k == 0),
            AND => ([0, 0], false),
            JUMP => ([k as usize; 2], holds[at]),
            _ => ([usize::from(jt), usize::from(jf)], holds[at]),
        };
        for skip in skips {
            if let Some(next) = holds.get_mut(at + 1 + skip) {
                *next |= after;
            }
        }
    }
    holds
}

struct Word(u32);

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => out.write_str("number"),
            4 => out.write_str("arch"),
            offset => {
                let half = if offset.is_multiple_of(8) { "low" } else { "high" };
                write!(out, "arg{}.{half}", (offset.wrapping_sub(16)) / 8)
            }
        }
    }
}

struct Answer(u32);

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match super::Action::from_raw(self.0) {
            Some(action) => write!(out, "return {action}"),
            None => write!(out, "return {:#x}", self.0),
        }
    }
}
