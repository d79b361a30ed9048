//! A jar as it is held from outside: started or taken, watched, emptied, judged. Whoever holds one (the warden of a cold
//! run, a pool) does it by way of this module.
//!
//! Three lives, three types. A [`Jar`] is there from its init to its last process. A [`Worker`] is the process in it that
//! runs jobs. A [`Run`] is one job on that worker. A single call ends all three together; whoever keeps a jar for more ends
//! only its runs. To [`Watch`] a run ends nothing: it tells how the run is over, and the holder decides what becomes of the jar.
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
mod run;
mod sampler;
mod scope;
mod steer;
mod stream;
mod sweep;
mod verdict;
mod watch;
mod weight;
mod word;
mod worker;

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{Group, OomEvent};
use belljar_linux::process::Ended;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::{Error, Process};
use crate::init::Handed;

pub(crate) use cpu::{Stat, microseconds};
pub(crate) use finish::{Before, before, outcome};
pub(crate) use foreign::Control;
pub(crate) use group::{fault, has_group, make_group, make_group_of};
pub(crate) use init::{Init, pid_of};
pub(crate) use outgoing::Outgoing;
pub(crate) use run::{Holder, Run};
pub(crate) use sampler::Sampler;
pub(crate) use scope::settle as settle_scope;
pub(crate) use steer::Steer;
pub use steer::Steering;
pub(crate) use stream::pipe;
pub(crate) use sweep::{hierarchy, sweep, sweep_after};
pub(crate) use watch::{Over, Watch};
pub(crate) use worker::{Parent, Worker};

/// How long a jar may take to be empty after its init was killed. The kernel needs milliseconds; one that takes longer than
/// this is lost, and waited for all the same: what is left of a guest never runs unwatched.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long init gets to end the jar by itself before its processes are killed one by one.
pub(crate) const PROMPT: Duration = Duration::from_millis(5);

/// A jar that has been started.
pub(crate) struct Jar {
    pub init: Init,
    pub group: Option<Group>,
    /// Here init says how its worker ended, or the keeper in its place.
    pub report: OwnedFd,
    /// What init has handed over.
    pub handed: Handed,
    /// Tells when memory runs out.
    pub memory: Option<OomEvent>,
    /// The process in it that runs jobs.
    pub worker: Worker,
    /// How init ended.
    ended: Option<Ended>,
    /// When nothing of the guest's was left in it.
    pub emptied: Option<Instant>,
    /// What is only to be closed, which is done with the jar: whoever waits for a value does not wait for that.
    rest: Vec<OwnedFd>,
}

impl Jar {
    pub(crate) fn new(init: Init, group: Option<Group>, report: OwnedFd, worker: Worker) -> Self {
        Self {
            init,
            group,
            report,
            handed: Handed::default(),
            memory: None,
            worker,
            ended: None,
            emptied: None,
            rest: Vec::new(),
        }
    }

    /// Ends everything in the jar and waits until it is empty.
    pub(crate) fn empty(&mut self) -> Result<Ended, Error> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        self.kill()?;
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

    /// Sends the kill: the kernel ends all that is in the jar.
    fn kill(&self) -> Result<(), Error> {
        self.init
            .kill()
            .map_err(|error| Error::setup("end the jar", error))
    }

    /// Ends what is left of the guest. An init that has said that it is alone goes by itself meanwhile: its namespaces take
    /// the kernel longer than all that is left to do here.
    pub(crate) fn quiet(&mut self) -> Result<Ended, Error> {
        match self.emptied {
            Some(_) => Ok(self.ended.unwrap_or_default()),
            None => self.empty(),
        }
    }

    /// The pids below which all of the jar's processes are: a worker's parent may be its template, not its jar's init.
    fn roots(&self) -> Vec<u32> {
        let worker = self.worker.stranger().map(pid_of);
        let all = std::iter::once(self.init.pid()).chain(worker);
        all.filter(|pid| *pid != 0).collect()
    }

    /// Waits for init's end, and with it the jar's.
    fn ends_within(&self, patience: Duration) -> bool {
        let mut poll = [PollFd::new(&self.init, PollFlags::IN)];
        let timeout = Timespec {
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
