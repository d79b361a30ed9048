//! `belljar plan`: what would be built.

use crate::args::Plan;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::{engine, settings};

/// Prints the plan and runs nothing; the exit code.
pub fn plan(args: &Plan, printer: Printer) -> Result<i32, Failure> {
    let policy = settings::policy(&args.policy)?;
    let plan = engine::plan(&policy)?;
    if printer.is_json() {
        printer.json(&plan);
    } else {
        printer.tree(&plan.to_string());
    }
    Ok(0)
}
