//! Cold starts, side by side: every contender runs once in each round, so that a drift of the machine hits all alike, and in
//! an order of its own each round, because whoever always runs after the same neighbour is measured with its leftovers.

mod chart;
mod contender;
mod deadline;
mod machine;
mod oci;
mod page;
mod peers;
mod sample;

use std::path::PathBuf;

use anyhow::Context;

use contender::Contender;
pub use contender::{Stage, User};
pub use machine::Machine;
pub use sample::Sample;

/// What `bench` takes.
#[derive(clap::Args)]
pub struct Args {
    /// The release binary
    #[arg(long, default_value = "target/release/belljar")]
    belljar: PathBuf,
    /// The interpreter that everyone runs
    #[arg(long, default_value = "/usr/bin/python3")]
    python: PathBuf,
    /// Runs of each contender
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// Runs into the deadline
    #[arg(long, default_value_t = 200)]
    deadlines: usize,
    /// Also measure container engines; they are slow
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    engines: bool,
    /// Write bench.md and bench.svg into this folder
    #[arg(long)]
    write: Option<PathBuf>,
}

/// A contender and its times, or why it has none.
struct Row {
    contender: Contender,
    result: Result<Sample, String>,
}

/// Everything that was measured.
struct Figures {
    machine: Machine,
    python: PathBuf,
    rounds: usize,
    rows: Vec<Row>,
    deadlines: Vec<(User, Sample)>,
}

/// Measures, prints, and writes the page if asked.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let stage = Stage::new(&args.belljar, &args.python)?;
    let machine = Machine::look(args.write.is_some());
    let mut rows: Vec<Row> = peers::all(&stage, args.engines)?
        .into_iter()
        .map(|contender| Row {
            result: contender.warm_up().map(|()| Sample::default()),
            contender,
        })
        .collect();
    for round in 0..args.rounds {
        for place in order(rows.len(), round as u64) {
            let row = &mut rows[place];
            let Ok(sample) = &mut row.result else { continue };
            let time = row.contender.once(round);
            sample.add(time.with_context(|| format!("{} failed in round {round}", row.contender.label()))?);
        }
        if round % 20 == 19 {
            eprintln!("round {} of {}", round + 1, args.rounds);
        }
    }
    let mut deadlines = Vec::new();
    for user in User::here() {
        deadlines.push((user, deadline::measure(&stage, user, args.deadlines)?));
    }
    let figures = Figures {
        machine,
        python: stage.python.clone(),
        rounds: args.rounds,
        rows,
        deadlines,
    };
    println!("{}", page::table(&figures));
    if let Some(folder) = &args.write {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("bench.md", page::page(&figures))?;
        write("bench.svg", chart::svg(&figures))?;
    }
    Ok(())
}

/// A shuffle that is different in each round and the same in each run.
pub fn order(count: usize, round: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    for last in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        places.swap(last, (state % (last as u64 + 1)) as usize);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn everyone_runs_once_a_round_and_after_everyone_else() {
        let mut after = [[0; 7]; 7];
        for round in 0..700 {
            let places = order(7, round);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
            for pair in places.windows(2) {
                after[pair[0]][pair[1]] += 1;
            }
        }
        // 100 each if it were perfect.
        for (first, row) in after.iter().enumerate() {
            for (second, count) in row.iter().enumerate().filter(|(second, _)| *second != first) {
                assert!((60..140).contains(count), "{second} after {first}: {count}");
            }
        }
    }
}
