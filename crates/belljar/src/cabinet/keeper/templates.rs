//! Templates: started, checked, replaced, and dropped when they do not do their part.

use std::io;
use std::time::{Duration, Instant};

use belljar_linux::process::Ended;
use rustix::io::Errno;

use super::loops::{Keeper, Source};
use super::preloading::culprits;
use super::strangers::used;
use crate::cabinet::Told;
use crate::cabinet::message::{Preloaded, TemplateReady};
use crate::cabinet::template;
use crate::jar::Sampler;

/// How long a template that was told to end may take.
const LEAVING: Duration = Duration::from_secs(2);
/// How much of what a template prints is kept, to say why it died.
const KEPT_OUTPUT: usize = 2048;

impl Keeper<'_> {
    pub(super) fn start_template(&mut self) -> io::Result<()> {
        let mut template = template::start(self.room, &self.preloading.modules, self.groups)?;
        template.deadline = Some(Instant::now() + self.longest_import());
        template.sampler = self.import_budget().map(|_| Sampler::new(f64::INFINITY));
        let number = self.next_template;
        self.next_template += 1;
        self.watch(&template.socket, Source::TemplateSocket(number))?;
        self.watch(&template.process, Source::TemplateEnd(number))?;
        for (which, output) in template.output.iter().enumerate() {
            self.watch(output, Source::TemplateOutput(number, which))?;
        }
        self.templates.insert(number, template);
        Ok(())
    }

    /// Starts a fresh template, unless one is on its way; the old one serves until then.
    pub(super) fn rotate(&mut self) {
        let coming = self
            .templates
            .iter()
            .any(|(number, template)| !template.ready && Some(*number) != self.current);
        if coming || self.cold.is_some() {
            return;
        }
        if let Err(error) = self.start_template() {
            tracing::debug!(%error, "no fresh template");
            // Not again for each worker: the old one goes on.
            if let Some(template) = self.current.and_then(|current| self.templates.get_mut(&current)) {
                template.since = Instant::now();
                template.forks = 0;
            }
        }
    }

    /// When the current template has served long enough.
    pub(super) fn rotation_due(&self) -> Option<Instant> {
        let template = self.templates.get(&self.current?)?;
        let coming = self.templates.values().any(|template| !template.ready);
        // An idle template costs nothing to keep; a fresh one is started for the next worker.
        let worn = template.forks >= self.spec.rotate_jobs;
        let due = if worn {
            template.since
        } else {
            template.since + self.spec.rotate_after
        };
        (!coming && template.forks > 0).then_some(due)
    }

    /// Takes one message of a template's; whether there was one.
    pub(super) fn hear_template(&mut self, number: u64) -> bool {
        let Some(template) = self.templates.get(&number) else {
            return false;
        };
        let said = match template.hear() {
            Ok(Some(said)) => said,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            // Its end comes by its pidfd; a template that only let go of its socket is of no use either.
            Ok(None) | Err(_) => {
                self.unwatch(&template.socket);
                let _ = template.process.kill();
                return false;
            }
        };
        if let Some(name) = said
            .importing
            .filter(|name| self.preloading.modules.contains(name))
        {
            if let Some(template) = self.templates.get_mut(&number) {
                template.importing = Some(name);
            }
        } else if let Some(reason) = said.unable {
            self.unfit(number, &[], reason);
        } else if let Some(ready) = said.ready {
            self.template_ready(number, ready);
        } else if let Some(jar) = said.forked {
            self.worker_forked(jar, number, said.pid);
        } else if let Some(jar) = said.failed {
            self.jar_failed(jar, &said.step, said.errno);
        } else if let Some(pid) = said.ended
            && let Some(jar) = self.workers.get(&pid).copied()
            && self
                .jars
                .get(&jar)
                .is_some_and(|jar| jar.template == Some(number) && jar.is_reaped(&self.look))
        {
            self.workers.remove(&pid);
            let ended = Ended {
                status: said.status,
                cpu_usec: said.cpu_usec,
                max_rss: said.max_rss.saturating_mul(1024),
            };
            self.worker_reaped(jar, ended);
        }
        true
    }

    fn template_ready(&mut self, number: u64, ready: TemplateReady) {
        // Whoever has ended is not there any more.
        self.reap();
        let known = self.known();
        let Some(template) = self.templates.get_mut(&number).filter(|template| !template.ready) else {
            return;
        };
        let pid = template.process.pid() as i32;
        if let Err(reason) = self.look.template(pid, &known) {
            return self.unfit(number, &ready.modules, reason);
        }
        template.ready = true;
        template.importing = None;
        template.cpu_usec = used(pid);
        template.deadline = None;
        template.since = Instant::now();
        let old = self.current.replace(number);
        let mut modules = ready.modules;
        modules.extend_from_slice(&self.preloading.left_out);
        self.tell(Told::Ready {
            python: ready.python,
            modules,
        });
        if old.is_some() {
            self.tell(Told::Rotated);
        }
        self.retire();
    }

    /// Old templates go as soon as no fork of theirs is on its way; their workers become ours. One that is killed may
    /// have reaped a worker and not told yet, so it is asked to go: it ends at the end of its socket.
    pub(super) fn retire(&mut self) {
        let old: Vec<u64> = self
            .templates
            .iter()
            .filter(|(number, template)| {
                template.ready && !template.leaving && Some(**number) != self.current
            })
            .map(|(number, _)| *number)
            .filter(|number| !self.jars.values().any(|jar| jar.is_forking(*number)))
            .collect();
        for number in old {
            if let Some(template) = self.templates.get_mut(&number) {
                template.leaving = true;
                template.deadline = Some(Instant::now() + LEAVING);
                let _ = rustix::net::shutdown(&template.socket, rustix::net::Shutdown::Write);
            }
        }
    }

    /// No worker can come of this template. One with fewer imports takes its place, if nobody asked for them all.
    pub(super) fn unfit(&mut self, number: u64, report: &[Preloaded], reason: String) {
        // What it said before it was killed.
        if self
            .templates
            .get(&number)
            .is_none_or(|template| template.replaced)
        {
            return;
        }
        if !self.preloading.leave_out(report, &reason) {
            self.go_cold(number, format!("{reason}{}", culprits(report)));
        } else if let Some(template) = self.templates.get_mut(&number) {
            // Not before it is gone: to the look at the next one it would be a stranger.
            template.replaced = true;
            template.deadline = None;
            let _ = template.process.kill();
        }
        self.end_strangers();
    }

    /// No more workers come of a template that was fit and is not any more. Those that it has made go on.
    pub(super) fn spoiled(&mut self, number: u64, reason: String) {
        let report = self.suspects(number);
        let forking = self.jars.iter().filter(|(_, jar)| jar.is_forking(number));
        for jar in forking.map(|(jar, _)| *jar).collect::<Vec<u64>>() {
            self.jar_failed(jar, "fork a worker", Errno::PIPE.raw_os_error());
        }
        self.current = self.current.filter(|current| *current != number);
        self.unfit(number, &report, reason);
    }

    /// No worker can come of this template, nor of another one with the same imports.
    fn go_cold(&mut self, number: u64, reason: String) {
        if let Some(template) = self.templates.remove(&number) {
            let _ = template.process.kill();
        }
        self.stay_cold(reason);
    }

    fn stay_cold(&mut self, reason: String) {
        self.tell(Told::Cold {
            reason: reason.clone(),
        });
        self.cold = Some(reason);
    }

    pub(super) fn drain(&mut self, number: u64, which: usize) {
        let Some(template) = self.templates.get_mut(&number) else {
            return;
        };
        let mut bytes = [0; 4096];
        match rustix::io::read(&template.output[which], &mut bytes) {
            Ok(0) => {
                let template = &self.templates[&number];
                self.unwatch(&template.output[which]);
            }
            Ok(length) => {
                template.printed.extend_from_slice(&bytes[..length]);
                let excess = template.printed.len().saturating_sub(KEPT_OUTPUT);
                template.printed.drain(..excess);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.unwatch(&self.templates[&number].output[which]),
        }
    }

    pub(super) fn template_ended(&mut self, number: u64) {
        for which in 0..2 {
            self.drain(number, which);
        }
        // Its last words, then its workers that have ended, then those of which it took the word with it.
        while self.hear_template(number) {}
        let ended = self.ended_workers(number);
        self.reap();
        for jar in ended {
            self.worker_lost(jar);
        }
        let Some(template) = self.templates.remove(&number) else {
            return;
        };
        let printed = String::from_utf8_lossy(&template.printed).trim().to_owned();
        let last = printed.lines().last().unwrap_or_default();
        if !template.ready {
            let reason = format!("the template died before it was ready: {last}");
            let again = template.replaced || self.preloading.leave_out(&[], &reason);
            match again.then(|| self.start_template()) {
                Some(Ok(())) => {}
                Some(Err(error)) => self.stay_cold(format!("no template can be started: {error}")),
                None => self.stay_cold(reason),
            }
            return;
        }
        let forking: Vec<u64> = self
            .jars
            .iter()
            .filter(|(_, jar)| jar.is_forking(number))
            .map(|(jar, _)| *jar)
            .collect();
        for jar in forking {
            self.jar_failed(jar, "fork a worker", Errno::PIPE.raw_os_error());
        }
        if self.current == Some(number) {
            self.current = None;
            let what = format!("a template died: {last}");
            self.tell(Told::Lost { what });
            if let Err(error) = self.start_template() {
                self.stay_cold(format!("no template can be started: {error}"));
            }
        }
    }

    pub(super) fn template_late(&mut self, number: u64) {
        if let Some(template) = self
            .templates
            .get_mut(&number)
            .filter(|template| template.leaving)
        {
            template.deadline = None;
            let _ = template.process.kill();
            return;
        }
        let reason = format!(
            "the imports took more than {} s",
            self.longest_import().as_secs_f64()
        );
        self.unfit(number, &self.suspects(number), reason);
    }
}
