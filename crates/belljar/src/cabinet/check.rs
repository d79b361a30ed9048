//! Looking at templates and workers from outside. An import may have patched the code that seals a worker, so nobody's word
//! is taken for it: the kernel tells the keeper what a process may do.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use belljar_linux::inspect::{Entry, Identity, Proc, Status};
use belljar_linux::namespaces::Kind;
use belljar_linux::{pidfd, rlimits};
use rustix::process::Resource;

use super::template::Template;
use crate::init::{Room, filter};

/// SYS_CHROOT, SYS_ADMIN, SETPCAP: what walking into a jar takes.
const TEMPLATE_CAPABILITIES: u64 = 1 << 18 | 1 << 21 | 1 << 8;
/// Standard streams, the keeper's socket, the way back to its own pid namespace, and the ends of its children.
const TEMPLATE_DESCRIPTORS: [i32; 6] = [0, 1, 2, 3, 4, 5];
/// A jar's init is 1, and a worker is the first process after it.
const WORKER_PID: i32 = 2;
/// The keeper in its own pid namespace.
const KEEPER_PID: i32 = 1;

/// What a plan wants every process of a cabinet to look like.
pub(super) struct Look {
    proc: Proc,
    /// Of a template; a worker has its own on top.
    filters: u32,
    privileges: bool,
    /// Limits that a worker sets for itself, and the highest that they may be.
    limits: Vec<(Resource, u64)>,
}

/// What a particular worker must look like.
pub(super) struct Expected {
    descriptors: Vec<(i32, Identity)>,
    namespaces: Vec<(Kind, Identity)>,
    init: i32,
}

fn identity(fd: impl AsFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}

impl Look {
    pub(super) fn new(room: &Room<'_>) -> io::Result<Self> {
        Ok(Self {
            proc: Proc::open("/proc")?,
            filters: u32::from(!filter(room).is_empty()),
            privileges: room.plan.drops_privileges(),
            limits: limits(room),
        })
    }

    /// Whether workers give up their capabilities; only a test's plan says otherwise.
    pub(super) fn drops_privileges(&self) -> bool {
        self.privileges
    }

    /// What a worker with these descriptors, at 0 to 3, in these namespaces must look like.
    pub(super) fn expect(
        &self,
        descriptors: [&OwnedFd; 4],
        kinds: &[Kind],
        namespaces: &[OwnedFd],
        init: i32,
    ) -> io::Result<Expected> {
        let descriptors = (0..)
            .zip(descriptors)
            .map(|(number, fd)| Ok((number, identity(fd)?)))
            .collect::<io::Result<_>>()?;
        let namespaces = kinds
            .iter()
            .zip(namespaces)
            .map(|(kind, fd)| Ok((*kind, identity(fd)?)))
            .collect::<io::Result<_>>()?;
        Ok(Expected {
            descriptors,
            namespaces,
            init,
        })
    }

    fn entry(&self, pid: i32) -> Result<Entry, String> {
        self.proc.entry(pid).map_err(|error| unseen(pid, &error))
    }

    /// Whether workers may be forked from this template; if not, why.
    /// `known` are those whom the keeper has started itself.
    pub(super) fn template(&self, pid: i32, known: &HashSet<i32>) -> Result<(), String> {
        let entry = self.entry(pid)?;
        let status = one_thread(&entry)?;
        let shared = entry.shared_writable().map_err(|error| unseen(pid, &error))?;
        if let Some(first) = shared.first() {
            return Err(format!(
                "the template has memory that all workers would share ({first})"
            ));
        }
        let open = entry.descriptors().map_err(|error| unseen(pid, &error))?;
        let numbers: Vec<i32> = open.iter().map(|descriptor| descriptor.number).collect();
        if numbers != TEMPLATE_DESCRIPTORS {
            return Err(format!("the template has descriptors {numbers:?} open"));
        }
        // Its workers share its open files, and nobody counts what it locks.
        let locks = std::fs::read_to_string("/proc/locks").map_err(|error| unseen(pid, &error))?;
        let own = |line: &&str| line.split_whitespace().nth(4) == Some(pid.to_string().as_str());
        let held = locks.lines().filter(own).count();
        if held > 0 {
            return Err(format!("the template holds {held} file locks"));
        }
        self.alone(&[pid], known)?;
        let wanted = [TEMPLATE_CAPABILITIES; 5];
        if status.caps != wanted || !status.no_new_privs || status.filters != self.filters {
            return Err("the template does not have the privileges that it was started with".into());
        }
        Ok(())
    }

    /// Whether a template that was fit still has one thread, and nobody beside it.
    pub(super) fn template_again(
        &self,
        pid: i32,
        templates: &[i32],
        known: &HashSet<i32>,
    ) -> Result<(), String> {
        one_thread(&self.entry(pid)?)?;
        self.alone(templates, known)
    }

