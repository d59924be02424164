//! Observance: the calendars that a schedule heeds, and what becomes of a fire that one of them takes: it is skipped, or it moves to the
//! next instant that all of them allow.
//!
//! Calendars judge what a schedule names; jitter comes on top of that.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Jitter, Schedule};
use crate::Moment;
use crate::calendar::{Calendar, CalendarName, CalendarVersion, Exclusion};
use crate::limits::CALENDAR_STEPS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observance {
    pub calendars: Vec<Heeded>,
    pub on_excluded: OnExcluded,
    /// Nothing that was to fire before this moves: the schedule was not in force then.
    pub from: Moment,
}

/// A calendar that is heeded. Who reads a job from a store finds out what the version says before it asks the job anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heeded {
    pub name: CalendarName,
    /// None in a request, before it is known what the name stands for.
    pub version: Option<CalendarVersion>,
    pub known: Option<Arc<Calendar>>,
}

/// What becomes of a fire that a calendar takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExcluded {
    #[default]
    Skip,
    Move,
}

/// How often calendars may still be asked, and up to when anybody cares: nobody walks for long through what they leave nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    steps: u32,
    until: Moment,
}

impl Patience {
    pub const fn of(steps: u32) -> Self {
        Self { steps, until: Moment::END }
    }

    /// What lies then or later is not looked for.
    #[must_use]
    pub const fn until(self, until: Moment) -> Self {
        Self { until, ..self }
    }

    pub const fn is_spent(self) -> bool {
        self.steps == 0
    }

    fn take(&mut self, at: Moment) -> Option<()> {
        if at >= self.until {
            return None;
        }
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }
}

/// For one instant.
impl Default for Patience {
    fn default() -> Self {
        Self::of(CALENDAR_STEPS)
    }
}

impl Observance {
    pub fn new(names: impl IntoIterator<Item = CalendarName>, on_excluded: OnExcluded, from: Moment) -> Self {
        let heeded = |name| Heeded { name, version: None, known: None };
        Self { calendars: names.into_iter().map(heeded).collect(), on_excluded, from }
    }

    /// Whether it asks for what the other one asks for, whatever their calendars say.
    pub fn asks_as(&self, other: &Self) -> bool {
        let names = |observance: &Self| -> Vec<CalendarName> {
            observance.calendars.iter().map(|heeded| heeded.name.clone()).collect()
        };
        self.on_excluded == other.on_excluded && names(self) == names(other)
    }

    pub fn names(&self, name: &CalendarName) -> bool {
        self.calendars.iter().any(|heeded| heeded.name == *name)
    }

    /// The calendar that takes `t`, and how long a stretch around it; the first of those that do.
    fn exclusion_at(&self, t: Moment) -> Option<(&Heeded, &Calendar, Exclusion)> {
        self.calendars.iter().find_map(|heeded| {
            debug_assert!(
                heeded.version.is_none() || heeded.known.is_some(),
                "this schedule was read from a store, and what {} says was not looked up",
                heeded.name
            );
            let calendar = heeded.known.as_deref()?;
            Some((heeded, calendar, calendar.exclusion_at(t)?))
        })
    }

    /// The first instant from `t` on that all of them allow.
    fn allowed_from(&self, t: Moment, patience: &mut Patience) -> Option<Moment> {
        let mut t = t;
        while let Some((_, _, exclusion)) = self.exclusion_at(t) {
            patience.take(t)?;
            t = exclusion.until;
        }
        (t < Moment::END).then_some(t)
    }

    /// The first instant of the stretch around `t` in which none is allowed, or `floor`.
    fn excluded_since(&self, t: Moment, floor: Moment, patience: &mut Patience) -> Option<Moment> {
        let (mut t, mut since) = (t, t);
        while let Some((_, _, exclusion)) = self.exclusion_at(t) {
            patience.take(t)?;
            since = exclusion.from;
            if since <= floor {
                return Some(floor);
            }
            t = since.just_before();
        }
        Some(since)
    }
}

impl Schedule {
    /// The first instant strictly after `t` that calendars leave, before jitter.
    pub(super) fn next_heeded_after(&self, t: Moment, patience: &mut Patience) -> Option<Moment> {
        let Some(observance) = &self.observance else { return self.next_nominal_after(t) };
        match observance.on_excluded {
            OnExcluded::Skip => self.next_left_after(observance, t, patience),
            OnExcluded::Move => self.next_moved_after(observance, t, patience),
        }
    }

    fn next_left_after(&self, observance: &Observance, t: Moment, patience: &mut Patience) -> Option<Moment> {
        let mut t = t;
        loop {
            patience.take(t)?;
            let named = self.next_nominal_after(t)?;
            let allowed = observance.allowed_from(named, patience)?;
            if allowed == named {
                return Some(named);
            }
            t = allowed.just_before();
        }
    }

    /// What is named inside of a stretch that is excluded fires at its end; and those are one.
    fn next_moved_after(&self, observance: &Observance, t: Moment, patience: &mut Patience) -> Option<Moment> {
        patience.take(t)?;
        let mut t = t;
        if observance.exclusion_at(t).is_some() {
            let end = observance.allowed_from(t, patience)?;
            let floor = self.moves_from(observance);
            let since = observance.excluded_since(t, floor, patience)?;
            let named = self.next_nominal_after(since.max(floor).just_before());
            if named.is_some_and(|named| named < end) {
                return self.unless_ended(end);
            }
            t = end.just_before();
        }
        let named = self.next_nominal_after(t)?;
        self.unless_ended(observance.allowed_from(named, patience)?)
    }

