//! What each of many scripts printed: whole, below a header that names it, on the streams that it was printed to.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use anstyle::Style;
use belljar::Outcome;
use belljar::outcome::Captured;
use belljar::policy::Limits;

use super::screen::harmless;
use super::{Kept, Printer, escape, line, summary};
use crate::failure::Failure;

const HEADER: Style = Style::new().bold();

/// Prints scripts one after the other.
#[derive(Debug)]
pub struct Sections {
    quiet: bool,
    /// Whether both streams lead to one place, where a second header would only be in the way.
    together: bool,
    begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Stdout,
    Stderr,
}

impl Sections {
    /// Sections as the command line asks for them; headers are belljar's own lines, and can be silenced.
    pub fn new(printer: Printer) -> Self {
        let place =
            |stat: rustix::io::Result<rustix::fs::Stat>| stat.map(|stat| (stat.st_dev, stat.st_ino)).ok();
        let (out, err) = (io::stdout(), io::stderr());
        Self {
            quiet: printer.is_quiet(),
            together: place(rustix::fs::fstat(out.as_fd())) == place(rustix::fs::fstat(err.as_fd())),
            begun: false,
        }
    }

    /// One script that ran. A failure to write to stderr has nowhere to be told.
    pub fn outcome(
        &mut self,
        name: &str,
        outcome: &Outcome,
        limits: &Limits,
        kept: Kept<'_>,
    ) -> io::Result<()> {
        let lines = if self.quiet {
            Vec::new()
        } else {
            summary::lines(outcome, limits, kept)
        };
        let out = bytes(&outcome.stdout, io::stdout().is_terminal());
        let err = bytes(&outcome.stderr, io::stderr().is_terminal());
        if !out.is_empty() {
            self.header(To::Stdout, name)?;
            self.write(To::Stdout, &out)?;
        }
        if err.is_empty() && lines.is_empty() {
            return Ok(());
        }
        if out.is_empty() || !self.together {
            let _ = self.header(To::Stderr, name);
        }
        let _ = self.write(To::Stderr, &err);
        for (weight, word, text) in lines {
            line(weight, word, &text);
        }
        Ok(())
    }

    /// One script that belljar could not run: never silenced.
    pub fn failure(&mut self, name: &str, failure: &Failure) -> io::Result<()> {
        line(super::Weight::Error, "belljar:", &format!("{name}: {failure}"));
        Ok(())
    }

    fn header(&mut self, to: To, name: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let gap = if self.begun { "\n" } else { "" };
        self.begun = true;
        let text = format!("{gap}{HEADER}==> {} <=={HEADER:#}\n", escape(name));
        match to {
            To::Stdout => anstream::stdout().lock().write_all(text.as_bytes()),
            To::Stderr => anstream::stderr().lock().write_all(text.as_bytes()),
        }
    }

    /// Writes what a guest printed, and ends its last line: a header follows at the beginning of one.
    fn write(&self, to: To, bytes: &[u8]) -> io::Result<()> {
        let open = !self.quiet && bytes.last().is_some_and(|last| *last != b'\n');
        let end: &[u8] = if open { b"\n" } else { b"" };
        let all = [bytes, end].concat();
        match to {
            To::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(&all).and_then(|()| out.flush())
            }
            To::Stderr => io::stderr().lock().write_all(&all),
        }
    }
}

/// A stream as it was captured; on a terminal, made harmless.
fn bytes(captured: &Captured, on_terminal: bool) -> Vec<u8> {
    let Captured { head, tail, dropped } = captured;
    let mark = match dropped {
        0 => String::new(),
        _ => format!("\n[belljar: {dropped} bytes dropped]\n"),
    };
    let all = [head.as_slice(), mark.as_bytes(), tail].concat();
    if on_terminal {
        harmless(&String::from_utf8_lossy(&all)).into_bytes()
    } else {
        all
    }
}
