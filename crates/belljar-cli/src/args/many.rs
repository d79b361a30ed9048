//! Flags of `run --each`.

use clap::Args;

use crate::values;

// Many scripts in one command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Many scripts")]
pub struct Many {
    /// Run each of several scripts in a jar of its own, some at once, on warm workers; their output comes whole, in the
    /// order given, and a table at the end; what follows `--` are arguments for every one
    #[arg(long)]
    pub each: bool,
    /// With --each: scripts that run at once [default: number of processors]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub jobs: Option<u64>,
    /// With --each: import a module once, ahead of all scripts (a single run would gain nothing)
    #[arg(long, value_name = "MODULE")]
    pub preload: Vec<String>,
    /// With --each: tell where the time of the workers went, step by step
    #[arg(long)]
    pub timings: bool,
}

impl Many {
    /// A flag that was given and means nothing without `--each`.
    pub fn stray(&self) -> Option<&'static str> {
        let given = [
            (self.jobs.is_some(), "--jobs"),
            (!self.preload.is_empty(), "--preload"),
            (self.timings, "--timings"),
        ];
        let stray = given.into_iter().find(|(given, _)| *given && !self.each);
        stray.map(|(_, flag)| flag)
    }
}
