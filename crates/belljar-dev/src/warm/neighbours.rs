//! A victim with twenty calls a second, beside a neighbour that may have one processor: a harmless loop, or a hostile one.
//!
//! A p99 needs many calls, and a machine drifts while they are made: the neighbours take turns, in an order that changes.

mod interval;
mod neighbour;
mod page;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use belljar::{Pool, Sandbox};
use serde::{Deserialize, Serialize};

use self::neighbour::Neighbour;
use super::Args;
use crate::bench::{Machine, Sample, Stage, User, order};

/// The first is what the others are held against.
const NEIGHBOURS: [(&str, &str); 4] = [
    ("busy loop", "while True: pass"),
    (
        "fork bomb",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
    ),
    (
        "memory hog",
        "held = []\nwhile True:\n    try:\n        held.append(bytearray(1 << 20))\n    except MemoryError:\n        held.clear()\n",
    ),
    (
        "output flood",
        "import os\nwhile True:\n    os.write(1, b'x' * 65536)\n",
    ),
];
/// Twenty calls each second.
const PERIOD: Duration = Duration::from_millis(50);
/// Calls in one turn: two and a half seconds, so that a neighbour that dies of its limit comes back.
const TURN: usize = 50;
/// From one neighbour to the next.
const SETTLE: Duration = Duration::from_millis(100);

/// The victim's milliseconds beside one neighbour, turn by turn.
#[derive(Debug, Serialize, Deserialize)]
pub struct Beside {
    name: String,
    turns: Vec<Sample>,
}

/// Measures as every user that there is, prints, and writes the page if asked.
pub fn run(args: &Args, calls: usize) -> anyhow::Result<()> {
    let machine = Machine::look(args.write.is_some());
    let stage = Stage::new(&args.belljar, &args.python)?;
    let mut all = Vec::new();
    for user in User::here() {
        let output = super::as_user(&stage, user, |command: &mut Command| {
            command.arg("--neighbours").arg(calls.to_string());
        })?;
        let beside: Vec<Beside> = serde_json::from_slice(&output)?;
        all.push((user, beside));
    }
    println!("{}", page::tables(&all));
    if let Some(folder) = &args.write {
        let path = folder.join("neighbours.md");
        std::fs::write(&path, page::page(&all, &machine))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The victim's times beside each neighbour.
pub fn measure(victim: &Sandbox, calls: usize) -> anyhow::Result<Vec<Beside>> {
    let pool = Pool::new()?;
    super::warm(&pool, victim, 4)?;
    let mut all: Vec<Beside> = NEIGHBOURS
        .iter()
        .map(|(name, _)| Beside {
            name: (*name).to_owned(),
            turns: Vec::new(),
        })
        .collect();
    for round in 0..calls.div_ceil(TURN) {
        for place in order(NEIGHBOURS.len(), round as u64) {
            let sample = turn(&pool, victim, NEIGHBOURS[place].1)?;
            all[place].turns.push(sample);
        }
        eprintln!("{} calls beside each", (round + 1) * TURN);
    }
    let stats = pool.stats();
    ensure!(stats.cold == 0, "jobs ran cold: {:?}", stats.reasons);
    Ok(all)
}

/// One neighbour, from its beginning to its end, and the calls beside it.
fn turn(pool: &Pool, victim: &Sandbox, code: &'static str) -> anyhow::Result<Sample> {
    let mut sample = Sample::default();
    let neighbour = Neighbour::start(pool, victim, code)?;
    std::thread::sleep(SETTLE);
    let start = Instant::now();
    for number in 0..TURN {
        sample.add(super::call(pool, victim, number)?);
        std::thread::sleep((PERIOD * (number + 1) as u32).saturating_sub(start.elapsed()));
    }
    neighbour.end()?;
    std::thread::sleep(SETTLE);
    Ok(sample)
}
