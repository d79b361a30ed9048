//! A sandbox's first jobs, which come before its template is ready: which of them run cold, and which wait for it.
//!
//! An interpreter of its own is there sooner than a template and a worker of it, so the first job runs cold, and the template
//! is begun beside it. How long a template takes is not known before it is ready. How long a cold job took is: one that
//! imports what the template imports takes about as long, so a template that began with it should be ready soon after it.
//! Jobs wait for that moment while it is nearer than the end of another cold start. If it passes in vain, the template
//! imports more than these jobs need: they run cold until it is ready, and none of them waits for it again.

use std::time::{Duration, Instant};

/// How long a first job has the machine for itself where a processor is left for the template: a start without imports.
const START: Duration = Duration::from_millis(30);
/// How long where none is left.
const ALONE: Duration = Duration::from_secs(1);
/// What a template takes beyond the imports: the cabinet around it, and the first worker.
const CABINET: Duration = Duration::from_millis(40);

#[derive(Default)]
pub(super) struct First {
    /// Those that run.
    pub running: usize,
    /// When the first of all began.
    since: Option<Instant>,
    /// How long the longest of those took that have ended.
    took: Option<Duration>,
    /// When the template was begun.
    pub template: Option<Instant>,
}

impl First {
    /// One more runs cold.
    pub(super) fn begins(&mut self, now: Instant) {
        self.running += 1;
        self.since.get_or_insert(now);
    }

    /// One has ended.
    pub(super) fn ends(&mut self, took: Duration) {
        self.running = self.running.saturating_sub(1);
        self.took = self.took.max(Some(took));
    }

    /// Until when the processors are left to those that run.
    pub(super) fn hold(&self, cores: usize) -> Option<Instant> {
        let hold = if self.running < cores { START } else { ALONE };
        let since = self.since.filter(|_| self.running > 0);
        since.map(|since| since + hold)
    }

    /// When the template should have a worker, with half as much again for a machine that is busy.
    pub(super) fn due(&self) -> Option<Instant> {
        Some(self.template? + self.took? * 3 / 2 + CABINET)
    }

    /// Whether a job that comes now is done sooner cold.
    pub(super) fn cold_is_sooner(&self, now: Instant, cores: usize) -> bool {
        // Where template and jobs have to share processors, a cold start takes up to twice as long.
        let share = if self.running + 1 < cores { 1 } else { 2 };
        let cold = self.took.map(|took| took * share);
        let sooner = |due: Instant| now >= due || Some(due - now) > cold;
        self.running < cores && self.due().is_none_or(sooner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORES: usize = 2;

    /// The first job took so many milliseconds, and the template was begun as many after its start; and a clock from then.
    fn after(took: u64, begun: u64) -> (First, impl Fn(u64) -> Instant) {
        let since = Instant::now();
        let at = move |millis| since + Duration::from_millis(millis);
        let mut first = First::default();
        first.begins(at(0));
        first.template = Some(at(begun));
        first.ends(Duration::from_millis(took));
        (first, at)
    }

    #[test]
    fn before_anything_is_known_as_many_run_cold_as_there_are_processors() {
        let (mut first, now) = (First::default(), Instant::now());
        for running in 0..CORES {
            assert_eq!((first.running, first.cold_is_sooner(now, CORES)), (running, true));
            first.begins(now);
        }
        assert!(!first.cold_is_sooner(now, CORES));
        assert_eq!(first.due(), None);
    }

    #[test]
    fn after_a_long_one_the_next_waits_until_the_template_is_due_and_no_longer() {
        let (first, at) = after(240, 30);
        assert!(!first.cold_is_sooner(at(240), CORES));
        assert_eq!(first.due(), Some(at(30 + 360 + 40)));
        assert!(first.cold_is_sooner(at(430), CORES) && first.cold_is_sooner(at(5000), CORES));
    }

    #[test]
    fn after_a_short_one_cold_is_sooner_until_the_template_is_due() {
        let (first, at) = after(16, 16);
        assert!(first.cold_is_sooner(at(16), CORES) && first.cold_is_sooner(at(32), CORES));
        assert!(!first.cold_is_sooner(at(70), CORES));
        assert!(first.cold_is_sooner(at(80), CORES));
    }

    #[test]
    fn on_one_processor_a_cold_start_beside_the_template_takes_longer() {
        let (first, at) = after(170, 170);
        assert!(first.cold_is_sooner(at(170), CORES));
        assert!(!first.cold_is_sooner(at(170), 1));
    }

    #[test]
    fn a_template_that_is_not_begun_is_not_waited_for() {
        let (mut first, at) = after(240, 0);
        first.template = None;
        assert!(first.cold_is_sooner(at(240), CORES));
    }

    #[test]
    fn the_template_is_begun_beside_a_job_only_where_a_processor_is_left() {
        let (mut first, now) = (First::default(), Instant::now());
        assert_eq!(first.hold(CORES), None);
        first.begins(now);
        assert_eq!(first.hold(CORES), Some(now + START));
        assert_eq!(first.hold(1), Some(now + ALONE));
        first.begins(now + START);
        assert_eq!(first.hold(CORES), Some(now + ALONE));
        first.ends(START);
        first.ends(START);
        assert_eq!(first.hold(CORES), None);
    }
}
