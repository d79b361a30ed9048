//! Imports are held to the policy: to as many processes, to its processor time, to its time. What they have started is ended
//! with their template, and looked for again at every worker and from time to time: a timer can start it later.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::loops::Keeper;
use crate::cabinet::message::Preloaded;
use crate::jar::{Stat, microseconds};

/// Time and processor time that imports have at least: a limit of less is meant for calls, which find them done.
const LEAST: Duration = Duration::from_secs(10);
/// Time that imports have where the policy sets none.
const LONGEST: Duration = Duration::from_secs(120);
/// How often a look is taken while a template imports, and when it only waits.
const IMPORTING: Duration = Duration::from_millis(10);
const WAITING: Duration = Duration::from_secs(1);
/// Microseconds that a template may use when its imports are done, in all and for each worker.
const CALM: u64 = 1_000_000;
const FORK: u64 = 20_000;
/// How often strangers are listed and killed before everything in the cabinet is.
const PASSES: usize = 100;

/// Microseconds that a process has used itself.
pub(super) fn used(pid: i32) -> u64 {
    Stat::of(pid as u32).map_or(0, |stat| microseconds(stat.own))
}

impl Keeper<'_> {
    /// How long imports may take.
    pub(super) fn longest_import(&self) -> Duration {
        let timeout = self.room.plan.limits().timeout;
        timeout.map_or(LONGEST, |timeout| timeout.max(LEAST))
    }

    /// Microseconds of processor time that they may use, where the policy limits it.
    pub(super) fn import_budget(&self) -> Option<u64> {
        let seconds = self.room.plan.limits().cpu_seconds?;
        Some((seconds.max(LEAST.as_secs_f64()) * 1e6) as u64)
    }

    /// Everyone in the cabinet whom no import has started, or who is as good as gone.
    pub(super) fn known(&self) -> HashSet<i32> {
        let jars = self.jars.values().map(|jar| jar.init());
        let known = jars.chain(self.pids()).chain(self.workers.keys().copied());
        known.chain(self.doomed.iter().copied()).collect()
    }

    /// The templates, by their pids.
    fn pids(&self) -> impl Iterator<Item = i32> {
        self.templates
            .values()
            .map(|template| template.process.pid() as i32)
    }

    pub(super) fn next_look(&self) -> Option<Instant> {
        let templates = self.templates.values();
        let every = templates.map(|template| if template.ready { WAITING } else { IMPORTING });
        Some(self.looked + every.min()?)
    }

    pub(super) fn look_at_templates(&mut self) {
        self.looked = Instant::now();
        for number in self.templates.keys().copied().collect::<Vec<u64>>() {
            let ready = self.templates.get(&number).is_some_and(|template| template.ready);
            let found = if ready {
                self.still_fit(number)
            } else {
                self.within_limits(number)
            };
            match found {
                Ok(()) => {}
                Err(reason) if ready => self.spoiled(number, reason),
                Err(reason) => self.unfit(number, &self.suspects(number), reason),
            }
        }
    }

    /// Whether the imports of a template are within the limits of the policy; if not, why. What cannot be looked at is ending.
    fn within_limits(&mut self, number: u64) -> Result<(), String> {
        let (pids, known) = (self.pids().collect::<Vec<i32>>(), self.known());
        let strangers = self.look.strangers(&pids, &known).unwrap_or_default();
        let most = self.room.plan.limits().pids;
        if strangers.len() as u64 > most {
            return Err(format!("the imports made more than {most} processes"));
        }
        let budget = self.import_budget();
        let Some(template) = self.templates.get_mut(&number) else {
            return Ok(());
        };
        let Some((budget, sampler)) = budget.zip(template.sampler.as_mut()) else {
            return Ok(());
        };
        let own = template.process.pid();
        let all = || {
            std::iter::once(own)
                .chain(strangers.iter().map(|pid| *pid as u32))
                .collect()
        };
        if sampler.sample(all) < budget {
            return Ok(());
        }
        let seconds = budget as f64 / 1e6;
        Err(format!(
            "the imports used more than {seconds} s of processor time"
        ))
    }

    /// Whether a template still waits for nothing but orders; if not, why.
    pub(super) fn still_fit(&self, number: u64) -> Result<(), String> {
        let Some(template) = self
            .templates
            .get(&number)
            .filter(|template| template.ready && !template.leaving && !template.replaced)
        else {
            return Ok(());
        };
        let pid = template.process.pid() as i32;
        // One that has died is told of as that.
        if !self.look.is_there(pid) || Stat::of(pid as u32).is_none() {
            return Ok(());
        }
        let pids: Vec<i32> = self.pids().collect();
        // Another one that imports now may have children.
        let importing = self.templates.values().any(|template| !template.ready);
        if !importing {
            self.look.template_again(pid, &pids, &self.known())?;
        }
        match used(pid).saturating_sub(template.cpu_usec) > CALM + FORK * u64::from(template.forks) {
            true => Err("the template uses the processor when it has nothing to do".into()),
            false => Ok(()),
        }
    }

    /// Which import is to blame: the one that was going on, or all of them.
    pub(super) fn suspects(&self, number: u64) -> Vec<Preloaded> {
        let importing = self
            .templates
            .get(&number)
            .and_then(|template| template.importing.as_ref());
        let all = self.preloading.modules.iter();
        all.filter(|name| importing.is_none_or(|importing| importing == *name))
            .map(|name| Preloaded {
                name: name.clone(),
                caught: true,
                ..Preloaded::default()
            })
            .collect()
    }

    /// Ends what imports have started. Who has a kill pending starts nothing more.
    pub(super) fn end_strangers(&mut self) {
        for _ in 0..PASSES {
            let pids: Vec<i32> = self.pids().chain(self.doomed.iter().copied()).collect();
            let found = self.look.strangers(&pids, &self.known()).unwrap_or_default();
            if found.is_empty() {
                return;
            }
            for pid in found.into_iter().filter_map(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                self.doomed.insert(pid.as_raw_pid());
            }
        }
        // They outrun it. Nobody outruns this: the group of PID 1 is all but itself, jars too.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
    }
}
