//! One output stream of the guest: forwarded live, kept or dropped, and capped.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::outlet::Outlet;
use crate::error::Error;
use crate::job::{Live, Sink, Which};
use crate::outcome::Captured;

/// What is kept of the end when the middle is dropped; never more than half of the cap.
const TAIL: u64 = 16 << 10;
/// Most bytes taken from a stream at once, so that a flood on one cannot keep the others waiting.
pub(super) const BUFFER: usize = 64 << 10;
/// What is taken at first: most guests say little, and every page that is touched costs a start.
pub(super) const PAGE: usize = 4 << 10;
/// How long to wait for a reader that has no room.
const PAUSE: Duration = Duration::from_millis(2);
/// From one look to the next at a stream whose bytes are dropped. A guest that floods it would otherwise keep two processors
/// busy, its own and the one that reads.
const PACE: Duration = Duration::from_millis(1);

/// An output stream on its way from the guest to the caller.
pub(crate) struct Stream {
    /// The guest's end; `None` once it is at its end.
    source: Option<OwnedFd>,
    /// The guest's end, once all that was in it has been taken.
    spent: Option<OwnedFd>,
    /// Where it goes live; `None` if nowhere, or once the reader is gone.
    sink: Option<Outlet>,
    /// Bytes on their way to the sink. While there are some, nothing more is read: the guest waits for its reader.
    pending: Vec<u8>,
    /// Whether it goes to the job's reader in the place of a sink.
    live: bool,
    keep: bool,
    cap: u64,
    taken: u64,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    /// Not read before.
    paced: Option<Instant>,
    /// Why the sink took no more, when that was not its reader's choice.
    failed: Option<Errno>,
}

impl Stream {
    /// From a descriptor that does not block.
    pub(crate) fn new(source: OwnedFd, sink: Sink, cap: u64) -> Self {
        let live = matches!(sink, Sink::Live);
        let (sink, keep) = match sink {
            Sink::Null => (None, false),
            Sink::Capture => (None, true),
            Sink::Forward(fd) => (Some(Outlet::new(fd)), false),
            Sink::Both(fd) => (Some(Outlet::new(fd)), true),
            Sink::Live => (None, true),
        };
        Self {
            source: Some(source),
            spent: None,
            sink,
            pending: Vec::new(),
            live,
            keep,
            cap,
            taken: 0,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
            paced: None,
            failed: None,
        }
    }

    /// What to wait for next.
    pub(super) fn interest(&self, now: Instant) -> Option<(BorrowedFd<'_>, PollFlags)> {
        if !self.pending.is_empty()
            && let Some(sink) = &self.sink
        {
            return Some((sink.as_fd(), PollFlags::OUT));
        }
        if self.waits() || self.rests(now).is_some() {
            return None;
        }
        self.source.as_ref().map(|source| (source.as_fd(), PollFlags::IN))
    }

    /// For how long it is not read, if it is not.
    pub(super) fn rests(&self, now: Instant) -> Option<Duration> {
        let left = self.paced?.saturating_duration_since(now);
        (!left.is_zero() && self.source.is_some()).then_some(left)
    }

    /// Whether the guest has written nothing yet, as far as was looked.
    pub(super) fn is_untouched(&self) -> bool {
        self.taken == 0
    }

    /// Whether the job's reader has not taken everything yet.
    pub(super) fn waits(&self) -> bool {
        self.live && !self.pending.is_empty()
    }

    /// Offers the job's reader what it has not taken yet.
    pub(super) fn offer(&mut self, which: Which, reader: Option<&mut Live>) {
        if !self.waits() {
            return;
        }
        let taken = match reader {
            Some(Live(reader)) => reader.output(which, &self.pending).min(self.pending.len()),
            None => self.pending.len(),
        };
        self.pending.drain(..taken);
    }

    /// Moves what can be moved without blocking.
    pub(super) fn advance(&mut self, buffer: &mut Vec<u8>) {
        if self.pending.is_empty() {
            self.read(buffer);
        } else {
            self.write();
        }
    }