    fn unless_ended(&self, t: Moment) -> Option<Moment> {
        Some(t).filter(|t| self.end_at.is_none_or(|end| *t < end))
    }

    /// The instant that the schedule names and that moved to where it fires at `t`, after jitter: the first of several.
    pub fn moved_from(&self, t: Moment) -> Option<Moment> {
        let observance = self.observance.as_ref().filter(|observance| observance.on_excluded == OnExcluded::Move)?;
        let (at, mut patience) = (self.before_jitter(t), Patience::default());
        if self.next_nominal_after(at.just_before()) == Some(at) {
            return None;
        }
        let floor = self.moves_from(observance);
        let since = observance.excluded_since(at.just_before(), floor, &mut patience)?;
        self.next_nominal_after(since.max(floor).just_before()).filter(|named| *named < at)
    }

    /// From when on it moves what it names: what was spread so far that it is yet to come when this is in force was due by nothing before it. But not what
    /// was named before there was a job.
    fn moves_from(&self, observance: &Observance) -> Moment {
        self.jitter.map_or(observance.from, |jitter| (observance.from - jitter.by).max(jitter.from))
    }

    /// Where what it names at `nominal` fires, before jitter.
    pub(super) fn moved_to(&self, nominal: Moment) -> Moment {
        let moves = self.observance.as_ref().filter(|observance| observance.on_excluded == OnExcluded::Move);
        let to = moves.and_then(|observance| observance.allowed_from(nominal, &mut Patience::default()));
        to.unwrap_or(nominal)
    }

    /// Where a fire goes on, from `now` on, that a calendar has moved to `moved` and that has not begun: where this schedule would have had it, if that is to
    /// come, and else at once, as much later as it is spread, but no later than it was to come anyway.
    pub(crate) fn carries_on_at(&self, nominal: Moment, moved: Moment, now: Moment) -> Option<Moment> {
        if self.start_at.is_some_and(|start| nominal < start) {
            return None;
        }
        let allowed = |t: Moment| match &self.observance {
            Some(observance) => observance.allowed_from(t, &mut Patience::default()),
            None => Some(t),
        };
        let own = allowed(nominal).filter(|at| self.after_jitter(*at) >= now);
        let at = own.or_else(|| allowed(now.min(self.before_jitter(moved))))?;
        self.unless_ended(at).map(|at| self.after_jitter(at))
    }

    /// The calendar that takes what the schedule names at `nominal`, with its reason.
    pub fn taken_by(&self, nominal: Moment) -> Option<(&CalendarName, String)> {
        let (heeded, calendar, _) = self.observance.as_ref()?.exclusion_at(nominal)?;
        Some((&heeded.name, calendar.reason_at(nominal)))
    }

    /// Pinned to another version of a calendar that it heeds.
    #[must_use]
    pub fn pinned_to(&self, name: &CalendarName, version: CalendarVersion, known: &Arc<Calendar>) -> Self {
        let mut schedule = self.clone();
        let heeded = schedule.observance.iter_mut().flat_map(|observance| &mut observance.calendars);
        for heeded in heeded.filter(|heeded| heeded.name == *name) {
            (heeded.version, heeded.known) = (Some(version), Some(Arc::clone(known)));
        }
        schedule
    }

    /// The same, as somebody asks for it: pinned to nothing.
    #[must_use]
    pub fn unpinned(&self) -> Self {
        let mut schedule = self.clone();
        for heeded in schedule.observance.iter_mut().flat_map(|observance| &mut observance.calendars) {
            (heeded.version, heeded.known) = (None, None);
        }
        schedule
    }

    /// The same, heeding that calendar no longer.
    #[must_use]
    pub fn without(&self, name: &CalendarName) -> Self {
        let mut schedule = self.clone();
        if let Some(observance) = &mut schedule.observance {
            observance.calendars.retain(|heeded| heeded.name != *name);
        }
        schedule.observance = schedule.observance.filter(|observance| !observance.calendars.is_empty());
        schedule
    }

    /// The calendar that it heeds by this name.
    pub fn heeded(&self, name: &CalendarName) -> Option<&Heeded> {
        self.observance.as_ref()?.calendars.iter().find(|heeded| heeded.name == *name)
    }

    /// From when on what it names moves, where calendars take it; and what it names then is spread, whatever the clock showed when it was made.
    #[must_use]
    pub(crate) fn counted_from(&self, since: Moment) -> Self {
        let jitter = self.jitter.map(|jitter| Jitter { from: jitter.from.min(since), ..jitter });
        let mut schedule = Self { jitter, ..self.clone() };
        if let Some(observance) = &mut schedule.observance {
            observance.from = since;
        }
        schedule
    }

    /// Whether it asks for what the other one asks for, whatever their calendars say by now.
    pub fn asks_as(&self, other: &Self) -> bool {
        let asks_alike = match (&self.observance, &other.observance) {
            (Some(ours), Some(theirs)) => ours.asks_as(theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        let plain = |schedule: &Self| Self { observance: None, ..schedule.clone() };
        asks_alike && plain(self) == plain(other)
    }
}

#[cfg(test)]
mod facts;
