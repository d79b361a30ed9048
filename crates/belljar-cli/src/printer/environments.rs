//! What is told of environments, and how far one is while it is built.

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use belljar::environment::{About, Entry, Progress, Pruned};

use super::table::{cut, width};
use super::{Printer, Weight, escape};
use belljar::policy::readable_size as bytes;

/// Longest list of packages in a line.
const PACKAGES: usize = 60;

/// A line on stderr that changes, where someone sees it.
#[derive(Debug)]
struct Live {
    on: bool,
    drawn: bool,
}

impl Live {
    fn new(printer: Printer) -> Self {
        let able = std::env::var_os("TERM").is_some_and(|kind| !kind.is_empty() && kind != "dumb");
        Self {
            on: able && !printer.is_quiet() && std::io::stderr().is_terminal(),
            drawn: false,
        }
    }

    fn draw(&mut self, text: &str) {
        let columns = rustix::termios::tcgetwinsize(std::io::stderr().as_fd())
            .map_or(0, |size| usize::from(size.ws_col));
        // A terminal that does not know its width says 0.
        let columns = if columns == 0 { 80 } else { columns.clamp(20, 200) };
        let text = cut(&escape(text), columns - 1).into_owned();
        let _ = std::io::stderr()
            .lock()
            .write_all(format!("\r{text}\u{1b}[K").as_bytes());
        self.drawn = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}

/// What happens during a build: one line that changes on a terminal, a few plain ones elsewhere.
#[derive(Debug)]
pub struct Steps {
    printer: Printer,
    live: Live,
    names: String,
    begun: bool,
}

impl Steps {
    /// For an environment with these packages.
    pub fn new(printer: Printer, names: &str) -> Self {
        Self {
            live: Live::new(printer),
            printer,
            names: cut(&escape(names), PACKAGES).into_owned(),
            begun: false,
        }
    }

    /// Shows a step.
    pub fn show(&mut self, step: &Progress) {
        if self.live.on {
            self.live.draw(&format!("environment for {}: {step}", self.names));
        } else if !std::mem::replace(&mut self.begun, true) {
            self.printer.say(
                Weight::Note,
                &format!("building an environment for {}", self.names),
            );
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        self.live.clear();
    }

    /// Tells that it is built.
    pub fn done(&self, packages: usize, size: u64, took: Duration) {
        done(self.printer, &self.names, packages, size, took);
    }
}

/// What happens during several builds at once: one line for all on a terminal, and one for each that is built.
#[derive(Debug)]
pub struct Several {
    printer: Printer,
    live: Live,
    total: usize,
    ended: usize,
}

impl Several {
    /// For so many.
    pub fn new(printer: Printer, total: usize) -> Self {
        Self {
            live: Live::new(printer),
            printer,
            total,
            ended: 0,
        }
    }

    /// Shows a step of one of them.
    pub fn show(&mut self, name: &str, step: &Progress) {
        if self.live.on {
            let (ended, total) = (self.ended, self.total);
            self.live
                .draw(&format!("{ended} of {total} environments, {name}: {step}"));
        }
    }

    /// One of them has ended, and was built just now if something is known of it.
    pub fn ended(&mut self, name: &str, about: Option<&About>, took: Duration) {
        self.ended += 1;
        self.live.clear();
        if let Some(About { packages, size, .. }) = about {
            let name = cut(&escape(name), PACKAGES).into_owned();
            done(self.printer, &name, packages.len(), *size, took);
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        self.live.clear();
    }
}

fn done(printer: Printer, names: &str, packages: usize, size: u64, took: Duration) {
    let plural = if packages == 1 { "" } else { "s" };
    let text = format!(
        "environment for {names} built: {packages} package{plural}, {}, {:.1} s",
        bytes(size),
        took.as_secs_f64()
    );
    printer.say(Weight::Good, &text);
}

impl Printer {
    /// What `env list` tells.
    pub fn environments(self, folder: &str, size: u64, entries: &[Entry]) {
        let mut text = String::new();
        if !entries.is_empty() {
            let heads = ["environment", "python", "size", "last use", "packages"];
            text = columns(heads, entries.iter().map(row));
        }
        let plural = if entries.len() == 1 { "" } else { "s" };
        text.push_str(&format!(
            "{} environment{plural}, {} on disk in {folder}\n",
            entries.len(),
            bytes(size)
        ));
        self.tree(text.trim_end());
    }

    /// What `env build` tells of one.
    pub fn built(self, about: &About) {
        self.tree(&format!("{}  {}", short(about), packages(about)));
    }

    /// What `env build` tells of several; nothing is known of one that was not built.
    pub fn built_all(self, sets: &[(&str, Option<&About>)]) {
        let rows = sets.iter().map(|(set, about)| {
            let set = cut(&escape(set), PACKAGES).into_owned();
            match about {
                Some(about) => [
                    set,
                    short(about),
                    about.python.clone(),
                    bytes(about.size),
                    packages(about),
                ],
                None => [
                    set,
                    "not built".to_owned(),
                    "-".to_owned(),
                    "-".to_owned(),
                    "-".to_owned(),
                ],
            }
        });
        self.tree(&columns(
            ["set", "environment", "python", "size", "packages"],
            rows,
        ));
    }

    /// What `env prune` tells.
    pub fn pruned(self, pruned: &Pruned, dry_run: bool) {
        for entry in &pruned.removed {
            self.tree(&format!("{}  {}", short(&entry.about), packages(&entry.about)));
        }
        let word = if dry_run { "would free" } else { "freed" };
        let freed = pruned.before.saturating_sub(pruned.after);
        let plural = if pruned.removed.len() == 1 { "" } else { "s" };
        self.tree(&format!(
            "{} environment{plural}, {word} {}",
            pruned.removed.len(),
            bytes(freed)
        ));
    }
}

/// Enough of a key to tell it from others.
fn short(about: &About) -> String {
    about.key.chars().take(12).collect()
}

/// A table; every column but the last is as wide as its widest cell.
fn columns(heads: [&str; 5], rows: impl Iterator<Item = [String; 5]>) -> String {
    let rows: Vec<[String; 5]> = std::iter::once(heads.map(str::to_owned)).chain(rows).collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(widest);
    let mut text = String::new();
    for row in &rows {
        for (cell, to) in row.iter().zip(widths) {
            text.push_str(cell);
            text.push_str(&" ".repeat(to - width(cell) + 2));
        }
        text.push_str(&row[4]);
        text.push('\n');
    }
    text
}

fn row(entry: &Entry) -> [String; 5] {
    let about = &entry.about;
    [
        short(about),
        about.python.clone(),
        bytes(about.size),
        if entry.in_use {
            "in use".to_owned()
        } else {
            ago(entry.last_used)
        },
        packages(about),
    ]
}

/// What was asked for, with versions, and how many came with it.
fn packages(about: &About) -> String {
    let (asked, others): (Vec<_>, Vec<_>) = about.packages.iter().partition(|package| package.asked);
    let names: Vec<String> = asked
        .iter()
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    let text = cut(&escape(&names.join(", ")), PACKAGES).into_owned();
    match others.len() {
        0 => text,
        count => format!("{text} and {count} more"),
    }
}

fn ago(then: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let seconds = now.saturating_sub(then);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}
