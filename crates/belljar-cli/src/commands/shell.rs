//! `belljar shell`: interactive Python on a terminal of its own.

use belljar::Job;
use belljar::job::{Program, Sink, Terminal};

use super::{carry_out_in, collect};
use crate::args::ShellArgs;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::terminal::{self, Raw};
use crate::{dependencies, settings, streams};

/// Runs a shell in a jar; the exit code.
pub fn shell(args: ShellArgs, printer: Printer) -> Result<i32, Failure> {
    let tty = terminal::of_caller()?;
    let mut policy = settings::interactive(&args.policy)?;
    let environment = dependencies::environment(&args.policy.dependencies, None, &mut policy, printer)?;
    let mut job = Job::new(Program::Shell);
    (job.stdout, job.stderr) = (Sink::Null, Sink::Null);
    let kind = std::env::var("TERM")
        .ok()
        .filter(|kind| !kind.is_empty())
        .unwrap_or_else(|| "xterm".to_owned());
    let raw = streams::duplicate(std::os::fd::AsFd::as_fd(&tty))?;
    job.terminal = Some(Terminal {
        tty,
        kind: kind.clone(),
    });
    job.collect = collect(args.collecting.collect)?;
    carry_out_in(&policy, environment.as_ref(), job, printer, || {
        Raw::enter(raw, &kind)
    })
}
