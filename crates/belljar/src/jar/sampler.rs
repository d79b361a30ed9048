//! An estimate of processor time where no cgroup counts it.
//!
//! The kernel drops the time of children that nobody waits for. Whoever lives through two looks is counted exactly. Those that
//! come and go in between are guessed: one that is found running stands for the time since the last look, which is right on
//! average, because nobody can know when the next look is.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use belljar_linux::process;

use super::cpu::{Stat, microseconds};

/// The shortest time between two looks, and how much longer it may be.
const LOOK: Duration = Duration::from_millis(10);
const SPREAD: u32 = 20;

/// What is known of some processes.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Processors that they can have at once.
    cpus: f64,
    last: Option<Instant>,
    pub next: Instant,
    /// Those of the last look by pid and start: their own time, and what was guessed for one that was new.
    known: HashMap<(u32, u64), (u64, Option<u64>)>,
    /// Microseconds of those that were seen twice and have ended.
    gone: u64,
    guessed: u64,
    /// Microseconds in all, as far as they are known.
    pub used: u64,
}

impl Sampler {
    pub(crate) fn new(cpus: f64) -> Self {
        Self {
            cpus,
            last: None,
            next: Instant::now(),
            known: HashMap::new(),
            gone: 0,
            guessed: 0,
            used: 0,
        }
    }

    /// Gives the microseconds that were used. A look is taken when it is time for one, and at no moment that a guest can choose.
    pub(crate) fn sample(&mut self, processes: impl FnOnce() -> Vec<u32>) -> u64 {
        let now = Instant::now();
        if now >= self.next {
            let since = self.last.replace(now).map(|last| now.duration_since(last));
            let stats = processes()
                .into_iter()
                .filter_map(|pid| Some((pid, Stat::of(pid)?)));
            self.look(stats.collect(), since.unwrap_or_default(), share(), &running);
            let mut chance = [0];
            let _ = rustix::rand::getrandom(&mut chance, rustix::rand::GetRandomFlags::empty());
            self.next = now + LOOK + Duration::from_millis(u64::from(u32::from(chance[0]) % SPREAD));
        }
        self.used
    }

    /// Takes a look, `since` after the last one; of those who are ready to run that share does.
    fn look(
        &mut self,
        stats: Vec<(u32, Stat)>,
        since: Duration,
        share: f64,
        running: &dyn Fn(u32, &Stat) -> usize,
    ) {
        let since = since.as_micros() as f64;
        let mut room = since * self.cpus;
        let (mut exact, mut old, mut known) = (0, 0, HashMap::with_capacity(stats.len()));
        for (pid, stat) in stats {
            let own = microseconds(stat.own);
            exact += own + microseconds(stat.waited);
            let guess = match self.known.remove(&(pid, stat.start)) {
                Some((_, guess)) => {
                    self.guessed -= guess.unwrap_or(0);
                    old += own;
                    None
                }
                None => {
                    let guess = (running(pid, &stat) as f64 * since * share).min(room);
                    room -= guess;
                    self.guessed += guess as u64;
                    Some(guess as u64)
                }
            };
            known.insert((pid, stat.start), (own, guess));
        }
        let ended = std::mem::replace(&mut self.known, known);
        let seen_twice = ended.into_values().filter(|(_, guess)| guess.is_none());
        self.gone += seen_twice.map(|(own, _)| own).sum::<u64>();
        self.used = self.used.max(exact).max(self.gone + old + self.guessed);
    }
}

/// How many threads of a process run, or wait for a processor: the state of a process is that of its first one.
fn running(pid: u32, stat: &Stat) -> usize {
    if stat.threads <= 1 {
        return usize::from(stat.runs);
    }
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let stats = tasks.filter_map(|task| Stat::parse(&fs::read_to_string(task.path().join("stat")).ok()?));
    stats.filter(|stat| stat.runs).count()
}

/// The part of those who are ready to run on this machine that does.
fn share() -> f64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let ready = load
        .split_whitespace()
        .nth(3)
        .and_then(|field| field.split('/').next()?.parse().ok());
    let processors = process::processors().map_or(1, |all| all.len());
    // This process is one of them.
    (processors as f64 / f64::max(ready.unwrap_or(1.0) - 1.0, 1.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(20);

    fn stat(start: u64, own: u64, waited: u64, runs: bool) -> Stat {
        Stat {
            start,
            own,
            waited,
            runs,
            threads: 1,
        }
    }

    fn runs(_: u32, stat: &Stat) -> usize {
        usize::from(stat.runs)
    }

    #[test]
    fn whoever_stays_is_counted_exactly_however_busy_the_machine_is() {
        let mut sampler = Sampler::new(1.0);
        for tick in 0..100 {
            sampler.look(vec![(7, stat(1, tick / 10, 0, true))], STEP, 1.0, &runs);
        }
        // One that is new stands for a whole step once, until it is seen again.
        assert_eq!(sampler.used, microseconds(9).max(20_000));
    }

    #[test]
    fn children_that_are_waited_for_are_not_counted_twice() {
        let mut sampler = Sampler::new(1.0);
        for look in 0..100 {
            let child = (100 + look as u32, stat(look, 0, 0, true));
            sampler.look(vec![(7, stat(1, 0, 2 * look, false)), child], STEP, 1.0, &runs);
        }
        let waited = microseconds(198);
        assert!(
            (waited..=waited + 20_000).contains(&sampler.used),
            "{}",
            sampler.used
        );
    }

    #[test]
    fn children_that_nobody_waits_for_are_guessed_and_never_past_the_processors() {
        for (cpus, share, wanted) in [
            (4.0, 1.0, 6_000_000),
            (4.0, 0.5, 3_000_000),
            (1.0, 1.0, 2_000_000),
        ] {
            let mut sampler = Sampler::new(cpus);
            for look in 0..100 {
                let child = |number| (100 + look as u32 * 3 + number, stat(look, 0, 0, true));
                let all = vec![(7, stat(1, 0, 0, false)), child(0), child(1), child(2)];
                sampler.look(all, STEP, share, &runs);
            }
            assert_eq!(sampler.used, wanted, "{cpus} {share}");
        }
    }

    #[test]
    fn the_time_of_one_that_was_seen_and_is_gone_stays() {
        let mut sampler = Sampler::new(1.0);
        for own in [1, 2, 3] {
            let all = vec![(7, stat(1, 0, 0, false)), (8, stat(2, own, 0, true))];
            sampler.look(all, STEP, 1.0, &runs);
        }
        sampler.look(vec![(7, stat(1, 0, 0, false))], STEP, 1.0, &runs);
        assert_eq!(sampler.used, microseconds(3));
        assert!(share() > 0.0 && share() <= 1.0);
    }
}
