//! How well a ratio of two p99 is known: the turns are drawn again, with repetition, and the ratio is taken each time.

use crate::bench::Sample;

/// Draws; enough for the 25th and the 975th to stand still.
const DRAWS: usize = 1000;

/// The ratio of the p99 of `these` to that of `those`, and what 95 of 100 draws lie between.
pub fn ratio(these: &[Sample], those: &[Sample]) -> (f64, f64, f64) {
    let p99 = |turns: &[Sample]| Sample::joined(turns).quantile(0.99);
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| p99(&chance.draw(these)) / p99(&chance.draw(those)))
        .collect();
    drawn.sort_by(f64::total_cmp);
    (
        p99(these) / p99(those),
        drawn[DRAWS / 40],
        drawn[DRAWS - DRAWS / 40 - 1],
    )
}

/// The same numbers in each run: the same times give the same page.
struct Chance(u64);

impl Chance {
    fn draw(&mut self, turns: &[Sample]) -> Vec<Sample> {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            turns[(self.0 % turns.len() as u64) as usize].clone()
        };
        (0..turns.len()).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn turns(scale: f64) -> Vec<Sample> {
        (0..20)
            .map(|turn| {
                let mut sample = Sample::default();
                for call in 0..50 {
                    let spread = f64::from((turn * 50 + call) * 7919 % 1000) / 1000.0;
                    sample.add(Duration::from_secs_f64(scale * (1.0 + spread) / 1e3));
                }
                sample
            })
            .collect()
    }

    #[test]
    fn a_ratio_lies_in_its_interval() {
        let (ratio, low, high) = ratio(&turns(3.0), &turns(2.0));
        assert!((ratio - 1.5).abs() < 1e-9, "{ratio}");
        assert!(low < ratio && ratio < high && high / low < 1.1, "{low} {high}");
    }
}
