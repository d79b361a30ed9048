//! Messages over a stream socket: lengths, a JSON head, raw parts. Descriptors go with the first bytes.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use belljar_linux::descriptors;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Blobs;

/// Largest message in either direction: files of a job and captured output are in it.
const MAX_MESSAGE: u64 = 1 << 30;
/// Most raw parts of a message.
const MAX_PARTS: u64 = 1 << 20;
/// What a message begins with: how many raw parts there are, and the length of its head.
const FIXED: usize = 16;
/// Most bytes that are taken at once.
const PIECE: usize = 64 << 10;

/// A message: its head, its raw parts, and the descriptors that came with it.
pub(crate) type Message<Head> = (Head, Blobs, Vec<OwnedFd>);

/// Takes some bytes, and the descriptors that come with them.
type Receive = fn(BorrowedFd<'_>, &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)>;

/// Writes a message, and waits for room.
pub(crate) fn send(
    mut socket: &UnixStream,
    head: &impl Serialize,
    blobs: &[Vec<u8>],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let lengths = lengths(&head, blobs);
    let sent = descriptors::send(socket.as_fd(), &lengths, fds)?;
    socket.write_all(&lengths[sent..])?;
    socket.write_all(&head)?;
    blobs.iter().try_for_each(|blob| socket.write_all(blob))
}

/// What a message begins with.
fn lengths(head: &[u8], blobs: &[Vec<u8>]) -> Vec<u8> {
    let all = [blobs.len(), head.len()]
        .into_iter()
        .chain(blobs.iter().map(Vec::len));
    all.flat_map(|length| (length as u64).to_le_bytes()).collect()
}

/// A whole small message.
pub(crate) fn message(head: &impl Serialize, blobs: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(head)?;
    let mut bytes = lengths(&head, blobs);
    bytes.extend(head);
    bytes.extend(blobs.iter().flatten());
    Ok(bytes)
}

/// Collects messages. It never takes a byte of the next one, so that descriptors stay with theirs.
#[derive(Debug)]
pub(crate) struct Inbox {
    socket: UnixStream,
    /// The lengths, as far as they are there.
    lengths: Vec<u8>,
    /// The head and the raw parts, as far as they are there.
    parts: Blobs,
    fds: Vec<OwnedFd>,
}

impl Inbox {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            lengths: Vec::new(),
            parts: Vec::new(),
            fds: Vec::new(),
        }
    }

    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Waits for the next message.
    pub(crate) fn wait<Head: DeserializeOwned>(&mut self) -> io::Result<Message<Head>> {
        loop {
            if let Some(message) = self.take(descriptors::receive)? {
                return Ok(message);
            }
        }
    }

    /// The next message, if all of it is there now.
    pub(crate) fn now<Head: DeserializeOwned>(&mut self) -> io::Result<Option<Message<Head>>> {
        self.take(|socket, bytes| {
            let received = rustix::io::retry_on_intr(|| descriptors::receive_now(socket, bytes));
            Ok(received?)
        })
    }

    /// Takes what there is; `None` when a message is not whole and nothing more comes now.
    fn take<Head: DeserializeOwned>(&mut self, receive: Receive) -> io::Result<Option<Message<Head>>> {
        let mut buffer = Vec::new();
        while let Some(wanted) = self.wanted()? {
            buffer.resize(wanted.min(PIECE), 0);
            match receive(self.socket.as_fd(), &mut buffer) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((length, fds)) => {
                    let part = self.parts.last_mut().unwrap_or(&mut self.lengths);
                    part.extend_from_slice(&buffer[..length]);
                    self.fds.extend(fds);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.lengths.clear();
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        let head = serde_json::from_slice(&parts.next().unwrap_or_default())?;
        Ok(Some((head, parts.collect(), std::mem::take(&mut self.fds))))
    }

    /// How many bytes the lengths, or the part that comes next, still lack; `None` when all is there. Sizes are checked
    /// before anything is kept.
    fn wanted(&mut self) -> io::Result<Option<usize>> {
        let missing = |size: usize, there: usize| size.checked_sub(there).filter(|missing| *missing > 0);
        if let Some(missing) = missing(FIXED, self.lengths.len()) {
            return Ok(Some(missing));
        }
        let count = self.number(0);
        if count > MAX_PARTS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let count = count as usize;
        if let Some(missing) = missing(FIXED + 8 * count, self.lengths.len()) {
            return Ok(Some(missing));
        }
        if self.parts.is_empty() {
            let mut all = (1..count + 2).map(|place| self.number(place));
            let total = all.try_fold(0u64, |total, length| total.checked_add(length));
            if total.is_none_or(|total| total > MAX_MESSAGE) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.parts.push(Vec::new());
        }
        loop {
            let size = self.number(self.parts.len()) as usize;
            let there = self.parts.last().map_or(0, Vec::len);
            if let Some(missing) = missing(size, there) {
                return Ok(Some(missing));
            }
            if self.parts.len() > count {
                return Ok(None);
            }
            self.parts.push(Vec::new());
        }
    }

    /// The number at this place of the lengths.
    fn number(&self, place: usize) -> u64 {
        let bytes = self.lengths[8 * place..].first_chunk().copied();
        u64::from_le_bytes(bytes.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn messages_come_whole_and_keep_their_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut inbox = Inbox::new(theirs);
        assert!(inbox.now::<String>().unwrap().is_none());
        let blobs = [b"first".to_vec(), Vec::new(), vec![7; 3 * PIECE]];
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let (head, sent) = ("one".to_owned(), blobs.clone());
        let sending = std::thread::spawn(move || {
            send(&ours, &head, &sent, &[reader.as_fd()]).unwrap();
            send(&ours, &"two", &[], &[]).unwrap();
            ours
        });
        let (head, parts, fds): Message<String> = inbox.wait().unwrap();
        assert_eq!(
            (head.as_str(), parts.as_slice(), fds.len()),
            ("one", blobs.as_slice(), 1)
        );
        rustix::io::write(&writer, b"x").unwrap();
        assert_eq!(
            rustix::io::read(&fds[0], &mut [0; 1]),
            Ok(1),
            "{}",
            fds[0].as_raw_fd()
        );
        let ours = sending.join().unwrap();
        let (head, parts, fds): Message<String> = inbox.now().unwrap().unwrap();
        assert_eq!((head.as_str(), parts.len(), fds.len()), ("two", 0, 0));
        drop(ours);
        let end = inbox.now::<String>().unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_message_in_single_bytes_is_one_message() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut inbox = Inbox::new(theirs);
        let bytes = message(&"head", &[b"abc".to_vec()]).unwrap();
        for (at, byte) in bytes.iter().enumerate() {
            assert!(inbox.now::<String>().unwrap().is_none(), "{at}");
            ours.write_all(&[*byte]).unwrap();
        }
        let (head, parts, _) = inbox.now::<String>().unwrap().unwrap();
        assert_eq!((head.as_str(), parts), ("head", vec![b"abc".to_vec()]));
    }

    #[test]
    fn sizes_are_refused_before_anything_is_kept() {
        for lengths in [
            vec![MAX_PARTS + 1, 1],
            vec![0, MAX_MESSAGE + 1],
            vec![1, 2, u64::MAX],
        ] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            ours.write_all(&bytes).unwrap();
            let refused = Inbox::new(theirs).now::<String>().unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData, "{lengths:?}");
        }
    }
}
