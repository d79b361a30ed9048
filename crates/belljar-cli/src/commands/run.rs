//! `belljar run`: a script, code or a module.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belljar::Job;
use belljar::environment::Checking;
use belljar::job::{Gate, Stdin};

use super::{carry_out, collect};
use crate::args::{Run, Source};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::{dependencies, program, settings, streams};

/// Runs Python in a jar; the exit code.
pub fn run(args: Run, printer: Printer) -> Result<i32, Failure> {
    if args.many.each {
        return super::each::each(args, printer);
    }
    if let Some(flag) = args.many.stray() {
        return Err(Failure::with_hint(
            format!("{flag} belongs to --each"),
            "write `belljar run --each` and name scripts, or leave it out",
        ));
    }
    let Some((source, guest_args)) = args.python.split() else {
        return Err(Failure::with_hint(
            "nothing to run",
            "name a script, or give -c CODE, -m MODULE or - for stdin",
        ));
    };
    let mut policy = settings::policy(&args.policy)?;
    // Code that came from stdin has used it up.
    let used_up = source == Source::Stdin;
    let header = dependencies::script(&source);
    let program = program::program(source, &policy)?;
    let header = dependencies::read_script(&program).or(header);
    let needs = &args.policy.dependencies;
    let found = dependencies::environment_soon(needs, header.clone(), &mut policy, printer)?;
    let (mut environment, checking) = found.unzip();
    let mut gate = checking.flatten();
    loop {
        let mut job = Job::new(program.clone());
        job.args.clone_from(&guest_args);
        job.stdin = if used_up { Stdin::Null } else { streams::stdin()? };
        if !printer.is_json() {
            (job.stdout, job.stderr) = (streams::stdout()?, streams::stderr()?);
        }
        job.collect = collect(args.collecting.collect.clone())?;
        let changed = Arc::new(AtomicBool::new(false));
        job.gate = gate.take().map(|checking| asked(checking, Arc::clone(&changed)));
        let ended = carry_out(&policy, environment.as_ref(), job, printer);
        if ended.is_ok() || !changed.load(Ordering::Acquire) {
            return ended;
        }
        // Nothing of the job has run. It is built anew, and compared before the next start.
        environment = dependencies::environment(needs, header.clone(), &mut policy, printer)?;
    }
}

/// The gate of a job whose environment is still to be compared with what it was.
fn asked(checking: Checking, changed: Arc<AtomicBool>) -> Gate {
    Gate(Box::new(move || {
        let same = checking.run();
        changed.store(!same, Ordering::Release);
        same
    }))
}
