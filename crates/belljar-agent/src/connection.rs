//! The connection: versions first, then requests in any number, and an end that takes everything along.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use belljar::agent::{
    self, Close, Fault, Frame, Hello, Kind, MAX_ITEMS, More, Open, Opened, PROTOCOL, Parse, check_buffer, cut,
};
use belljar::pool::Keep;
use belljar::pyerror::{HintContext, PythonError, hint};
use belljar::tree::Tree;
use belljar::{Policy, Pool, Sandbox};
use belljar_linux::caller::Peer;
use belljar_linux::process::exit_now;
use rustix::event::{PollFd, PollFlags};
use serde::de::DeserializeOwned;

use crate::answer::{self, error, fault, of_error};
use crate::crew::{Crew, Given, MOST_WAITING, Read, Task};
use crate::inbox::{End, Inbox};
use crate::jobs::Jobs;
use crate::outbox::{Letter, Outbox};
use crate::rooms::Rooms;
use crate::start::StartError;
use crate::warm::Warming;
use crate::work::{Body, Request, cancelled, work};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long jobs that were killed may take to tidy up before the agent ends without them.
const PATIENCE: Duration = Duration::from_millis(400);
/// The same for the pool. It is long: once the pool has closed its cabinets, nobody but the agent removes the cgroups that it made.
const POOL_PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of a text that is looked through for an exception, which is as much as is looked at.
const MAX_TEXT: u64 = 1 << 20;
/// How long a client may take to read the last frame.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Everything that the agent owns.
pub struct Agent {
    /// The way to the client.
    pub outbox: Arc<Outbox>,
    /// Jobs without an answer.
    pub jobs: Jobs,
    /// Open sandboxes.
    pub rooms: Rooms,
    /// Requests for warm workers.
    pub warming: Warming,
    crew: Arc<Crew>,
    /// None once the agent is ending.
    pool: Mutex<Option<Pool>>,
    /// Held by whoever ends the agent first, to the last.
    ending: Mutex<()>,
}

/// Serves one client until it is gone, and ends this process with everything that it owns.
pub fn serve(socket: UnixStream, client: Peer, most: usize) -> Result<i32, StartError> {
    let cannot = |cause: std::io::Error| StartError::Step { step: "serve", cause };
    let agent = Arc::new(Agent {
        outbox: Arc::new(Outbox::new(socket.try_clone().map_err(cannot)?)),
        jobs: Jobs::default(),
        rooms: Rooms::default(),
        warming: Warming::default(),
        crew: Arc::new(Crew::new(most)),
        pool: Mutex::new(Some(
            Pool::builder()
                .max_workers(most)
                .queue(MOST_WAITING)
                .cold_first(true)
                .build()?,
        )),
        ending: Mutex::default(),
    });
    let outbox = agent.outbox.clone();
    std::thread::Builder::new()
        .spawn(move || outbox.carry())
        .map_err(cannot)?;
    let (watched, pid) = (agent.clone(), client.pid);
    std::thread::Builder::new()
        .spawn(move || {
            wait_for_end(&client);
            watched.end()
        })
        .map_err(cannot)?;
    let mut inbox = Inbox::new(socket);
    if let Err(end) = agent.hear_first(&mut inbox, pid) {
        agent.leave(end);
    }
    let (crew, inbox) = (agent.crew.clone(), Mutex::new(inbox));
    let read: Arc<Read> = Arc::new(move || {
        let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        agent.next_task(&mut inbox).unwrap_or_else(|end| agent.leave(end))
    });
    crew.serve(&read);
    // Others read and run jobs; whoever sees the end ends this process.
    loop {
        std::thread::park();
    }
}

/// Returns when the client is gone, whoever else holds a copy of its end of the socket.
fn wait_for_end(client: &Peer) {
    let mut poll = [PollFd::new(&client.pidfd, PollFlags::IN)];
    while rustix::event::poll(&mut poll, None) != Ok(1) {}
}

/// What ends the connection; nothing, when the client closed it.
fn last_word(end: End) -> Option<Fault> {
    match end {
        End::Closed => None,
        End::Frame(error) => Some(fault("protocol", error.to_string(), None)),
        End::Descriptor(what) => Some(fault("protocol", what, None)),
        End::System(error) => Some(fault("protocol", format!("cannot read: {error}"), None)),
    }
}

