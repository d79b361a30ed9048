//! Flags of `run --each`.

use clap::Args;

use crate::values;

// Many scripts in one command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Many scripts")]
pub struct Many {
    /// Run several scripts, each in a jar of its own, on warm workers; prints their output in order and a table at the
    /// end; arguments after `--` are for every script
    #[arg(long)]
    pub each: bool,
    /// With --each: number of scripts that run at once [default: number of processors]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub jobs: Option<u64>,
    /// With --each: import a module once, before all scripts
    #[arg(long, value_name = "MODULE")]
    pub preload: Vec<String>,
    /// With --each: print the time that workers spent in each step
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
