//! A plan and a job on their way to a warden.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Blobs, ParcelHead, VERSION, carried};
use crate::error::Error;
use crate::job::{Collect, InputFile, Job, JobLimits, Live, Program, Sink, Stdin};
use crate::parcel::{Content, Parcel};
use crate::plan::Plan;

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