impl Agent {
    /// The pool, for a job of its own.
    pub fn pool(&self) -> Option<Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends every job, gives jobs and pool a moment to tidy up, and ends this process. Wardens that are left end by
    /// themselves when their socket does.
    fn end(&self) -> ! {
        let _alone = self.ending.lock();
        self.jobs.kill();
        self.outbox.finish(Duration::ZERO);
        self.crew.finish(PATIENCE);
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (done, ended) = mpsc::channel::<()>();
        let dropped = std::thread::Builder::new().spawn(move || {
            drop(pool);
            drop(done);
        });
        if dropped.is_ok() {
            let _ = ended.recv_timeout(POOL_PATIENCE);
        }
        exit_now(0)
    }

    /// Tells the client why this is the end, if it is there to hear it.
    fn leave(&self, end: Option<Fault>) -> ! {
        if let Some(last) = end {
            self.outbox.send(error(0, &last));
            self.outbox.finish(LAST_WORD);
        }
        self.end()
    }

    fn hear_first(&self, inbox: &mut Inbox, client: u32) -> Result<(), Option<Fault>> {
        match inbox.next() {
            Ok((frame, None)) => Ok(self.greet(&frame, client)?),
            Ok((_, Some(_))) => Err(Some(protocol("the first frame has a descriptor"))),
            Err(end) => Err(last_word(end)),
        }
    }

    /// Takes requests until one of them is a job for this thread; or why nothing more can be read.
    fn next_task(self: &Arc<Self>, inbox: &mut Inbox) -> Result<Task, Option<Fault>> {
        loop {
            let (frame, descriptor) = inbox.next().map_err(last_word)?;
            if let Some(task) = self.take(frame, descriptor)? {
                return Ok(task);
            }
        }
    }

    /// Exchanges versions.
    fn greet(&self, frame: &Frame, client: u32) -> Result<(), Fault> {
        if frame.kind != Kind::Hello {
            return Err(protocol("the first frame is no hello"));
        }
        let hello: Hello = serde_json::from_slice(&frame.header)
            .map_err(|error| protocol(format!("the hello cannot be read: {error}")))?;
        if hello.protocol != PROTOCOL || hello.version != VERSION {
            return Err(fault(
                "version",
                format!(
                    "the client is version {} with protocol {}, and this agent is version {VERSION} with protocol {PROTOCOL}",
                    hello.version, hello.protocol
                ),
                Some("install the package and the binary of one version"),
            ));
        }
        if hello.pid.is_some_and(|pid| pid != client) {
            return Err(fault(
                "client",
                format!(
                    "the client says that it is process {}, and process {client} made the socket pair",
                    hello.pid.unwrap_or_default()
                ),
                Some("a forked process starts an agent of its own"),
            ));
        }
        let welcome = Hello {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            pid: Some(std::process::id()),
        };
        self.outbox.send(Letter::small(Kind::Welcome, 0, &welcome));
        Ok(())
    }

    /// Takes one request; gives what this thread is to run. What is wrong with it alone is its answer; an error here is
    /// the end.
    fn take(self: &Arc<Self>, frame: Frame, descriptor: Option<OwnedFd>) -> Result<Option<Task>, Fault> {
        let id = frame.id;
        let answered = match frame.kind {
            Kind::Cancel | Kind::Interrupt => {
                self.steer(&frame);
                Ok(None)
            }
            Kind::More => return self.more(&frame).map(|()| None),
            Kind::Hello => return Err(protocol("a second hello")),
            kind if !kind.is_request() => return Err(protocol(format!("a client does not send {kind:?}"))),
            _ if id == 0 => return Err(protocol("a request has id 0")),
            _ if self.jobs.has(id) || self.rooms.has(id) => {
                return Err(protocol(format!("the id {id} is in use")));
            }
            Kind::Job => self.job(frame, descriptor),
            Kind::Parse => self.parse(frame, descriptor).map(|()| None),
            Kind::Open => self.open(frame, descriptor).map(|()| None),
            _ if !frame.body.is_empty() || descriptor.is_some() => {
                Err(fault("request", "this request has no body", None))
            }
            Kind::Close => self.close(id, &frame.header).map(|()| None),
            Kind::Warm => self.warm(id, &frame.header).map(|()| None),
            _ => {
                self.stats(id);
                Ok(None)
            }
        };
        Ok(answered.unwrap_or_else(|fault| {
            self.outbox.send(error(id, &fault));
            None
        }))
    }

