//! What a watch waits for, and for how long.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::Watch;
use crate::error::Error;
use crate::jar::gate::Closed;

/// How often processor time is looked at when it is limited.
const CPU_LOOK: Duration = Duration::from_millis(20);
/// How often the kernel is asked how a worker ended: it knows when the worker has been reaped.
const GONE_LOOK: Duration = Duration::from_millis(2);

/// How often a reader that had no room is asked again.
const OFFER: Duration = Duration::from_millis(2);

/// Everything that is polled, in the order of the poll list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Init,
    Report,
    Worker,
    Control,
    Gate,
    Stdin,
    Stdout,
    Stderr,
    Memory,
    Caller,
    Tty,
    Master,
}

impl Watch<'_, '_> {
    pub(super) fn poll(&self) -> Result<Vec<(Source, PollFlags)>, Error> {
        // One time for both: a stream that is not asked for must have its share in how long to wait.
        let now = Instant::now();
        let mut wanted: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::with_capacity(10);
        wanted.push((Source::Init, self.jar.init.as_fd(), PollFlags::IN));
        wanted.push((Source::Report, self.jar.report.as_fd(), PollFlags::IN));
        if let Some(worker) = self.jar.worker.stranger().filter(|_| self.gone.is_none()) {
            wanted.push((Source::Worker, worker, PollFlags::IN));
        }
        let mut control = PollFlags::empty();
        control.set(
            PollFlags::IN,
            self.decoder.wants() > 0 && self.messages.is_empty(),
        );
        control.set(
            PollFlags::OUT,
            !self.run.outgoing.is_done() && self.run.gate.is_none(),
        );
        if !control.is_empty() {
            wanted.extend(self.jar.worker.voice().map(|fd| (Source::Control, fd, control)));
        }
        match &self.run.gate {
            // What the caller has typed is left alone as long as it may have to be given to another.
            Some(Closed::Asked(answer)) => wanted.push((Source::Gate, answer.as_fd(), PollFlags::IN)),
            Some(Closed::Unasked(_)) => {}
            None => wanted.extend(
                self.run
                    .streams
                    .input
                    .interest()
                    .map(|(fd, flags)| (Source::Stdin, fd, flags)),
            ),
        }
        wanted.extend(
            self.run
                .streams
                .stdout
                .interest(now)
                .map(|(fd, flags)| (Source::Stdout, fd, flags)),
        );
        wanted.extend(
            self.run
                .streams
                .stderr
                .interest(now)
                .map(|(fd, flags)| (Source::Stderr, fd, flags)),
        );
        wanted.extend(
            self.jar
                .memory
                .as_ref()
                .map(|oom| (Source::Memory, oom.as_fd(), oom.poll_flags())),
        );
        wanted.extend(self.steer.fd().map(|fd| (Source::Caller, fd, PollFlags::IN)));
        if let Some(relay) = &self.relay {
            let [(tty, caller), (master, guest)] = relay.interest();
            wanted.push((Source::Tty, tty, caller));
            if !relay.is_over() {
                wanted.push((Source::Master, master, guest));
            }
        }
        let mut list: Vec<PollFd<'_>> = wanted
            .iter()
            .map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
            .collect();
        match rustix::event::poll(&mut list, self.patience(now).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::setup("wait for the jar", error)),
        }
        // Init last: what came before its end is dealt with first.
        let mut ready: Vec<(Source, PollFlags)> = list
            .iter()
            .zip(&wanted)
            .filter(|(poll, _)| !poll.revents().is_empty())
            .map(|(poll, (source, ..))| (*source, poll.revents()))
            .collect();
        let init_ended = ready.first().is_some_and(|(source, _)| *source == Source::Init);
        ready.rotate_left(usize::from(init_ended));
        Ok(ready)
    }

    /// How long to wait at most.
    fn patience(&self, now: Instant) -> Option<Timespec> {
        let until = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(now));
        let sampled = self
            .sampler
            .as_ref()
            .map(|sampler| sampler.next.saturating_duration_since(now));
        let look = self.cpu_limit.map(|_| sampled.unwrap_or(CPU_LOOK));
        let gone = self
            .gone
            .filter(|_| self.seen.status.is_none())
            .map(|_| GONE_LOOK);
        let holder = self.look.map(|look| look.saturating_duration_since(now));
        let flood = [&self.run.streams.stdout, &self.run.streams.stderr]
            .into_iter()
            .filter_map(|stream| stream.rests(now))
            .min();
        let offer = self.is_waiting_for_reader().then_some(OFFER);
        let least = [until, look, holder, gone, flood, offer]
            .into_iter()
            .flatten()
            .min();
        // Rounded up, so that the deadline has passed when the wait is over.
        least.map(|least| Timespec {
            tv_sec: least.as_secs() as i64,
            tv_nsec: i64::from(least.subsec_nanos()),
        })
    }
}
