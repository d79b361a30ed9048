//! A plan for one job whose limits are tighter than the plan's own.

use std::borrow::Cow;
use std::fmt::Display;

use super::{Plan, Resource, Rlimit, Step};
use crate::error::{Hinted, next_step};
use crate::hint::Hint;
use crate::job::JobLimits;
use crate::policy::{format_duration, format_size};

/// A job asked for more than its sandbox allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the job asks for {limit} {asked}, which is more than the {most} of its sandbox{}", next_step(self.hint())
)]
pub struct LooserLimit {
    /// Which limit.
    pub limit: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What the sandbox allows.
    pub most: String,
}

impl Hinted for LooserLimit {
    fn hint(&self) -> Option<Hint> {
        Some("raise the sandbox's own limit".into())
    }
}

impl Plan {
    /// This plan with a job's limits in the place of its own, which may only be tighter.
    pub fn tighten(&self, limits: &JobLimits) -> Result<Cow<'_, Self>, LooserLimit> {
        if *limits == JobLimits::default() {
            return Ok(Cow::Borrowed(self));
        }
        let mut plan = self.clone();
        let own = &mut plan.limits;
        if let Some(timeout) = limits.timeout {
            let none = std::time::Duration::MAX;
            check("timeout", timeout, own.timeout.unwrap_or(none), |time| {
                format_duration(*time)
            })?;
            own.timeout = Some(timeout);
            plan.steps.retain(|step| !matches!(step, Step::Deadline { .. }));
            plan.steps.push(Step::Deadline {
                seconds: timeout.as_secs_f64(),
            });
        }
        if let Some(output) = limits.output {
            check("output", output, own.output, |size| format_size(*size))?;
            own.output = output;
        }
        if let Some(seconds) = limits.cpu_seconds {
            check(
                "cpu_seconds",
                seconds,
                own.cpu_seconds.unwrap_or(f64::INFINITY),
                f64::to_string,
            )?;
            own.cpu_seconds = Some(seconds);
            plan.rlimit(Resource::Cpu, seconds.ceil() as u64, seconds.ceil() as u64 + 1);
        }
        let own = &mut plan.limits;
        if let Some(bytes) = limits.memory {
            check("memory", bytes, own.memory, |size| format_size(*size))?;
            let less = own.memory - bytes;
            own.memory = bytes;
            plan.lower(Resource::Data, bytes);
            plan.group(|memory, _| *memory -= less);
        }
        let own = &mut plan.limits;
        if let Some(count) = limits.pids {
            check("pids", count, own.pids, u64::to_string)?;
            let less = own.pids - count;
            own.pids = count;
            plan.lower(Resource::Nproc, count + 1);
            plan.group(|_, pids| *pids -= less);
        }
        Ok(Cow::Owned(plan))
    }

    /// Sets a limit of each process.
    fn rlimit(&mut self, resource: Resource, soft: u64, hard: u64) {
        for step in &mut self.steps {
            if let Step::Rlimits { limits } = step {
                limits.retain(|limit| limit.resource != resource);
                limits.push(Rlimit { resource, soft, hard });
            }
        }
    }

    /// Lowers a limit of each process, where the plan has it.
    fn lower(&mut self, resource: Resource, value: u64) {
        if self.rlimits().iter().any(|limit| limit.resource == resource) {
            self.rlimit(resource, value, value);
        }
    }

    fn group(&mut self, change: impl Fn(&mut u64, &mut u64)) {
        for step in &mut self.steps {
            if let Step::Cgroup { memory, pids, .. } = step {
                change(memory, pids);
            }
        }
    }
}

fn check<Amount: PartialOrd + Copy, Text: Display>(
    limit: &'static str,
    asked: Amount,
    most: Amount,
    text: impl Fn(&Amount) -> Text,
) -> Result<(), LooserLimit> {
    // Written so that NaN is refused too.
    if asked <= most {
        return Ok(());
    }
    Err(LooserLimit {
        limit,
        asked: text(&asked).to_string(),
        most: text(&most).to_string(),
    })
}
