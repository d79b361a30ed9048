//! What engine, keeper and template say to each other.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use belljar_linux::descriptors;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Event, Parked, Told};
use crate::error::{Error, Process};
use crate::init::{Handed, Name};

/// Largest message of a keeper or template.
pub(super) const MAX_MESSAGE: usize = 128 << 10;
/// Descriptors that every parked worker comes with.
const ENDS: usize = 7;

/// Engine to keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToKeeper {
    /// Make a worker. Descriptors of the cgroups that it enters come with it.
    Make {
        number: u64,
        hurry: bool,
        /// Processors that it keeps to, where its plan says how many.
        cpus: Vec<usize>,
    },
}

/// Keeper to engine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromKeeper {
    /// With the descriptors of [`Parked`], in its order, and then one for each name.
    Parked {
        number: u64,
        worker_pid: i32,
        timings: Timings,
        handed: Vec<Name>,
    },
    Told(Told),
}

/// How one import of a template went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Preloaded {
    /// The module.
    pub name: String,
    /// Why it could not be imported.
    pub error: Option<String>,
    /// How long it took.
    #[serde(default)]
    pub seconds: f64,
    /// Threads that it left.
    #[serde(default)]
    pub threads: Vec<String>,
    /// Memory that all workers would share.
    #[serde(default)]
    pub shared: Vec<String>,
    /// Descriptors that it left open.
    #[serde(default)]
    pub descriptors: Vec<String>,
    /// Processes that it left.
    #[serde(default)]
    pub processes: Vec<String>,
    /// Whether it was being imported when its template had to be ended.
    #[serde(skip)]
    pub caught: bool,
}

/// Where the time of making a worker went, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timings {
    /// The jar: init, its namespaces and mounts.
    pub jar: u32,
    /// Waiting for a template, if it had other work.
    pub queue: u32,
    /// The fork.
    pub fork: u32,
    /// Walking in, as the worker says.
    pub setns: u32,
    /// Sealing, and all that the worker does not tell apart.
    pub seal: u32,
    /// Rehearsing, as the worker says.
    pub rehearse: u32,
    /// The look from outside.
    pub check: u32,
}

impl FromKeeper {
    pub(super) fn into_event(self, mut fds: Vec<OwnedFd>) -> Result<Event, Error> {
        Ok(match self {
            Self::Told(told) => Event::Told(told),
            Self::Parked {
                number,
                worker_pid,
                timings,
                handed,
            } => {
                let lost = || Error::Lost {
                    process: Process::Keeper,
                    how: "it sent a worker without its descriptors".into(),
                };
                let more = fds.split_off(fds.len().min(ENDS));
                let handed = Handed::new(handed, more).ok_or_else(lost)?;
                let fds: [OwnedFd; ENDS] = fds.try_into().map_err(|_| lost())?;
                let [init, worker, control, stdin, stdout, stderr, report] = fds;
                Event::Parked(Box::new(Parked {
                    number,
                    worker_pid,
                    init,
                    worker,
                    control,
                    stdin,
                    stdout,
                    stderr,
                    report,
                    handed,
                    timings,
                }))
            }
        })
    }
}

/// Sends one message.
pub(super) fn send(socket: BorrowedFd<'_>, said: &impl Serialize, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    descriptors::send(socket, &serde_json::to_vec(said)?, fds).map(drop)
}

/// Tells the engine. One that is gone does not hear it.
pub(super) fn tell(engine: BorrowedFd<'_>, told: Told) {
    let _ = send(engine, &FromKeeper::Told(told), &[]);
}

/// Receives one message; `None` when the other end is gone.
pub(super) fn receive<Said: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> io::Result<Option<(Said, Vec<OwnedFd>)>> {
    with_buffer(|bytes| {
        let (length, fds) = descriptors::receive(socket, bytes)?;
        if length == 0 {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&bytes[..length])?, fds)))
    })
}

/// Room for the largest message, used again and again: fresh memory would be 32 page faults for each of them.
pub(super) fn with_buffer<T>(take: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(MAX_MESSAGE, 0);
        take(buffer)
    })
}

/// What a template is told first.
#[derive(Debug, Serialize)]
pub(super) struct Preload<'a> {
    pub preload: &'a [String],
    pub filter_bytes: usize,
    /// Whether the filter asks about locks.
    pub locks: bool,
}

/// What a template is told for each worker after the first line, which is numbers: the worker's, whether it rehearses, and
/// the processors that it may use if not all. This part is the same for many, so a template reads it once.
#[derive(Debug, Serialize)]
pub(super) struct Fork<'a> {
    pub namespaces: &'a [&'static str],
    pub ruleset: bool,
    /// The flags that the ruleset is applied with.
    pub quiet: u32,
    pub groups: usize,
    /// Where jobs start; a path may have any bytes.
    pub folder: &'a [u8],
    pub rlimits: &'a [(&'a str, u64, u64)],
    pub privileges: bool,
}

/// Anything that a template says. It may be hostile: every field is optional, and none is believed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TemplateSaid {
    pub ready: Option<TemplateReady>,
    pub unable: Option<String>,
    pub importing: Option<String>,
    pub forked: Option<u64>,
    pub failed: Option<u64>,
    pub ended: Option<i32>,
    pub pid: i32,
    pub step: String,
    pub errno: i32,
    pub status: i32,
    pub max_rss: u64,
    pub cpu_usec: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TemplateReady {
    pub python: Vec<u32>,
    pub modules: Vec<Preloaded>,
}
