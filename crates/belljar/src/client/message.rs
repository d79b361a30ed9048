//! What client and warden say to each other. Both are the same program version; anything else is refused.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Hinted, Process};
use crate::hint::Hint;
use crate::job::{Collect, InputFile, Job, JobLimits, Live, Program, Sink, Stdin};
use crate::outcome::{Captured, Outcome};
use crate::parcel::{Content, Parcel};
use crate::plan::Plan;
use crate::tree::Tree;

/// Both sides must be of one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Raw parts of a message.
pub(crate) type Blobs = Vec<Vec<u8>>;

/// A job taken apart: head, raw parts, descriptors, and who reads what it gives.
type Apart = (Request, Blobs, Vec<OwnedFd>, Option<Live>);

/// One plan and one job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    version: String,
    plan: Plan,
    program: ProgramHead,
    args: Vec<Vec<u8>>,
    env: Vec<(String, String)>,
    current_dir: Option<PathBuf>,
    stdin: StdinHead,
    stdout: SinkHead,
    stderr: SinkHead,
    files: Vec<PathBuf>,
    collect: Option<Collect>,
    items: u64,
    tree: Option<ParcelHead>,
}

/// A program; its text is among the raw parts, in the order of this list.
#[derive(Debug, Serialize, Deserialize)]
enum ProgramHead {
    Code {
        from_stdin: bool,
    },
    Script {
        name: Vec<u8>,
    },
    ScriptAt(PathBuf),
    Module(String),
    Call,
    /// With a parcel: whether its source is to be run, its name, and the lengths of its parts.
    Parcel {
        evaluate: bool,
        name: Vec<u8>,
        lengths: Vec<u64>,
        /// Its size, where it is in a memfd.
        memory: Option<u64>,
    },
    Command(Vec<u8>),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum StdinHead {
    Null,
    Bytes,
    Copy,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum SinkHead {
    Null,
    Capture,
    Forward,
    Both,
    Live,
}

impl Request {
    /// Takes a job apart: head, raw parts, descriptors.
    pub(crate) fn new(plan: &Plan, job: Job) -> Result<Apart, Error> {
        let (mut blobs, mut fds) = (Vec::new(), Vec::new());
        let program = match job.program {
            Program::Code { source, from_stdin } => {
                blobs.push(source);
                ProgramHead::Code { from_stdin }
            }
            Program::Script { source, name } => {
                blobs.push(source);
                ProgramHead::Script {
                    name: name.into_vec(),
                }
            }
            Program::ScriptAt(path) => ProgramHead::ScriptAt(path),
            Program::Module(name) => ProgramHead::Module(name),
            Program::Call { function, arguments } => {
                blobs.push(function.into_bytes());
                blobs.push(arguments);
                ProgramHead::Call
            }
            Program::Invoke { name, parcel } => apart(false, name, parcel, &mut blobs, &mut fds)?,
            Program::Evaluate { name, parcel } => apart(true, name, parcel, &mut blobs, &mut fds)?,
            Program::Command(program) => ProgramHead::Command(program.into_vec()),
            // A shell needs the caller's own terminal and process.
            Program::Shell => {
                return Err(Error::setup(
                    "start a shell through a warden",
                    io::Error::from(io::ErrorKind::Unsupported),
                ));
            }
        };
        let stdin = match job.stdin {
            Stdin::Null => StdinHead::Null,
            Stdin::Bytes(bytes) => {
                blobs.push(bytes);
                StdinHead::Bytes
            }
            Stdin::Copy(fd) => {
                fds.push(fd);
                StdinHead::Copy
            }
        };
        let mut sink = |sink| match sink {
            Sink::Null => SinkHead::Null,
            Sink::Capture => SinkHead::Capture,
            Sink::Forward(fd) => {
                fds.push(fd);
                SinkHead::Forward
            }
            Sink::Both(fd) => {
                fds.push(fd);
                SinkHead::Both
            }
            Sink::Live => SinkHead::Live,
        };
        let (stdout, stderr) = (sink(job.stdout), sink(job.stderr));
        let mut files = Vec::new();
        for file in job.files {
            files.push(file.path);
            blobs.push(file.content);
        }
        let tree = match job.tree {
            Some(tree) => Some(carried(&tree, &mut blobs, &mut fds)?),
            None => None,
        };
        let request = Self {
            version: VERSION.into(),
            plan: plan.clone(),
            program,
            args: job.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
            env: job.env,
            current_dir: job.current_dir,
            stdin,
            stdout,
            stderr,
            files,
            collect: job.collect,
            items: job.items,
            tree,
        };
        Ok((request, blobs, fds, job.reader))
    }

    /// Puts a job together again; `None` when the parts do not fit the head.
    pub(crate) fn into_job(self, blobs: Vec<Vec<u8>>, fds: Vec<OwnedFd>) -> Option<(Plan, Job)> {
        if self.version != VERSION {
            return None;
        }
        let (mut blobs, mut fds) = (blobs.into_iter(), fds.into_iter());
        let program = match self.program {
            ProgramHead::Code { from_stdin } => Program::Code {
                source: blobs.next()?,
                from_stdin,
            },
            ProgramHead::Script { name } => Program::Script {
                source: blobs.next()?,
                name: OsString::from_vec(name),
            },
            ProgramHead::ScriptAt(path) => Program::ScriptAt(path),
            ProgramHead::Module(name) => Program::Module(name),
            ProgramHead::Call => Program::Call {
                function: String::from_utf8(blobs.next()?).ok()?,
                arguments: blobs.next()?,
            },
            ProgramHead::Parcel {
                evaluate,
                name,
                lengths,
                memory,
            } => {
                let parcel = match memory {
                    Some(size) => Parcel::memory_of_ours(lengths, fds.next()?, size),
                    None => Parcel::inline(lengths, blobs.next()?).ok()?,
                };
                let name = OsString::from_vec(name);
                if evaluate {
                    Program::Evaluate { name, parcel }
                } else {
                    Program::Invoke { name, parcel }
                }
            }
            ProgramHead::Command(program) => Program::Command(OsString::from_vec(program)),
        };
        let stdin = match self.stdin {
            StdinHead::Null => Stdin::Null,
            StdinHead::Bytes => Stdin::Bytes(blobs.next()?),
            StdinHead::Copy => Stdin::Copy(fds.next()?),
        };
        let mut sink = |head| {
            Some(match head {
                SinkHead::Null => Sink::Null,
                SinkHead::Capture => Sink::Capture,
                SinkHead::Forward => Sink::Forward(fds.next()?),
                SinkHead::Both => Sink::Both(fds.next()?),
                SinkHead::Live => Sink::Live,
            })
        };
        let (stdout, stderr) = (sink(self.stdout)?, sink(self.stderr)?);
        let mut files = Vec::with_capacity(self.files.len());
        for path in self.files {
            files.push(InputFile {
                path,
                content: blobs.next()?,
            });
        }
        let tree = match self.tree {
            Some(head) => Some(head.tree(&mut blobs, &mut fds)?),
            None => None,
        };
        let job = Job {
            program,
            args: self.args.into_iter().map(OsString::from_vec).collect(),
            env: self.env,
            current_dir: self.current_dir,
            stdin,
            stdout,
            stderr,
            files,
            collect: self.collect,
            terminal: None,
            // They are in the plan already.
            limits: JobLimits::default(),
            reader: None,
            items: self.items,
            gate: None,
            tree,
        };
        Some((self.plan, job))
    }
}

/// Takes a tree apart, for a job or for a cabinet.
pub(crate) fn carried(tree: &Tree, blobs: &mut Blobs, fds: &mut Vec<OwnedFd>) -> Result<ParcelHead, Error> {
    let (head, bytes, memory) = ParcelHead::new(tree.parcel().clone());
    blobs.extend(bytes);
    if let Some(memory) = memory {
        let copy = memory.try_clone();
        fds.push(copy.map_err(|error| Error::setup("hand source files to the warden", error))?);
    }
    Ok(head)
}

/// Takes a program with a parcel apart.
fn apart(
    evaluate: bool,
    name: OsString,
    parcel: Parcel,
    blobs: &mut Blobs,
    fds: &mut Vec<OwnedFd>,
) -> Result<ProgramHead, Error> {
    let (lengths, content) = parcel.into_parts();
    let memory = match content {
        Content::Inline(bytes) => {
            blobs.push(bytes);
            None
        }
        Content::Memory(fd, size) => {
            let copy = fd.try_clone();
            fds.push(copy.map_err(|error| Error::setup("hand a memfd to the warden", error))?);
            Some(size)
        }
    };
    Ok(ProgramHead::Parcel {
        evaluate,
        name: name.into_vec(),
        lengths,
        memory,
    })
}

/// One outcome, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The outcome; captured output is among the raw parts, and so is its parcel, or in a descriptor.
    Outcome(Box<Outcome>, Option<ParcelHead>),
    /// A piece of output while the job runs; it is the raw part.
    Output { stderr: bool },
    /// An item of a generator.
    Item(ParcelHead),
    /// A failed step.
    Setup {
        step: String,
        errno: Option<i32>,
        text: String,
        hint: Option<Hint>,
    },
    /// A program that cannot be run.
    Program { program: String, errno: i32 },
    /// A process that ended before its work was done.
    Lost { process: Process, how: String },
    /// Any other failure, as the warden words it.
    Failed { text: String, hint: Option<Hint> },
}

/// A parcel, but for what it holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ParcelHead {
    lengths: Vec<u64>,
    memory: Option<u64>,
}