    /// Ends or interrupts a job. One that has its answer already, or never was, is nothing to do.
    fn steer(&self, frame: &Frame) {
        let Some(cancel) = self.jobs.get(frame.id) else {
            return;
        };
        if self.crew.take_back(frame.id) {
            self.jobs.remove(frame.id);
            self.outbox.send(error(frame.id, &cancelled()));
        } else if frame.kind == Kind::Cancel {
            cancel.kill();
        } else {
            cancel.interrupt();
        }
    }

    /// Lets a job give more items. One that has its answer already, or never was, gives none.
    fn more(&self, frame: &Frame) -> Result<(), Fault> {
        let more: More = serde_json::from_slice(&frame.header)
            .map_err(|error| protocol(format!("leave for more items cannot be read: {error}")))?;
        if more.count == 0 || more.count > MAX_ITEMS {
            return Err(protocol(format!("leave for {} more items", more.count)));
        }
        if let Some(cancel) = self.jobs.get(frame.id) {
            cancel.more(more.count);
        }
        Ok(())
    }

    fn job(self: &Arc<Self>, frame: Frame, descriptor: Option<OwnedFd>) -> Result<Option<Task>, Fault> {
        let head: belljar::agent::JobRequest = read(&frame.header)?;
        let weight = frame.header.len() + frame.body.len();
        let id = frame.id;
        let (body, size) = body(frame, descriptor)?;
        let parts = cut(&head.parts, size).map_err(|error| fault("request", error.to_string(), None))?;
        // Named now, so that a job is refused at once when there is no such sandbox.
        self.rooms.get(head.sandbox)?;
        let cancel = self.jobs.cancel().map_err(of_error)?;
        let agent = self.clone();
        let request = Request { head, parts, body };
        if self.jobs.add(id, &cancel, weight) {
            match self
                .crew
                .give(id, Box::new(move || work(&agent, id, request, &cancel)))
            {
                Given::Back(task) => return Ok(Some(task)),
                Given::Waits => return Ok(None),
                Given::Refused => self.jobs.remove(id),
            }
        }
        let (running, waiting) = self.crew.figures();
        Err(fault(
            "busy",
            format!("{running} jobs run and {waiting} wait, which is the most"),
            Some("try again when some have ended"),
        ))
    }

    /// Opens a sandbox on a thread of its own: looking at the host and for an interpreter takes milliseconds.
    fn open(self: &Arc<Self>, frame: Frame, descriptor: Option<OwnedFd>) -> Result<(), Fault> {
        let id = frame.id;
        let mut open: Open = read(&frame.header)?;
        let tree = tree(&mut open, frame, descriptor)?;
        if let Some(idle) = open.pool.idle {
            Duration::try_from_secs_f64(idle)
                .map_err(|error| fault("request", format!("the idle time of a pool: {error}"), None))?;
        }
        let room = self.rooms.add(id)?;
        let agent = self.clone();
        let opening = move || {
            let letter = match room.open(&open, tree) {
                Ok(sandbox) => {
                    agent.keep(&sandbox, &open);
                    let opened = Opened {
                        interpreter: sandbox.plan().interpreter().display().to_string(),
                        isolation: sandbox.plan().isolation().clone(),
                        environment: sandbox.environment().map(|found| found.folder().to_path_buf()),
                    };
                    Letter::small(Kind::Opened, id, &opened)
                }
                Err(fault) => {
                    agent.rooms.remove(id);
                    error(id, &fault)
                }
            };
            agent.outbox.send(letter);
        };
        match std::thread::Builder::new().spawn(opening) {
            Ok(_) => Ok(()),
            Err(cause) => {
                self.rooms.remove(id);
                Err(fault("busy", format!("cannot start a thread: {cause}"), None))
            }
        }
    }

