//! Pace: the time constants of the protocol, and the calculations with them that every flow shares.
//!
//! A bucket is one minute of timers. It takes promises until its **write line** and is left at its **leave line**; the time
//! between the two covers skewed clocks and slow writers.

use std::time::Duration;

use crate::Moment;
use crate::limits::TIMEOUT_SECONDS;

/// A timer this late has lost its hint: it is inspected.
pub const OVERDUE: Duration = Duration::from_secs(30);
/// A bucket takes promises until its end and this much more.
pub const WRITE_LINE: Duration = Duration::from_secs(30);
/// A bucket is left at its end and this much more, after an empty strong read.
pub const LEAVE_LINE: Duration = Duration::from_secs(60);
/// Hints are sent this far ahead: even if a tick is a minute late and another is missed, no run is late.
pub const HORIZON: Duration = Duration::from_secs(300);
/// Normal recovery from lost hints and late ticks takes at most this, like hints sent a horizon ahead: a job without a
/// catch-up still fires this late.
pub const RECOVERY: Duration = HORIZON;
/// How long an orphaned timer waits before its second look: longer than any writer takes.
pub const ORPHAN: Duration = Duration::from_secs(15 * 60);
/// The longest from reading that an occurrence did not fire to writing the run that makes up for it, clocks apart: far longer than any writer takes.
pub const SLOWEST_MAKER: Duration = Duration::from_secs(86_400);
/// How long nothing must be found of a tenant that is erased: longer than whoever had begun may write for it. That is who holds a lease (840 s
/// and 30 s), or has found an orphan (15 minutes), and clocks apart.
pub const ERASED_QUIET: Duration = Duration::from_secs(20 * 60);
/// For how long a process goes by what it has read of a tenant and that changes for nobody: for less than an erasure takes.
const KNOWN: Duration = Duration::from_secs(15 * 60);
/// How long something that nobody can read is put off before it is met again.
pub const CORRUPT: Duration = Duration::from_secs(3600);
/// How long something of a later release is put off: each pass meets it within its horizon, and no bucket waits for it.
pub const LATER: Duration = HORIZON;
/// For how long after its bucket a timer may go on to be looked at that settles much: a look settles a hundred things and comes again in a
/// second. What it settles does not expire in the meantime.
pub const SETTLING: Duration = Duration::from_secs(3600);
/// Clocks may differ by this much.
pub const SKEW: Duration = Duration::from_secs(2);
/// How far two clocks may be apart: the one is fast, the other slow.
pub const APART: Duration = Duration::from_secs(2 * SKEW.as_secs());
/// A claim this late first checks whether its occurrence was coalesced into another.
pub const LATE_CLAIM: Duration = Duration::from_secs(20);
/// A job read longer ago than this is read again before any decision.
pub const STALE_READ: Duration = Duration::from_secs(5);
/// An executor holds a hint at most this long before its time. A hint that comes sooner was redelivered while its run waits
/// out a backoff: the backoff has a hint and a timer of its own, and holding this one would only block a permit.
pub const HOLD: Duration = Duration::from_secs(40);
/// The lease outlives the call's own timeout by this: time to write the record.
pub const LEASE_MARGIN: Duration = Duration::from_secs(30);
/// No lease of a process is longer.
pub const LONGEST_LEASE: Duration = Duration::from_secs(TIMEOUT_SECONDS + LEASE_MARGIN.as_secs());
/// The part of the margin that must be left just before the call; a holder with less gives up without calling.
pub const CALL_MARGIN: Duration = Duration::from_secs(5);
/// How long a worker elsewhere has to stop after somebody asked to cancel its run.
pub const CANCEL_GRACE: Duration = Duration::from_secs(30);
/// A late promise is put again this far ahead.
pub const PROMISE_AGAIN: Duration = Duration::from_secs(1);
/// How long a backfill waits for an occurrence that its schedule may still start, before it leaves it to that: whatever the job's catch-up says, it
/// is decided when normal recovery is over, and that is twice as long.
pub const BACKFILL_HOLD: Duration = Duration::from_secs(2 * RECOVERY.as_secs());
/// Whoever asks for an operation begins it himself: for so long nobody else does.
pub const HEAD_START: Duration = Duration::from_secs(5);
/// A tick of the sweeper.
pub const TICK: Duration = Duration::from_secs(60);
/// A sweeper that does not know where its shard begins starts this far back while the table is searched for what is older.
pub const FIRST_LOOK_BACK: Duration = Duration::from_secs(3600);