impl ParcelHead {
    /// Takes a parcel apart: its bytes, or its descriptor.
    pub(crate) fn new(parcel: Parcel) -> (Self, Option<Vec<u8>>, Option<Arc<OwnedFd>>) {
        let (lengths, content) = parcel.into_parts();
        let size = content.size();
        let (memory, bytes, fd) = match content {
            Content::Inline(bytes) => (None, Some(bytes), None),
            Content::Memory(fd, _) => (Some(size), None, Some(fd)),
        };
        (Self { lengths, memory }, bytes, fd)
    }

    /// Puts a tree together again, from the next raw part or descriptor.
    pub(crate) fn tree(
        self,
        blobs: &mut impl Iterator<Item = Vec<u8>>,
        fds: &mut impl Iterator<Item = OwnedFd>,
    ) -> Option<Tree> {
        let (bytes, fd) = match self.memory {
            Some(_) => (None, fds.next()),
            None => (blobs.next(), None),
        };
        Tree::new(self.parcel(bytes, fd)?).ok()
    }

    /// Puts a parcel together again.
    pub(crate) fn parcel(self, bytes: Option<Vec<u8>>, fd: Option<OwnedFd>) -> Option<Parcel> {
        match self.memory {
            Some(size) => fd.map(|fd| Parcel::memory_of_ours(self.lengths, fd, size)),
            None => Parcel::inline(self.lengths, bytes.unwrap_or_default()).ok(),
        }
    }
}

