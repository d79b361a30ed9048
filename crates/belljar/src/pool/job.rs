//! One job from the caller's thread: a worker taken, the job delivered, watched, judged.

use std::sync::Arc;
use std::time::Instant;

use serde::de::DeserializeOwned;

use super::core::{Core, Slot, Taken};
use super::crowd::Attendant;
use super::deliver::{Undelivered, deliver, unfit};
use super::frame::frame;
use super::waiter::Cancel;
use crate::cabinet;
use crate::error::{Error, Process};
use crate::jar;
use crate::jar::{Before, Jar, Outgoing, Over, Run, Steer, Steering, Watch};
use crate::job::{Job, Program};
use crate::outcome::{Captured, Changes, Outcome, Status, Usage};
use crate::parcel::Parcel;
use crate::plan::Plan;
use crate::sandbox::Sandbox;

/// What a job gave.
#[derive(Debug)]
pub enum Answer {
    /// The value of a call; its jar is being emptied.
    Value(Spoken),
    /// How it ended; its jar is empty.
    Outcome(Box<Outcome>),
}

/// A value that was handed over, and what is known by then.
#[derive(Debug)]
pub struct Spoken {
    /// The value, as JSON.
    pub json: Vec<u8>,
    /// The value, where its client has an encoding of its own.
    pub parcel: Option<Parcel>,
    /// Standard output up to the value.
    pub stdout: Captured,
    /// Standard error up to the value.
    pub stderr: Captured,
    /// Seconds from delivery to the value.
    pub seconds: f64,
    /// What is left of the job. It was sent the kill; the rest is seen to when this is dropped, after the value has been
    /// handed on.
    pub(super) _rest: Box<Rest>,
}

/// A jar that was sent the kill and goes to the reaper, and the caller's reins, which nobody holds any more.
pub(super) struct Rest {
    core: Arc<Core>,
    jar: Option<Jar>,
    _steer: Steer,
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rest")
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        if let Some(jar) = self.jar.take() {
            self.core.reaper.take_dying(jar);
        }
    }
}

impl Spoken {
    /// Reads the value.
    pub(super) fn read<Value: DeserializeOwned>(self, sandbox: &Sandbox) -> Result<Value, Error> {
        // A value that is missing is read as null, so that a function without one can be called for `()` or an option.
        let json: &[u8] = if self.json.is_empty() { b"null" } else { &self.json };
        match serde_json::from_slice(json) {
            Ok(value) => Ok(value),
            Err(error) => Err(Error::call(Some(error), self.outcome(sandbox.plan()))),
        }
    }

    /// As an outcome. Files, processor time and memory are not known before the jar is empty.
    pub fn outcome(self, plan: &Plan) -> Outcome {
        Outcome {
            status: Status::Returned,
            exit_code: Some(0),
            value: serde_json::from_slice(&self.json).ok(),
            parcel: self.parcel,
            stdout: self.stdout,
            stderr: self.stderr,
            usage: Usage {
                wall_seconds: self.seconds,
                ..Usage::default()
            },
            ..nothing(plan, Status::Returned)
        }
    }
}

/// Workers that may die under a job before they have read it.
const TRIES: usize = 8;

