//! The machine, in words that name nobody, and whether it had anything else to do.

use std::fs;
use std::time::{Duration, Instant};

/// Long enough to see work that comes and goes.
const WINDOW: Duration = Duration::from_secs(5);
/// How long a page waits for other work to end.
const PATIENCE: Duration = Duration::from_secs(180);
/// Of one processor: a machine with nothing to do stays below.
const QUIET: f64 = 0.2;

/// What the figures depend on.
pub struct Machine {
    kernel: String,
    processors: usize,
    /// Processors that others kept busy just before the run.
    others: f64,
}

impl Machine {
    /// Looks at the machine just before it is measured. A load average would not do: it still tells of the run before this one
    /// minutes after its end. What is `written` waits for other work to end, within bounds.
    pub fn look(written: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let begun = Instant::now();
        let mut machine = Self {
            kernel: numbers(&rustix::system::uname().release().to_string_lossy()),
            processors,
            others: others(processors),
        };
        while written && machine.is_busy() && begun.elapsed() < PATIENCE {
            eprintln!("others keep {:.1} processors busy, waiting", machine.others);
            machine.others = others(processors);
        }
        machine
    }

    /// Whether the figures can be trusted no further than that.
    pub fn is_busy(&self) -> bool {
        self.others > QUIET
    }

    /// A sentence for the page that `task` writes, and a word of caution where it is due.
    pub fn sentence(&self, task: &str) -> String {
        let caution = if self.is_busy() {
            format!(
                "\n\n**The machine was busy with other work, so these figures settle nothing.** `{task}` on an idle machine writes this \
                 page again."
            )
        } else {
            String::new()
        };
        format!(
            "Machine: {} processors, Linux {}; just before the run others kept {:.2} of the processors busy.{caution}",
            self.processors, self.kernel, self.others
        )
    }
}

/// A version without what its builder put behind it.
fn numbers(release: &str) -> String {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.');
    release[..end.unwrap_or(release.len())].to_owned()
}

/// Processors that are busy, while this program sleeps; all of them where nobody can tell.
fn others(processors: usize) -> f64 {
    let read = || fs::read_to_string("/proc/stat").unwrap_or_default();
    let before = read();
    std::thread::sleep(WINDOW);
    busy(&before, &read()).unwrap_or(1.0) * processors as f64
}

/// The part of all processor time between two readings of /proc/stat that somebody used, or took away from this machine.
fn busy(before: &str, after: &str) -> Option<f64> {
    // user nice system idle iowait irq softirq steal: what follows is counted in the first two already.
    let ticks = |text: &str| -> Option<[f64; 8]> {
        let mut words = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let mut ticks = [0.0; 8];
        for tick in &mut ticks {
            *tick = words.next()?.parse().ok()?;
        }
        Some(ticks)
    };
    let (before, after) = (ticks(before)?, ticks(after)?);
    let passed: Vec<f64> = after
        .iter()
        .zip(before)
        .map(|(after, before)| after - before)
        .collect();
    let all: f64 = passed.iter().sum();
    (all > 0.0).then(|| 1.0 - (passed[3] + passed[4]) / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_cut_to_its_numbers() {
        assert_eq!(numbers("6.8.0-31-generic"), "6.8.0");
        assert_eq!(numbers("6.12.1"), "6.12.1");
    }

    #[test]
    fn work_between_two_readings_counts() {
        let before = "cpu  100 0 100 1000 50 0 0 10 7 0\ncpu0 1 1 1 1\n";
        assert_eq!(busy(before, "cpu  120 6 120 1045 55 1 0 13 9 0\n"), Some(0.5));
        assert_eq!(busy(before, "cpu  100 0 100 1100 50 0 0 10 7 0\n"), Some(0.0));
        assert_eq!(busy(before, before), None);
        assert_eq!(busy("", "cpu 1"), None);
    }

    #[test]
    fn only_a_busy_machine_is_cautioned_about() {
        let machine = |others| Machine {
            kernel: "6.1".into(),
            processors: 2,
            others,
        };
        assert!(!machine(0.05).sentence("make bench").contains("settle nothing"));
        assert!(machine(0.9).sentence("make bench").contains("settle nothing"));
    }
}
