//! Retry: whether a failed attempt is followed by another, and when.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::BACKOFF_SECONDS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    pub max_retries: u16,
    pub backoff: Backoff,
    pub initial_delay: Duration,
    pub max_delay: Duration,
    pub jitter: Jitter,
    /// No attempt starts later than this after the first one started.
    pub give_up_after: Option<Duration>,
    /// This many failures in a row, each under a second, end the run early.
    pub break_after_instant_failures: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    Fixed,
    Linear,
    #[default]
    Exponential,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    None,
    /// Half of the delay is fixed, half is random.
    Equal,
    /// The whole delay is random.
    #[default]
    Full,
    /// Between the initial delay and three times the last one.
    Decorrelated,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            backoff: Backoff::Exponential,
            initial_delay: Duration::from_secs(30),
            max_delay: Duration::from_secs(3600),
            jitter: Jitter::Full,
            give_up_after: None,
            break_after_instant_failures: None,
        }
    }
}

impl RetryPolicy {
    /// How long to wait after the `failures`-th failure (from 1). `chance(n)` is the run's own number for turn n, so that every
    /// process computes the same delay.
    pub fn delay(&self, failures: u16, chance: impl Fn(u32) -> u64) -> Duration {
        let delay = match self.jitter {
            Jitter::None => self.steady(failures),
            Jitter::Equal => {
                let steady = self.steady(failures);
                steady / 2 + between(Duration::ZERO, steady / 2, chance(u32::from(failures)))
            }
            Jitter::Full => between(Duration::ZERO, self.steady(failures), chance(u32::from(failures))),
            Jitter::Decorrelated => self.wandering(failures, chance),
        };
        delay.min(self.ceiling())
    }

    fn steady(&self, failures: u16) -> Duration {
        let turns = u32::from(failures.max(1));
        let delay = match self.backoff {
            Backoff::Fixed => self.initial_delay,
            Backoff::Linear => self.initial_delay.saturating_mul(turns),
            Backoff::Exponential => self.initial_delay.saturating_mul(2_u32.saturating_pow(turns - 1)),
        };
        delay.min(self.ceiling())
    }

    fn wandering(&self, failures: u16, chance: impl Fn(u32) -> u64) -> Duration {
        let low = self.initial_delay.min(self.ceiling());
        (1..=u32::from(failures.max(1))).fold(low, |last, turn| {
            let high = last.saturating_mul(3).min(self.ceiling());
            between(low, high, chance(turn))
        })
    }

    fn ceiling(&self) -> Duration {
        self.max_delay.min(Duration::from_secs(BACKOFF_SECONDS))
    }
}

/// A point of `low..=high`, in whole milliseconds, picked by `chance`.
fn between(low: Duration, high: Duration, chance: u64) -> Duration {
    let width = u64::try_from(high.saturating_sub(low).as_millis()).unwrap_or(u64::MAX - 1);
    low + Duration::from_millis(chance % (width + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secs(delays: &[Duration]) -> Vec<u64> {
        delays.iter().map(Duration::as_secs).collect()
    }

    fn first_five(backoff: Backoff) -> Vec<Duration> {
        let policy = RetryPolicy {
            backoff,
            jitter: Jitter::None,
            initial_delay: Duration::from_secs(10),
            max_delay: Duration::from_secs(45),
            ..RetryPolicy::default()
        };
        (1..=5).map(|n| policy.delay(n, |_| 0)).collect()
    }

    #[test]
    fn without_jitter_the_delays_are_the_curve_under_its_ceiling() {
        assert_eq!(secs(&first_five(Backoff::Fixed)), [10, 10, 10, 10, 10]);
        assert_eq!(secs(&first_five(Backoff::Linear)), [10, 20, 30, 40, 45]);
        assert_eq!(secs(&first_five(Backoff::Exponential)), [10, 20, 40, 45, 45]);
    }

    #[test]
    fn equal_jitter_keeps_half_of_the_delay() {
        let policy =
            RetryPolicy { jitter: Jitter::Equal, initial_delay: Duration::from_secs(10), ..RetryPolicy::default() };

        let shortest = policy.delay(1, |_| 0);
        let longest = policy.delay(1, |_| 5000);

        assert_eq!(secs(&[shortest, longest]), [5, 10]);
    }

    proptest! {
        #[test]
        fn no_delay_passes_its_ceiling(
            failures in 0..=u16::MAX, initial in 0..u64::MAX, max in 0..u64::MAX, seed in any::<u64>(),
            backoff in prop::sample::select(vec![Backoff::Fixed, Backoff::Linear, Backoff::Exponential]),
            jitter in prop::sample::select(vec![Jitter::None, Jitter::Equal, Jitter::Full]),
        ) {
            let policy = RetryPolicy {
                backoff, jitter,
                initial_delay: Duration::from_millis(initial), max_delay: Duration::from_millis(max),
                ..RetryPolicy::default()
            };
            let delay = policy.delay(failures, |_| seed);
            prop_assert!(delay <= policy.max_delay && delay <= Duration::from_secs(BACKOFF_SECONDS));
        }

        #[test]
        fn decorrelated_delays_stay_between_the_initial_one_and_the_ceiling(failures in 1..200_u16, seed in any::<u64>()) {
            let policy = RetryPolicy { jitter: Jitter::Decorrelated, ..RetryPolicy::default() };
            let delay = policy.delay(failures, |turn| seed.rotate_left(turn));
            prop_assert!(policy.initial_delay <= delay && delay <= policy.max_delay);
        }
    }
}
