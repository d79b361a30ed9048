//! Every socket family with every type, and the internet's with every protocol.

use belljar_linux::seccomp::{self, Action, Arch, Families, Options};

use super::solo;
use crate::stage::{Stage, Who};

pub fn play(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let number = seccomp::number(Arch::native(), "socket").ok_or("no socket call")?;
    let mut wrong = Vec::new();
    for (given, families) in [
        (&[][..], Families::Local),
        (&["loopback"][..], Families::Internet),
        (&["parked worker"][..], Families::Local),
        (&["parked worker", "loopback"][..], Families::Internet),
    ] {
        let run = solo(
            stage,
            who,
            include_str!("families.py"),
            (given, &[]),
            &[],
            |_, _| Ok(()),
        )?;
        if run.seen.len() < 46 * 8 {
            wrong.push(format!("only {} sockets were tried", run.seen.len()));
        }
        let options = Options {
            families,
            ipc: true,
            ..Options::default()
        };
        let mut made = 0;
        for (probe, saw) in &run.seen {
            let parts: Vec<u64> = probe.split(' ').filter_map(|part| part.parse().ok()).collect();
            let [family, kind, protocol] = parts[..] else {
                return Err(format!("odd probe {probe}"));
            };
            made += usize::from(saw == "ok");
            let fine = match seccomp::decide(
                Arch::native(),
                &options,
                number,
                [family, kind, protocol, 0, 0, 0],
            ) {
                Action::Errno(errno) => *saw == format!("errno {errno}"),
                // The kernel may refuse what the list allows: a type that the family lacks.
                Action::Allow => matches!(family, 1 | 2 | 10),
                Action::KillProcess | Action::Ask => false,
            };
            if !fine {
                wrong.push(format!("socket {probe} with {families:?}: saw {saw}"));
            }
        }
        // Unix streams, datagrams and sequences; with a loopback also TCP and UDP of both versions, named and unnamed.
        let least = if families == Families::Local { 3 } else { 11 };
        if made < least {
            wrong.push(format!("only {made} kinds of socket work with {families:?}"));
        }
    }
    let open = solo(
        stage,
        who,
        include_str!("families.py"),
        (&[], &["seccomp", "landlock", "privileges"]),
        &[],
        |_, _| Ok(()),
    )?;
    let made = open
        .seen
        .iter()
        .filter(|(probe, saw)| saw == "ok" && !probe.starts_with("1 "))
        .count();
    if made < 10 {
        wrong.push(format!(
            "without a filter only {made} other sockets can be made, so the probe is blind"
        ));
    }
    Ok(wrong)
}
