//! A jar whose worker waits for its one job, as the pool holds it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use belljar_linux::cgroup::Group;
use belljar_linux::process;
use rustix::process::Pid;
use rustix::thread::CpuSet;

use crate::cabinet::Parked;
use crate::jar::{Control, Init, Jar, Parent, Worker};

/// Resident memory of a worker where nothing tells.
const GUESS: u64 = 4 << 20;

/// A jar with its parked worker, and what was prepared for watching it.
pub(super) struct Ready {
    pub jar: Jar,
    /// The guest's standard streams.
    pub ends: [OwnedFd; 3],
    /// Processor time that it has used for walking in and rehearsing.
    pub cpu_usec: u64,
    /// The template that it comes from.
    pub generation: u64,
    /// Processors that it keeps to, where its plan says how many.
    pub cpus: Vec<usize>,
    /// The processor that it was parked on, if that was asked.
    pub at: Option<usize>,
    aside: Option<Box<Aside>>,
}

/// A worker that will wake up on some of its processors only.
struct Aside {
    on: CpuSet,
    /// Those that it may use.
    of: Vec<usize>,
}

impl Ready {
    /// Prepares what a job would otherwise wait for.
    pub(super) fn new(parked: Parked, group: Option<Group>, generation: u64, cpus: Vec<usize>) -> Self {
        let worker = Worker {
            process: Some(parked.worker),
            control: Some(Control::new(parked.control)),
            parent: Parent::Template,
        };
        let memory = group.as_ref().and_then(|group| group.oom_event().ok().flatten());
        let counted = group.as_ref().and_then(Group::cpu_usec);
        let cpu_usec = counted.unwrap_or_else(|| processor_time(worker.pid()));
        let mut jar = Jar::new(Init::Kept(parked.init), group, parked.report, worker);
        (jar.handed, jar.memory) = (parked.handed, memory);
        Self {
            jar,
            ends: [parked.stdin, parked.stdout, parked.stderr],
            cpu_usec,
            generation,
            cpus,
            at: None,
            aside: None,
        }
    }

    /// Whether its jar is still there.
    pub(super) fn is_alive(&self) -> bool {
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let worker = self.jar.worker.process.as_ref().map(AsFd::as_fd);
        let mut list: Vec<_> = [Some(self.jar.init.as_fd()), worker]
            .into_iter()
            .flatten()
            .map(|fd| rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN))
            .collect();
        rustix::event::poll(&mut list, Some(&now)).is_ok_and(|ready| ready == 0)
    }

    /// Asks where it is parked: the kernel wakes it up there if no processor is idle.
    pub(super) fn locate(&mut self) {
        let path = format!("/proc/{}/stat", self.jar.worker.pid());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // Behind its name, which may have anything in it: the 39th of all fields is the 37th.
        let field = text
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(36));
        self.at = field.and_then(|cpu| cpu.parse().ok());
    }

    /// Has it wake up on one of these processors, and not on the one that it was parked on: the kernel decides that at the
    /// moment it is woken up.
    pub(super) fn stand_aside(&mut self, clear: &CpuSet) {
        if self.aside.as_ref().is_some_and(|aside| aside.on == *clear) {
            return;
        }
        // A worker that lives has this number; for it to be a stranger's below, all others would have to be given out before.
        let pid = Pid::from_raw(self.jar.worker.pid() as i32);
        let known = self.aside.as_ref().map(|aside| aside.of.clone());
        if let Some(of) = known.or_else(|| process::processors_of(Some(pid?)).ok())
            && rustix::thread::sched_setaffinity(pid, clear).is_ok()
        {
            self.aside = Some(Box::new(Aside { on: *clear, of }));
        }
    }

    /// The processors of one that stands aside. It has to be told: the job must not begin with fewer.
    pub(super) fn processors(&self) -> Option<&[usize]> {
        self.aside.as_ref().map(|aside| aside.of.as_slice())
    }

    /// What it takes of memory, as far as can be told.
    pub(super) fn weight(&self) -> u64 {
        let counted = || {
            self.jar
                .group
                .as_ref()
                .and_then(|group| group.stats().memory_peak)
        };
        proportional(self.jar.worker.pid())
            .or_else(counted)
            .unwrap_or(GUESS)
    }
}

/// Microseconds that a worker's first thread has run.
fn processor_time(pid: u32) -> u64 {
    let path = format!("/proc/{pid}/schedstat");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0)).as_micros() as u64
}

/// Bytes that are a process's own, and its share of those that it shares; some hosts tell only its owner.
fn proportional(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