    fn read(&mut self, buffer: &mut Vec<u8>) {
        let Some(source) = &self.source else { return };
        match rustix::io::read(source, &mut buffer[..]) {
            Ok(0) => self.source = None,
            Ok(length) => {
                self.take(&buffer[..length]);
                grow(buffer, length);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.source = None,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        // The end that is kept is part of the cap, not on top of it.
        let tail = TAIL.min(self.cap / 2);
        let room = (self.cap - tail)
            .saturating_sub(self.taken)
            .min(bytes.len() as u64) as usize;
        self.taken += bytes.len() as u64;
        let (first, rest) = bytes.split_at(room);
        if self.keep {
            self.head.extend_from_slice(first);
        }
        if self.sink.is_some() || self.live {
            self.pending.extend_from_slice(first);
        }
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(tail as usize);
        self.tail.drain(..over);
        self.dropped += over as u64;
        if over > 0 {
            self.paced = Some(Instant::now() + PACE);
        }
    }

    fn write(&mut self) {
        if self.live {
            return;
        }
        let Some(sink) = &self.sink else {
            self.pending.clear();
            return;
        };
        match sink.write(&self.pending) {
            Ok(length) => drop(self.pending.drain(..length)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => {
                // A terminal that was closed answers EIO; a full disk is a loss that the caller must hear of.
                if !matches!(error, Errno::PIPE | Errno::IO) {
                    self.failed = Some(error);
                }
                // The reader is gone: the guest shall learn it as it would outside, by SIGPIPE.
                self.sink = None;
                self.pending.clear();
                if !self.keep {
                    self.source = None;
                }
            }
        }
    }

    /// Takes the rest, once every writer is gone.
    pub(super) fn drain(
        &mut self,
        buffer: &mut Vec<u8>,
        which: Which,
        reader: Option<&mut Live>,
        ended: &mut dyn FnMut() -> bool,
    ) {
        if self.live {
            return self.drain_live(buffer, which, reader, ended);
        }
        while self.source.is_some() || (!self.pending.is_empty() && self.sink.is_some()) {
            if self.pending.is_empty() {
                let before = self.taken;
                self.read(buffer);
                // Nothing more in the pipe and no writer left to wait for.
                if self.taken == before && self.pending.is_empty() {
                    self.spent = self.source.take();
                }
            } else if !self.wait_for_reader(ended) {
                // The rest is still kept, if anything is.
                self.sink = None;
                self.pending.clear();
            }
        }
        // What was kept of the end follows the head.
        if !self.tail.is_empty() && self.sink.is_some() {
            self.pending = self.tail.iter().copied().collect();
            while !self.pending.is_empty() && self.sink.is_some() {
                if !self.wait_for_reader(ended) {
                    self.sink = None;
                }
            }
        }
    }

    fn drain_live(
        &mut self,
        buffer: &mut Vec<u8>,
        which: Which,
        mut reader: Option<&mut Live>,
        ended: &mut dyn FnMut() -> bool,
    ) {
        loop {
            let before = self.taken;
            if self.pending.is_empty() {
                self.read(buffer);
            }
            if self.pending.is_empty() && self.taken == before {
                self.spent = self.source.take();
                break;
            }
            if !self.deliver(which, reader.as_deref_mut(), ended) {
                reader = None;
            }
        }
        // What was kept of the end follows the head.
        self.pending = self.tail.iter().copied().collect();
        self.deliver(which, reader, ended);
        self.pending.clear();
    }

    /// Waits until the job's reader has taken everything; `false` when the caller gave up waiting.
    fn deliver(
        &mut self,
        which: Which,
        mut reader: Option<&mut Live>,
        ended: &mut dyn FnMut() -> bool,
    ) -> bool {
        loop {
            self.offer(which, reader.as_deref_mut());
            if self.pending.is_empty() {
                return true;
            }
            if ended() {
                self.pending.clear();
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Writes one piece; `false` when the caller gave up waiting for its reader.
    fn wait_for_reader(&mut self, ended: &mut dyn FnMut() -> bool) -> bool {
        let Some(sink) = &self.sink else { return false };
        let step = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        let mut poll = [PollFd::from_borrowed_fd(sink.as_fd(), PollFlags::OUT)];
        match rustix::event::poll(&mut poll, Some(&step)) {
            Ok(0) | Err(_) => !ended(),
            Ok(_) => {
                self.write();
                true
            }
        }
    }

    /// Where it was to go, when nothing has come.
    pub(crate) fn give_back(self) -> Sink {
        match (self.sink, self.keep) {
            _ if self.live => Sink::Live,
            (None, false) => Sink::Null,
            (None, true) => Sink::Capture,
            (Some(outlet), false) => Sink::Forward(outlet.give_back()),
            (Some(outlet), true) => Sink::Both(outlet.give_back()),
        }
    }

    /// What is left of the guest's end, for someone who has time to close it.
    pub(super) fn spent(&mut self) -> Option<OwnedFd> {
        self.spent.take()
    }

    /// What was kept.
    pub(super) fn finish(self) -> Captured {
        Captured {
            head: self.head,
            tail: self.tail.into_iter().collect(),
            dropped: self.dropped,
        }
    }

    /// Why output was lost on its way to the caller.
    pub(super) fn failed(&self) -> Option<Errno> {
        self.failed
    }

    /// Whether bytes were dropped.
    pub(super) fn overflowed(&self) -> bool {
        self.dropped > 0
    }
}

/// What a stream of the guest's goes through.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| Error::setup("make a pipe", error))
}

/// Makes room for more, once a buffer was filled.
pub(super) fn grow(buffer: &mut Vec<u8>, filled: usize) {
    if filled == buffer.len() && filled < BUFFER {
        buffer.resize(BUFFER, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stream_whose_bytes_are_dropped_is_read_at_a_pace() {
        let (source, guest) = rustix::pipe::pipe().unwrap();
        rustix::io::ioctl_fionbio(&source, true).unwrap();
        let mut stream = Stream::new(source, Sink::Capture, 100);
        let mut buffer = vec![0; PAGE];
        let mut say = |bytes: usize, stream: &mut Stream| {
            rustix::io::write(&guest, &vec![b'x'; bytes]).unwrap();
            stream.advance(&mut buffer);
            Instant::now()
        };
        let now = say(100, &mut stream);
        assert!(stream.interest(now).is_some() && stream.rests(now).is_none());
        let now = say(1, &mut stream);
        assert!(stream.interest(now).is_none(), "the first byte is dropped");
        let left = stream.rests(now).unwrap();
        assert!(left <= PACE);
        let then = now + left;
        assert!(stream.interest(then).is_some() && stream.rests(then).is_none());
        // What is left at the end is taken at once.
        rustix::io::write(&guest, &[b'y'; 3000]).unwrap();
        drop(guest);
        stream.drain(&mut vec![0; PAGE], Which::Stdout, None, &mut || false);
        let kept = stream.finish();
        assert_eq!((kept.head.len() + kept.tail.len(), kept.dropped), (100, 3001));
    }
}
