//! What the client is told. Frames go out at once where the socket takes them; otherwise they wait in a queue of bounded
//! weight, and so do those who would add to it: a client that does not read makes jobs wait, not the agent grow.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belljar::agent::{BufferError, INLINE, Kind, MAX_HEADER, encode, join, sealed_buffer};
use belljar::parcel::Content;
use belljar_linux::caller;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

/// Most bytes that wait, bodies in descriptors counted. One frame alone may be heavier.
const MOST: u64 = 8 << 20;
/// A pause where another descriptor would be one too many.
const PAUSE: Duration = Duration::from_millis(1);

/// One frame on its way.
#[derive(Debug)]
pub struct Letter {
    bytes: Vec<u8>,
    sent: usize,
    descriptor: Option<Arc<OwnedFd>>,
    weight: u64,
}

/// Why a frame cannot be made.
#[derive(Debug)]
pub enum Unsent {
    /// Its body or header is over the cap.
    TooLarge,
    /// Its body cannot be put into a descriptor.
    Buffer(BufferError),
}

impl Letter {
    /// A frame whose header is small by its nature.
    pub fn small(kind: Kind, id: u64, header: &impl serde::Serialize) -> Self {
        // These are plain data: they always have a JSON form.
        let header = serde_json::to_vec(header).unwrap_or_default();
        Self::of(encode(kind, id, &header, b"", None), None, 0)
    }

    /// A frame with a body of raw parts.
    pub fn new(kind: Kind, id: u64, header: &impl serde::Serialize, parts: &[&[u8]]) -> Result<Self, Unsent> {
        let header = serde_json::to_vec(header).unwrap_or_default();
        if header.len() > MAX_HEADER as usize {
            return Err(Unsent::TooLarge);
        }
        let sum: u64 = parts.iter().map(|part| part.len() as u64).sum();
        if sum < INLINE
            && let Some(body) = join(parts)
            && (body.len() as u64) < INLINE
        {
            return Ok(Self::of(encode(kind, id, &header, &body, None), None, 0));
        }
        let (fd, size) = sealed_buffer(parts)
            .map_err(Unsent::Buffer)?
            .ok_or(Unsent::TooLarge)?;
        Ok(Self::of(
            encode(kind, id, &header, b"", Some(size)),
            Some(Arc::new(fd)),
            size,
        ))
    }

    /// A frame whose body is there already, in memory or in a descriptor that is handed on.
    pub fn whole(
        kind: Kind,
        id: u64,
        header: &impl serde::Serialize,
        content: Content,
    ) -> Result<Self, Unsent> {
        let header = serde_json::to_vec(header).unwrap_or_default();
        if header.len() > MAX_HEADER as usize {
            return Err(Unsent::TooLarge);
        }
        Ok(match content {
            Content::Inline(body) => Self::of(encode(kind, id, &header, &body, None), None, 0),
            Content::Memory(fd, size) => Self::of(encode(kind, id, &header, b"", Some(size)), Some(fd), size),
        })
    }

    fn of(bytes: Vec<u8>, descriptor: Option<Arc<OwnedFd>>, size: u64) -> Self {
        Self {
            weight: bytes.len() as u64 + size,
            bytes,
            sent: 0,
            descriptor,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Letter>,
    weight: u64,
    /// Bytes in descriptors that the socket has taken and the client may not have. The socket's own limit does not know
    /// of them: it would hold hundreds.
    afloat: u64,
    /// Nothing more goes out.
    over: bool,
}

/// How far a frame came.
enum Step {
    Sent,
    Full,
    Crowded,
    Broken,
}

/// The way to the client.
#[derive(Debug)]
pub struct Outbox {
    socket: UnixStream,
    state: Mutex<State>,
    room: Condvar,
    some: Condvar,
}

impl Outbox {
    /// Writes to this socket.
    pub fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            state: Mutex::default(),
            room: Condvar::new(),
            some: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a frame, or waits until there is room for it to wait. Once the client is gone it is dropped.
    pub fn send(&self, letter: Letter) {
        let mut state = self.lock();
        while !state.over && state.weight > 0 && state.weight + letter.weight > MOST {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.put(state, letter);
    }

    /// As [`Outbox::send`], but a frame that would have to wait for room is dropped; gives whether it was not.
    pub fn offer(&self, letter: Letter) -> bool {
        let state = self.lock();
        let room = state.over || state.weight == 0 || state.weight + letter.weight <= MOST;
        if room {
            self.put(state, letter);
        }
        room
    }

    fn put(&self, mut state: MutexGuard<'_, State>, mut letter: Letter) {
        if state.over {
            return;
        }
        if state.queue.is_empty() {
            // No thread is woken for a frame that the socket takes now.
            match self.write(&mut state.afloat, &mut letter) {
                Step::Sent => return,
                Step::Broken => return self.break_off(&mut state),
                Step::Full | Step::Crowded => {}
            }
        }
        state.weight += letter.weight;
        state.queue.push_back(letter);
        self.some.notify_one();
    }

    /// Sends what waits, for as long as there is a client.
    pub fn carry(&self) {
        loop {
            let mut state = self.lock();
            while state.queue.is_empty() {
                if state.over {
                    return;
                }
                state = self.some.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            drop(state);
            let mut poll = [PollFd::new(&self.socket, PollFlags::OUT)];
            let _ = rustix::event::poll(&mut poll, None);
            if self.flush() {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Sends what the socket takes now; gives whether the kernel wants a pause.
    fn flush(&self) -> bool {
        let mut state = self.lock();
        loop {
            let State {
                queue,
                afloat,
                weight,
                ..
            } = &mut *state;
            let Some(letter) = queue.front_mut() else {
                return false;
            };
            match self.write(afloat, letter) {
                Step::Sent => {
                    *weight -= letter.weight;
                    queue.pop_front();
                    self.room.notify_all();
                }
                Step::Full => return false,
                Step::Crowded => return true,
                Step::Broken => {
                    self.break_off(&mut state);
                    return false;
                }
            }
        }
    }

    fn break_off(&self, state: &mut State) {
        state.over = true;
        state.queue.clear();
        state.weight = 0;
        self.room.notify_all();
        self.some.notify_all();
    }

    fn write(&self, afloat: &mut u64, letter: &mut Letter) -> Step {
        if letter.descriptor.is_some() && *afloat > 0 && *afloat + letter.weight > MOST {
            match caller::unread(self.socket.as_fd()) {
                Ok(0) => *afloat = 0,
                Ok(_) => return Step::Crowded,
                Err(_) => return Step::Broken,
            }
        }
        while letter.sent < letter.bytes.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let fds: Vec<_> = letter.descriptor.iter().map(AsFd::as_fd).collect();
            if !fds.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(&fds));
            }
            let sent = rustix::net::sendmsg(
                &self.socket,
                &[IoSlice::new(&letter.bytes[letter.sent..])],
                &mut control,
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            );
            match sent {
                Ok(length) => {
                    letter.sent += length;
                    // It went with the first byte.
                    if letter.descriptor.take().is_some() {
                        *afloat += letter.weight;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Step::Full,
                Err(Errno::TOOMANYREFS | Errno::NOBUFS | Errno::NOMEM) => return Step::Crowded,
                Err(_) => return Step::Broken,
            }
        }
        Step::Sent
    }

    /// Waits until everything is out, or for so long; nothing goes out afterwards.
    pub fn finish(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        while !state.queue.is_empty() && !state.over {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.room.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.break_off(&mut state);
    }

    /// Bytes that wait.
    pub fn weight(&self) -> u64 {
        self.lock().weight
    }
}
