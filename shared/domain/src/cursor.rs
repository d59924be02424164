//! The cursor of a shard: how far its sweeping has come, and what may be concluded from that.
//!
//! It may be wrong without harm in one direction only: hints that are given again cost little, buckets that are left too early
//! are never seen again. So what no honest clock could have written is not believed.

use crate::Moment;
use crate::pace;
use crate::timer::{Timer, TimerKey};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Up to when hints were given.
    pub hinted_to: Moment,
    /// The oldest bucket not yet left.
    pub oldest: i64,
    /// When the last pass that came to its end began; or, where one process has the store to itself, one that began long behind it.
    pub swept_at: Moment,
    /// How far passes came since that did not come to their end. The latest first; each came less far than the one behind it.
    pub steps: Vec<Step>,
    /// Since when it is not known which bucket is the first: the table is being searched for what lies before `oldest`.
    pub searching: Option<Moment>,
}

/// How far a pass came: it has handled every timer up to `through` that stood there when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub through: TimerKey,
    pub began: Moment,
}

/// More steps are not kept. What is forgotten with one is hinted once more, and a pass that comes further than the others
/// replaces them.
const MOST_STEPS: usize = 8;

impl Cursor {
    /// No hints were given, and `oldest` is the first bucket.
    pub const fn starting_at(oldest: i64) -> Self {
        Self { hinted_to: Moment::EPOCH, oldest, swept_at: Moment::EPOCH, steps: Vec::new(), searching: None }
    }

    /// For a shard whose first bucket is `first`, where it has one.
    pub fn of_first(first: Option<i64>, now: Moment) -> Self {
        let oldest = pace::minute_of(now - pace::LEAVE_LINE - pace::TICK);
        Self::starting_at(first.map_or(oldest, |first| first.min(oldest)))
    }

    /// For a shard of which nobody knows what lies in it: what has just been written is swept, and the table is searched for
    /// what is older.
    pub fn searching(now: Moment) -> Self {
        Self { searching: Some(now), ..Self::starting_at(pace::minute_of(now - pace::FIRST_LOOK_BACK)) }
    }

    /// What was searched for is found.
    #[must_use]
    pub fn found(self, first: Option<i64>) -> Self {
        let oldest = first.map_or(self.oldest, |first| first.min(self.oldest));
        Self { oldest, searching: None, ..self }
    }

    /// No hints were given, whatever it says; and the first bucket is at latest this one.
    #[must_use]
    pub fn forgotten(&self, first: Option<Moment>) -> Self {
        let oldest = first.map_or(self.oldest, |first| pace::minute_of(first).min(self.oldest));
        Self { searching: self.searching, ..Self::starting_at(oldest) }
    }

    /// The latest instant that it has been written by.
    pub fn latest(&self) -> Moment {
        let began = self.steps.iter().map(|step| step.began);
        began
            .chain([self.hinted_to - pace::HORIZON, self.swept_at, pace::end_of(self.oldest - 1)])
            .max()
            .unwrap_or(self.swept_at)
    }

    /// Of a pass whose clock may be ahead, at `now`: what is known of hints is forgotten, and the pass is seen to be of a time that has not come
    /// if the clock is set right.
    #[must_use]
    pub fn doubted(&self, now: Moment) -> Self {
        Self { swept_at: now, ..self.forgotten(None) }
    }

    /// What had expired by then may be deleted at `now`: every timer due until then has been looked at, so that none is left which would find
    /// no record of what was done.
    pub fn expires_to(&self, now: Moment) -> Moment {
        if self.searching.is_some() {
            return Moment::EPOCH;
        }
        now.min(pace::end_of(self.oldest - 1)) - pace::SETTLING
    }

    /// Whether a clock that is right by `pace::SKEW` may have written it, as one that is right by as much sees at `now`. What
    /// is not honest came from a clock that was ahead, and has left buckets that take promises still.
    pub fn is_honest(&self, now: Moment) -> bool {
        let not_after = now + pace::APART;
        self.hinted_to <= not_after + pace::HORIZON
            && self.swept_at <= not_after
            && self.oldest <= pace::minute_of(not_after)
            && self.searching.is_none_or(|since| since <= not_after)
            && self.steps.iter().all(|step| step.began <= not_after)
    }

