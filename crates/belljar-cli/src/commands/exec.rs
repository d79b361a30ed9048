//! `belljar exec`: any program.

use belljar::Job;
use belljar::job::Program;

use super::{carry_out, collect};
use crate::args::Exec;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::{dependencies, settings, streams};

/// Runs a program in a jar; the exit code.
pub fn exec(args: Exec, printer: Printer) -> Result<i32, Failure> {
    let mut words = args.command.into_iter();
    let Some(program) = words.next().filter(|word| !word.is_empty()) else {
        return Err(Failure::with_hint(
            "nothing to run",
            "name a program after `belljar exec --`",
        ));
    };
    let mut policy = settings::policy(&args.policy)?;
    let environment = dependencies::environment(&args.policy.dependencies, None, &mut policy, printer)?;
    let mut job = Job::new(Program::Command(program));
    job.args = words.collect();
    job.stdin = streams::stdin()?;
    if !printer.is_json() {
        (job.stdout, job.stderr) = (streams::stdout()?, streams::stderr()?);
    }
    job.collect = collect(args.collecting.collect)?;
    carry_out(&policy, environment.as_ref(), job, printer)
}
