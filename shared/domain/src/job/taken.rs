//! What calendars and gaps of a clock take of a job: the instants that its schedule names and at which it does not fire, and what of a moved fire
//! outlives a change.

use std::iter;

use super::in_force::InForce;
use super::{Carried, Job, Status};
use crate::Moment;
use crate::limits::TAKEN_COUNT;
use crate::run::Skip;
use crate::schedule::Schedule;

/// Fires in a row that calendars took, or a gap of the zone's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub first: Moment,
    pub last: Moment,
    pub count: u64,
    pub by: Skip,
    /// Which calendar took the first, and why; or which local time never was.
    pub told: String,
}

impl Job {
    /// Whether calendars may take anything of it.
    pub fn heeds_calendars(&self) -> bool {
        self.schedules().any(|in_force| in_force.schedule.observance.is_some())
    }

    /// Whether anything may be taken of it, by calendars or by its zone's clock.
    pub fn may_lose_fires(&self) -> bool {
        self.heeds_calendars() || self.schedules().any(|in_force| in_force.schedule.skips_gaps())
    }

    /// Whether the schedule in force names `t`, and a calendar takes it; or its zone's clock is put forward behind `t`, past what it names.
    pub(crate) fn is_taken_at(&self, t: Moment) -> bool {
        let takes =
            |schedule: &Schedule| schedule.observance.is_some() && schedule.names(t) && told_at(schedule, t).is_some();
        let swallows = |schedule: &Schedule| schedule.swallowed_between(t.just_before(), t.just_after()).is_some();
        self.in_force(t).map(|in_force| in_force.schedule).is_some_and(|schedule| takes(schedule) || swallows(schedule))
    }

    /// What was taken between two instants, neither included, where nothing fires between them: as many as one record tells of. `after` is a fire,
    /// or the end of a record behind it. What a gap takes has a record of its own.
    pub fn taken_between(&self, after: Moment, until: Moment) -> Option<Taken> {
        let by_a_gap = self.swallowed_between(after, until);
        let until = by_a_gap.as_ref().map_or(until, |gap| gap.first);
        self.taken_by_calendars(after, until).or(by_a_gap)
    }

    /// What the first gap took of the schedule that was in force then.
    pub fn swallowed_between(&self, after: Moment, until: Moment) -> Option<Taken> {
        let swallowed = |schedule: &Schedule, t| schedule.swallowed_between(t, until);
        let at = self.next_in_force(after, |in_force, t| swallowed(in_force.schedule, t).map(|gap| gap.at))?;
        let gap = swallowed(self.in_force(at)?.schedule, at.just_before())?;
        let told = format!("its zone's clock was put forward past {}", gap.local.format("%Y-%m-%d %H:%M:%S"));
        Some(Taken { first: at, last: at, count: gap.count, by: Skip::DstGap, told })
    }

    fn taken_by_calendars(&self, after: Moment, until: Moment) -> Option<Taken> {
        let mut each = self.each_taken_by_calendars(after, until);
        let (first, told) = each.next()?;
        let behind = each.map(|(t, _told)| t).take(usize::try_from(TAKEN_COUNT - 1).unwrap_or(usize::MAX));
        let (last, count) = behind.fold((first, 1), |(_, count), t| (t, count + 1));
        Some(Taken { first, last, count, by: Skip::Calendar, told })
    }

    /// The same one by one, each with the calendar that took it, and why. Without what a calendar has moved to the next fire: the run at that fire
    /// tells of it, though it may come after `until`.
    pub fn each_taken_by_calendars(
        &self,
        after: Moment,
        until: Moment,
    ) -> impl Iterator<Item = (Moment, String)> + use<'_> {
        let floor = self.remembered_since().just_before();
        let stands_for = self.next_after(after).and_then(|next| self.moved_from(next));
        let next = move |t: Moment| self.next_named_after(t).filter(|next| *next < until);
        let named = iter::successors(next(after.max(floor)), move |t| next(*t));
        let taken = move |t| {
            let schedule = self.in_force(t)?.schedule;
            let is_moved = Some(schedule.before_jitter(t)) == stands_for;
            told_at(schedule, t).filter(|_| !is_moved).map(|told| (t, told))
        };
        named.filter_map(taken)
    }

    /// The last fire before `t` that its schedules know.
    pub fn last_before(&self, t: Moment) -> Option<Moment> {
        let floor = self.remembered_since();
        (floor < t).then(|| self.newest(1, floor, t.just_before())).flatten().filter(|last| self.in_force_at(*last))
    }

    /// What the schedule named that a calendar moved to `t`.
    pub(crate) fn moved_from(&self, t: Moment) -> Option<Moment> {
        match self.carried_to(t) {
            Some(carried) => Some(carried.nominal),
            None => self.in_force(t).map(|in_force| in_force.schedule).filter(|of| of.fires_at(t))?.moved_from(t),
        }
    }

    /// What was carried into the schedule in force to fire at `t`, and would not fire then anyway: at most what moves there as well, and was
    /// named later.
    pub(super) fn carried_to(&self, t: Moment) -> Option<Carried> {
        let InForce { schedule, carried, .. } = self.in_force(t)?;
        let is_regular = || schedule.fires_at(t) && schedule.moved_from(t).is_none();
        carried.filter(|carried| carried.at == t && !is_regular())
    }

    /// A fire that a calendar moved to `now` or beyond goes on under a schedule that fires alike, when that would have had it, or at the first instant that its
    /// calendars allow: it has been due, and a change must not take it away.
    pub(super) fn carried_into(&self, schedule: &Schedule, now: Moment) -> Option<Carried> {
        if self.status != Status::Active || schedule.when != self.schedule.when {
            return None;
        }
        let carried = self.carried.filter(|carried| carried.at >= now && self.carried_to(carried.at).is_some());
        let moved = carried.map(|carried| carried.at).or_else(|| self.next_after(now.just_before()))?;
        let nominal = self.moved_from(moved).filter(|nominal| *nominal <= now)?;
        Some(Carried { nominal, at: schedule.carries_on_at(nominal, moved, now)? })
    }

    fn next_named_after(&self, t: Moment) -> Option<Moment> {
        self.next_in_force(t, |in_force, t| in_force.schedule.next_named_after(t))
    }
}

fn told_at(schedule: &Schedule, t: Moment) -> Option<String> {
    let (calendar, reason) = schedule.taken_by(schedule.before_jitter(t))?;
    Some(format!("calendar {calendar} ({reason})"))
}

#[cfg(test)]
mod facts;
