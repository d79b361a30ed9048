//! Mistakes on the command line, in one line instead of clap's eight.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

/// What was mistyped and the next step; `None` when help or the version was asked for.
pub fn mistake(error: &clap::Error) -> Option<Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        _ => {}
    }
    let rendered = error.render().to_string();
    let (mut message, mut tip) = (String::new(), None);
    for line in rendered.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if let Some(text) = line.strip_prefix("error: ") {
            message.push_str(text.trim_end_matches(':'));
        } else if let Some(text) = line.strip_prefix("tip: ") {
            // clap's advice to pass a misspelt flag on as a value leads nowhere here.
            if !text.starts_with("to pass ") {
                tip.get_or_insert_with(|| text.to_owned());
            }
        } else {
            message.push(' ');
            message.push_str(line);
        }
    }
    let tip = similar(error).or(tip);
    Some(Failure::with_hint(
        message,
        tip.unwrap_or_else(|| format!("see `{} --help`", asked_for())),
    ))
}

/// The command or flag that was meant. clap's own measure sees no swapped letters in a word of three.
fn similar(error: &clap::Error) -> Option<String> {
    let (kind, what) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, "subcommand"),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, "argument"),
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else {
        return None;
    };
    let mut definition = crate::args::definition();
    definition.build();
    let mut command = &definition;
    for typed in std::env::args().skip(1) {
        match command.find_subcommand(&typed) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    let flags = command
        .get_arguments()
        .filter(|flag| !flag.is_hide_set())
        .filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
    let commands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned());
    let known: Vec<String> = if what == "argument" {
        flags.collect()
    } else {
        commands.collect()
    };
    let near = belljar::nearest(word, known.iter().map(String::as_str))?;
    Some(format!("a similar {what} exists: '{near}'"))
}

/// The command that was being typed.
fn asked_for() -> String {
    let first = std::env::args_os()
        .nth(1)
        .and_then(|word| word.into_string().ok());
    let definition = crate::args::definition();
    match first {
        Some(word) if definition.find_subcommand(&word).is_some() => format!("belljar {word}"),
        _ => "belljar".to_owned(),
    }
}

/// Whether a failure to read the command line shall still be told as JSON. Only belljar's own part of it counts.
pub fn wants_json() -> bool {
    std::env::args_os()
        .skip(1)
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}
