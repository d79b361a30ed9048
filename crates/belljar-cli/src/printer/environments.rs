//! What is told of environments, and how far one is while it is built.

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use belljar::environment::{About, Entry, Progress, Pruned};

use super::summary::bytes;
use super::table::{cut, width};
use super::{Printer, Weight, escape};

/// Longest list of packages in a line.
const PACKAGES: usize = 60;

/// What happens during a build: one line that changes on a terminal, a few plain ones elsewhere.
#[derive(Debug)]
pub struct Steps {
    printer: Printer,
    live: bool,
    drawn: bool,
    names: String,
    begun: bool,
}

impl Steps {
    /// For an environment with these packages.
    pub fn new(printer: Printer, names: &str) -> Self {
        let able = std::env::var_os("TERM").is_some_and(|kind| !kind.is_empty() && kind != "dumb");
        Self {
            live: able && !printer.is_quiet() && std::io::stderr().is_terminal(),
            printer,
            drawn: false,
            names: cut(&escape(names), PACKAGES).into_owned(),
            begun: false,
        }
    }

    /// Shows a step.
    pub fn show(&mut self, step: &Progress) {
        let text = format!("environment for {}: {step}", self.names);
        if !self.live {
            if !std::mem::replace(&mut self.begun, true) {
                self.printer.say(
                    Weight::Note,
                    &format!("building an environment for {}", self.names),
                );
            }
            return;
        }
        let columns = rustix::termios::tcgetwinsize(std::io::stderr().as_fd())
            .map_or(80, |size| usize::from(size.ws_col).clamp(20, 200));
        let text = cut(&escape(&text), columns - 1).into_owned();
        let _ = std::io::stderr()
            .lock()
            .write_all(format!("\r{text}\u{1b}[K").as_bytes());
        self.drawn = true;
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }

    /// Tells that it is built.
    pub fn done(&self, packages: usize, size: u64, took: Duration) {
        let plural = if packages == 1 { "" } else { "s" };
        let text = format!(
            "environment for {} built: {packages} package{plural}, {}, {:.1} s",
            self.names,
            bytes(size),
            took.as_secs_f64()
        );
        self.printer.say(Weight::Good, &text);
    }
}

impl Printer {
    /// What `env list` tells.
    pub fn environments(self, folder: &str, size: u64, entries: &[Entry]) {
        let rows: Vec<[String; 5]> = entries.iter().map(row).collect();
        let heads = ["environment", "python", "size", "last use", "packages"].map(str::to_owned);
        let rows: Vec<[String; 5]> = std::iter::once(heads).chain(rows).collect();
        let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(widest);
        let mut text = String::new();
        for row in rows.iter().filter(|_| !entries.is_empty()) {
            for (cell, to) in row.iter().zip(widths) {
                text.push_str(cell);
                text.push_str(&" ".repeat(to - width(cell) + 2));
            }
            text.push_str(&row[4]);
            text.push('\n');
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
        self.tree(&format!(
            "{}  {}",
            &about.key[..12.min(about.key.len())],
            packages(about)
        ));
    }

    /// What `env prune` tells.
    pub fn pruned(self, pruned: &Pruned, dry_run: bool) {
        for entry in &pruned.removed {
            self.tree(&format!(
                "{}  {}",
                &entry.about.key[..12.min(entry.about.key.len())],
                packages(&entry.about)
            ));
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

fn row(entry: &Entry) -> [String; 5] {
    let about = &entry.about;
    [
        about.key[..12.min(about.key.len())].to_owned(),
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
