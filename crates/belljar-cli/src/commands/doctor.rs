//! `belljar doctor`: what this host can enforce, and the exact commands that fix what it cannot.

mod checks;
mod fixes;
#[cfg(test)]
mod tests;

use belljar::host::Host;
use serde::Serialize;

use crate::engine;
use crate::failure::Failure;
use crate::printer::{Printer, Weight};
use checks::{Check, Found};

/// The report as data.
#[derive(Serialize)]
struct Report<'a> {
    sealed: bool,
    host: &'a Host,
    checks: &'a [Check],
}

/// Prints the report; the exit code is 0 when the tier sealed works here.
pub fn doctor(printer: Printer) -> Result<i32, Failure> {
    let host = engine::probe_deep();
    let checks = checks::all(&host, &fixes::Here::look());
    let sealed = checks.iter().all(|check| check.found != Found::Missing);
    if printer.is_json() {
        printer.json(&Report {
            sealed,
            host: &host,
            checks: &checks,
        });
    } else if !printer.is_quiet() {
        report(&host, &checks, sealed, printer);
    }
    Ok(if sealed { 0 } else { 1 })
}

fn report(host: &Host, checks: &[Check], sealed: bool, printer: Printer) {
    let who = if host.privileged {
        "root".to_owned()
    } else {
        format!("uid {}", host.uid)
    };
    let place = host
        .container
        .as_ref()
        .map(|name| format!(", inside {name}"))
        .unwrap_or_default();
    let (major, minor) = host.kernel;
    printer.text(&format!(
        "kernel {major}.{minor} on {}, as {who}{place}\n\n",
        host.arch
    ));
    for check in checks {
        let (weight, mark) = match check.found {
            Found::Full => (Weight::Good, "✓"),
            Found::Partial => (Weight::Warning, "~"),
            Found::Missing => (Weight::Error, "✗"),
        };
        printer.row(weight, mark, check.name, &check.detail);
        for line in &check.fix {
            printer.text(&format!("      {line}\n"));
        }
    }
    let verdict = if sealed {
        (Weight::Good, "sealed", "works here")
    } else {
        (Weight::Error, "sealed", "does not work here")
    };
    printer.text("\n");
    printer.row(verdict.0, "=", verdict.1, verdict.2);
}
