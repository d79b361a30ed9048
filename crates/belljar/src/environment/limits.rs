//! What a user lets builds take: variables, checked before anything is done.

use std::time::{Duration, Instant};

use super::{EnvironmentError, Variables};
use crate::policy::{format_duration, parse_duration, parse_size};

/// What everything may take on disk unless `BELLJAR_CACHE_SIZE` says otherwise.
const SIZE: u64 = 20 << 30;
/// How long a build may take unless `BELLJAR_BUILD_TIMEOUT` says otherwise.
const TIME: Duration = Duration::from_secs(30 * 60);
/// Times that can be asked for, as for the timeout of a policy.
const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(365 * 24);

/// What builds may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes of everything together.
    pub size: u64,
    /// For one build; none is no limit.
    pub time: Option<Duration>,
}

impl Limits {
    /// Those that the variables ask for.
    pub(super) fn of(variables: &Variables) -> Result<Self, EnvironmentError> {
        let read = |name: &'static str, example| {
            let refused = move |value: &str| EnvironmentError::Variable {
                name,
                value: value.to_owned(),
                example,
            };
            (variables.get(name), refused)
        };
        let size = match read("BELLJAR_CACHE_SIZE", "5G") {
            (Some(text), refused) => parse_size(text).ok_or_else(|| refused(text))?,
            (None, _) => SIZE,
        };
        let time = match read("BELLJAR_BUILD_TIMEOUT", "90s, 10m or none") {
            (Some(text), _) if text == "none" => None,
            (Some(text), refused) => {
                let time = parse_duration(text).filter(|time| TIMES.contains(time));
                Some(time.ok_or_else(|| refused(text))?)
            }
            (None, _) => Some(TIME),
        };
        Ok(Self { size, time })
    }
}

/// The time of one build, over all its steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    limit: Option<Duration>,
    begun: Instant,
}

impl Clock {
    /// Starts now.
    pub(super) fn start(limit: Option<Duration>) -> Self {
        Self {
            limit,
            begun: Instant::now(),
        }
    }

    /// What is left for the next step, at least the shortest time that a jar can be given.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = |limit: Duration| limit.saturating_sub(self.begun.elapsed());
        self.limit.map(|limit| left(limit).max(*TIMES.start()))
    }

    /// What is told of a build that took longer.
    pub(super) fn over(&self) -> EnvironmentError {
        let limit = self.limit.map(format_duration).unwrap_or_default();
        EnvironmentError::Ended {
            what: format!("it took longer than {limit}"),
            next: "name versions to make it easier, or allow more time with BELLJAR_BUILD_TIMEOUT".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Result<Limits, String> {
        let variables = Variables::from([(name.to_owned(), value.to_owned())]);
        Limits::of(&variables).map_err(|error| error.to_string())
    }

    #[test]
    fn limits_are_what_the_variables_say() {
        let unset = Limits::of(&Variables::new()).unwrap();
        assert_eq!((unset.size, unset.time), (SIZE, Some(TIME)));
        assert_eq!(of("BELLJAR_CACHE_SIZE", "5G").unwrap().size, 5 << 30);
        for (text, seconds) in [("90s", 90), ("10m", 600), ("1h30m", 5400), ("7", 7)] {
            let time = of("BELLJAR_BUILD_TIMEOUT", text).unwrap().time;
            assert_eq!(time, Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(of("BELLJAR_BUILD_TIMEOUT", "none").unwrap().time, None);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_an_example() {
        for text in ["soon", "0s", "-1s", "1m30", "400d", "10 m"] {
            assert_eq!(
                of("BELLJAR_BUILD_TIMEOUT", text).unwrap_err(),
                format!(
                    "BELLJAR_BUILD_TIMEOUT is \"{text}\", which cannot be used; write it as 90s, 10m or none"
                )
            );
        }
        let told = of("BELLJAR_CACHE_SIZE", "much").unwrap_err();
        assert_eq!(
            told,
            "BELLJAR_CACHE_SIZE is \"much\", which cannot be used; write it as 5G"
        );
    }

    #[test]
    fn a_build_has_one_time_for_all_its_steps() {
        let clock = Clock {
            limit: Some(Duration::from_secs(90)),
            begun: Instant::now().checked_sub(Duration::from_secs(60)).unwrap(),
        };
        let left = clock.left().unwrap();
        assert!(
            left <= Duration::from_secs(30) && left > Duration::from_secs(20),
            "{left:?}"
        );
        let late = Clock {
            limit: Some(Duration::from_secs(50)),
            ..clock
        };
        assert_eq!(late.left(), Some(Duration::from_millis(1)));
        assert_eq!(Clock::start(None).left(), None);
        assert!(
            late.over().to_string().contains("longer than 50s"),
            "{}",
            late.over()
        );
    }
}
