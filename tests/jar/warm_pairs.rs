//! Pairs of jobs of one pool: the first leaves marks wherever it can, the second finds none of them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};

use belljar::Sandbox;
use belljar::job::{Job, Sink, Stdin};
use belljar::outcome::Status;
use belljar::policy::Network;

use crate::glass::{code, expect, jar, stdout, told};
use crate::warm::{all_warm, pool};

/// How many pairs.
const PAIRS: usize = 100;

fn job(mode: &str, names: &[String]) -> Job {
    let mut job = code(include_str!("warm_pairs.py"));
    job.args = std::iter::once(mode)
        .chain(names.iter().map(String::as_str))
        .map(Into::into)
        .collect();
    let rank = rustix::process::getpriority_process(None).expect("our own rank");
    job.env.push(("RANK".into(), rank.to_string()));
    job
}

/// The last line that a job printed, as a list.
fn list(text: &str) -> Vec<String> {
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Numbers by chance, from a seed that a failure tells.
pub struct Chance(u64);

impl Chance {
    /// A different one for each run of the tests.
    pub fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = now.map_or(1, |now| now.as_nanos() as u64) | 1;
        println!("seed {seed}");
        Self(seed)
    }

    /// Less than `below`.
    pub fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

both! {
    fn pairs_of_jobs_find_nothing_of_each_other(_who) {
        // A jar without a network gets one that was used before, and was empty.
        let jars = [jar(|policy| policy.network = Network::Loopback), jar(|_| {})];
        let pool = pool();
        let run_in = |jar: &Sandbox, mode: &str, names: &[String]| {
            let outcome = pool.run(jar, job(mode, names)).expect("an outcome");
            assert_eq!(outcome.exit_code, Some(0), "{mode} {names:?}: {}", told(&outcome));
            stdout(&outcome)
        };
        let run = |mode: &str, names: &[String]| run_in(&jars[0], mode, names);
        let all = list(&run("list", &[]));
        assert!(all.len() >= 29, "{all:?}");
        assert_eq!(list(&run("look", &[])), [""; 0], "found by the first job of all");
        // The control: whoever shares the process finds every mark that could be left.
        let text = run("both", &all);
        let refused = text.lines().filter(|line| line.contains("refused")).count();
        assert_eq!((list(&text), refused), (all.clone(), 0), "{text}");
        let mut chance = Chance::new();
        let mut left = BTreeSet::new();
        for pair in 0..PAIRS {
            let names: Vec<String> = all.iter().filter(|_| chance.next(2) == 0).cloned().collect();
            left.extend(names.clone());
            let jar = &jars[pair % 2];
            let run = |mode: &str, names: &[String]| run_in(jar, mode, names);
            if chance.next(2) == 0 {
                // One after the other.
                run("plant", &names);
                assert_eq!(list(&run("look", &[])), [""; 0], "pair {pair}, {names:?}");
                continue;
            }
            // Both at once.
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let (holds, stdin) = std::io::pipe().expect("a pipe");
            let mut first = job("stay", &names);
            first.stdout = Sink::Both(writer.into());
            first.stdin = Stdin::Copy(holds.into());
            let first = pool.spawn(jar, first).expect("a job");
            let up = BufReader::new(reader).lines().map_while(Result::ok).any(|line| line == "up");
            assert!(up, "pair {pair}, {names:?}");
            assert_eq!(list(&run("look", &[])), [""; 0], "pair {pair}, {names:?}");
            drop(stdin);
            expect(&first.wait().expect("an outcome"), Status::Exited);
        }
        assert_eq!(left.len(), all.len(), "every mark had its turn");
        all_warm(&pool);
    }
}
