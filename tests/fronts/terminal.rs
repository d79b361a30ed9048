//! `shell` on a terminal, and Ctrl-C.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::harness::{Place, everyone};

/// A terminal with a person at it.
pub struct Terminal {
    person: File,
    line: OwnedFd,
    seen: String,
    /// Everything that was ever on the screen, as far as it was looked at.
    pub whole: String,
}

impl Terminal {
    pub fn new() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&person).expect("a terminal of ours");
        unlockpt(&person).expect("an open terminal");
        let name = ptsname(&person, Vec::new()).expect("its name");
        use rustix::fs::{Mode, OFlags, open};
        let line = open(
            name,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .expect("its other end");
        Self {
            person: File::from(person),
            line,
            seen: String::new(),
            whole: String::new(),
        }
    }

    pub fn start(&self, place: &Place, args: &[&str]) -> Child {
        let end = || Stdio::from(self.line.try_clone().expect("a copy"));
        let mut command = place.command(args);
        command
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end());
        command.spawn().expect("belljar starts")
    }

    pub fn type_in(&mut self, keys: &str) {
        self.person.write_all(keys.as_bytes()).expect("keys");
    }

    /// Waits until this is on the screen, after all that was waited for before.
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(place) = self.seen.find(text) {
                self.seen.drain(..place + text.len());
                return;
            }
            assert!(
                Instant::now() < deadline,
                "no {text:?} on the screen: {:?}",
                self.seen
            );
            let mut polled = [PollFd::new(&self.person, PollFlags::IN)];
            let moment = rustix::time::Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            if poll(&mut polled, Some(&moment)).expect("a look") > 0 {
                let mut bytes = [0; 4096];
                let length = self.person.read(&mut bytes).expect("what is on the screen");
                let text = String::from_utf8_lossy(&bytes[..length]);
                self.seen.push_str(&text);
                self.whole.push_str(&text);
            }
        }
    }

    /// How many keys the caller's next program would be given; for those that were just typed, once the kernel has them.
    pub fn left_for_the_caller(&self, typed: bool) -> u64 {
        use rustix::termios::{OptionalActions, tcsetattr};
        // Without this only whole lines are counted.
        let before = tcgetattr(&self.line).expect("its modes");
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&self.line, OptionalActions::Now, &raw).expect("raw");
        let soon = rustix::time::Timespec {
            tv_sec: if typed { 20 } else { 0 },
            tv_nsec: 0,
        };
        poll(&mut [PollFd::new(&self.line, PollFlags::IN)], Some(&soon)).expect("a look");
        let count = rustix::io::ioctl_fionread(&self.line).expect("a count");
        tcsetattr(&self.line, OptionalActions::Now, &before).expect("as before");
        count
    }

    /// Whether keys are echoed and lines are edited by the terminal itself, as a shell expects.
    pub fn is_as_before(&self) -> bool {
        let modes = tcgetattr(&self.line).expect("its modes").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }
}

pub fn exit_code(mut child: Child) -> Option<i32> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().expect("a look") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("ended by force");
    panic!("belljar did not end");
}

#[test]
fn a_shell_is_interactive_and_leaves_the_terminal_as_it_was() {
    for who in everyone() {
        let (place, mut terminal) = (Place::new(*who), Terminal::new());
        let child = terminal.start(&place, &["shell"]);
        terminal.wait_for(">>> ");
        assert!(!terminal.is_as_before(), "every key goes to the guest");
        terminal.type_in("import os, sys; print(6 * 7, sys.stdin.isatty(), os.getcwd())\r");
        terminal.wait_for("42 True /jar");
        // An interrupt is for the guest, which lives on.
        terminal.wait_for(">>> ");
        terminal.type_in("import time; time.sleep(60)\r");
        terminal.wait_for("\n");
        std::thread::sleep(Duration::from_millis(300));
        terminal.type_in("\u{3}");
        terminal.wait_for("KeyboardInterrupt");
        terminal.wait_for(">>> ");
        terminal.type_in("raise SystemExit(5)\r");
        assert_eq!(exit_code(child), Some(5), "as {who:?}");
        assert!(terminal.is_as_before(), "as {who:?}");
    }
}

#[test]
fn a_shell_that_is_ended_leaves_the_terminal_as_it_was() {
    for who in everyone() {
        let (place, mut terminal) = (Place::new(*who), Terminal::new());
        let child = terminal.start(&place, &["shell"]);
        terminal.wait_for(">>> ");
        assert!(!terminal.is_as_before());
        kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
        assert_eq!(exit_code(child), Some(130), "as {who:?}");
        assert!(terminal.is_as_before(), "as {who:?}");
        // Told on the terminal as it was: on a raw one the next line would start in mid-air.
        terminal.wait_for("cancelled\r\n");
    }
}

