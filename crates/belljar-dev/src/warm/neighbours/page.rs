//! The victims' times as a page.

use std::fmt::Write;

use super::Beside;
use super::interval::ratio;
use crate::bench::{Machine, Sample, User};

/// A table for each user.
pub fn tables(all: &[(User, Vec<Beside>)]) -> String {
    let mut text = String::new();
    for (user, beside) in all {
        let _ = write!(
            text,
            "## Started by {}\n\n\
             | neighbour | calls | p50 | p95 | p99 | max | p99 against the busy loop | 95 % of draws |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|\n",
            user.name()
        );
        for Beside { name, turns } in beside {
            let times = Sample::joined(turns);
            let _ = write!(text, "| {name} | {} |", times.len());
            for part in [0.5, 0.95, 0.99, 1.0] {
                let _ = write!(text, " {:.2} |", times.quantile(part));
            }
            let _ = match ratio(turns, &beside[0].turns) {
                _ if std::ptr::eq(turns, &beside[0].turns) => writeln!(text, " 1.00× | |"),
                (ratio, low, high) => writeln!(text, " **{ratio:.2}×** | {low:.2}–{high:.2}× |"),
            };
        }
        text.push('\n');
    }
    text
}

/// The whole page.
pub fn page(all: &[(User, Vec<Beside>)], machine: &Machine) -> String {
    format!(
        "# Neighbours\n\n\
         Written by `make neighbours`. A victim makes twenty calls a second, as [warm.md](warm.md) has them, in one pool with a\n\
         neighbour that may have one processor: a loop that is busy and harmless, or something hostile. Times are milliseconds from the\n\
         call to its value. The goal: no neighbour raises the victim's p99 above 1.2 times of what it is beside the busy loop.\n\n\
         The neighbours take turns of fifty calls in an order that changes, so that a drift of the machine affects all of them. A\n\
         neighbour that its limit ends comes back a second later. A p99 depends on few calls, so the last column says how well the ratio\n\
         is known: turns are drawn again, with repetition, and 95 of 100 such draws lie between its ends.\n\n\
         {}\n\n{}",
        machine.sentence("make neighbours"),
        tables(all)
    )
}
