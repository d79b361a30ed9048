//! `belljar completions` and `belljar man`: both come from the one definition.

use crate::args::{self, Completions, Man};
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints completions for a shell; the exit code.
pub fn completions(asked: &Completions, printer: Printer) -> Result<i32, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell(), &mut args::definition(), "belljar", &mut script);
    printer.text(&String::from_utf8_lossy(&script));
    Ok(0)
}

/// Prints a man page; the exit code.
pub fn man(asked: &Man, printer: Printer) -> Result<i32, Failure> {
    let mut definition = args::definition();
    definition.build();
    let page = match &asked.command {
        None => definition,
        Some(name) => definition
            .get_subcommands()
            .find(|command| command.get_name() == name && !command.is_hide_set())
            .cloned()
            .ok_or_else(|| {
                Failure::with_hint(format!("there is no command `{name}`"), "see `belljar --help`")
            })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::new(format!("cannot write the man page: {error}")))?;
    printer.text(&String::from_utf8_lossy(&text));
    Ok(0)
}
