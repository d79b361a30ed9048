//! Tools for working on belljar, never shipped: checks that the documents tell the truth, generated references, figures.

// A tool prints what it found; only the product has a printer.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod family;
mod links;
mod promises;
mod repository;
mod soak;
mod syscalls;
mod warm;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "belljar-dev", about = "Tools for working on belljar")]
struct Typed {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand)]
enum Tool {
    /// Check that every promise of SECURITY.md names tests that exist
    Promises,
    /// Check that links and paths in the documents lead somewhere
    Links,
    /// Write docs/syscalls.md from the list in policies/
    Syscalls {
        /// Change nothing; fail if the file is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Measure cold starts beside the bare interpreter and other sandboxes, and the kill at the deadline
    Bench(bench::Args),
    /// Measure warm calls beside a process pool, and what parked workers cost
    Warm(warm::Args),
    /// Run many jars in a row and look for anything that is left or grows
    Soak(soak::Args),
}

fn main() -> anyhow::Result<()> {
    match Typed::parse().tool {
        Tool::Promises => promises::check(),
        Tool::Links => links::check(),
        Tool::Syscalls { check } => syscalls::generate(check),
        Tool::Bench(args) => bench::run(&args),
        Tool::Warm(args) => warm::run(&args),
        Tool::Soak(args) => soak::run(&args),
    }
}
