//! Keeping: for how long the occurrences of a job are on record at the least, by what the job and its tenant's quota say.
//!
//! What a run is kept for is pinned when the run is born. Rule **lengthened**: once somebody asks for more, what was born before goes sooner than
//! today's words say; and of what may be gone nobody knows whether it has run. So a change that lengthens it remembers what it was.

use std::time::Duration;

use crate::Moment;
use crate::job::Job;
use crate::limits::RETENTION_DAYS;
use crate::pace;
use crate::quota::Quota;
use crate::retention::Retention;

/// What a job says, or a quota, which knows no window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    pub retention: Option<Retention>,
    /// For how long an occurrence can be made up for.
    pub window: Duration,
}

/// It was lengthened: whatever was born until then is kept for no longer than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengthened {
    /// When everybody went by the longer one.
    pub at: Moment,
    pub from: Keeping,
}

/// What is said today, and what was said before by which something may yet be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keepings {
    pub today: Keeping,
    pub lengthened: Option<Lengthened>,
}

impl Keeping {
    /// What nobody can ask for less than.
    pub const LEAST: Self = Self { retention: Some(Retention::LEAST), window: Duration::ZERO };

    /// Whether anything may be kept for less long by this than by the other. Of what says nothing of it, others decide.
    fn is_shorter_than(self, other: Self) -> bool {
        let by_days = match (self.retention, other.retention) {
            (Some(days), Some(other)) => days < other,
            (None, Some(other)) => other > Retention::DEFAULT,
            (Some(_), None) => true,
            (None, None) => false,
        };
        by_days || self.window < other.window
    }

    /// What keeps for no longer than either.
    fn least(self, other: Self) -> Self {
        let days = |keeping: Self| keeping.retention.unwrap_or_default();
        let are_equal = self.retention == other.retention;
        let retention = if are_equal { self.retention } else { Some(days(self).min(days(other))) };
        Self { retention, window: self.window.min(other.window) }
    }

    /// How long anything can be kept by this: what says nothing of it is bounded by nothing but what can be asked for.
    fn longest(self) -> Duration {
        self.retention.or(Retention::of_days(RETENTION_DAYS)).unwrap_or_default().span().max(self.window)
    }

    /// How long it is, of a tenant whose quota says that.
    fn within(self, quota: Self) -> Duration {
        Retention::of(self.retention, quota.retention).unwrap_or_default().span().max(self.window)
    }
}

impl Keepings {
    /// What is to be remembered, where something else is said from now on.
    #[must_use]
    pub fn lengthened_to(self, next: Keeping, now: Moment) -> Option<Lengthened> {
        let felt = self.lengthened.filter(|before| now.since(before.at) < next.longest());
        if !self.today.is_shorter_than(next) {
            return felt;
        }
        let from = felt.map_or(self.today, |before| before.from.least(self.today));
        // Whoever has read what was said before writes by it for less long than an orphan waits.
        Some(Lengthened { at: now + pace::ORPHAN, from })
    }

    /// What has been said, each with until when.
    fn each(self) -> impl Iterator<Item = (Keeping, Moment)> {
        let before = self.lengthened.map(|before| (before.from, before.at));
        std::iter::once((self.today, Moment::END)).chain(before)
    }

    /// From when on whatever was on record is on record still: whichever of these it was born by.
    fn on_record_since(self, quota: Self, now: Moment) -> Moment {
        let born_by = self.each().flat_map(|(job, until)| {
            quota.each().map(move |(quota, as_long)| (now - job.within(quota)).min(until).min(as_long))
        });
        born_by.max().unwrap_or(now)
    }
}

impl Job {
    pub(crate) fn keeping(&self) -> Keeping {
        Keeping { retention: self.definition.retention, window: self.definition.catch_up.window() }
    }

    pub(crate) fn keepings(&self) -> Keepings {
        Keepings { today: self.keeping(), lengthened: self.lengthened }
    }

    /// From when on each of its occurrences that was on record is on record still, of a tenant whose quota says that.
    pub fn on_record_since(&self, quota: Keepings, now: Moment) -> Moment {
        self.keepings().on_record_since(quota, now)
    }

    /// The same of whoever asks what may begin yet: what was to be before what can be made up for is too late for that.
    pub fn certain_since(&self, quota: Keepings, now: Moment) -> Moment {
        let can_be_made_up_for = self.definition.catch_up.window().max(Retention::LEAST.span());
        (now - can_be_made_up_for).max(self.on_record_since(quota, now))
    }

    /// The same job, as who looks at an occurrence at `t` goes by it: where that may have been on record and have expired it is too late to be made up for,
    /// whatever the window says now.
    #[must_use]
    pub fn as_far_as_certain(mut self, t: Moment, quota: Keepings, now: Moment) -> Self {
        let certain = self.certain_since(quota, now);
        if t < certain {
            self.definition.catch_up = self.definition.catch_up.within(now.since(certain));
        }
        self
    }
}

impl Quota {
    fn keeping(&self) -> Keeping {
        Keeping { retention: self.limits.retention, window: Duration::ZERO }
    }

    pub fn keepings(&self) -> Keepings {
        Keepings { today: self.keeping(), lengthened: self.lengthened }
    }

