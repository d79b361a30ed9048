//! `belljar plan`: what would be built.

use crate::args::Plan;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::{dependencies, engine, settings};

/// Prints the plan and runs nothing; the exit code.
pub fn plan(args: &Plan, printer: Printer) -> Result<i32, Failure> {
    let mut policy = settings::policy(&args.policy)?;
    let header = args
        .python
        .file()
        .and_then(|source| dependencies::script(&source));
    let environment = dependencies::built(&args.policy.dependencies, header, &mut policy)?;
    let plan = engine::plan(&policy, environment.as_ref())?;
    if printer.is_json() {
        printer.json(&plan);
    } else {
        printer.tree(&plan.to_string());
    }
    Ok(0)
}