#[test]
fn what_a_guest_asked_the_terminal_is_no_key_of_the_callers() {
    for who in everyone() {
        let (place, mut terminal) = (Place::new(*who), Terminal::new());
        let child = terminal.start(&place, &["shell"]);
        terminal.wait_for(">>> ");
        // A mouse, pastes, the other screen, no cursor, a title without an end, and a question on the way out.
        terminal.type_in("print('\\033[?1003h\\033[?2004h\\033[?1049h\\033[?25l\\033[31m\\033[6n\\033]0;x', end='', flush=True); raise SystemExit(3)\r");
        terminal.wait_for("\u{1b}]0;x");
        // The terminal is slow: it has heard all before its first answer.
        terminal.wait_for("\u{18}\u{1b}\\");
        for mode in ["?1047l", "!p", "?7h", "?25h", "?1l", "?1003l", "?2004l", "0m"] {
            terminal.wait_for(&format!("\u{1b}[{mode}"));
        }
        terminal.wait_for("\u{1b}[5n");
        terminal.type_in("\u{1b}[7;7R\u{1b}[0n");
        assert_eq!(exit_code(child), Some(3), "as {who:?}");
        assert!(terminal.is_as_before(), "as {who:?}");
        assert_eq!(terminal.left_for_the_caller(false), 0, "as {who:?}");
        // Control: what comes now is the caller's.
        terminal.type_in("\u{1b}[7;7R");
        assert_eq!(terminal.left_for_the_caller(true), 6);
    }
}

#[test]
fn a_terminal_that_does_not_answer_is_not_waited_for_for_ever() {
    let (place, mut terminal) = (Place::new(everyone()[0]), Terminal::new());
    let child = terminal.start(&place, &["shell"]);
    terminal.wait_for(">>> ");
    terminal.type_in("raise SystemExit(4)\r");
    terminal.wait_for("\u{1b}[5n");
    assert_eq!(exit_code(child), Some(4));
    assert!(terminal.is_as_before());
}

#[test]
fn a_shell_warns_before_it_takes_the_terminal() {
    let (place, mut terminal) = (Place::new(everyone()[0]), Terminal::new());
    let child = terminal.start(&place, &["shell", "--network", "host"]);
    terminal.wait_for("(--network host)\r\n");
    terminal.wait_for(">>> ");
    terminal.type_in("exit()\r");
    assert_eq!(exit_code(child), Some(0));
}

#[test]
fn people_hear_once_that_memory_is_not_limited_as_a_whole() {
    for who in everyone() {
        let place = Place::new(*who);
        let text = "memory is limited for each process, not for all of them together";
        let ran = place.run(&["run", "--json", "-c", "pass"]);
        let absent = ran
            .stdout
            .contains("memory, processes and cpus are limited for each process instead");
        assert!(!ran.stderr.contains(text), "a program reads the outcome");
        for args in [["run", "-c", "print('done')"], ["exec", "echo", "done"]] {
            let mut terminal = Terminal::new();
            let child = terminal.start(&place, &args);
            terminal.wait_for("done");
            assert_eq!(exit_code(child), Some(0), "as {who:?}");
            assert_eq!(
                terminal.whole.matches(text).count(),
                usize::from(absent),
                "as {who:?}"
            );
        }
    }
}

#[test]
fn a_shell_has_a_timeout_only_when_given() {
    for who in everyone() {
        let (place, terminal) = (Place::new(*who), Terminal::new());
        let child = terminal.start(&place, &["shell", "--timeout", "1s"]);
        assert_eq!(exit_code(child), Some(124), "as {who:?}");
        assert!(terminal.is_as_before(), "as {who:?}");
    }
    let plan = Place::new(everyone()[0]).run(&["plan"]).stdout;
    assert!(plan.contains("ended after 30 s"), "run has one by itself: {plan}");
}

#[test]
fn colours_on_a_terminal() {
    let (place, mut terminal) = (Place::new(everyone()[0]), Terminal::new());
    let child = terminal.start(&place, &["run", "nope.py"]);
    assert_eq!(exit_code(child), Some(125));
    terminal.wait_for("\u{1b}[1m\u{1b}[31mbelljar:\u{1b}[0m cannot read script");
}

#[test]
fn one_interrupt_is_the_guests_and_two_are_ours() {
    for who in everyone() {
        let place = Place::new(*who);
        let start = |code: &str| {
            let mut command = place.command(&["run", "-c", code]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut child = command.spawn().expect("belljar starts");
            let mut ready = [0; 6];
            child
                .stdout
                .as_mut()
                .expect("a pipe")
                .read_exact(&mut ready)
                .expect("it is ready");
            child
        };
        let interrupt = |child: &Child| kill_process(Pid::from_child(child), Signal::INT).expect("a signal");

        let polite = "import time, sys\ntry: print('ready', flush=True); time.sleep(60)\nexcept KeyboardInterrupt: sys.exit(9)";
        let child = start(polite);
        interrupt(&child);
        assert_eq!(exit_code(child), Some(9), "as {who:?}");

        let plain = "import time\nprint('ready', flush=True)\ntime.sleep(60)";
        let child = start(plain);
        interrupt(&child);
        assert_eq!(exit_code(child), Some(130), "as {who:?}");

        let stubborn = "import time, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(60)";
        let child = start(stubborn);
        interrupt(&child);
        std::thread::sleep(Duration::from_millis(200));
        interrupt(&child);
        assert_eq!(exit_code(child), Some(130), "as {who:?}");
    }
}
