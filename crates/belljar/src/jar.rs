//! A jar as it is held from outside: started or taken, watched, emptied, judged. Whoever holds one (the warden of a cold
//! run, a pool) does it by way of this module.
//!
//! Whoever watches must never run guest code, open a path that a guest chose, or wait for a guest without a deadline of its
//! own.

mod cpu;
mod finish;
mod foreign;
mod gate;
mod group;
mod init;
mod outgoing;
mod outlet;
mod pump;
mod sampler;
mod steer;
mod stream;
mod sweep;
mod verdict;
mod watch;
mod weight;
mod word;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{Group, OomEvent};
use belljar_linux::process::Ended;

use crate::error::{Error, Process};
use crate::job::Live;

pub(crate) use cpu::{Stat, microseconds};
pub(crate) use finish::{Before, before, finish};
pub(crate) use foreign::Control;
pub(crate) use gate::Closed;
pub(crate) use group::{fault, has_group, make_group};
pub(crate) use init::{Init, pid_of};
pub(crate) use outgoing::Outgoing;
pub(crate) use pump::Input;
pub(crate) use sampler::Sampler;
pub(crate) use steer::Steer;
pub use steer::Steering;
pub(crate) use stream::{Stream, pipe};
pub(crate) use sweep::{hierarchy, sweep, sweep_after};
pub(crate) use watch::{Heard, listen, watch};

/// How long a jar may take to be empty after its init was killed. The kernel needs milliseconds; one that takes longer than
/// this is lost, and waited for all the same: what is left of a guest never runs unwatched.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// How long init gets to end the jar by itself before its processes are killed one by one.
pub(crate) const PROMPT: std::time::Duration = std::time::Duration::from_millis(5);

/// A jar that has been started.
pub(crate) struct Jar {
    pub init: Init,
    pub group: Option<Group>,
    /// The way to init.
    pub report: OwnedFd,
    /// The way to the guest runtime.
    pub control: Option<Control>,
    /// What is still to be written to it.
    pub outgoing: Outgoing,
    /// Items that the guest may still send.
    pub leave: u64,
    /// What must turn out true before the job runs, as long as it has not.
    pub gate: Option<Closed>,
    /// When the job was delivered.
    pub since: Instant,
    /// Files that were put into a fresh /jar.
    pub inputs: Vec<crate::job::InputFile>,
    /// A host folder for what is left in a fresh /jar.
    pub collect: Option<crate::job::Collect>,
    /// What was to be executed, for messages.
    pub program: String,
    /// Whether the guest runtime went in as source.
    pub wants_compiling: bool,
    /// How init ended.
    pub ended: Option<Ended>,
    /// When nothing of the guest's was left in it.
    pub emptied: Option<Instant>,
    /// What was there before the job, when Python was.
    pub warm: Option<Warm>,
}

/// A look at what a job does to others, by way of its cgroup; gives when to take the next one, if at all.
pub(crate) type Look = Box<dyn FnMut(&mut Group) -> Option<Duration> + Send>;

/// A worker that was parked in its jar before it was given a job.
pub(crate) struct Warm {
    pub worker: OwnedFd,
    pub workdir: Option<OwnedFd>,
    /// Tells when memory runs out; made when the worker was parked.
    pub memory: Option<OomEvent>,
    /// Processor time that was used up before the job came.
    pub cpu_usec: u64,
    /// Whether a value ends the job: the worker of a call waits for its end then.
    pub ends_with_value: bool,
    /// Called once when the job takes its time: until then nobody else shall want the processor.
    pub late: Option<Box<dyn FnOnce() + Send>>,
    /// Called from time to time while the job runs.
    pub look: Option<Look>,
    /// Takes the cgroup of an empty jar.
    pub bury: Option<Box<dyn FnOnce(Group) + Send>>,
    /// What is only to be closed, which is done with the jar: whoever waits for its value does not wait for that.
    pub rest: Vec<OwnedFd>,
}

/// The caller's ends of everything the guest reads and writes.
pub(crate) struct Streams {
    pub input: Input,
    pub stdout: Stream,
    pub stderr: Stream,
    pub terminal: Option<OwnedFd>,
    pub reader: Option<Live>,
}

impl Jar {
    /// Ends everything in the jar and waits until it is empty.
    pub(crate) fn empty(&mut self) -> Result<Ended, Error> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        self.init
            .kill()
            .map_err(|error| Error::setup("end the jar", error))?;
        // Init ends the rest itself, once the scheduler gets to it; behind a crowd of busy guests that takes its time.
        if self.emptied.is_none()
            && !self.ends_within(PROMPT)
            && let Some(group) = &self.group
        {
            let _ = group.kill();
        }
        let since = Instant::now();
        let prompt = self.ends_within(PATIENCE);
        if !prompt {
            tracing::error!("a jar is not empty {} s after the kill", PATIENCE.as_secs());
            while !self.ends_within(PATIENCE) {}
        }
        match self
            .init
            .try_wait()
            .map_err(|error| Error::setup("wait for the jar", error))?
        {
            Some(ended) => {
                self.ended = Some(ended);
                self.emptied.get_or_insert_with(Instant::now);
                if prompt {
                    return Ok(ended);
                }
                Err(Error::Lost {
                    process: Process::Jar,
                    how: format!("empty only {} s after the kill", since.elapsed().as_secs()),
                })
            }
            None => Err(Error::Lost {
                process: Process::Jar,
                how: "its end was told, and is not there".into(),
            }),
        }
    }

    /// Ends what is left of the guest. An init that has said that it is alone goes by itself meanwhile: its namespaces take
    /// the kernel longer than all that is left to do here.
    pub(crate) fn quiet(&mut self) -> Result<Ended, Error> {
        match self.emptied {
            Some(_) => Ok(self.ended.unwrap_or_default()),
            None => self.empty(),
        }
    }

    /// The way to the guest runtime.
    pub(super) fn voice(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().and_then(Control::get)
    }

    /// The pids below which all of the jar's processes are: a worker's parent is its template, not its jar's init.
    pub(super) fn roots(&self) -> Vec<u32> {
        let worker = self.warm.as_ref().map(|warm| pid_of(warm.worker.as_fd()));
        let all = std::iter::once(self.init.pid()).chain(worker);
        all.filter(|pid| *pid != 0).collect()
    }

    /// Processor time that is not the job's.
    pub(super) fn cpu_before(&self) -> u64 {
        self.warm.as_ref().map_or(0, |warm| warm.cpu_usec)
    }

    /// Waits for init's end, and with it the jar's.
    fn ends_within(&self, patience: std::time::Duration) -> bool {
        let mut poll = [rustix::event::PollFd::new(
            &self.init,
            rustix::event::PollFlags::IN,
        )];
        let timeout = rustix::event::Timespec {
            tv_sec: patience.as_secs() as i64,
            tv_nsec: patience.subsec_nanos().into(),
        };
        loop {
            match rustix::event::poll(&mut poll, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => {}
                ready => return ready == Ok(1),
            }
        }
    }
}