impl Reply {
    /// Takes a result apart: head, raw parts, and the memfd of a large value.
    pub(crate) fn new(result: Result<Outcome, Error>) -> (Self, Blobs, Option<Arc<OwnedFd>>) {
        let mut memory = None;
        let (mut head, mut blobs) = Self::apart(result);
        if let Self::Outcome(outcome, place) = &mut head
            && let Some(parcel) = outcome.parcel.take()
        {
            let (head, bytes, fd) = ParcelHead::new(parcel);
            blobs.extend(bytes);
            memory = fd;
            *place = Some(head);
        }
        (head, blobs, memory)
    }

    fn apart(result: Result<Outcome, Error>) -> (Self, Blobs) {
        match result {
            Ok(mut outcome) => {
                let (stdout, stderr) = (&mut outcome.stdout, &mut outcome.stderr);
                let blobs = [
                    &mut stdout.head,
                    &mut stdout.tail,
                    &mut stderr.head,
                    &mut stderr.tail,
                ]
                .map(std::mem::take);
                let files = outcome
                    .files
                    .iter_mut()
                    .map(|file| std::mem::take(&mut file.content));
                let blobs = blobs.into_iter().chain(files).collect();
                (Self::Outcome(Box::new(outcome), None), blobs)
            }
            Err(Error::Setup { step, source, hint }) => {
                let (errno, text) = (source.raw_os_error(), source.to_string());
                (
                    Self::Setup {
                        step,
                        errno,
                        text,
                        hint,
                    },
                    Vec::new(),
                )
            }
            Err(Error::Program { program, source }) => (
                Self::Program {
                    program,
                    errno: source.raw_os_error().unwrap_or_default(),
                },
                Vec::new(),
            ),
            Err(Error::Lost { process, how }) => (Self::Lost { process, how }, Vec::new()),
            Err(error) => (
                Self::Failed {
                    text: error.message(),
                    hint: error.hint(),
                },
                Vec::new(),
            ),
        }
    }

