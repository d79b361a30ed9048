//! The end of a run: the jar is emptied, and what it had already said and printed is taken.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::{descriptors, process};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::{Kill, Watch, Watched};
use crate::error::{Error, Process};
use crate::init::{Report, receive};
use crate::jar::cpu;
use crate::jar::foreign::Foreign;
use crate::jar::gate::Closed;
use crate::jar::run::{Run, Streams};
use crate::jar::stream::{BUFFER, Stream};
use crate::job::Which;
use crate::outcome::Captured;
use crate::pyerror::is_whole_stack;
use crate::talk::Order;

/// How long a guest whose time is up may take to say where it is: two periods of the kernel's processor limit, which may have
/// stopped a busy guest for the rest of one.
const ANSWER: Duration = Duration::from_millis(200);

/// How long to wait for a reader that has no room.
const PAUSE: Duration = Duration::from_millis(2);

impl<'r> Watch<'_, 'r> {
    /// Once the jar is to end: empty it, then take what it had already written.
    pub(super) fn last_words(&mut self) {
        self.make_buffer();
        if self.seen.kill == Some(Kill::Deadline) {
            self.ask_where();
        }
        // A process that is killed along with its init is waited for by nobody, so its figures would be lost.
        if self.seen.kill.is_some() || self.has_value() {
            let roots = self.jar.roots();
            self.seen.cpu_usec = cpu::tree(&roots);
            self.seen.max_rss = self.seen.max_rss.max(cpu::largest(&roots));
        }
        if let Some(sampler) = &self.sampler {
            self.seen.cpu_usec = self.seen.cpu_usec.max(sampler.used);
        }
        if self.jar.quiet().is_err() {
            return;
        }
        while let Ok(Some((report, fds))) = poll_report(&self.jar.report) {
            // There is nobody left to see a terminal.
            self.run.streams.terminal = None;
            let _ = self.told(report, fds);
        }
        while self.decoder.wants() > 0 && self.jar.worker.voice().is_some_and(readable) {
            self.hear();
        }
        self.drain();
        while let Some(relay) = &mut self.relay
            && !relay.is_over()
        {
            relay.advance(PollFlags::OUT, PollFlags::IN);
            if relay.waits() {
                if matches!(self.steer.next(), Some(Order::Interrupt | Order::End)) {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Takes what was printed before the end.
    pub(super) fn drain(&mut self) {
        let (
            steer,
            Streams {
                stdout,
                stderr,
                reader,
                ..
            },
        ) = (&mut *self.steer, &mut self.run.streams);
        // Said once, it holds for both streams.
        let mut over = false;
        let mut ended = || {
            over = over || matches!(steer.next(), Some(Order::Interrupt | Order::End));
            over
        };
        stdout.drain(&mut self.buffer, Which::Stdout, reader.as_mut(), &mut ended);
        stderr.drain(&mut self.buffer, Which::Stderr, reader.as_mut(), &mut ended);
        while !self.messages.is_empty() {
            self.offer();
            if self.messages.is_empty() || matches!(self.steer.next(), Some(Order::Interrupt | Order::End)) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Asks a guest whose time is up where it is; its runtime answers in the place of a frame, or not at all.
    fn ask_where(&mut self) {
        let worker = &self.jar.worker;
        let (Some(guest), Some(control)) = (&worker.process, worker.voice()) else {
            return;
        };
        if !self.decoder.is_empty() || process::signal_last(guest.as_fd()).is_err() {
            return;
        }
        self.buffer.resize(BUFFER, 0);
        let (until, mut length) = (Instant::now() + ANSWER, 0);
        // It comes in pieces of a few letters.
        while !is_whole_stack(&self.buffer[..length])
            && readable_within(control, until.saturating_duration_since(Instant::now()))
        {
            let room = &mut self.buffer[length..];
            let (more, fds) = descriptors::receive_now(control, room).unwrap_or_default();
            fds.into_iter().map(Foreign::new).for_each(drop);
            length += more;
            if more == 0 {
                break;
            }
        }
        if length > 0 {
            self.seen.stuck = Some(String::from_utf8_lossy(&self.buffer[..length]).into_owned());
            self.jar.worker.control = None;
        }
    }

    pub(super) fn finish(mut self) -> Result<Watched<'r>, Error> {
        if self.seen.kill != Some(Kill::Caller) && matches!(self.run.gate, Some(Closed::Asked(_))) {
            // It ended before the answer came, and only the answer tells whether that was its own doing.
            self.gate();
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.has_value() && self.seen.kill.is_none() {
            // It was ended where Python would have exited.
            self.seen.status = Some(0);
        }
        if self.seen.status.is_none() && self.seen.kill.is_none() && !self.memory_ran_out() {
            let how = self
                .jar
                .empty()
                .map(|ended| format!("wait status {:#x}", ended.status))?;
            return Err(Error::Lost {
                process: Process::JarInit,
                how,
            });
        }
        let Run {
            plan,
            since,
            cpu_before,
            inputs,
            collect,
            streams,
            ..
        } = self.run;
        let mut seen = self.seen;
        (seen.stdout, seen.stderr, seen.overflowed) = captured(streams)?;
        Ok(Watched {
            plan,
            since,
            cpu_before,
            inputs,
            collect,
            seen,
        })
    }

    /// Init itself may be what the kernel killed.
    fn memory_ran_out(&self) -> bool {
        self.jar
            .group
            .as_ref()
            .is_some_and(|group| group.stats().oom_kills > 0)
    }
}

/// What was kept of both output streams, and whether more was dropped.
pub(super) fn captured(streams: Streams) -> Result<(Captured, Captured, bool), Error> {
    let Streams { stdout, stderr, .. } = streams;
    // Checked before a draft is applied: a run whose output is lost did not end well.
    for (name, stream) in [("stdout", &stdout), ("stderr", &stderr)] {
        if let Some(error) = stream.failed() {
            return Err(Error::setup(
                format!("write what the guest printed to {name}"),
                error,
            ));
        }
    }
    let overflowed = Stream::overflowed(&stdout) || Stream::overflowed(&stderr);
    Ok((stdout.finish(), stderr.finish(), overflowed))
}

fn readable(fd: BorrowedFd<'_>) -> bool {
    readable_within(fd, Duration::ZERO)
}

fn readable_within(fd: BorrowedFd<'_>, wait: Duration) -> bool {
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    let mut list = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    rustix::event::poll(&mut list, Some(&wait)).is_ok_and(|ready| ready > 0)
}

fn poll_report(report: &OwnedFd) -> std::io::Result<Option<(Report, Vec<OwnedFd>)>> {
    if readable(report.as_fd()) {
        receive(report.as_fd())
    } else {
        Ok(None)
    }
}
