//! The keeper's loop: who is watched, and who is called when something happens.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::process;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::jars::Kept;
use super::preloading::Preloading;
use crate::cabinet::Told;
use crate::cabinet::message::{ToKeeper, receive, tell};
use crate::cabinet::networks::Networks;
use crate::cabinet::room::Blueprint;
use crate::cabinet::template::Template;
use crate::cabinet::{Spec, check};
use crate::init::{Failure, Room, step};

/// The part of an event's number that says whose it is.
const KIND: u64 = 0xff << 56;

/// Whose event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Engine,
    /// A template's socket, its first or second output, or its end.
    TemplateSocket(u64),
    TemplateOutput(u64, usize),
    TemplateEnd(u64),
    /// A jar's init has reported, or has ended.
    Gate(u64),
    InitEnd(u64),
    /// A worker on its way has said something, or a worker has ended.
    Control(u64),
    WorkerEnd(u64),
}

impl Source {
    fn number(self) -> u64 {
        let (kind, number) = match self {
            Self::Engine => (0, 0),
            Self::TemplateSocket(number) => (1, number),
            Self::TemplateOutput(number, which) => (2 + which as u64, number),
            Self::TemplateEnd(number) => (4, number),
            Self::Gate(number) => (5, number),
            Self::InitEnd(number) => (6, number),
            Self::Control(number) => (7, number),
            Self::WorkerEnd(number) => (8, number),
        };
        kind << 56 | number & !KIND
    }

    fn of(data: u64) -> Option<Self> {
        let number = data & !KIND;
        Some(match data >> 56 {
            0 => Self::Engine,
            1 => Self::TemplateSocket(number),
            kind @ (2 | 3) => Self::TemplateOutput(number, kind as usize - 2),
            4 => Self::TemplateEnd(number),
            5 => Self::Gate(number),
            6 => Self::InitEnd(number),
            7 => Self::Control(number),
            8 => Self::WorkerEnd(number),
            _ => return None,
        })
    }
}

/// Everything that a keeper knows.
pub(super) struct Keeper<'a> {
    pub room: &'a Room<'a>,
    pub spec: &'a Spec,
    pub engine: &'a OwnedFd,
    /// The way into the templates' cgroup.
    pub groups: &'a [OwnedFd],
    poll: OwnedFd,
    /// By a number of our own; the youngest ready one makes workers.
    pub templates: HashMap<u64, Template>,
    pub current: Option<u64>,
    pub next_template: u64,
    /// What templates import, and what they cannot have.
    pub preloading: Preloading,
    /// Why no template can be had; nothing more is started then.
    pub cold: Option<String>,
    /// By the engine's number.
    pub jars: HashMap<u64, Kept>,
    /// Jars that wait for a template.
    pub waiting: VecDeque<u64>,
    /// What is known of the pids of this namespace that are not reaped yet.
    pub workers: HashMap<i32, u64>,
    pub look: check::Look,
    pub networks: Networks,
    pub blueprint: Blueprint<'a>,
    /// The last order to a template, with the number of cgroups in it.
    pub order: Option<(usize, Vec<u8>)>,
    /// When templates were looked at.
    pub looked: Instant,
    /// What imports had started and was killed, until it is reaped.
    pub doomed: HashSet<i32>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        room: &'a Room<'a>,
        spec: &'a Spec,
        engine: &'a OwnedFd,
        groups: &'a [OwnedFd],
    ) -> io::Result<Self> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self {
            room,
            spec,
            engine,
            groups,
            poll,
            templates: HashMap::new(),
            current: None,
            next_template: 0,
            preloading: Preloading::new(spec),
            cold: None,
            jars: HashMap::new(),
            waiting: VecDeque::new(),
            workers: HashMap::new(),
            look: check::Look::new(room)?,
            networks: Networks::new(room.plan)?,
            blueprint: Blueprint::new(room.plan)?,
            order: None,
            looked: Instant::now(),
            doomed: HashSet::new(),
        })
    }

    /// Until the engine is gone.
    pub(super) fn run(mut self) -> Result<(), Failure> {
        step("watch the engine", self.watch(self.engine, Source::Engine))?;
        step("start a template", self.start_template())?;
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let wait = self.next_deadline().map(|wait| rustix::event::Timespec {
                tv_sec: wait.as_secs() as i64,
                tv_nsec: i64::from(wait.subsec_nanos()),
            });
            match epoll::wait(
                &self.poll,
                rustix::buffer::spare_capacity(&mut events),
                wait.as_ref(),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(("wait for events".into(), error.into())),
            }
            for event in events.drain(..) {
                let Some(source) = Source::of(event.data.u64()) else {
                    continue;
                };
                if source == Source::Engine {
                    if !self.hear_engine() {
                        return Ok(());
                    }
                    continue;
                }
                self.handle(source);
            }
            self.reap();
            self.check_deadlines();
            self.serve_waiting();
        }
    }

    fn handle(&mut self, source: Source) {
        match source {
            Source::Engine => {}
            Source::TemplateSocket(number) => {
                self.hear_template(number);
            }
            Source::TemplateOutput(number, which) => self.drain(number, which),
            Source::TemplateEnd(number) => self.template_ended(number),
            Source::Gate(number) => self.hear_init(number),
            Source::InitEnd(number) => self.init_ended(number),
            Source::Control(number) => self.hear_worker(number),
            Source::WorkerEnd(number) => self.worker_ended(number),
        }
    }

    /// Whether the engine is still there.
    fn hear_engine(&mut self) -> bool {
        match receive::<ToKeeper>(self.engine.as_fd()) {
            Ok(Some((ToKeeper::Make { number, hurry, cpus }, groups))) => {
                self.make(number, hurry, cpus, groups);
            }
            Ok(None) | Err(_) => return false,
        }
        true
    }

    pub(super) fn tell(&self, told: Told) {
        tell(self.engine.as_fd(), told);
    }

    pub(super) fn watch(&self, fd: impl AsFd, source: Source) -> io::Result<()> {
        let data = EventData::new_u64(source.number());
        Ok(epoll::add(&self.poll, fd, data, EventFlags::IN)?)
    }

    /// What has ended stays readable for ever: once seen, it is not watched any more.
    pub(super) fn unwatch(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.poll, fd);
    }

    /// Takes every child that has ended: inits, templates, and workers whose template is gone.
    pub(super) fn reap(&mut self) {
        while let Ok(Some((pid, ended))) = process::reap_any() {
            self.doomed.remove(&pid);
            if let Some(number) = self.workers.remove(&pid) {
                self.worker_reaped(number, ended);
            }
        }
    }

    fn next_deadline(&self) -> Option<Duration> {
        let jars = self.jars.values().filter_map(|jar| jar.deadline);
        let templates = self.templates.values().filter_map(|template| template.deadline);
        let rotation = self.rotation_due();
        let next = jars
            .chain(templates)
            .chain(rotation)
            .chain(self.next_look())
            .min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn check_deadlines(&mut self) {
        let now = Instant::now();
        let late = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        let jars: Vec<u64> = self
            .jars
            .iter()
            .filter(|(_, jar)| late(jar.deadline))
            .map(|(number, _)| *number)
            .collect();
        for number in jars {
            self.jar_late(number);
        }
        let templates: Vec<u64> = self
            .templates
            .iter()
            .filter(|(_, template)| late(template.deadline))
            .map(|(number, _)| *number)
            .collect();
        for number in templates {
            self.template_late(number);
        }
        if late(self.next_look()) {
            self.look_at_templates();
        }
        if late(self.rotation_due()) {
            self.rotate();
        }
    }
}
