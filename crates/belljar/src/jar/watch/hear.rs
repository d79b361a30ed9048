//! What a running jar says: its init or keeper by reports, the kernel where both are silent.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::pidfd;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::Watch;
use crate::error::{Error, Process};
use crate::init::{Handed, Name, Report, receive};
use crate::jar::gate::{self, Closed};
use crate::jar::pump::Relay;

/// How long a keeper may take to tell how a worker ended, before the kernel is asked, and before nobody is: longer than the
/// keeper waits for a template to reap, and for the worker to be its own after that.
const GONE_TOLD: Duration = Duration::from_millis(20);
const GONE_LOST: Duration = Duration::from_secs(3);

impl Watch<'_, '_> {
    pub(super) fn report(&mut self) -> Result<(), Error> {
        match receive(self.jar.report.as_fd()) {
            Ok(Some((report, fds))) => self.told(report, fds),
            // Its end of the socket closes when it ends; the pidfd tells how.
            Ok(None) => self.wait_for_init(),
            // Init is our own code; if it talks nonsense, or is gone, the jar ends.
            Err(error) => {
                self.fail(Error::setup("hear from the jar", error));
                Ok(())
            }
        }
    }

    pub(super) fn told(&mut self, report: Report, fds: Vec<OwnedFd>) -> Result<(), Error> {
        match report {
            Report::Started { handed } => return self.started(Handed::new(handed, fds)),
            Report::Ended {
                status,
                max_rss,
                cpu_usec,
                alone,
            } => {
                self.seen.status = Some(status);
                self.seen.max_rss = self.seen.max_rss.max(max_rss);
                self.seen.cpu_usec = self.seen.cpu_usec.max(cpu_usec);
                // A draft is read when its overlay is gone too.
                if alone && self.jar.handed.get(Name::Upper).is_none() {
                    self.jar.emptied = Some(Instant::now());
                }
            }
            Report::Failed { step, errno } => self.fail(Error::Setup {
                step,
                source: std::io::Error::from_raw_os_error(errno),
                hint: None,
            }),
            // Only a keeper is told so, and it does not hand that on.
            Report::Built { .. } => self.nonsense(),
            Report::NoProgram { errno } => self.fail(Error::Program {
                program: self.run.program.clone(),
                source: std::io::Error::from_raw_os_error(errno),
            }),
        }
        Ok(())
    }

    fn nonsense(&mut self) {
        let nonsense = std::io::Error::from(std::io::ErrorKind::InvalidData);
        self.fail(Error::setup("hear from the jar", nonsense));
    }

    /// The first failure is the cause of what comes after it.
    fn fail(&mut self, error: Error) {
        self.failed = self.failed.take().or(Some(error));
    }

    /// The report socket has ended before the pidfd was seen: wait for that, so that the loop does not spin.
    fn wait_for_init(&mut self) -> Result<(), Error> {
        let mut list = [PollFd::new(&self.jar.init, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        match rustix::event::poll(&mut list, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::setup("wait for the jar", error)),
        }
    }

    fn started(&mut self, handed: Option<Handed>) -> Result<(), Error> {
        if let Some(Closed::Unasked(question)) = self.run.gate.take() {
            self.run.gate = Some(gate::ask(question)?);
        }
        let Some(mut handed) = handed else {
            self.nonsense();
            return Ok(());
        };
        self.jar.worker.process = handed.take(Name::Guest).pop();
        let (master, tty) = (
            handed.take(Name::Terminal).pop(),
            self.run.streams.terminal.take(),
        );
        if let (Some(master), Some(tty)) = (master, tty) {
            self.relay = Some(Relay::new(tty, master)?);
        }
        self.jar.handed = handed;
        Ok(())
    }

    /// A template that dies between reaping a worker and telling of it leaves it to the kernel to tell.
    pub(super) fn ask_kernel(&mut self) {
        let (Some(gone), Some(worker), None) = (self.gone, self.jar.worker.stranger(), self.seen.status)
        else {
            return;
        };
        if gone.elapsed() < GONE_TOLD {
            return;
        }
        match pidfd::exit_info(worker) {
            Ok(Some(info)) => self.seen.status = Some(info.status),
            _ if gone.elapsed() > GONE_LOST => {
                self.failed = Some(Error::Lost {
                    process: Process::Worker,
                    how: "nobody can tell how".into(),
                });
            }
            _ => {}
        }
    }
}
