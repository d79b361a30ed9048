//! The one thread that prints: hears of ends and of signals, shows the scripts in their order and how far it has come.

use std::collections::BTreeMap;

use belljar::policy::Limits;
use belljar_linux::signals::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::crew::{Crew, Ends};
use super::{Ended, Script};
use crate::failure::Failure;
use crate::printer::{Kept, Printer, Progress, Sections, Weight};
use crate::values::plain;

/// SIGHUP, SIGINT, SIGQUIT and SIGTERM: each of them ends everything.
const ENDS: [i32; 4] = [1, 2, 3, 15];
/// How often the bar is drawn when nothing happens, in nanoseconds.
const TICK: i64 = 100_000_000;

/// Signals that end everything. To be made before any thread: they inherit what is blocked.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// From now on they are messages.
    pub fn take() -> Result<Self, Failure> {
        let taken = SignalFd::new(&ENDS).map(Self);
        taken.map_err(|error| Failure::new(format!("cannot take signals: {}", plain(&error))))
    }

    /// Whether one came since the last look.
    fn came(&self) -> bool {
        let mut came = false;
        while let Ok(Some(_)) = self.0.next() {
            came = true;
        }
        came
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A second Ctrl-C that was not looked at would end the process now, whose exit code is to be told.
        self.came();
    }
}

/// How each script ended, in order, and whether the caller ended them.
type Watched = (Vec<Ended>, bool);

/// Runs the crew and shows what comes of it.
pub fn watch(
    (crew, ends, signals): (&Crew, Ends, &Signals),
    scripts: &[Script],
    jobs: usize,
    limits: &Limits,
    printer: Printer,
) -> Result<Watched, Failure> {
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let thread = std::thread::Builder::new().name("belljar-each".into());
            if let Err(error) = thread.spawn_scoped(scope, || crew.work()) {
                crew.cancel();
                return Err(Failure::new(format!("cannot start a thread: {}", plain(&error))));
            }
        }
        let mut watch = Watch {
            crew,
            ends,
            signals,
            scripts,
            limits,
            printer,
            sections: Sections::new(printer),
            progress: Progress::new(printer, scripts.len()),
            waiting: BTreeMap::new(),
            ended: Vec::new(),
            cancelled: false,
            asked: false,
            failed: 0,
        };
        let result = watch.run();
        watch.progress.clear();
        if result.is_err() {
            crew.cancel();
        }
        result.map(|()| (watch.ended, watch.cancelled))
    })
}

struct Watch<'a> {
    crew: &'a Crew,
    ends: Ends,
    signals: &'a Signals,
    scripts: &'a [Script],
    limits: &'a Limits,
    printer: Printer,
    sections: Sections,
    progress: Progress,
    /// Ended, and not yet their turn.
    waiting: BTreeMap<usize, Ended>,
    /// Shown.
    ended: Vec<Ended>,
    cancelled: bool,
    /// Whether the template was asked for its imports.
    asked: bool,
    failed: usize,
}

impl Watch<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        while self.ended.len() < self.scripts.len() {
            self.wait()?;
            if self.signals.came() {
                self.cancel();
            }
            for (index, ended) in self.ends.take() {
                self.preloads(&ended);
                self.failed += usize::from(!ended.is_clean());
                self.waiting.insert(index, ended);
            }
            self.show()?;
            let done = self.ended.len() + self.waiting.len();
            let slowest = self.crew.oldest().and_then(|index| self.scripts.get(index));
            let slowest = slowest.map_or("", |script| &script.name);
            self.progress.draw(done, self.failed, slowest);
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Failure> {
        let mut polled = [
            PollFd::new(&self.signals.0, PollFlags::IN),
            PollFd::new(&self.ends, PollFlags::IN),
        ];
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: TICK,
        };
        match poll(&mut polled, self.progress.is_on().then_some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Failure::new(format!("cannot wait: {}", plain(&error.into())))),
        }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
        self.crew.cancel();
    }

    /// Shows those whose turn it is.
    fn show(&mut self) -> Result<(), Failure> {
        while let Some(mut ended) = self.waiting.remove(&self.ended.len()) {
            let script = &self.scripts[self.ended.len()];
            if !self.printer.is_json() {
                self.progress.clear();
                let shown = match &ended {
                    Ended::Ran(outcome) => {
                        let left = !outcome.changes.created.is_empty() || !outcome.changes.skipped.is_empty();
                        let folder = script.collect.as_deref().filter(|_| left);
                        let kept = folder.map_or(Kept::Nothing, Kept::Collected);
                        self.sections.outcome(&script.name, outcome, self.limits, kept)
                    }
                    Ended::Failed(failure) => self.sections.failure(&script.name, failure),
                    Ended::NotBegun => Ok(()),
                };
                match shown {
                    Ok(()) => {}
                    // A reader that has gone away wants no more.
                    Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => self.cancel(),
                    Err(error) => {
                        return Err(Failure::new(format!("cannot write to stdout: {}", plain(&error))));
                    }
                }
                forget(&mut ended);
            }
            self.ended.push(ended);
        }
        self.crew.printed(self.ended.len());
        Ok(())
    }

    /// Tells once of imports that failed, as soon as that is known.
    fn preloads(&mut self, ended: &Ended) {
        let warm = matches!(ended, Ended::Ran(outcome) if outcome.cold.is_none());
        if self.asked || self.cancelled || !warm {
            return;
        }
        self.asked = true;
        let Ok(warmed) = self.crew.warmed() else { return };
        for module in warmed.modules {
            if let Some(error) = module.error {
                self.progress.clear();
                let text = format!("cannot preload {}: {error}; scripts run without it", module.name);
                self.printer.say(Weight::Warning, &text);
            }
        }
    }
}

/// What was printed need not be kept until the end.
fn forget(ended: &mut Ended) {
    if let Ended::Ran(outcome) = ended {
        outcome.stdout = Default::default();
        outcome.stderr = Default::default();
        outcome.changes = Default::default();
    }
}
