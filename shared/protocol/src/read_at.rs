//! Read at: when something was asked for that is to be decided on, and whether that is too long ago, or the clock was set since.

use std::time::Duration;

use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock;

/// By the clock, and by what no clock is set to.
#[derive(Clone, Copy, Debug)]
pub struct ReadAt {
    pub(crate) moment: Moment,
    steady: Duration,
}

impl ReadAt {
    pub(crate) fn now(clock: &impl Clock) -> Self {
        Self { moment: clock.now(), steady: clock.steady() }
    }

    /// Rule **late claim**: what was read too long ago is read again before anything is decided on it. The clock may have been set back since;
    /// and what is steady stands still while its machine sleeps.
    pub(crate) fn is_stale(self, clock: &impl Clock) -> bool {
        self.is_older_than(pace::STALE_READ, clock)
    }

    pub fn is_older_than(self, span: Duration, clock: &impl Clock) -> bool {
        let by_the_clock = clock.now().since(self.moment);
        let steady = clock.steady().saturating_sub(self.steady);
        by_the_clock.max(steady) > span
    }

    /// Whether the clock was set ahead since, or its machine slept.
    pub(crate) fn was_set_ahead(self, clock: &impl Clock) -> bool {
        clock.now().since(self.moment) > clock.steady().saturating_sub(self.steady) + pace::APART
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What its clock says, and what is steady.
    struct Clocks(u64, u64);

    impl Clock for Clocks {
        fn now(&self) -> Moment {
            Moment::EPOCH + Duration::from_secs(self.0)
        }

        fn steady(&self) -> Duration {
            Duration::from_secs(self.1)
        }

        async fn sleep_until(&self, _moment: Moment) {}
    }

    /// Removed: either of the two is not asked. What a machine had read before it slept was fresh, or what was read before the clock was set.
    #[test]
    fn a_reading_is_as_old_as_either_clock_says() {
        let read_at = ReadAt::now(&Clocks(1_000, 70));

        let cases = [
            (1_005, 75, false),
            (1_006, 75, true),
            (1_005, 76, true),
            (600, 74, false),
            (600, 400, true),
            (9_000, 71, true),
        ];

        for (now, steady, is_stale) in cases {
            assert_eq!(read_at.is_stale(&Clocks(now, steady)), is_stale, "{now} {steady}");
        }
    }

    #[test]
    fn a_clock_that_goes_faster_than_what_is_steady_was_set_ahead() {
        let read_at = ReadAt::now(&Clocks(1_000, 70));

        for (now, steady, was_set) in [(1_300, 370, false), (1_304, 370, false), (1_305, 370, true), (600, 370, false)]
        {
            assert_eq!(read_at.was_set_ahead(&Clocks(now, steady)), was_set, "{now} {steady}");
        }
    }
}
