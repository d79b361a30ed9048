//! When processes are gone, however busy the machine is: judged by what the kernel says of each, not by how soon. Figures of
//! how soon are the benchmarks' (docs/figures/bench.md).

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Looks at a process that sleeps though nobody has killed it, before it counts as left: each is 2 ms or more apart, and
/// whoever is woken up does not sleep, however long it waits for a processor.
const LOOKS: u32 = 500;
/// What one that nobody has killed may still burn, in hundredths of a second.
const TICKS: u64 = 100;
const SIGKILL: u64 = 1 << 8;
const PF_EXITING: u64 = 4;

/// Waits until no process is left; gives those that stay, in words.
pub fn wait(left: impl Fn() -> Vec<u32>) -> Vec<String> {
    let mut seen: BTreeMap<(u32, u64), (u32, u64)> = BTreeMap::new();
    loop {
        let found: Vec<Look> = left().into_iter().filter_map(look).collect();
        if found.is_empty() {
            return Vec::new();
        }
        let stays = |look: &Look| {
            let (asleep, burnt) = seen.entry((look.pid, look.start)).or_insert((0, look.ticks));
            *asleep += u32::from(!look.is_going && !look.runs);
            !look.is_going && (*asleep > LOOKS || look.ticks - *burnt > TICKS)
        };
        // All are counted, so that none is looked at less than another.
        if found.iter().map(stays).fold(false, |one, other| one | other) {
            return found.iter().map(|look| described(look.pid)).collect();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A process now.
struct Look {
    pid: u32,
    start: u64,
    /// Whether it has ended, is ending, or has SIGKILL waiting for it.
    is_going: bool,
    /// Whether it runs, waits for a processor, or for a disk.
    runs: bool,
    ticks: u64,
}

fn look(pid: u32) -> Option<Look> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let pending = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:")))
        .filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_killed = pending.fold(0, |all, mask| all | mask) & SIGKILL != 0;
    let state = fields.first()?;
    Some(Look {
        pid,
        start: number(19)?,
        is_going: is_killed || number(6)? & PF_EXITING != 0 || ["Z", "X"].contains(state),
        runs: ["R", "D"].contains(state),
        ticks: number(11)? + number(12)?,
    })
}

/// What a process is and waits for.
pub fn described(pid: u32) -> String {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let status = read("status");
    let wanted = |line: &&str| {
        ["Name", "State", "PPid", "NSpid", "SigPnd", "ShdPnd"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    let lines: Vec<&str> = status.lines().filter(wanted).collect();
    format!(
        "{pid} {} in {} {}",
        lines.join(" "),
        read("wchan"),
        read("cmdline").replace('\0', " ")
    )
}