/// A job that has a worker, or none.
enum Begun<'a> {
    Warm(Box<(Jar, Run<'a>, Slot)>),
    Cold(String),
    First,
    Cancelled,
}

impl Core {
    /// Runs one job; one that ends with its value, up to that.
    pub(super) fn run(
        self: &Arc<Self>,
        sandbox: &Sandbox,
        mut job: Job,
        cancel: Option<&Cancel>,
        ends_with_value: bool,
    ) -> Result<Answer, Error> {
        let tightened = sandbox.plan().tighten(&job.limits)?;
        let plan = &*tightened;
        let outcome = |outcome| Ok(Answer::Outcome(Box::new(outcome)));
        if !job.env.is_empty() {
            let pairs = job.env.iter();
            crate::policy::check_env(pairs.map(|(name, value)| (name.as_str(), value.as_str())))?;
        }
        let reason = cabinet::unfit(plan).or_else(|| unfit(plan, &job));
        let frame = match (reason, frame(plan, &job, ends_with_value, None)) {
            (None, Some(frame)) => frame,
            (reason, _) => {
                let reason = reason.unwrap_or("the program is not Python");
                return outcome(self.run_cold(sandbox, job, cancel, reason)?);
            }
        };
        let mut steer = Steer::new(cancel.map_or(Steering::None, Cancel::steering))?;
        let mut first = None;
        for _ in 0..TRIES {
            let begun = self.begin(sandbox, plan, &mut job, &frame, cancel, ends_with_value)?;
            let (mut jar, mut run, slot) = match begun {
                Begun::Warm(begun) => *begun,
                Begun::Cold(reason) => return outcome(self.run_cold(sandbox, job, cancel, &reason)?),
                Begun::First => {
                    let since = Instant::now();
                    let ended = self.run_cold(sandbox, job, cancel, "no worker was ready yet");
                    self.first_ended(sandbox, since.elapsed());
                    return outcome(ended?);
                }
                Begun::Cancelled => return outcome(nothing(plan, Status::Cancelled)),
            };
            // However many workers it takes: the time of a job is one.
            let since = *first.get_or_insert(run.since);
            run.since = since;
            let mut attendant = Attendant::new(self, slot.outer.clone(), plan.limits().cpus);
            let mut watch = Watch::new(&mut jar, run, &mut steer, Some(&mut attendant));
            let over = watch.listen();
            let watched = match over {
                Ok(Over::Value) => match watch.value() {
                    Ok(said) => {
                        let time = since.elapsed();
                        slot.ends(Some(time));
                        let rest = Rest {
                            core: self.clone(),
                            jar: Some(jar),
                            _steer: steer,
                        };
                        return Ok(Answer::Value(Spoken {
                            _rest: Box::new(rest),
                            json: said.json,
                            parcel: said.parcel,
                            stdout: said.stdout,
                            stderr: said.stderr,
                            seconds: time.as_secs_f64(),
                        }));
                    }
                    Err(error) => Err(error),
                },
                Ok(Over::Unread) => {
                    tracing::debug!("a worker went before it had read its job; another one gets it");
                    self.lose(slot);
                    let again = watch.unread().give_back(&mut job);
                    self.reaper.take(jar);
                    if again {
                        continue;
                    }
                    break;
                }
                Ok(Over::End) => watch.end(),
                Err(error) => Err(error),
            };
            // Whatever happened while watching, the jar is emptied before anything else is done.
            let emptied = jar.empty();
            self.finished(slot, &jar, since);
            return match (watched, emptied) {
                (Ok(watched), Ok(ended)) => {
                    let judged = jar::outcome(&jar, Before::default(), watched, ended);
                    self.reaper.bury(jar.group.take());
                    outcome(judged?)
                }
                (Err(error), _) | (_, Err(error)) => {
                    self.leave(jar);
                    Err(error)
                }
            };
        }
        Err(Error::Lost {
            process: Process::Worker,
            how: "it went before it had read its job, and so did others".into(),
        })
    }

    /// From a job to a worker that has it.
    fn begin<'a>(
        self: &Arc<Self>,
        sandbox: &Sandbox,
        plan: &'a Plan,
        job: &mut Job,
        frame: &Outgoing,
        cancel: Option<&Cancel>,
        ends_with_value: bool,
    ) -> Result<Begun<'a>, Error> {
        loop {
            // The value of a call comes early from a worker only.
            let may_be_first = !matches!(job.program, Program::Call { .. });
            let (ready, slot) = match self.take(sandbox, cancel, may_be_first)? {
                Taken::Worker(ready, slot) => (*ready, slot),
                Taken::Cold(reason) => return Ok(Begun::Cold(reason)),
                Taken::First => return Ok(Begun::First),
                Taken::Cancelled => return Ok(Begun::Cancelled),
            };
            if cancel.is_some_and(|cancel| !cancel.runs()) {
                drop(slot);
                self.put_back(&sandbox.digest(), ready);
                return Ok(Begun::Cancelled);
            }
            let clear = self.processors.clear();
            match deliver(plan, ready, job, frame, ends_with_value, clear.as_ref()) {
                Ok((jar, run)) => return Ok(Begun::Warm(Box::new((jar, run, slot)))),
                Err(Undelivered::Dead(jar)) => {
                    tracing::debug!("a worker was gone before it had a job; another one gets it");
                    self.lose(slot);
                    self.reaper.take(*jar);
                }
                Err(Undelivered::Failed(jar, error)) => {
                    slot.ends(None);
                    self.reaper.take(*jar);
                    return Err(error);
                }
            }
        }
    }

    fn lose(&self, slot: Slot) {
        super::waiter::lock(&self.state).counted.lost += 1;
        slot.ends(None);
    }

    fn run_cold(
        &self,
        sandbox: &Sandbox,
        job: Job,
        cancel: Option<&Cancel>,
        reason: &str,
    ) -> Result<Outcome, Error> {
        self.ran_cold(reason);
        tracing::info!(reason, "a job runs cold");
        let running = sandbox.spawn_job(job)?;
        if let Some(cancel) = cancel {
            cancel.runs_cold(&running);
        }
        let outcome = running.wait();
        if let Some(cancel) = cancel {
            cancel.ends();
        }
        outcome.map(|outcome| Outcome {
            cold: Some(reason.to_owned()),
            ..outcome
        })
    }

    /// A job is over and its jar empty: there is room for another worker.
    fn finished(&self, slot: Slot, jar: &Jar, since: Instant) {
        let emptied = jar.emptied.unwrap_or_else(Instant::now);
        super::waiter::lock(&self.state)
            .sums
            .job(emptied.duration_since(since));
        drop(slot);
        self.wake.notify_one();
    }

    /// Lets someone else see to what is left of a jar that was not judged.
    fn leave(&self, jar: Jar) {
        super::waiter::lock(&self.state).emptying += 1;
        self.reaper.take(jar);
    }
}

/// The outcome of a job that never ran, but for its status.
fn nothing(plan: &Plan, status: Status) -> Outcome {
    Outcome {
        status,
        limit: None,
        exit_code: None,
        signal: None,
        value: None,
        parcel: None,
        refused: None,
        exception: None,
        stdout: Captured::default(),
        stderr: Captured::default(),
        changes: Changes::default(),
        usage: Usage::default(),
        isolation: plan.isolation().clone(),
        cold: None,
        files: Vec::new(),
    }
}
