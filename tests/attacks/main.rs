//! The attack suite. Every file in the folders beside this one is an attack: what is claimed, plain guest code, and what it
//! must observe. Each runs as root and as a plain user, cold and on a parked worker, in a whole jar (where it must fail exactly
//! as written) and in a jar that lacks the protections it names (where it must succeed, or the probe proves nothing).
//!
//! `cargo test --test attacks [NAME...]`; `BLESS=1` writes docs/reference/attacks.md anew. Needs root for the whole of it.

#[path = "../support/alone.rs"]
mod alone;
mod attack;
mod cases;
mod documents;
#[path = "../support/ending.rs"]
mod ending;
mod judge;
mod knobs;
#[path = "../jar/skips.rs"]
#[allow(dead_code, clippy::print_stdout)] // This runner has words of its own for a skip.
mod missing;
mod observers;
mod policy;
mod preloads;
mod runner;
mod seam;
mod skips;
mod special;
mod stage;
#[path = "../support/support.rs"]
#[allow(dead_code)] // Shared; no one test uses all of it.
mod support;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        // This program again, as the user that the jar shall be started by.
        Some("--seam") => seam::serve(args[1].as_ref()),
        _ => runner::run(&args),
    }
}