    /// The same in the place of what was there.
    #[must_use]
    pub fn in_place_of(self, before: Option<&Self>, now: Moment) -> Self {
        let before = before.map(Self::keepings).unwrap_or_default();
        Self { lengthened: before.lengthened_to(self.keeping(), now), ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn keeping(days: u16, window: u32) -> Keeping {
        Keeping { retention: Retention::of_days(days), window: DAY * window }
    }

    fn after(days: u32) -> Moment {
        NOW + DAY * days
    }

    #[test]
    fn what_is_lengthened_is_remembered_and_what_is_not_is_no_matter() {
        // By days, where 0 says nothing of them, and by the window.
        let rows = [
            ((1, 0), (30, 0), true),
            ((30, 0), (1, 0), false),
            ((1, 0), (1, 0), false),
            ((0, 0), (30, 0), false),
            ((0, 0), (31, 0), true),
            ((30, 0), (0, 0), true),
            ((0, 1), (0, 2), true),
            ((0, 2), (0, 1), false),
            ((30, 1), (1, 2), true),
        ];
        for ((days, window), (then, after), is_lengthened) in rows {
            let said = Keepings { today: keeping(days, window), lengthened: None };
            let lengthened = Some(Lengthened { at: NOW + pace::ORPHAN, from: said.today }).filter(|_| is_lengthened);
            assert_eq!(said.lengthened_to(keeping(then, after), NOW), lengthened, "{days} {window} to {then} {after}");
        }
    }

    #[test]
    fn the_least_of_what_was_said_is_remembered_for_as_long_as_anything_is_kept_by_today() {
        let rows = [
            ("lengthened again", 2, 30, (90, 40), Some(2)),
            ("until nobody says anything", 2, 30, (0, 40), Some(2)),
            ("shortened, and felt", 2, 9, (4, 3), Some(2)),
            ("shortened, and nothing of that is kept any more", 2, 9, (4, 4), None),
            ("lengthened, and nothing of what was before is kept any more", 2, 50, (90, 90), Some(50)),
        ];
        for (what, from, today, (next, when), remembered) in rows {
            let lengthened = Some(Lengthened { at: NOW, from: keeping(from, 0) });
            let said = Keepings { today: keeping(today, 0), lengthened };
            let next = said.lengthened_to(keeping(next, 0), after(when));
            assert_eq!(next.map(|next| next.from), remembered.map(|days| keeping(days, 0)), "{what}");
        }
    }

    #[test]
    fn what_was_born_before_a_change_is_on_record_for_as_long_as_it_was_to_be_then() {
        let of = |today, lengthened: Option<(u32, u16)>| Keepings {
            today: keeping(today, 0),
            lengthened: lengthened.map(|(ago, days)| Lengthened { at: NOW - DAY * ago, from: keeping(days, 0) }),
        };
        let rows = [
            (of(30, None), of(0, None), 30),
            (of(0, None), of(0, None), 30),
            (of(0, None), of(7, None), 7),
            (of(30, None), of(7, None), 7),
            (of(30, Some((0, 1))), of(0, None), 1),
            (of(30, Some((20, 1))), of(0, None), 20),
            (of(30, Some((40, 1))), of(0, None), 30),
            (of(30, None), of(90, Some((3, 2))), 3),
            (of(0, None), of(90, Some((3, 2))), 3),
            (of(30, Some((3, 1))), of(90, Some((9, 2))), 3),
        ];
        for (job, quota, days) in rows {
            assert_eq!(job.on_record_since(quota, NOW), NOW - DAY * days, "{job:?} {quota:?}");
        }
    }

    /// What a job, or a quota, says from each of these days on.
    fn changes() -> impl Strategy<Value = Vec<(u32, Keeping)>> {
        let one = (0_u32..60, 0_u16..40, 0_u32..40).prop_map(|(day, days, window)| (day, keeping(days, window)));
        proptest::collection::vec(one, 0..5).prop_map(|mut changes| {
            changes.sort_by_key(|(day, _)| *day);
            changes
        })
    }

    /// After all of them; and what was said on a day, at its end.
    fn said(changes: &[(u32, Keeping)]) -> Keepings {
        changes.iter().fold(Keepings::default(), |said, (day, next)| Keepings {
            today: *next,
            lengthened: said.lengthened_to(*next, NOW + DAY * *day),
        })
    }

    fn said_on(changes: &[(u32, Keeping)], day: u32) -> Keeping {
        said(&changes.iter().copied().filter(|(from, _)| *from <= day).collect::<Vec<_>>()).today
    }

    proptest! {
        #[test]
        fn what_is_said_to_be_on_record_is(job in changes(), quota in changes(), until in 60_u32..120) {
            let without_window = |(day, said)| (day, Keeping { window: Duration::ZERO, ..said });
            let quota: Vec<_> = quota.into_iter().map(without_window).collect();
            let since = said(&job).on_record_since(said(&quota), NOW + DAY * until);

            for day in 0..until {
                // Born at noon, when whoever has read what was said the day before is long done.
                let born = NOW + DAY * day + DAY / 2;
                let goes = born + said_on(&job, day).within(said_on(&quota, day));
                prop_assert!(goes >= NOW + DAY * until || born < since, "of day {day}: {since:?}");
            }
        }
    }
}
