//! A bucket: so many tokens, refilled by time.

use std::time::Duration;

use minutehand_domain::Moment;

/// A token bucket: at most `most` in a span, and at most `most` at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Tokens taken and not yet refilled by time.
    used: f64,
    at: Moment,
}

impl Default for Bucket {
    fn default() -> Self {
        Self { used: 0.0, at: Moment::EPOCH }
    }
}

impl Bucket {
    /// Takes one token, or returns the wait until there is one.
    pub(crate) fn take(&mut self, most: u32, span: Duration, now: Moment) -> Result<(), Duration> {
        // A clock that was ahead and is set back must not keep it empty until it has caught up.
        self.at = self.at.min(now);
        let rate = f64::from(most) / span.as_secs_f64();
        let used = (self.used - now.since(self.at).as_secs_f64() * rate).max(0.0);
        if used + 1.0 > f64::from(most) {
            return Err(Duration::from_secs_f64(
                ((used + 1.0 - f64::from(most)) / rate.max(f64::MIN_POSITIVE)).min(60.0),
            ));
        }
        (self.used, self.at) = (used + 1.0, now);
        Ok(())
    }

    /// Gives back a token that was taken for nothing.
    pub(crate) fn give_back(&mut self) {
        self.used = (self.used - 1.0).max(0.0);
    }

    /// Whether time has filled it again.
    pub(crate) fn is_full(&self, most: u32, span: Duration, now: Moment) -> bool {
        let rate = f64::from(most) / span.as_secs_f64();
        self.used <= now.since(self.at).as_secs_f64() * rate
    }
}

/// Whole seconds for `Retry-After`, rounded up.
pub(crate) fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_refills_its_whole_size_in_each_span() {
        let mut bucket = Bucket::default();

        let at_once = (0..100).filter(|_| bucket.take(10, SECOND, NOW).is_ok()).count();
        let later = (0..100).filter(|_| bucket.take(10, SECOND, NOW + SECOND / 2).is_ok()).count();

        assert_eq!((at_once, later), (10, 5));
        assert_eq!(bucket.take(10, SECOND, NOW + SECOND / 2), Err(SECOND / 10));
    }

    #[test]
    fn an_empty_bucket_gives_nothing() {
        assert_eq!(Bucket::default().take(0, SECOND, NOW), Err(Duration::from_secs(60)));
    }

    #[test]
    fn a_bucket_of_a_clock_that_is_set_back_refills_from_then_on() {
        let mut bucket = Bucket::default();
        let hour = 3_600 * SECOND;
        while bucket.take(10, SECOND, NOW + hour).is_ok() {}

        assert!(bucket.take(10, SECOND, NOW).is_err());
        assert_eq!(bucket.take(10, SECOND, NOW + SECOND / 10), Ok(()));
    }

    #[test]
    fn a_token_that_is_given_back_can_be_taken_again() {
        let mut bucket = Bucket::default();
        bucket.take(1, SECOND, NOW).unwrap();
        assert!(bucket.take(1, SECOND, NOW).is_err() && !bucket.is_full(1, SECOND, NOW));

        bucket.give_back();

        assert!(bucket.is_full(1, SECOND, NOW) && bucket.take(1, SECOND, NOW).is_ok());
        assert!(bucket.is_full(1, SECOND, NOW + SECOND));
    }

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds() {
        assert_eq!([0, 1, 999, 1000, 1001].map(|ms| seconds(Duration::from_millis(ms))), [0, 1, 1, 1, 2]);
    }
}