    /// Whether an earlier pass handled it: that pass came past it, and it stood there when the pass began.
    pub fn was_hinted(&self, timer: &Timer) -> bool {
        let stood_there = |began| timer.stamp.written + pace::APART < began;
        let before = timer.key.due <= self.hinted_to && stood_there(self.swept_at);
        before || self.steps.iter().any(|step| timer.key <= step.through && stood_there(step.began))
    }

    /// A pass came so far, and is not at its end. It knows all that the passes before it knew, as far as it came.
    #[must_use]
    pub fn came_to(&self, step: Step) -> Self {
        let further = self.steps.iter().copied().filter(|other| other.through > step.through);
        let steps = [step].into_iter().chain(further).take(MOST_STEPS).collect();
        Self { steps, ..self.clone() }
    }

    /// A pass came to its end: it has handled everything up to its horizon.
    #[must_use]
    pub fn swept(&self, began: Moment, horizon: Moment) -> Self {
        Self { hinted_to: horizon.max(self.hinted_to), swept_at: began, steps: Vec::new(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::id::{JobId, Tenant};
    use crate::timer::TimerStamp;

    /// The third second of a minute, so that its edge is near.
    const NOW: Moment = Moment::from_secs(1_800_000_003);

    fn after(seconds: u64) -> Moment {
        NOW + Duration::from_secs(seconds)
    }

    fn honest() -> Cursor {
        Cursor { hinted_to: after(300), swept_at: NOW, ..Cursor::starting_at(pace::minute_of(NOW)) }
    }

    fn timer(due: Moment, written: Moment) -> Timer {
        let key = TimerKey::occurrence(JobId::from_bytes([7; 16]), due);
        Timer { key, tenant: Tenant::new("acme").unwrap(), stamp: TimerStamp { generation: 1, written }, parent: None }
    }

    fn step(through: Moment, began: Moment) -> Step {
        Step { through: timer(through, began).key, began }
    }

    #[test]
    fn a_cursor_that_no_honest_clock_could_have_written_is_not_honest() {
        let of = |change: fn(&mut Cursor)| {
            let mut cursor = honest();
            change(&mut cursor);
            cursor.is_honest(NOW)
        };

        assert!(of(|_| {}));
        assert!(of(|cursor| cursor.hinted_to = after(304)), "two clocks apart");
        assert!(!of(|cursor| cursor.hinted_to = after(305)));
        assert!(of(|cursor| cursor.swept_at = after(4)));
        assert!(!of(|cursor| cursor.swept_at = after(5)));
        assert!(!of(|cursor| cursor.oldest += 1));
        assert!(!of(|cursor| cursor.searching = Some(after(5))));
        assert!(!of(|cursor| cursor.steps = vec![step(after(60), after(5))]));
        let (early, next) = (Moment::from_secs(1_800_000_056), pace::minute_of(NOW) + 1);
        assert!(Cursor::starting_at(next).is_honest(early), "the next minute has begun by a fast clock");
        assert!(!Cursor::starting_at(next).is_honest(early - Duration::from_secs(1)));
        assert!(Cursor::starting_at(0).is_honest(NOW), "an outage of any length is honest");
    }

    #[test]
    fn what_a_pass_concluded_while_its_clock_was_set_ahead_is_not_believed_when_it_is_right_again() {
        let tomorrow = after(86_400);

        let doubted = honest().came_to(step(after(200), after(60))).doubted(tomorrow);

        assert!(!doubted.was_hinted(&timer(after(10), NOW - Duration::from_secs(60))));
        assert!(doubted.is_honest(tomorrow), "the clock was set right");
        assert!(!doubted.is_honest(NOW), "the clock was set ahead");
        assert_eq!(doubted.oldest, honest().oldest);
    }

    /// Whatever tells of a clock that was ahead does so still when hints are forgotten.
    #[test]
    fn what_a_cursor_shows_of_the_future_outlives_its_hints() {
        let tomorrow = after(86_400);
        let cursors = [
            Cursor { swept_at: tomorrow, ..honest() },
            Cursor { hinted_to: tomorrow, ..honest() },
            Cursor { oldest: pace::minute_of(tomorrow), ..honest() },
            honest().came_to(step(after(60), tomorrow)),
        ];
        for cursor in cursors {
            let forgotten = cursor.forgotten(Some(NOW)).doubted(cursor.latest());

            assert!(!forgotten.is_honest(NOW), "{forgotten:?}");
            assert_eq!((forgotten.hinted_to, forgotten.steps), (Moment::EPOCH, Vec::new()));
        }
        assert!(honest().forgotten(None).doubted(honest().latest()).is_honest(NOW));
    }

    #[test]
    fn what_stood_there_when_a_pass_came_by_was_hinted() {
        let cursor = Cursor { swept_at: after(0), ..honest() };
        let long_ago = NOW - Duration::from_secs(5);

        assert!(cursor.was_hinted(&timer(after(300), long_ago)));
        assert!(!cursor.was_hinted(&timer(after(301), long_ago)), "the pass did not come so far");
        assert!(!cursor.was_hinted(&timer(after(300), NOW - Duration::from_secs(4))), "it may have been written since");
    }

    #[test]
    fn a_pass_that_did_not_come_to_its_end_has_handled_what_it_came_past() {
        let cursor = honest().came_to(step(after(200), after(60)));
        let meanwhile = after(30);

        assert!(cursor.was_hinted(&timer(after(200), meanwhile)));
        assert!(!cursor.was_hinted(&timer(after(201), meanwhile)));
        assert!(cursor.was_hinted(&timer(after(250), NOW - Duration::from_secs(60))), "what was known is known still");
    }

    #[test]
    fn a_later_pass_that_came_less_far_takes_nothing_back() {
        let first = step(after(200), after(60));

        let cursor = honest().came_to(first).came_to(step(after(100), after(120)));

        assert_eq!(cursor.steps, [step(after(100), after(120)), first]);
        assert!(cursor.was_hinted(&timer(after(100), after(90))));
        assert!(cursor.was_hinted(&timer(after(150), after(30))));
        assert!(!cursor.was_hinted(&timer(after(150), after(90))));
        assert_eq!(cursor.came_to(step(after(220), after(180))).steps, [step(after(220), after(180))]);
        assert_eq!(cursor.swept(after(180), after(480)).steps, []);
    }

    #[test]
    fn no_more_steps_are_kept_than_there_is_room_for() {
        let steps = (0..20).map(|n| step(after(100 - n), after(n)));

        let cursor = steps.fold(honest(), |cursor, step| cursor.came_to(step));

        assert_eq!(cursor.steps.len(), MOST_STEPS);
        assert_eq!(cursor.steps[0], step(after(81), after(19)));
    }

    #[test]
    fn nothing_expires_that_a_timer_not_yet_looked_at_may_need() {
        let hour_ago = NOW - Duration::from_secs(3600);
        let days_ago = pace::minute_of(NOW) - 3 * 1440;

        assert_eq!(Cursor::starting_at(pace::minute_of(NOW) + 5).expires_to(NOW), hour_ago);
        assert_eq!(
            Cursor::starting_at(days_ago).expires_to(NOW),
            pace::end_of(days_ago - 1) - Duration::from_secs(3600)
        );
        assert_eq!(Cursor::searching(NOW).expires_to(NOW), Moment::EPOCH, "nobody knows what is not yet looked at");
    }

    #[test]
    fn an_unknown_shard_begins_at_its_first_bucket_or_an_hour_ago() {
        let minute = pace::minute_of(NOW);

        assert_eq!(Cursor::of_first(Some(minute - 5000), NOW).oldest, minute - 5000);
        assert_eq!(Cursor::of_first(Some(minute + 5), NOW).oldest, minute - 2, "what takes promises is not left");
        assert_eq!(Cursor::of_first(None, NOW).oldest, minute - 2);
        assert_eq!(Cursor::searching(NOW).oldest, minute - 60);
        assert_eq!(Cursor::searching(NOW).found(Some(7)), Cursor::starting_at(7));
        assert_eq!(Cursor::searching(NOW).found(None), Cursor::starting_at(minute - 60));
    }
}
