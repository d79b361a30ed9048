//! Every call number, in a real jar, against the list.

use std::collections::BTreeMap;

use belljar_linux::seccomp::{self, Action, Arch, Families, Options};

use super::solo;
use crate::stage::{Stage, Who};

/// Every answer by arguments and number: a result of 0 or more, an errno, a signal, or no return.
type Answers = BTreeMap<String, BTreeMap<u32, String>>;

pub fn play(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = sweep(stage, who, &[])?;
    let warm = sweep(stage, who, &["parked worker"])?.into_iter();
    wrong.extend(warm.map(|text| format!("on a worker: {text}")));
    Ok(wrong)
}

fn sweep(stage: &Stage, who: Who, given: &[&str]) -> Result<Vec<String>, String> {
    let sealed = answers(stage, who, given, &[])?;
    let open = answers(stage, who, given, &["seccomp"])?;
    let bare = answers(stage, who, given, &["seccomp", "landlock", "privileges"])?;
    let affinity = sealed.1;
    let options = Options {
        families: Families::Local,
        tty: false,
        affinity,
        ipc: true,
        disk: false,
        locks: true,
    };
    let mut wrong = Vec::new();
    let mut denied = 0;
    for (args, calls) in &sealed.0 {
        let value: u64 = if args == "-1" {
            u64::MAX
        } else {
            args.parse().map_err(|_| "odd arguments")?
        };
        if calls.len() != 599 {
            wrong.push(format!("only {} calls were tried with {args}", calls.len()));
        }
        for (number, saw) in calls {
            let name = seccomp::name(Arch::native(), *number).unwrap_or("unknown");
            let without = open
                .0
                .get(args)
                .and_then(|calls| calls.get(number))
                .map_or("nothing", String::as_str);
            match seccomp::decide(Arch::native(), &options, *number, [value; 6]) {
                Action::Errno(0) if saw == "done" => {}
                Action::Errno(errno) => {
                    denied += 1;
                    if *saw != format!("errno {errno}") {
                        wrong.push(format!(
                            "{name} ({number}) with {args}: saw {saw}, the list says errno {errno}"
                        ));
                    }
                }
                Action::KillProcess => wrong.push(format!("{name} ({number}) is killed by the list")),
                // What is let through must answer as it does without a filter.
                Action::Allow | Action::Ask if saw != without => {
                    wrong.push(format!(
                        "{name} ({number}) with {args}: saw {saw}, and without a filter {without}"
                    ));
                }
                Action::Allow | Action::Ask => {}
            }
        }
    }
    // The control: without filter and with capabilities most of what it denies reaches the kernel.
    let reached = |args: &String, number: &u32| {
        bare.0
            .get(args)
            .and_then(|calls| calls.get(number))
            .is_some_and(|saw| saw != "errno 1" && saw != "errno 38")
    };
    let freed = sealed
        .0
        .iter()
        .flat_map(|(args, calls)| calls.iter().map(move |(number, saw)| (args, number, saw)));
    let freed = freed
        .filter(|(args, number, saw)| *saw == "errno 1" && reached(args, number))
        .count();
    if freed < 60 {
        wrong.push(format!(
            "of {denied} denied calls only {freed} reached the kernel without a filter"
        ));
    }
    Ok(wrong)
}

fn answers(stage: &Stage, who: Who, given: &[&str], without: &[&str]) -> Result<(Answers, bool), String> {
    let source = include_str!("sweep.py");
    let run = solo(stage, who, source, (given, without), &[], |_, _| Ok(()))?;
    let mut answers = Answers::new();
    for (probe, saw) in &run.seen {
        let Some((args, number)) = probe.split_once(' ') else {
            continue;
        };
        let number = number.parse().map_err(|_| format!("odd probe {probe}"))?;
        answers
            .entry(args.to_owned())
            .or_default()
            .insert(number, saw.clone());
    }
    if answers.is_empty() {
        return Err(format!("the guest told nothing: {:?}", run.report));
    }
    // Where a cgroup counts processors, threads may choose theirs.
    let affinity = run.report.outcome.is_some_and(|outcome| {
        outcome
            .isolation
            .layers
            .get(&belljar::policy::Layer::Cgroup)
            .is_some_and(|layer| layer.state == belljar::outcome::State::Full)
    });
    Ok((answers, affinity))
}
