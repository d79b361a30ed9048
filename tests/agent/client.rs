//! A client: frames out, frames in, and nothing that an agent could rely on.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use belljar::agent::{
    Decoder, INLINE, Kind, PROTOCOL, check_buffer, cut, encode, join, read_buffer, sealed_buffer,
};
use serde_json::{Value, json};

/// An agent that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// One frame of the agent's.
#[derive(Debug)]
pub struct Heard {
    /// What it says.
    pub kind: Kind,
    /// The request that it answers.
    pub id: u64,
    /// Its header.
    pub header: Value,
    /// Its body, wherever it came from.
    pub body: Vec<u8>,
    /// Whether the body came as a descriptor.
    pub by_descriptor: bool,
}

impl Heard {
    /// The parts of the body.
    pub fn parts(&self) -> Vec<&[u8]> {
        let lengths: Vec<u64> = serde_json::from_value(self.header["parts"].clone()).expect("lengths");
        let places = cut(&lengths, self.body.len() as u64).expect("parts that fit");
        places.into_iter().map(|place| &self.body[place]).collect()
    }

    /// The document of an outcome.
    #[track_caller]
    pub fn document(&self) -> Value {
        assert_eq!(self.kind, Kind::Outcome, "{self:?}");
        serde_json::from_slice(self.parts()[0]).expect("a document")
    }

    /// The value of an outcome.
    #[track_caller]
    pub fn value(&self) -> Value {
        let document = self.document();
        serde_json::from_slice(self.parts()[1]).unwrap_or_else(|error| panic!("{error}: {document}"))
    }

    /// What an outcome has of standard output.
    #[track_caller]
    pub fn stdout(&self) -> String {
        self.document();
        String::from_utf8_lossy(&[self.parts()[2], self.parts()[3]].concat()).into_owned()
    }
}

/// A client and its agent.
#[derive(Debug)]
pub struct Client {
    socket: UnixStream,
    /// The agent's process.
    pub agent: Child,
    decoder: Decoder,
    descriptors: VecDeque<OwnedFd>,
    early: VecDeque<Heard>,
    next: u64,
}

impl Client {
    /// Starts an agent that runs at most so many jobs at once; nothing is said yet.
    pub fn silent(jobs: usize) -> Self {
        let (ours, agents) = UnixStream::pair().expect("a socket pair");
        ours.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let agent = Command::new(std::env::var_os("BELLJAR_BIN").expect("BELLJAR_BIN"))
            .args(["agent", "--jobs", &jobs.to_string()])
            .env("SECRET_OF_CLIENT", "agent must not have this")
            .stdin(OwnedFd::from(agents))
            .stdout(Stdio::null())
            .spawn()
            .expect("an agent");
        Self {
            socket: ours,
            agent,
            decoder: Decoder::default(),
            descriptors: VecDeque::new(),
            early: VecDeque::new(),
            next: 0,
        }
    }

    /// Starts an agent and exchanges versions.
    pub fn new() -> Self {
        Self::with_jobs(64)
    }

    /// As [`Client::new`], with a bound on jobs.
    pub fn with_jobs(jobs: usize) -> Self {
        let mut client = Self::silent(jobs);
        client.hello();
        let welcome = client.hear().expect("a welcome");
        assert_eq!((welcome.kind, welcome.id), (Kind::Welcome, 0), "{welcome:?}");
        assert_eq!(welcome.header["pid"], client.agent.id());
        client
    }

    /// Says hello, as every client should.
    pub fn hello(&self) {
        let hello =
            json!({"protocol": PROTOCOL, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id()});
        self.say(Kind::Hello, 0, &hello, &[]);
    }

    /// A fresh id.
    pub fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Sends a frame whose body is made of these parts.
    pub fn say(&self, kind: Kind, id: u64, header: &Value, parts: &[&[u8]]) {
        let header = header.to_string();
        let body = join(parts).expect("a body within the cap");
        if (body.len() as u64) < INLINE {
            return self.raw(&encode(kind, id, header.as_bytes(), &body, None), &[]);
        }
        let (fd, size) = sealed_buffer(parts).expect("a memfd").expect("within the cap");
        self.raw(
            &encode(kind, id, header.as_bytes(), b"", Some(size)),
            &[fd.as_fd()],
        );
    }

    /// Sends these bytes, with these descriptors.
    pub fn raw(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
        let sent =
            belljar_linux::descriptors::send(self.socket.as_fd(), bytes, fds).expect("an agent that reads");
        (&self.socket)
            .write_all(&bytes[sent..])
            .expect("an agent that reads");
    }

