//! Mistakes on the command line, in one line instead of clap's eight.

use clap::error::ErrorKind;

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
    Some(Failure::with_hint(
        message,
        tip.unwrap_or_else(|| format!("see `{} --help`", asked_for())),
    ))
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
