//! Instants in the form of SQS: whole seconds from now, inside its bounds.

use minutehand_domain::Moment;

use super::PORT;
use crate::Fault;

/// The longest delay of a message, in seconds: three times the horizon up to which hints are sent.
const LONGEST_DELAY: i32 = 900;
/// The longest time SQS hides a delivered message, in seconds.
const LONGEST_VISIBILITY: i32 = 12 * 3600;

/// Seconds to delay a message that becomes visible at `from`: rounded down, so that it is never late.
pub(super) fn delay(from: Moment, now: Moment) -> Result<i32, Fault> {
    bounded("a delay", from.since(now).as_secs(), LONGEST_DELAY)
}

/// Seconds to hide a message until `until`: rounded up, so that it never reappears early.
pub(super) fn visibility(until: Moment, now: Moment) -> Result<i32, Fault> {
    let left = until.since(now);
    let begun = u64::from(left.subsec_nanos() > 0);
    bounded("a visibility", left.as_secs() + begun, LONGEST_VISIBILITY)
}

/// As [`delay`], for a message the port has checked: a clock that was set back meanwhile must not spoil a whole batch.
pub(super) fn capped_delay(from: Moment, now: Moment) -> i32 {
    delay(from, now).unwrap_or(LONGEST_DELAY)
}

/// As [`visibility`], for a receipt the port has checked.
pub(super) fn capped_visibility(until: Moment, now: Moment) -> i32 {
    visibility(until, now).unwrap_or(LONGEST_VISIBILITY)
}

fn bounded(what: &str, seconds: u64, most: i32) -> Result<i32, Fault> {
    let legal = i32::try_from(seconds).ok().filter(|seconds| *seconds <= most);
    legal.ok_or_else(|| Fault::illegal(PORT, format!("{what} of {seconds} s, and SQS takes at most {most} s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    /// Milliseconds from now.
    fn ahead(millis: i64) -> Moment {
        Moment::from_millis(NOW.millis() + millis)
    }

    #[test]
    fn a_delay_is_rounded_down_and_at_most_fifteen_minutes() {
        for (millis, seconds) in [
            (-60_000, Some(0)),
            (0, Some(0)),
            (999, Some(0)),
            (1_000, Some(1)),
            (1_999, Some(1)),
            (299_001, Some(299)),
            (900_000, Some(900)),
            (900_999, Some(900)),
            (901_000, None),
        ] {
            assert_eq!(delay(ahead(millis), NOW).ok(), seconds, "{millis}");
        }
    }

    #[test]
    fn a_visibility_is_rounded_up_and_at_most_twelve_hours() {
        for (millis, seconds) in [
            (-60_000, Some(0)),
            (0, Some(0)),
            (1, Some(1)),
            (1_000, Some(1)),
            (1_001, Some(2)),
            (89_999, Some(90)),
            (43_200_000, Some(43_200)),
            (43_200_001, None),
        ] {
            assert_eq!(visibility(ahead(millis), NOW).ok(), seconds, "{millis}");
        }
    }

    #[test]
    fn the_end_of_time_is_illegal_and_no_overflow() {
        for refused in [delay(Moment::END, Moment::EPOCH), visibility(Moment::END, Moment::EPOCH)] {
            assert!(matches!(refused, Err(Fault::Illegal { .. })), "{refused:?}");
        }
    }
}
