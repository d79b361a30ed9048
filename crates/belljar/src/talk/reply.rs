//! What a warden says of its job.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Blobs, ParcelHead};
use crate::error::{Error, Hinted, Process};
use crate::hint::Hint;
use crate::job::About;
use crate::outcome::{Captured, Outcome};

/// What a warden says: while a job runs what it gives, and at its end the outcome, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The outcome; captured output is among the raw parts, and so is its parcel, or in a descriptor.
    Outcome(Box<Outcome>, Option<ParcelHead>),
    /// A piece of output while the job runs; it is the raw part.
    Output { stderr: bool },
    /// What the guest says while it runs; the parcel is the raw part, or a descriptor.
    Message { about: About, parcel: ParcelHead },
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
            Self::Output { .. } | Self::Message { .. } => Err(Error::Lost {
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