    fn alone(&self, templates: &[i32], known: &HashSet<i32>) -> Result<(), String> {
        let strangers = self.strangers(templates, known);
        match strangers.map_err(|error| unseen(KEEPER_PID, &error))?.len() {
            0 => Ok(()),
            count => Err(format!("the template has {count} processes of its own")),
        }
    }

    /// What imports have started, and everything below. Those that have lost their parent are the keeper's children now.
    /// Whoever is in a jar ends with it.
    pub(super) fn strangers(&self, templates: &[i32], known: &HashSet<i32>) -> io::Result<Vec<i32>> {
        let (mut parents, mut found) = (templates.to_vec(), Vec::new());
        parents.push(KEEPER_PID);
        while let Some(parent) = parents.pop() {
            for child in self.proc.children(parent)? {
                if !known.contains(&child) && !self.is_in_jar(child) {
                    parents.push(child);
                    found.push(child);
                }
            }
        }
        Ok(found)
    }

    /// Whether there is such a process, be it one that nobody has reaped.
    pub(super) fn is_there(&self, pid: i32) -> bool {
        self.proc.entry(pid).is_ok()
    }

    /// Whether it ends with its jar; what has ended meanwhile has.
    fn is_in_jar(&self, pid: i32) -> bool {
        let status = self.entry(pid).and_then(|entry| status(&entry));
        status.is_ok_and(|status| status.ns_pids.len() > 1) || !self.is_there(pid)
    }

    /// Whether a worker is sealed; if not, why. Of a template that goes, or is gone, the keeper takes over its workers.
    pub(super) fn worker(
        &self,
        pid: i32,
        expected: &Expected,
        template: Option<&Template>,
    ) -> Result<(), String> {
        let entry = self.entry(pid)?;
        let status = status(&entry)?;
        if self.privileges && status.caps != [0; 5] {
            return Err("it has capabilities".into());
        }
        if !status.no_new_privs || status.filters != 2 * self.filters || status.threads != 1 {
            return Err(format!(
                "no_new_privs {}, {} filters, {} threads",
                status.no_new_privs, status.filters, status.threads
            ));
        }
        for (resource, most) in &self.limits {
            let found = rlimits::get_for(pid, *resource).map_err(|error| unseen(pid, &error))?;
            if found.hard.is_none_or(|hard| hard > *most) {
                return Err("its limits are not set".into());
            }
        }
        // Asked after the look: a template may end at any moment.
        let is_child = match (status.ppid, template) {
            (KEEPER_PID, Some(template)) => template.leaving || has_ended(template),
            (parent, Some(template)) => parent == template.process.pid() as i32,
            (parent, None) => parent == KEEPER_PID,
        };
        if status.ns_pids.last() != Some(&WORKER_PID) || !is_child {
            return Err("it is not the process that was asked for".into());
        }
        let kinds: Vec<Kind> = expected.namespaces.iter().map(|(kind, _)| *kind).collect();
        let namespaces = entry.namespaces_of(&kinds).map_err(|error| unseen(pid, &error))?;
        for (found, wanted) in namespaces.iter().zip(&expected.namespaces) {
            if found != wanted {
                return Err(format!("it is not in the jar's {} namespace", wanted.0.name()));
            }
        }
        let open = entry.files().map_err(|error| unseen(pid, &error))?;
        if open != expected.descriptors {
            let numbers: Vec<i32> = open.iter().map(|(number, _)| *number).collect();
            return Err(format!("it has descriptors {numbers:?} open"));
        }
        let group = |entry: &Entry| entry.cgroup().map_err(|error| unseen(entry.pid(), &error));
        if group(&entry)? != group(&self.entry(expected.init)?)? {
            return Err("it is not in the jar's cgroup".into());
        }
        for process in [pid, expected.init] {
            // Both have one thread: init is ours, and the worker was looked at above.
            let children = self.proc.children_of_one(process);
            let children = children.map_err(|error| unseen(pid, &error))?;
            if !children.is_empty() {
                return Err("it is not alone in its jar".into());
            }
        }
        Ok(())
    }
}

fn limits(room: &Room<'_>) -> Vec<(Resource, u64)> {
    let limits = room.plan.rlimits().iter();
    let own = limits.filter(|limit| limit.resource.is_workers_own());
    own.map(|limit| (limit.resource.kernel(), limit.hard)).collect()
}

fn one_thread(entry: &Entry) -> Result<Status, String> {
    let status = status(entry)?;
    match status.threads {
        1 => Ok(status),
        count => Err(format!(
            "the template has {count} threads, and a fork takes only one along"
        )),
    }
}

fn has_ended(template: &Template) -> bool {
    pidfd::is_ended(template.process.as_fd()).unwrap_or(false)
}

fn status(entry: &Entry) -> Result<Status, String> {
    entry.status().map_err(|error| unseen(entry.pid(), &error))
}

fn unseen(pid: i32, error: &io::Error) -> String {
    format!("process {pid} cannot be looked at: {error}")
}
