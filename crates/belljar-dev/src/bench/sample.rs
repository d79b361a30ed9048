//! Times of one contender.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Times, in the order in which they were taken.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sample {
    times: Vec<f64>,
}

impl Sample {
    pub fn add(&mut self, time: Duration) {
        self.times.push(time.as_secs_f64() * 1e3);
    }

    /// Milliseconds that this part of the runs stays below: 0.5 is the median.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = (part * last as f64).ceil() as usize;
        sorted.get(at.min(last)).copied().unwrap_or(f64::NAN)
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// All of these as one.
    pub fn joined(parts: &[Self]) -> Self {
        let times = parts.iter().flat_map(|part| part.times.iter().copied()).collect();
        Self { times }
    }

    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// The first and the last part of the runs, for growth.
    pub fn ends(&self, count: usize) -> (Self, Self) {
        let part = |times: &[f64]| Self {
            times: times.to_vec(),
        };
        let count = count.min(self.times.len());
        (
            part(&self.times[..count]),
            part(&self.times[self.times.len() - count..]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_taken() {
        let mut sample = Sample::default();
        for time in [5, 1, 4, 2, 3] {
            sample.add(Duration::from_millis(time));
        }
        assert_eq!(sample.median(), 3.0);
        assert_eq!(sample.quantile(0.99), 5.0);
        assert_eq!(sample.quantile(0.0), 1.0);
        let (first, last) = sample.ends(2);
        assert_eq!((first.median(), last.median()), (5.0, 3.0));
    }
}
