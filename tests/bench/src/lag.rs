//! Lags: how late events were, in milliseconds.

use minutehand_domain::Moment;

/// From the smallest to the largest. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Lags(Vec<f64>);

impl Lags {
    pub fn of(lags: impl IntoIterator<Item = f64>) -> Self {
        let mut lags = lags.into_iter().collect::<Vec<_>>();
        assert!(!lags.is_empty(), "something was measured");
        lags.sort_unstable_by(f64::total_cmp);
        Self(lags)
    }

    /// A percentile: the smallest lag that this share does not exceed.
    pub fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0[rank.clamp(1, self.0.len()) - 1]
    }

    pub fn max(&self) -> f64 {
        self.percentile(100)
    }

    /// How many were early.
    pub fn early(&self) -> f64 {
        count(self.0.iter().filter(|lag| **lag < 0.0).count())
    }
}

/// From one moment to another, negative if the second is earlier.
pub fn millis_from(due: Moment, t: Moment) -> f64 {
    if t >= due { millis(t.since(due)) } else { -millis(due.since(t)) }
}

pub fn millis(span: std::time::Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "what is counted here stays far below 2^52")]
pub fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_lag_that_was_measured() {
        let lags = Lags::of((1_u32..=200).rev().map(f64::from));

        assert_eq!([50, 99, 100].map(|percent| lags.percentile(percent).to_string()), ["100", "198", "200"]);
    }

    #[test]
    fn a_start_before_its_time_is_early() {
        let due = Moment::from_millis(5000);

        let lags = Lags::of([4998, 5000, 5003].map(|at| millis_from(due, Moment::from_millis(at))));

        assert!((lags.early() - 1.0).abs() < f64::EPSILON);
    }
}
