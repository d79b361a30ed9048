//! What happened to a job. Decided from facts of the host; the guest's word counts only for its value and exception.

mod json;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::parcel::Parcel;
use crate::policy::{Layer, Tier};

pub use json::Json;

/// How a job ended, and everything the host knows of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The limit that was hit, even if the guest survived it.
    pub limit: Option<Limit>,
    /// The program's exit code, if it had one.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// The value of a call, as typed data.
    pub value: Option<serde_json::Value>,
    /// The value of a job whose client has an encoding of its own.
    #[serde(skip)]
    pub parcel: Option<Parcel>,
    /// Why the value could not be encoded, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The exception that ended it, if Python raised one.
    pub exception: Option<crate::pyerror::PythonError>,
    /// Standard output, up to the limit.
    pub stdout: Captured,
    /// Standard error, up to the limit.
    pub stderr: Captured,
    /// Files that differ from before the run.
    pub changes: Changes,
    /// What it used.
    pub usage: Usage,
    /// What was enforced.
    pub isolation: Isolation,
    /// Why the job ran in a fresh interpreter, if a pool could not give it a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<String>,
    /// Files that the run left, if the job asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OutputFile>,
}

/// A value that the guest's runtime could not encode, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Where in the value, as Python would write it.
    pub path: String,
    /// The name of the type.
    pub r#type: String,
    /// What to do about it.
    pub message: String,
}

/// A file that a run left in a fresh /jar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Its path relative to the working directory, as in [`Changes`].
    pub path: String,
    /// Its content.
    #[serde(skip)]
    pub content: Vec<u8>,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ran to its end; a call returned a value.
    Returned,
    /// It ended with an exception.
    Raised,
    /// It ended with an exit code of its own choice.
    Exited,
    /// A signal ended it.
    Signalled,
    /// The deadline ended it.
    TimedOut,
    /// It exceeded its memory limit and was killed.
    OutOfMemory,
    /// The caller ended it.
    Cancelled,
}

/// A limit that a job can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Memory.
    Memory,
    /// Processor seconds.
    Cpu,
    /// Processes and threads.
    Processes,
    /// Bytes on disk, or of one file.
    Disk,
    /// Inodes, or open files.
    Files,
    /// Bytes of output.
    Output,
    /// Wall time.
    Time,
}

/// What was kept of an output stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The first bytes, up to the cap.
    pub head: Vec<u8>,
    /// The last bytes, when some between were dropped.
    pub tail: Vec<u8>,
    /// How many bytes between head and tail were dropped.
    pub dropped: u64,
}

/// Files that differ from before the run, as paths relative to the working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// New files, folders and links.
    pub created: Vec<String>,
    /// Files whose content or mode changed.
    pub modified: Vec<String>,
    /// Files that were deleted.
    pub deleted: Vec<String>,
    /// Paths that could not be read or were left out, with the reason.
    pub skipped: BTreeMap<String, String>,
    /// Changed paths that tools on the host act on, and how.
    #[serde(default)]
    pub notable: BTreeMap<String, String>,
    /// Whether a draft was written to the caller's folder.
    #[serde(default)]
    pub applied: bool,
    /// Whether the lists stop at a bound.
    pub truncated: bool,
    /// A draft that was taken out of its jar and not applied, step by step, for whoever applies it later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draft: Vec<DraftStep>,
}

/// What applying a draft does to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftStep {
    /// The path, as in the lists.
    pub path: String,
    /// Its bytes.
    pub name: Vec<u8>,
    /// What is done.
    pub step: Step,
    /// Why it is not to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What was there when the draft was read; whoever applies it compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Was>,
}

/// What a draft found at a path of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Was {
    /// Inode number.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of content, in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or of metadata, in nanoseconds since 1970.
    pub changed: i64,
}

/// How a path is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It is deleted.
    Delete,
    /// A folder is made.
    Folder,
    /// A file is written.
    File {
        /// Whether it can be run.
        executable: bool,
    },
    /// A symbolic link is made.
    Link {
        /// Where it points.
        target: Vec<u8>,
    },
}

/// What a job used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Seconds from delivery to the empty jar.
    pub wall_seconds: f64,
    /// Processor seconds of all its processes.
    pub cpu_seconds: f64,
    /// Whether that is an estimate, because no cgroup counts it. Children that nobody waited for are then estimated if
    /// processor time is limited, and missing otherwise.
    #[serde(default)]
    pub cpu_estimated: bool,
    /// Most memory at any time, in bytes.
    pub memory_peak: Option<u64>,
    /// Most processes and threads at any time.
    pub processes_peak: Option<u64>,
}

/// What was enforced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Isolation {
    /// How strong the jar was as a whole.
    pub tier: Tier,
    /// Each layer and how it was enforced.
    pub layers: BTreeMap<Layer, Enforcement>,
}

/// How one layer was enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// In full, in part, or not at all.
    pub state: State,
    /// What exactly, for people.
    pub detail: String,
}

/// How far a layer was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As designed.
    Full,
    /// Weaker than designed; the detail says how.
    Partial,
    /// Not at all.
    Absent,
}

impl Outcome {
    /// Whether it came to its end with exit code 0.
    pub fn success(&self) -> bool {
        matches!(self.status, Status::Returned | Status::Exited) && self.exit_code == Some(0)
    }
}

impl Captured {
    /// As text: head, a line that says how much was dropped, tail. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.dropped > 0 {
            text.push_str(&format!("\n… {} bytes dropped …\n", self.dropped));
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }
}
