//! The caller's terminal while a guest has one of its own behind it: raw, so that every key goes to the guest, and
//! as it was again whatever happens.

use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;

/// A terminal in raw mode; dropping this restores it.
#[derive(Debug)]
pub struct Raw {
    tty: OwnedFd,
    before: Termios,
}

impl Raw {
    /// Puts a terminal into raw mode.
    pub fn enter(tty: OwnedFd) -> Result<Self, Failure> {
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
        Ok(Self { tty, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Nobody is left to tell if this fails: the terminal is gone.
        let _ = tcsetattr(&self.tty, OptionalActions::Drain, &self.before);
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
