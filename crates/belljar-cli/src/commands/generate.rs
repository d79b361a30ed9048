//! `belljar completions` and `belljar man`: both come from the one definition.

use clap::builder::Resettable;

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
    let after = page
        .get_after_help()
        .map(|help| help.to_string())
        .unwrap_or_default();
    let page = page.after_help(Resettable::Reset);
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::new(format!("cannot write the man page: {error}")))?;
    printer.text(&format!("{}{}", String::from_utf8_lossy(&text), sections(&after)));
    Ok(0)
}

/// The examples and exit codes of the help as sections of their own; the generator would fill the examples into one
/// paragraph under the heading "extra".
fn sections(help: &str) -> String {
    let section = |block: &str| {
        let (title, body) = block.split_once(':').unwrap_or(("Notes", block));
        let title = title.to_uppercase().replace("EXIT CODE", "EXIT STATUS");
        match body.strip_prefix('\n') {
            Some(lines) => format!(".SH \"{title}\"\n.nf\n{}\n.fi\n", roff(lines)),
            None => format!(".SH \"{title}\"\n{}\n", roff(body.trim_start())),
        }
    };
    help.split("\n\n").map(section).collect()
}

/// Text for roff: a dash, a quote and a backslash stay what they are, so that examples can be copied.
fn roff(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq");
    let line = |line: &str| {
        if line.starts_with('.') {
            format!("\\&{line}")
        } else {
            line.to_owned()
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
