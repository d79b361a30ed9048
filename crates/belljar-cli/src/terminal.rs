//! The caller's terminal while a guest has one of its own behind it: raw, so that every key goes to the guest, and
//! as it was again whatever happens.

use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;

/// What a guest may have left: an unfinished sequence (CAN, ST); the other screen (not by 1049, which moves the cursor of those
/// who are not there); modes, margins and the character set (soft reset); wrapping; mice, focus, pastes, held output; keys.
const RESET: &str = "\x18\x1b\\\x1b[?1047l\x1b[?47l\x1b[!p\x1b[?7h\x1b[?25h\x1b[4l\x1b[?1l\x1b>\
    \x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\
    \x1b[?2004l\x1b[?2026l\x1b[>4m\x1b[=0u\x1b[0m\x1b(B\x1b)B\x0f";
/// A question that every terminal answers, after all that were asked before.
const LAST: (&str, &[u8]) = ("\x1b[5n", b"\x1b[0n");
/// How long it may take: there are terminals that do not answer, and some are far away.
const PATIENCE: Duration = Duration::from_secs(1);

/// A terminal in raw mode; dropping this restores it, and whatever else its guest has changed.
#[derive(Debug)]
pub struct Raw {
    tty: OwnedFd,
    before: Termios,
    /// Whether it obeys sequences at all.
    obeys: bool,
}

impl Raw {
    /// Puts a terminal into raw mode.
    pub fn enter(tty: OwnedFd, kind: &str) -> Result<Self, Failure> {
        let tell = |error: rustix::io::Errno| {
            Failure::new(format!(
                "cannot set the terminal to raw mode: {}",
                std::io::Error::from(error)
            ))
        };
        let before = tcgetattr(&tty).map_err(tell)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&tty, OptionalActions::Drain, &raw).map_err(tell)?;
        let obeys = kind != "dumb";
        Ok(Self { tty, before, obeys })
    }

    /// Resets modes, and waits until the terminal has answered all that the guest asked it: its answers would be keys that
    /// the caller's shell is given.
    fn settle(&self) -> Option<()> {
        let until = Instant::now() + PATIENCE;
        let mut text: &[u8] = &[RESET.as_bytes(), LAST.0.as_bytes()].concat();
        while !text.is_empty() {
            self.ready(PollFlags::OUT, until)?;
            text = &text[rustix::io::write(&self.tty, text).ok()?..];
        }
        let mut heard = Vec::new();
        while !heard.windows(LAST.1.len()).any(|part| part == LAST.1) {
            self.ready(PollFlags::IN, until)?;
            let mut bytes = [0; 256];
            let length = rustix::io::read(&self.tty, &mut bytes)
                .ok()
                .filter(|length| *length > 0)?;
            heard.drain(..heard.len().saturating_sub(LAST.1.len()));
            heard.extend_from_slice(&bytes[..length]);
        }
        Some(())
    }

    fn ready(&self, what: PollFlags, until: Instant) -> Option<()> {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok()?;
        let mut polled = [PollFd::new(&self.tty, what)];
        poll(&mut polled, Some(&left)).ok().filter(|ready| *ready > 0)?;
        polled[0].revents().contains(what).then_some(())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Nobody is left to tell if this fails: the terminal is gone.
        if self.obeys {
            let _ = self.settle();
        }
        let _ = tcsetattr(&self.tty, OptionalActions::Flush, &self.before);
    }
}

/// The caller's terminal, if both its keys and its screen are ours.
pub fn of_caller() -> Result<OwnedFd, Failure> {
    let (keys, screen) = (std::io::stdin(), std::io::stdout());
    if !keys.is_terminal() || !screen.is_terminal() {
        return Err(Failure::with_hint(
            "`shell` needs a terminal on stdin and stdout",
            "for code from a pipe use `belljar run -`",
        ));
    }
    let name = rustix::termios::ttyname(keys.as_fd(), Vec::new()).ok();
    // Opened anew, so that flags which the guest's side sets are not those of the caller's own descriptor.
    let opened = name.and_then(|name| {
        use rustix::fs::{Mode, OFlags, open};
        open(
            name,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()
    });
    match opened {
        Some(tty) => Ok(tty),
        None => crate::streams::duplicate(keys.as_fd()),
    }
}
