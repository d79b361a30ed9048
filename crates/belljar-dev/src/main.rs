//! Tools for working on belljar, never shipped: checks that the documents tell the truth, generated references, figures.

// A tool prints what it found; only the product has a printer.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod family;
mod keys;
mod links;
mod promises;
mod references;
mod repository;
mod soak;
mod syscalls;
mod warm;
mod wrap;

use std::path::PathBuf;

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
    /// Check that prose in the documents is wrapped, or wrap that of some files
    Wrap { files: Vec<PathBuf> },
    /// Write the generated pages and sections of docs/reference
    References {
        /// Change nothing; fail if a page is not what would be written
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
        Tool::Wrap { files } if files.is_empty() => wrap::check(),
        Tool::Wrap { files } => wrap::rewrite(&files),
        Tool::References { check } => references::generate(check),
        Tool::Bench(args) => bench::run(&args),
        Tool::Warm(args) => warm::run(&args),
        Tool::Soak(args) => soak::run(&args),
    }
}
