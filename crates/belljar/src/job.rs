//! What a guest shall do: a program, its arguments, its streams, its files.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::parcel::Parcel;
use crate::tree::Tree;

/// One job for one jar.
#[derive(Debug)]
pub struct Job {
    /// What runs.
    pub program: Program,
    /// Arguments after the program's own name.
    pub args: Vec<OsString>,
    /// Variables for this job alone, on top of the policy's. Checked like the policy's.
    pub env: Vec<(String, String)>,
    /// Working directory in the jar; the plan's own when `None`.
    pub current_dir: Option<PathBuf>,
    /// Where standard input comes from.
    pub stdin: Stdin,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
    /// Files that are in the working directory before the guest starts; only for a fresh /jar.
    pub files: Vec<InputFile>,
    /// What happens to the files that the run left in a fresh /jar. By default they are removed.
    pub collect: Option<Collect>,
    /// A terminal of its own, for an interactive guest; streams are then that terminal.
    pub terminal: Option<Terminal>,
    /// Limits of this job alone, tighter than the sandbox's.
    pub limits: JobLimits,
    /// Receives output and generator items while the job runs.
    pub reader: Option<Live>,
    /// How many items of a generator the guest may send before it must wait for permission to send more.
    pub items: u64,
    /// A check that must succeed before any code of the job runs; only for Python.
    pub gate: Option<Gate>,
    /// Source files that the plan shows; its sandbox gives them.
    pub(crate) tree: Option<Tree>,
}

/// Which stream a piece of output is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What a guest says to its caller while it runs, beside what it prints and before its last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is about.
    pub about: About,
    /// What only the caller and its guest read.
    pub parcel: Parcel,
}

/// What a message of a guest is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// An item of a generator, or results of several calls.
    Item,
}

/// The caller's end of the conversation with a guest that runs: it takes what comes. It must not wait: what it does not take
/// now is offered again, and the guest waits. What the caller says itself goes by way of [`Cancel`](crate::pool::Cancel) or
/// [`Running`](crate::client::Running).
pub trait Reader: Send {
    /// Takes a piece of output, as far as there is room.
    fn output(&mut self, which: Which, piece: &[u8]) -> usize;

    /// Takes a message, or gives it back.
    fn message(&mut self, message: Message) -> Result<(), Message>;
}

/// A [`Reader`] in a job.
pub struct Live(pub Box<dyn Reader>);

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Live")
    }
}

/// A check that runs while the interpreter starts. If it fails, the job ends with
/// [`Error::Gate`](crate::Error::Gate) before any of its code has run.
pub struct Gate(pub Box<dyn FnOnce() -> bool + Send>);

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gate")
    }
}

/// Limits of one job. `None` means the sandbox's own limit; a looser limit is an error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JobLimits {
    /// Wall time, from delivery to the empty jar.
    pub timeout: Option<Duration>,
    /// Bytes of standard output, and as many of standard error.
    pub output: Option<u64>,
    /// Processor time of all its processes together.
    pub cpu_seconds: Option<f64>,
    /// Bytes of memory of all its processes together.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
}

/// What runs in a jar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Python source, as `python -c` or `python -` would run it.
    Code {
        /// The source, in any encoding that Python reads.
        source: Vec<u8>,
        /// Whether it came from standard input (`-`).
        from_stdin: bool,
    },
    /// A script: its text, and the name that the guest sees.
    Script {
        /// The source, in any encoding that Python reads.
        source: Vec<u8>,
        /// File name without folders; the guest sees it as `/script/NAME`.
        name: OsString,
    },
    /// A script that the guest finds at this path in the jar: a mount or the working directory shows it.
    ScriptAt(PathBuf),
    /// A module, as `python -m` would run it.
    Module(String),
    /// A Python callable and its arguments as JSON: `{"args": [...], "kwargs": {...}}`.
    Call {
        /// An expression that gives a callable, or source whose last definition is one.
        function: String,
        /// The arguments.
        arguments: Vec<u8>,
    },
    /// A callable with its arguments, encoded by a client for its own runtime in the guest; so is the value. The engine
    /// reads neither.
    Invoke {
        /// The name that the guest sees.
        name: OsString,
        /// The callable and its arguments.
        parcel: Parcel,
    },
    /// Python source as the first part, run as `python -c` would, and what its globals begin with. The value of a last
    /// expression is encoded as that of [`Program::Invoke`] is.
    Evaluate {
        /// What tracebacks call the source.
        name: OsString,
        /// The source, then the globals.
        parcel: Parcel,
    },
    /// Any program, looked for in the jar's PATH unless it is a path.
    Command(OsString),
    /// An interactive Python.
    Shell,
}

/// Where a guest's standard input comes from.
#[derive(Debug)]
pub enum Stdin {
    /// Nothing: end of file at once.
    Null,
    /// These bytes.
    Bytes(Vec<u8>),
    /// A descriptor of the caller, copied by the warden: the guest never holds it itself.
    Copy(OwnedFd),
}

/// Where a guest's output goes. The policy's cap holds for each.
#[derive(Debug)]
pub enum Sink {
    /// Nowhere.
    Null,
    /// Into the outcome.
    Capture,
    /// To this descriptor, live; nothing is kept.
    Forward(OwnedFd),
    /// Both.
    Both(OwnedFd),
    /// To the job's reader, live, and into the outcome.
    Live,
}

/// A file that a guest finds in its working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Path relative to the working directory.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

/// What happens to the files that a run left in a fresh /jar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Collect {
    /// Copy them to this folder of the host, which must be new or empty.
    Folder(PathBuf),
    /// Return regular files with the outcome, up to this many bytes together.
    Take(u64),
}

impl From<&Path> for Collect {
    fn from(folder: &Path) -> Self {
        Self::Folder(folder.to_path_buf())
    }
}

/// The caller's terminal, behind which a guest gets one of its own.
#[derive(Debug)]
pub struct Terminal {
    /// The caller's end: keys are read from it, output is written to it.
    pub tty: OwnedFd,
    /// The value of TERM.
    pub kind: String,
}

impl Job {
    /// A job with no input whose output is captured.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            args: Vec::new(),
            env: Vec::new(),
            current_dir: None,
            stdin: Stdin::Null,
            stdout: Sink::Capture,
            stderr: Sink::Capture,
            files: Vec::new(),
            collect: None,
            terminal: None,
            limits: JobLimits::default(),
            reader: None,
            items: 0,
            gate: None,
            tree: None,
        }
    }

    /// Python source, as `python -c` would run it.
    pub fn code(source: impl Into<Vec<u8>>) -> Self {
        Self::new(Program::Code {
            source: source.into(),
            from_stdin: false,
        })
    }

    /// What its runtime reads and the engine does not.
    pub(crate) fn parcel(&self) -> Option<&Parcel> {
        match &self.program {
            Program::Invoke { parcel, .. } | Program::Evaluate { parcel, .. } => Some(parcel),
            _ => None,
        }
    }

    /// Whether something of it is read while it runs.
    pub(crate) fn is_live(&self) -> bool {
        self.items > 0 || matches!(self.stdout, Sink::Live) || matches!(self.stderr, Sink::Live)
    }

    /// Whether our guest runtime runs it, so that it reports exceptions and values.
    pub fn is_python(&self) -> bool {
        !matches!(self.program, Program::Command(_) | Program::Shell)
    }
}
