//! One run of a job in a jar: what it may take, what goes in, what may come out.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use belljar_linux::cgroup::Group;

use super::gate::Closed;
use super::outgoing::Outgoing;
use super::pump::Input;
use super::stream::Stream;
use crate::job::{Collect, InputFile, Job, Live, Program, Sink, Stdin};
use crate::plan::Plan;

/// A job that was delivered to a worker. It begins and ends apart from both worker and jar.
pub(crate) struct Run<'a> {
    /// What it is held to: the plan of its jar, with the job's own limits.
    pub plan: &'a Plan,
    /// When the job was delivered.
    pub since: Instant,
    /// Microseconds of processor time that the jar had used by then.
    pub cpu_before: u64,
    /// What is still to be written to the worker.
    pub outgoing: Outgoing,
    /// Items that the guest may still send.
    pub leave: u64,
    /// What must turn out true before the job runs, as long as it has not.
    pub gate: Option<Closed>,
    /// Whether a value ends it: the worker waits then.
    pub ends_with_value: bool,
    /// Files that were put into a fresh /jar.
    pub inputs: Vec<InputFile>,
    /// What becomes of what is left in a fresh /jar.
    pub collect: Option<Collect>,
    /// What was to be executed, for messages.
    pub program: String,
    pub streams: Streams,
}

/// The caller's ends of everything the guest reads and writes.
pub(crate) struct Streams {
    pub input: Input,
    pub stdout: Stream,
    pub stderr: Stream,
    pub terminal: Option<OwnedFd>,
    pub reader: Option<Live>,
}

/// Whoever holds a jar, while a run goes on in it.
pub(crate) trait Holder {
    /// The run is no short call any more. Gives when to be called again, if at all.
    fn attend(&mut self, group: Option<&mut Group>) -> Option<Duration>;
}

impl<'a> Run<'a> {
    /// Takes out of a job all that its run needs. The guest's streams end at the descriptors, which do not block.
    pub(crate) fn new(
        plan: &'a Plan,
        job: &mut Job,
        outgoing: Outgoing,
        [stdin, stdout, stderr]: [OwnedFd; 3],
    ) -> Self {
        let cap = plan.limits().output;
        Self {
            plan,
            since: Instant::now(),
            cpu_before: 0,
            outgoing,
            leave: job.items,
            gate: job.gate.take().map(Closed::Unasked),
            ends_with_value: false,
            inputs: std::mem::take(&mut job.files),
            collect: job.collect.take(),
            program: match &job.program {
                Program::Command(program) => program.to_string_lossy().into_owned(),
                _ => "Python".into(),
            },
            streams: Streams {
                input: Input::new(std::mem::replace(&mut job.stdin, Stdin::Null), stdin),
                stdout: Stream::new(stdout, std::mem::replace(&mut job.stdout, Sink::Null), cap),
                stderr: Stream::new(stderr, std::mem::replace(&mut job.stderr, Sink::Null), cap),
                terminal: job.terminal.take().map(|terminal| terminal.tty),
                reader: job.reader.take(),
            },
        }
    }

    /// Puts a job together again that no guest has seen anything of; tells whether it is whole.
    pub(crate) fn give_back(self, job: &mut Job) -> bool {
        job.files = self.inputs;
        job.collect = self.collect;
        job.reader = self.streams.reader;
        job.stdout = self.streams.stdout.give_back();
        job.stderr = self.streams.stderr.give_back();
        match self.streams.input.give_back() {
            Some(stdin) => {
                job.stdin = stdin;
                true
            }
            None => false,
        }
    }
}
