//! Headers of frames. An unknown field of a request is an error: a client that asks for something that is not done must
//! hear of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::hint::Hint;

/// The first frame of either side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol that it speaks.
    pub protocol: u32,
    /// Its package version.
    pub version: String,
    /// Its process id. A client's must be that of the process that made the socket pair.
    #[serde(default)]
    pub pid: Option<u32>,
}

/// Asks for a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Open {
    /// Keys of a policy document (docs/reference/policy.md), as JSON; a key that is null is left out.
    pub policy: serde_json::Map<String, serde_json::Value>,
    /// A built-in profile below those keys.
    pub profile: Option<String>,
    /// Modules that warm workers have imported already; those of the dependencies where nothing is told.
    pub preload: Option<Vec<String>>,
    /// What the guest can import beyond the standard library.
    pub dependencies: Dependencies,
    /// Packages and single files of the host that the guest can import.
    pub modules: Vec<PathBuf>,
    /// Modules of the caller's own source files, which are the body, that warm workers have imported already.
    pub own: Vec<String>,
    /// Lengths of the parts of the body: the names of the files, each ended by a zero byte, then the content of each.
    pub parts: Vec<u64>,
    /// What is kept ready for it.
    pub pool: Keep,
}

/// What an environment shall hold, and how it may be built.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dependencies {
    /// Requirements, one each.
    pub requirements: Vec<String>,
    /// The header of a script (PEP 723), which names more.
    pub script: Option<String>,
    /// Whether packages without a wheel are built.
    pub allow_builds: bool,
    /// Whether requirements may name addresses.
    pub allow_urls: bool,
    /// Whether versions are chosen anew.
    pub refresh: bool,
    /// The client's variables that say where environments are and where packages come from.
    pub variables: BTreeMap<String, String>,
}

/// What is kept ready for one sandbox; what is not told is as the agent has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keep {
    /// Workers that are parked from the start and as long as it is open.
    pub floor: Option<usize>,
    /// Most workers that are parked.
    pub ceiling: Option<usize>,
    /// Seconds without a job after which everything is given up.
    pub idle: Option<f64>,
}

/// A sandbox is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The interpreter that the guest runs on.
    pub interpreter: String,
    /// What is enforced.
    pub isolation: crate::outcome::Isolation,
    /// The folder of the host that has the dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<PathBuf>,
}

/// Text that the system knows as bytes: a string, or a list of bytes where it is no UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// UTF-8.
    Plain(String),
    /// Anything.
    Bytes(Vec<u8>),
}

impl From<Text> for OsString {
    fn from(text: Text) -> Self {
        match text {
            Text::Plain(text) => text.into(),
            Text::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

/// What a job runs, and which parts its body begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramKind {
    /// Python source, as `python -c` would run it. Part: the source.
    Code,
    /// Python source, as `python -` would run it. Part: the source.
    Stdin,
    /// A script that the guest sees as `/script/NAME`. Part: the source.
    Script,
    /// A script at the path NAME in the jar. No part.
    Path,
    /// The module NAME. No part.
    Module,
    /// A function. Parts: its source, and its arguments.
    Call,
    /// A callable and its arguments, in the client's own encoding. Parts: those that the encoding has.
    Invoke,
    /// Python source that tracebacks call NAME. Parts: the source, then its first globals, encoded likewise.
    Evaluate,
    /// The program NAME. No part.
    Command,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The sandbox, by the id that it was opened with.
    pub sandbox: u64,
    /// What runs.
    pub kind: ProgramKind,
    /// The NAME of scripts, paths, modules and commands.
    #[serde(default)]
    pub name: Option<Text>,
    /// Arguments after the program's own name.
    #[serde(default)]
    pub args: Vec<Text>,
    /// Variables for this job alone.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working directory in the jar.
    #[serde(default)]
    pub cwd: Option<Text>,
    /// Whether a part, after those of the program, is its standard input.
    #[serde(default)]
    pub stdin: bool,
    /// Files in the fresh working directory; their contents are the last parts, in this order.
    #[serde(default)]
    pub files: Vec<Text>,
    /// Limits that are tighter than the sandbox's.
    #[serde(default)]
    pub limits: JobLimits,
    /// What becomes of the files that the run leaves.
    #[serde(default)]
    pub collect: Option<Collect>,
    /// Whether output is sent while the job runs.
    #[serde(default)]
    pub stream: bool,
    /// Whether the value is sent as soon as it is there, before the jar is empty.
    #[serde(default)]
    pub early: bool,
    /// How many items of a generator come before leave is given for more; none unless told.
    #[serde(default)]
    pub items: u64,
    /// Lengths of the parts of the body.
    #[serde(default)]
    pub parts: Vec<u64>,
}

/// Leave for more items of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// How many.
    pub count: u64,
}

/// Limits for one job. One that is looser than the sandbox's is refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobLimits {
    /// Seconds of wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// Bytes of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Processor seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Bytes of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

/// What becomes of the files that a run leaves in a fresh /jar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Collect {
    /// They are sent with the outcome, as far as they have at most so many bytes together.
    Send(u64),
    /// They are copied into this folder of the host, which is new or empty.
    Folder(Text),
}

/// Gives a sandbox back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// The sandbox, by the id that it was opened with.
    pub sandbox: u64,
}

/// Has workers ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warm {
    /// The sandbox, by the id that it was opened with.
    pub sandbox: u64,
    /// How many, at most as many as are kept for it.
    pub workers: usize,
}

/// Asks for an exception in a text, with a hint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parse {
    /// The body is no text: it is what the runtime of a guest of this sandbox reported of one of several calls.
    pub sandbox: Option<u64>,
}

/// Which stream a piece of output is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The header of a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputHead {
    /// Which stream it is of.
    pub stream: OutputStream,
}

/// The header of an outcome: its body is the JSON object of docs/reference/outcome.md without stdout, stderr and value, with `files`
/// (`path`, `executable`); then the value, the first and last bytes of stdout and those of stderr, then each file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartsHead {
    /// Lengths of the parts.
    pub parts: Vec<u64>,
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// JSON; the body is the value, the first and last bytes of stdout, and those of stderr.
    Json,
    /// The client's own; the body is the value, and output has come before.
    Belljar,
}

/// The header of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueHead {
    /// How it is encoded, and what the body has besides.
    pub encoding: Encoding,
    /// Whether it is the answer; otherwise the outcome follows.
    pub last: bool,
    /// Seconds from delivery to the value.
    pub seconds: f64,
    /// Bytes of stdout and of stderr that were dropped between the first and the last.
    pub dropped: [u64; 2],
    /// Lengths of the parts.
    pub parts: Vec<u64>,
}

/// Why there is no other answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// A word for programs; docs/reference/agent.md lists them.
    pub code: String,
    /// What failed, with which thing, and why.
    pub message: String,
    /// The next step.
    #[serde(default)]
    pub hint: Option<Hint>,
}