    /// Puts a result together again.
    pub(crate) fn into_outcome(self, blobs: Blobs, fds: Vec<OwnedFd>) -> Result<Outcome, Error> {
        match self {
            Self::Outcome(mut outcome, parcel) => {
                let mut blobs = blobs.into_iter();
                let mut captured = |dropped| Captured {
                    head: blobs.next().unwrap_or_default(),
                    tail: blobs.next().unwrap_or_default(),
                    dropped,
                };
                outcome.stdout = captured(outcome.stdout.dropped);
                outcome.stderr = captured(outcome.stderr.dropped);
                for file in &mut outcome.files {
                    file.content = blobs.next().unwrap_or_default();
                }
                outcome.parcel = parcel.and_then(|head| head.parcel(blobs.next(), fds.into_iter().next()));
                Ok(*outcome)
            }
            Self::Setup {
                step,
                errno,
                text,
                hint,
            } => {
                let source = errno.map_or_else(|| io::Error::other(text), io::Error::from_raw_os_error);
                Err(Error::Setup { step, source, hint })
            }
            Self::Program { program, errno } => Err(Error::Program {
                program,
                source: io::Error::from_raw_os_error(errno),
            }),
            Self::Lost { process, how } => Err(Error::Lost { process, how }),
            Self::Failed { text, hint } => Err(Error::Warden { text, hint }),
            // These come before the last word.
            Self::Output { .. } | Self::Item(_) => Err(Error::Lost {
                process: Process::Warden,
                how: "it gave no outcome".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_what_the_caller_is_told() {
        for process in [Process::Caller, Process::JarInit, Process::Jar, Process::Keeper] {
            let how = "wait status 0x9".to_owned();
            let (head, blobs, _) = Reply::new(Err(Error::Lost { process, how }));
            let sent = serde_json::to_string(&head).unwrap();
            let head: Reply = serde_json::from_str(&sent).unwrap();
            let told = head.into_outcome(blobs, Vec::new()).unwrap_err();
            assert!(
                matches!(&told, Error::Lost { process: lost, .. } if *lost == process),
                "{told}"
            );
            assert_eq!(
                told.to_string(),
                format!(
                    "the {process} was lost (wait status 0x9); try again; if it happens again, BELLJAR_LOG=debug shows more"
                )
            );
        }
        // What the warden words itself keeps its next step apart.
        let refused = crate::plan::Refusal::new("no a; b", "get; it");
        let (head, blobs, _) = Reply::new(Err(refused.into()));
        let told = head.into_outcome(blobs, Vec::new()).unwrap_err();
        assert_eq!(
            (told.message().as_str(), told.hint()),
            ("refused: no a; b", Some("get; it".into()))
        );
    }
}