const MINUTE: i64 = 60_000;

/// The minute of a moment, counted from the epoch: the name of its bucket.
pub fn minute_of(moment: Moment) -> i64 {
    moment.millis() / MINUTE
}

pub fn end_of(minute: i64) -> Moment {
    Moment::from_millis((minute + 1).saturating_mul(MINUTE))
}

/// Whether a process may still go by what it read then. Not by what it read in a future that its clock no longer believes in.
pub fn is_known(read_at: Moment, now: Moment) -> bool {
    read_at <= now && now.since(read_at) < KNOWN
}

/// Up to when a promise may be put into this bucket.
pub fn write_line(minute: i64) -> Moment {
    end_of(minute) + WRITE_LINE
}

/// From when a sweeper may leave this bucket.
pub fn leave_line(minute: i64) -> Moment {
    end_of(minute) + LEAVE_LINE
}

/// Whether the hint of an obligation due at `due` is repeated in (`last`, `now`]: 1, 2, 4 … minutes after it was due, at
/// most an hour apart, so that a backlog is not hinted every minute.
pub fn hint_again(due: Moment, last: Moment, now: Moment) -> bool {
    now >= next_hint(due, last.max(due)) && now > last
}

/// The first of the repeated hints after `t`.
pub fn next_hint(due: Moment, t: Moment) -> Moment {
    const HOUR: u64 = 3600;
    let late = t.since(due).as_secs();
    let next = if late < 60 {
        60
    } else if late < 32 * 60 {
        60 << (late / 60 + 1).next_power_of_two().trailing_zeros()
    } else {
        (late / HOUR + 1) * HOUR
    };
    due + Duration::from_secs(next)
}

/// The instant to which the timer of a run that could have been claimed since `since` is moved for its next hint.
pub fn next_inspection(since: Moment, now: Moment) -> Moment {
    (next_hint(since, now) - OVERDUE).max(now + PROMISE_AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_promises_for_30_s_after_its_end_and_is_left_after_60() {
        let minute = minute_of(Moment::parse("2026-11-20T12:30:59.999Z").unwrap());

        assert_eq!(end_of(minute).to_string(), "2026-11-20T12:31:00.000Z");
        assert_eq!(write_line(minute).to_string(), "2026-11-20T12:31:30.000Z");
        assert_eq!(leave_line(minute).to_string(), "2026-11-20T12:32:00.000Z");
    }

    #[test]
    fn hints_are_repeated_after_1_2_4_minutes_and_then_hourly() {
        let due = Moment::from_secs(1_000_000);
        let mut at = due;

        let minutes: Vec<u64> = std::iter::from_fn(|| {
            at = next_hint(due, at);
            Some(at.since(due).as_secs() / 60)
        })
        .take(10)
        .collect();

        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 60, 120, 180, 240]);
    }

    #[test]
    fn each_repetition_falls_into_exactly_one_pass() {
        let due = Moment::from_secs(1_000_000);
        let passes: Vec<Moment> = (0..600).map(|n| due + Duration::from_secs(7 + 61 * n)).collect();

        let hinted = passes.windows(2).filter(|pair| hint_again(due, pair[0], pair[1])).count();

        assert_eq!(hinted, 6 + 10, "1 to 32 minutes, then ten full hours");
        assert!(!hint_again(due, due + Duration::from_secs(3), due + Duration::from_secs(3)));
    }
}
