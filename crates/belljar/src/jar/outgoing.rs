//! What is written to the guest runtime: a job, what belongs to it, and leave for more items.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use crate::parcel::{Content, Parcel};
use crate::wire::Kind;

/// Bytes for the guest runtime, as far as they are not written yet. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outgoing {
    bytes: Arc<Vec<u8>>,
    sent: usize,
    /// A descriptor, and the byte that it goes with.
    descriptor: Option<(usize, Arc<OwnedFd>)>,
}

impl Outgoing {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Arc::new(bytes),
            ..Self::default()
        }
    }

    /// Bytes that begin with a descriptor.
    pub(crate) fn with(bytes: Vec<u8>, fd: Option<Arc<OwnedFd>>) -> Self {
        Self {
            descriptor: fd.map(|fd| (0, fd)),
            ..Self::new(bytes)
        }
    }

    /// Adds a parcel: leave for so many items, and the lengths of its parts, as its header. Where its body is a memfd, that
    /// goes with a byte of its own after the header, so that the guest takes it when it is ready to.
    pub(crate) fn parcel(mut self, parcel: &Parcel, items: u64) -> Self {
        let bytes = Arc::make_mut(&mut self.bytes);
        let memory = matches!(parcel.content(), Content::Memory(..));
        let lengths = parcel.lengths();
        let header = 8 * (lengths.len() as u32 + 1);
        bytes.extend(Kind::Parcel.prefix(header, parcel.content().size(), memory));
        bytes.extend(items.to_le_bytes());
        for length in lengths {
            bytes.extend(length.to_le_bytes());
        }
        match parcel.content() {
            Content::Inline(body) => bytes.extend(body),
            Content::Memory(fd, _) => {
                self.descriptor = Some((bytes.len(), fd.clone()));
                bytes.push(0);
            }
        }
        self
    }

    /// A parcel as bytes, if it has a single part and no descriptor: then it can be the body of its job, which is read at
    /// once.
    pub(crate) fn whole_parcel(parcel: &Parcel, items: u64) -> Option<Vec<u8>> {
        let small = parcel.lengths().len() == 1 && matches!(parcel.content(), Content::Inline(_));
        let bytes = || Self::default().parcel(parcel, items).bytes;
        small.then(|| Arc::unwrap_or_clone(bytes()))
    }

    /// Adds leave for so many more items.
    pub(crate) fn more(&mut self, items: u64) {
        self.say(Kind::More, &items.to_le_bytes());
    }

    /// Lets a job begin that waits.
    pub(crate) fn go(&mut self) {
        self.say(Kind::Go, &[]);
    }

    /// Adds a frame.
    fn say(&mut self, kind: Kind, body: &[u8]) {
        if self.is_done() {
            *self = Self::default();
        }
        let bytes = Arc::make_mut(&mut self.bytes);
        bytes.extend(kind.prefix(0, body.len() as u64, false));
        bytes.extend(body);
    }

    /// Whether nothing is left to write.
    pub(crate) fn is_done(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Nobody wants the rest.
    pub(crate) fn give_up(&mut self) {
        self.sent = self.bytes.len();
        self.descriptor = None;
    }

    /// Writes what the socket takes now.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>) -> rustix::io::Result<()> {
        while !self.is_done() {
            let sent = match &self.descriptor {
                Some((at, fd)) if *at == self.sent => send_with(socket, &self.bytes[self.sent..], fd.as_fd())
                    .inspect(|_| self.descriptor = None),
                Some((at, _)) => send_some(socket, &self.bytes[self.sent..*at]),
                None => send_some(socket, &self.bytes[self.sent..]),
            };
            match sent {
                Ok(length) => self.sent += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// No signal comes when the other end is gone.
fn send_some(socket: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], fd: BorrowedFd<'_>) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)
}
