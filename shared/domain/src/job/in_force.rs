//! In force: which schedule of a job counts when. Today's does from one instant on; before that, those that the job remembers.
//!
//! A job remembers the schedule before today's. Where that, and what was before it, ask for the same and differ in the versions of their
//! calendars alone, it remembers these too: a calendar may be changed again and again while a fire waits to begin, and each instant goes by
//! what was said when it came.

use super::{Carried, Job};
use crate::Moment;
use crate::limits::{COALESCE_COUNT, VERSIONS_REMEMBERED};
use crate::schedule::{Patience, Schedule};

/// A schedule that was in force, until the one after it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    pub schedule: Schedule,
    pub since: Moment,
    pub carried: Option<Carried>,
}

/// A schedule that is or was in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InForce<'a> {
    pub schedule: &'a Schedule,
    pub since: Moment,
    pub carried: Option<Carried>,
}

impl Before {
    pub fn next_after(&self, t: Moment) -> Option<Moment> {
        self.in_force().next_within(t, &mut Patience::default())
    }

    /// How many of its occurrences lie between `first`, which is one, and `until`; capped at `COALESCE_COUNT`.
    pub fn count(&self, first: Moment, until: Moment) -> u64 {
        let next = |t: &Moment| self.schedule.next_after(*t).filter(|next| *next < until);
        std::iter::successors(Some(first), next).zip(1..=COALESCE_COUNT).map(|(_, count)| count).last().unwrap_or(1)
    }

    fn in_force(&self) -> InForce<'_> {
        InForce { schedule: &self.schedule, since: self.since, carried: self.carried }
    }
}

impl InForce<'_> {
    /// The first instant strictly after `t` at which it fires, or what was carried into it.
    pub(super) fn next_within(&self, t: Moment, patience: &mut Patience) -> Option<Moment> {
        let carried = self.carried.map(|carried| carried.at).filter(|at| *at > t);
        [self.schedule.next_within(t, patience), carried].into_iter().flatten().min()
    }

    pub(super) fn fires_at(&self, t: Moment) -> bool {
        self.carried.is_some_and(|carried| carried.at == t) || self.schedule.fires_at(t)
    }
}

impl Job {
    /// Today's schedule and those that it remembers, the newest first.
    pub(crate) fn schedules(&self) -> impl Iterator<Item = InForce<'_>> {
        std::iter::once(self.today()).chain(self.before.iter().map(Before::in_force))
    }

    fn today(&self) -> InForce<'_> {
        InForce { schedule: &self.schedule, since: self.since, carried: self.carried }
    }

    /// Today's, as it is remembered once another is in force.
    pub(super) fn as_before(&self) -> Before {
        Before { schedule: self.schedule.clone(), since: self.since, carried: self.carried }
    }

    /// The schedule that is, or was, in force at `t`; none where that is forgotten.
    pub(crate) fn in_force(&self, t: Moment) -> Option<InForce<'_>> {
        self.schedules().find(|schedule| t >= schedule.since)
    }

    /// From when on it knows what was in force. What a clock set that was ahead may be in force later than what came after it, and then never was.
    pub fn remembered_since(&self) -> Moment {
        self.before.iter().fold(self.since, |since, before| since.min(before.since))
    }

    /// What it remembers once another schedule is in force: its own, and what asks for the same and is pinned to other versions.
    pub(super) fn remembered_by_a_change(&self) -> Vec<Before> {
        let asks_alike =
            |before: &&Before| before.schedule.observance.is_some() && before.schedule.asks_as(&self.schedule);
        let earlier = self.before.iter().take_while(asks_alike).take(VERSIONS_REMEMBERED - 1).cloned();
        std::iter::once(self.as_before()).chain(earlier).collect()
    }

    /// The first instant strictly after `t` that `next` finds in the schedules that were in force from then on, each in its own time. Asked
    /// of each is what comes strictly after an instant.
    pub(super) fn next_in_force(
        &self,
        t: Moment,
        mut next: impl FnMut(InForce<'_>, Moment) -> Option<Moment>,
    ) -> Option<Moment> {
        // Nearly always: nothing is listed then.
        if t >= self.since || self.before.is_empty() {
            return next(self.today(), t.max(self.since.just_before()));
        }
        self.spans_from(t).into_iter().rev().find_map(|(schedule, until)| {
            let next = next(schedule, t.max(schedule.since.just_before()))?;
            until.is_none_or(|until| next < until).then_some(next)
        })
    }

    /// The schedules that were in force from `t` on, the newest first, each with until when it was.
    fn spans_from(&self, t: Moment) -> Vec<(InForce<'_>, Option<Moment>)> {
        let (mut spans, mut until) = (Vec::with_capacity(1 + self.before.len()), None);
        for schedule in self.schedules() {
            spans.push((schedule, until));
            until = Some(until.map_or(schedule.since, |until: Moment| until.min(schedule.since)));
            if t >= schedule.since {
                break; // what was in force before that is over
            }
        }
        spans
    }
}

#[cfg(test)]
mod facts;
