//! What is said between the watch and the guest runtime. All that comes is hostile.

use std::os::fd::OwnedFd;

use belljar_linux::descriptors;
use rustix::event::PollFlags;
use rustix::io::Errno;

use super::Watch;
use crate::jar::Parent;
use crate::jar::foreign::Foreign;
use crate::jar::run::Streams;
use crate::jar::stream::grow;
use crate::jar::word::{self, WordError};
use crate::job::{About, Live, Message, Which};
use crate::wire::{Frame, Kind};

impl Watch<'_, '_> {
    pub(super) fn control(&mut self, events: PollFlags) {
        if events.contains(PollFlags::OUT) {
            self.send();
        }
        if events.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.hear();
        }
    }

    /// Writes as much as the guest's socket takes.
    pub(super) fn send(&mut self) {
        let outgoing = &mut self.run.outgoing;
        if let Some(control) = self.jar.worker.voice()
            && outgoing.send(control).is_err()
        {
            // The worker is gone, and its end will be told; or it does not want the rest.
            outgoing.give_up();
        }
    }

    /// Offers the job's reader what there is for it.
    pub(super) fn offer(&mut self) {
        let Streams {
            stdout,
            stderr,
            reader,
            ..
        } = &mut self.run.streams;
        stdout.offer(Which::Stdout, reader.as_mut());
        stderr.offer(Which::Stderr, reader.as_mut());
        while let Some(message) = self.messages.pop_front() {
            // Output that was printed before a message is read before it, as far as it has been seen.
            if let Some(Live(reader)) = reader
                && let Err(message) = reader.message(message)
            {
                self.messages.push_front(message);
                return;
            }
        }
    }

    /// Whether the reader has had no room for something.
    pub(super) fn is_waiting_for_reader(&self) -> bool {
        !self.messages.is_empty() || self.run.streams.stdout.waits() || self.run.streams.stderr.waits()
    }

    pub(super) fn hear(&mut self) {
        self.make_buffer();
        let Some(control) = self.jar.worker.voice() else {
            return;
        };
        // A whole small frame in one read; what comes after the last one is the decoder's to ignore.
        match descriptors::receive_now(control, &mut self.buffer) {
            Ok((0, _)) => self.jar.worker.control = None,
            Ok((length, fds)) => {
                self.begun = true;
                if let Err(error) = self.take(length, fds) {
                    tracing::debug!(%error, "the guest sent no frame");
                    self.jar.worker.control = None;
                }
                grow(&mut self.buffer, length);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => {
                // The kernel says so when the other end goes with unread bytes, and a job is read whole before it runs.
                let parked = self.jar.worker.parent == Parent::Template;
                self.unread = parked && error == Errno::CONNRESET && !self.has_begun();
                self.jar.worker.control = None;
            }
        }
    }

    /// Takes what was read: bytes of frames, and the descriptor of one.
    fn take(&mut self, length: usize, fds: Vec<OwnedFd>) -> Result<(), WordError> {
        let fds: Vec<Foreign> = fds.into_iter().map(Foreign::new).collect();
        if fds.len() + usize::from(self.descriptor.is_some()) > 1 {
            return Err(WordError::Descriptor);
        }
        self.descriptor = fds.into_iter().next().or(self.descriptor.take());
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = &buffer[..length];
        let mut taken = Ok(());
        while taken.is_ok() && self.decoder.wants() > 0 && !rest.is_empty() {
            let (part, after) = rest.split_at(self.decoder.wants().min(rest.len()));
            rest = after;
            taken = match self.decoder.push(part) {
                Ok(Some(frame)) => self.frame(frame),
                Ok(None) => Ok(()),
                Err(error) => Err(error.into()),
            };
        }
        self.buffer = buffer;
        // It comes with the first byte of its frame.
        if taken.is_ok() && self.descriptor.is_some() && self.decoder.is_empty() {
            return Err(WordError::Descriptor);
        }
        taken
    }

    /// One whole frame.
    fn frame(&mut self, mut frame: Frame) -> Result<(), WordError> {
        let descriptor = frame.descriptor.and_then(|_| self.descriptor.take());
        let (parcel, refused) = word::open(&mut frame, descriptor)?;
        match frame.kind {
            Kind::Item => {
                self.run.leave = self.run.leave.checked_sub(1).ok_or(WordError::Item)?;
                let about = About::Item;
                self.messages
                    .extend(parcel.map(|parcel| Message { about, parcel }));
            }
            Kind::Returned | Kind::Raised | Kind::Exited => {
                self.seen.frame = Some(frame);
                (self.seen.parcel, self.seen.refused) = (parcel, refused);
            }
            // The decoder refuses what a guest does not say while its job runs.
            Kind::Parked | Kind::Failed | Kind::Listener => {}
            Kind::Job | Kind::More | Kind::Parcel | Kind::Go => {}
        }
        Ok(())
    }
}