    /// As [`Client::raw`], to an agent that may have hung up.
    pub fn try_raw(&self, bytes: &[u8]) {
        let _ = (&self.socket).write_all(bytes);
    }

    /// The next frame; none when the agent has hung up.
    pub fn hear(&mut self) -> Option<Heard> {
        if let Some(heard) = self.early.pop_front() {
            return Some(heard);
        }
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(frame) = self.decoder.next_frame().expect("frames from the agent") {
                assert!(!frame.kind.is_request(), "{frame:?}");
                let by_descriptor = frame.descriptor.is_some();
                let body = match frame.descriptor {
                    None => frame.body,
                    Some(size) => {
                        assert!(size >= INLINE);
                        let fd = self.descriptors.pop_front().expect("a descriptor");
                        check_buffer(fd.as_fd(), size).expect("a sealed memfd");
                        read_buffer(fd.as_fd(), 0..size as usize).expect("its bytes")
                    }
                };
                let header = serde_json::from_slice(&frame.header).expect("a header");
                return Some(Heard {
                    kind: frame.kind,
                    id: frame.id,
                    header,
                    body,
                    by_descriptor,
                });
            }
            let (length, fds) = match belljar_linux::descriptors::receive(self.socket.as_fd(), &mut piece) {
                Ok((0, _)) => return None,
                Ok(got) => got,
                Err(error) => panic!("nothing from the agent: {error}"),
            };
            self.descriptors.extend(fds);
            self.decoder.push(&piece[..length]);
        }
    }

    /// Whether a frame is there, or comes soon.
    pub fn has_more(&mut self) -> bool {
        let soon = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 200_000_000,
        };
        let mut poll = [rustix::event::PollFd::new(
            &self.socket,
            rustix::event::PollFlags::IN,
        )];
        !self.decoder.is_between() || rustix::event::poll(&mut poll, Some(&soon)) == Ok(1)
    }

    /// The next frame with this id; others are kept for later.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Heard {
        let mut others = VecDeque::new();
        let found = loop {
            let heard = self.hear().expect("an answer");
            if heard.id == id {
                break heard;
            }
            others.push_back(heard);
        };
        others.append(&mut self.early);
        self.early = others;
        found
    }

    /// Opens a sandbox.
    #[track_caller]
    pub fn open(&mut self, policy: &Value) -> u64 {
        let id = self.id();
        self.say(Kind::Open, id, &json!({ "policy": policy }), &[]);
        let opened = self.answer(id);
        assert_eq!(opened.kind, Kind::Opened, "{opened:?}");
        id
    }

    /// Starts a job of Python code, with more in its header.
    pub fn code(&mut self, sandbox: u64, source: &str, more: &Value) -> u64 {
        let mut header = json!({"sandbox": sandbox, "kind": "code", "parts": [source.len()]});
        add(&mut header, more);
        let id = self.id();
        self.say(Kind::Job, id, &header, &[source.as_bytes()]);
        id
    }

    /// Starts a call with one argument.
    pub fn call(&mut self, sandbox: u64, function: &str, argument: &Value, more: &Value) -> u64 {
        let arguments = json!({"args": [argument], "kwargs": {}}).to_string();
        let mut header =
            json!({"sandbox": sandbox, "kind": "call", "parts": [function.len(), arguments.len()]});
        add(&mut header, more);
        let id = self.id();
        self.say(
            Kind::Job,
            id,
            &header,
            &[function.as_bytes(), arguments.as_bytes()],
        );
        id
    }

    /// Hangs up and waits for the agent's end.
    #[track_caller]
    pub fn finish(mut self) {
        self.socket
            .shutdown(std::net::Shutdown::Both)
            .expect("to hang up");
        self.gone();
    }

    /// Waits for the agent's end, which must come soon.
    #[track_caller]
    pub fn gone(&mut self) {
        let since = Instant::now();
        while self.agent.try_wait().expect("to wait").is_none() {
            assert!(since.elapsed() < Duration::from_secs(120), "the agent stays");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The one error that ends a connection, and its end.
    #[track_caller]
    pub fn last_error(mut self) -> Value {
        let last = self.hear().expect("an error");
        assert_eq!((last.kind, last.id), (Kind::Error, 0), "{last:?}");
        assert!(self.hear().is_none(), "nothing follows");
        self.gone();
        last.header
    }
}

fn add(header: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        header[key] = value.clone();
    }
}