    /// Has ready what the client wants ready.
    fn keep(&self, sandbox: &Sandbox, open: &Open) {
        let agent::Keep { floor, ceiling, idle } = open.pool;
        if open.pool != agent::Keep::default()
            && let Some(pool) = self.pool()
        {
            let idle = idle.and_then(|idle| Duration::try_from_secs_f64(idle).ok());
            pool.keep(sandbox, Keep { floor, ceiling, idle });
        }
    }

    fn close(&self, id: u64, header: &[u8]) -> Result<(), Fault> {
        let close: Close = read(header)?;
        let room = self.rooms.get(close.sandbox)?;
        self.rooms.remove(close.sandbox);
        if let Some(Ok(sandbox)) = room.known()
            && !self.rooms.any(&sandbox)
            && let Some(pool) = self.pool()
        {
            pool.release(&sandbox);
        }
        self.outbox
            .send(Letter::small(Kind::Closed, id, &serde_json::json!({})));
        Ok(())
    }

    /// Tells what a text shows of an exception, and what to do about it in a jar of the default policy; or what a guest
    /// reported, and what to do about it in its own jar.
    fn parse(&self, frame: Frame, descriptor: Option<OwnedFd>) -> Result<(), Fault> {
        let (id, asked) = (frame.id, read::<Parse>(&frame.header)?);
        let (body, size) = body(frame, descriptor)?;
        if size > MAX_TEXT {
            return Err(fault(
                "request",
                format!("a text of {size} bytes is too long"),
                None,
            ));
        }
        let text = body.part(0..size as usize)?;
        let mut context = HintContext::from(&Policy::default());
        let mut found = match asked.sandbox {
            None => PythonError::parse(&String::from_utf8_lossy(&text)),
            Some(sandbox) => {
                // One that was closed meanwhile is nobody's fault.
                if let Some(Ok(sandbox)) = self.rooms.get(sandbox).ok().and_then(|room| room.known()) {
                    context = sandbox.plan().into();
                }
                PythonError::from_frame(&text).ok()
            }
        };
        if let Some(error) = &mut found {
            error.hint = hint(error, &context);
            if asked.sandbox.is_none() {
                // The client has the text.
                error.traceback.clear();
            }
        }
        self.outbox.send(answer::parsed(id, found.as_ref())?);
        Ok(())
    }

    fn stats(&self, id: u64) {
        let (running, waiting) = self.crew.figures();
        let figures = serde_json::json!({
            "running": running,
            "waiting": waiting,
            "sandboxes": self.rooms.len(),
            "unread": self.outbox.weight(),
            "pool": self.pool().map(|pool| pool.stats()),
        });
        self.outbox.send(Letter::small(Kind::Figures, id, &figures));
    }
}

/// The body of a request and its size.
fn body(frame: Frame, descriptor: Option<OwnedFd>) -> Result<(Body, u64), Fault> {
    match (descriptor, frame.descriptor) {
        (Some(fd), Some(size)) => {
            check_buffer(std::os::fd::AsFd::as_fd(&fd), size)
                .map_err(|error| fault("buffer", error.to_string(), None))?;
            Ok((Body::Memory(fd, size), size))
        }
        _ => {
            let size = frame.body.len() as u64;
            Ok((Body::Inline(frame.body), size))
        }
    }
}

/// The source files that come with a sandbox.
fn tree(open: &mut Open, frame: Frame, descriptor: Option<OwnedFd>) -> Result<Option<Tree>, Fault> {
    let lengths = std::mem::take(&mut open.parts);
    let (body, size) = body(frame, descriptor)?;
    if lengths.is_empty() && size == 0 {
        return Ok(None);
    }
    cut(&lengths, size).map_err(|error| fault("request", error.to_string(), None))?;
    let tree = Tree::new(body.parcel(lengths)?);
    tree.map(Some).map_err(|error| of_error(error.into()))
}

/// The header of a request.
pub fn read<T: DeserializeOwned>(header: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(header)
        .map_err(|error| fault("request", format!("the header cannot be read: {error}"), None))
}

fn protocol(message: impl Into<String>) -> Fault {
    fault("protocol", message, None)
}
