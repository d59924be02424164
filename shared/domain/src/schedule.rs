//! A schedule: the when of a job. Its main function is [`Schedule::next_after`], which moves strictly forward.

pub mod cron;
mod describe;
mod jitter;
mod observance;
mod silence;
mod spread;
mod written;

use std::time::Duration;

use chrono_tz::Tz;
use thiserror::Error;

use self::cron::{Cron, CronError, DayRule, DstGap, DstOverlap, Manner, Note};
pub use self::jitter::Jitter;
pub use self::observance::{Heeded, Observance, OnExcluded, Patience};
pub use self::silence::Silence;
pub use self::spread::Spread;
pub use self::written::ShortForm;
use self::written::Written;
use crate::Moment;
use crate::calendar::CalendarName;
use crate::id::JobId;
use crate::limits::{CALENDARS_OF_A_JOB, JITTER_SECONDS, MAX_FIRES, PAST_GRACE, SPAN_SECONDS};
use crate::pace;
use crate::workflow::edge::On;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub when: When,
    /// The text of the interval or the instant, if it was written in the field `cron`.
    pub short_form: Option<ShortForm>,
    /// Nothing fires before.
    pub start_at: Option<Moment>,
    /// Nothing fires then or later.
    pub end_at: Option<Moment>,
    /// As requested; its meaning is `last`.
    pub max_fires: Option<u32>,
    /// The last instant that `max_fires` allows, found once.
    pub last: Option<Moment>,
    pub jitter: Option<Jitter>,
    /// The calendars that it heeds.
    pub observance: Option<Box<Observance>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Once, when it was created.
    Now {
        at: Moment,
    },
    At {
        at: Moment,
    },
    After {
        seconds: u64,
        at: Moment,
    },
    /// Elapsed time from one instant on; knows no zones and never drifts.
    Every {
        seconds: u64,
        from: Moment,
    },
    /// Boxed: large compared with the other variants.
    Cron(Box<Cron>),
    /// Only by run-now.
    OnDemand,
    /// Whenever a run of that job has ended so.
    Follows {
        job: JobId,
        on: On,
    },
}

/// A schedule as requested by a client. At most one of `at`, `after_seconds`, `every_seconds`, `cron`, `after`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub at: Option<Moment>,
    pub after_seconds: Option<u64>,
    pub every_seconds: Option<u64>,
    pub cron: Option<String>,
    pub timezone: Option<String>,
    pub days: Option<DayRule>,
    pub dst_gap: Option<DstGap>,
    pub dst_overlap: Option<DstOverlap>,
    pub start_at: Option<Moment>,
    pub end_at: Option<Moment>,
    pub max_fires: Option<u32>,
    pub on_demand: bool,
    /// Behind the runs of that job which end so.
    pub after: Option<(JobId, On)>,
    pub jitter_seconds: Option<u32>,
    pub calendars: Vec<CalendarName>,
    pub on_excluded: Option<OnExcluded>,
    /// Since when `after_seconds` counts, and `every_seconds` without `start_at`; none: since it is asked for.
    pub since: Option<Moment>,
    /// The job's spread, from which `H` and jitter are derived.
    pub spread: Spread,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScheduleRefusal {
    #[error("give only one of at, after_seconds, every_seconds, cron, after and on_demand; this has {0} and {1}")]
    Several(&'static str, &'static str),
    #[error("{field} goes with every_seconds or cron, not with a schedule that fires once")]
    NotRecurring { field: &'static str },
    #[error("{field} goes with cron; other schedules know no clock on the wall")]
    WithoutCron { field: &'static str },
    #[error("jitter_seconds goes with a schedule that fires by itself")]
    JitterOnDemand,
    #[error("{at} lies more than {grace} s in the past", grace = PAST_GRACE.as_secs())]
    Past { field: &'static str, at: Moment },
    #[error("{field} must be from {least} to {most}")]
    OutOfRange { field: &'static str, least: u64, most: u64 },
    #[error("end_at must lie after {0}, or nothing would ever fire")]
    EndsBeforeItStarts(Moment),
    #[error("this schedule has no instant left at which it fires")]
    NeverFires,
    #[error("calendars go with a schedule that fires by itself")]
    CalendarsOnDemand,
    #[error("on_excluded goes with calendars")]
    WithoutCalendars,
    #[error("at most {most} calendars; this has {given}", most = CALENDARS_OF_A_JOB)]
    TooManyCalendars { given: usize },
    #[error("this names the calendar {0} twice")]
    CalendarTwice(CalendarName),
    #[error(transparent)]
    Cron(#[from] CronError),
}

impl ScheduleRefusal {
    /// The field of the schedule to point at; none where it is the schedule as a whole.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Several(_, field)
            | Self::NotRecurring { field }
            | Self::WithoutCron { field }
            | Self::OutOfRange { field, .. }
            | Self::Past { field, .. } => Some(field),
            Self::Cron(CronError::UnknownZone { .. }) => Some("timezone"),
            Self::JitterOnDemand => Some("jitter_seconds"),
            Self::EndsBeforeItStarts(_) => Some("end_at"),
            Self::CalendarsOnDemand | Self::TooManyCalendars { .. } | Self::CalendarTwice(_) => Some("calendars"),
            Self::WithoutCalendars => Some("on_excluded"),
            Self::NeverFires => None,
            Self::Cron(_) => Some("cron"),
        }
    }
}

impl Schedule {
    /// Builds the schedule of a request, seen from `now`.
    pub fn new(plan: &Plan, now: Moment) -> Result<Self, ScheduleRefusal> {
        let (when, short_form) = plan.when(now)?;
        plan.goes_with(&when)?;
        let (start_at, end_at) = (plan.start_at, plan.end_at);
        let begin = start_at.unwrap_or(now).max(now);
        if end_at.is_some_and(|end| end <= begin) {
            return Err(ScheduleRefusal::EndsBeforeItStarts(begin));
        }
        let jitter = plan.jitter_seconds.filter(|most| *most > 0).map(|most| Jitter::new(most, plan.spread, now));
        let observance = plan.observance(now);
        let (max_fires, last) = (plan.max_fires, None);
        let mut schedule = Self { when, short_form, start_at, end_at, max_fires, last, jitter, observance };
        schedule.last = schedule.nth_nominal(plan.max_fires, now);
        if schedule.fires_by_itself() && schedule.next_nominal_after(now.just_before()).is_none() {
            return Err(ScheduleRefusal::NeverFires);
        }
        Ok(schedule)
    }

    /// Since when it counts, where that is neither named nor by a clock.
    pub fn counts_since(&self) -> Option<Moment> {
        match &self.when {
            When::Now { at } => Some(*at),
            When::After { seconds, at } => Some(*at - Duration::from_secs(*seconds)),
            When::Every { seconds, from } if self.start_at.is_none() => Some(*from - Duration::from_secs(*seconds)),
            When::Every { .. } | When::At { .. } | When::Cron(_) | When::OnDemand | When::Follows { .. } => None,
        }
    }

    /// The first instant strictly after `t` at which this fires.
    pub fn next_after(&self, t: Moment) -> Option<Moment> {
        self.next_within(t, &mut Patience::default())
    }

    /// The same instants, and those that it would have fired before it was made, moved as it moves them.
    #[must_use]
    pub fn of_the_past(&self) -> Self {
        self.counted_from(Moment::EPOCH)
    }

    /// The same for one of many walks, which share their patience.
    pub fn next_within(&self, t: Moment, patience: &mut Patience) -> Option<Moment> {
        self.spread_after(t, |t| self.next_heeded_after(t, patience))
    }

    /// The first instant strictly after `t` that the schedule names, whatever its calendars say; where it would fire.
    pub fn next_named_after(&self, t: Moment) -> Option<Moment> {
        self.spread_after(t, |t| self.next_nominal_after(t))
    }

    fn spread_after(&self, t: Moment, next: impl FnOnce(Moment) -> Option<Moment>) -> Option<Moment> {
        let Some(jitter) = &self.jitter else { return next(t) };
        jitter.effective(next(jitter.nominal(t).max(jitter.from.just_before()))?)
    }

    /// The nominal instant of the occurrence at `t`: before jitter, and before a calendar moved it.
    pub fn nominal(&self, t: Moment) -> Moment {
        self.moved_from(t).unwrap_or_else(|| self.before_jitter(t))
    }

    /// When the occurrence with the nominal instant `nominal` fires.
    pub fn effective(&self, nominal: Moment) -> Moment {
        self.after_jitter(self.moved_to(nominal))
    }

    /// Where it names what another one named that was in force before, and fires as much later: what that one named is its own, though it is yet to fire,
    /// and counts among its `max_fires`. But not where that one had ended, and this would name what it did not.
    #[must_use]
    pub(crate) fn spread_since(&self, before: &Self) -> Self {
        let spread = self.jitter.zip(before.jitter);
        let alike = spread.filter(|(ours, theirs)| ours.by == theirs.by && self.when == before.when);
        let Some((ours, theirs)) = alike else { return self.clone() };
        let from = ours.from.min(before.start_at.map_or(theirs.from, |start| start.max(theirs.from)));
        if from == ours.from {
            return self.clone();
        }
        let first = from.max(ours.from - ours.by);
        let mut spread = Self { jitter: Some(Jitter { from, ..ours }), last: None, ..self.clone() };
        let ends = [before.end_at, before.last.map(Moment::just_after)].into_iter().flatten().min();
        let more = ends.and_then(|end| spread.next_nominal_after(end.max(first).just_before()));
        if more.is_some_and(|more| more < ours.from) {
            return self.clone();
        }
        spread.last = spread.nth_nominal(self.max_fires, first);
        spread
    }

    /// From when on it counts, where that is of a time that has not come: by a clock that was ahead.
    pub fn ahead_of(&self, now: Moment) -> Option<Moment> {
        let spread = self.jitter.map(|jitter| jitter.from);
        let begun = match (&self.when, self.start_at) {
            (When::Every { seconds, from }, None) => Some(*from - Duration::from_secs(*seconds)),
            _it_was_said_when => None,
        };
        spread.into_iter().chain(begun).max().filter(|from| *from > now + pace::APART)
    }

    /// What was made or changed by a clock that was ahead begins at `now`, as if it was made then; but for what fires once, which may have fired.
    #[must_use]
    pub fn not_ahead_of(&self, now: Moment) -> Self {
        let mut schedule = Self { last: None, ..self.counted_from(now) };
        if let (When::Every { seconds, from }, None) = (&mut schedule.when, self.start_at) {
            *from = (*from).min(now + Duration::from_secs(*seconds));
        }
        schedule.last = self.last.min(schedule.nth_nominal(self.max_fires, now));
        schedule
    }

    pub fn before_jitter(&self, t: Moment) -> Moment {
        self.jitter.as_ref().map_or(t, |jitter| jitter.nominal(t))
    }

    pub fn after_jitter(&self, t: Moment) -> Moment {
        self.jitter.as_ref().map_or(t, |jitter| t + jitter.by)
    }

    fn next_nominal_after(&self, t: Moment) -> Option<Moment> {
        let t = self.start_at.map_or(t, |start| t.max(start.just_before()));
        let next = match &self.when {
            When::Now { at } | When::At { at } | When::After { at, .. } => (t < *at).then_some(*at),
            When::Every { seconds, from } => every_after(*seconds, *from, t),
            When::Cron(cron) => cron.next_after(t),
            When::OnDemand | When::Follows { .. } => None,
        }?;
        let ended = self.end_at.is_some_and(|end| next >= end) || self.last.is_some_and(|last| next > last);
        (!ended).then_some(next)
    }

    /// The preview's note on the occurrence that fires at `t`.
    pub fn note_at(&self, t: Moment) -> Option<Note> {
        if self.moved_from(t).is_some() {
            return Some(Note::Moved);
        }
        let jittered = self.jitter.map(|_| Note::Jittered);
        match &self.when {
            When::Cron(cron) => cron.note_at(self.nominal(t)).or(jittered),
            When::Now { .. }
            | When::At { .. }
            | When::After { .. }
            | When::Every { .. }
            | When::OnDemand
            | When::Follows { .. } => jittered,
        }
    }

    /// The local time of the schedule's zone at `t`, with the offset that distinguishes the two passes of an overlap.
    pub fn local(&self, t: Moment) -> String {
        cron::local(self.zone(), t)
    }

    /// The zone of the schedule.
    pub fn zone(&self) -> Tz {
        match (&self.when, &self.short_form) {
            (When::Cron(cron), _) => cron.zone(),
            (_, Some(form)) => form.manner.zone,
            (_, None) => Tz::UTC,
        }
    }

    /// When a change to this schedule at `now` comes into force. A one-time instant may have passed while the change was being
    /// written: it was still possible when it was requested.
    pub(crate) fn in_force_from(&self, now: Moment) -> Moment {
        match self.when {
            When::Now { at } | When::At { at } | When::After { at, .. } => now.min(self.effective(at)),
            When::Every { .. } | When::Cron(_) | When::OnDemand | When::Follows { .. } => now,
        }
    }

    /// Whether time makes it fire, and nobody's act or end.
    pub fn fires_by_itself(&self) -> bool {
        !matches!(self.when, When::OnDemand | When::Follows { .. })
    }

    pub fn is_recurring(&self) -> bool {
        self.when.is_recurring()
    }

    /// How often a recurring schedule fires from `now` on, at the rate of its next sixty fires: a burst counts with its full
    /// rate while it lasts. Zero for a schedule that fires once.
    pub fn fires_per_minute(&self, now: Moment) -> f64 {
        const LOOKED_AT: u32 = 60;
        if !self.is_recurring() {
            return 0.0;
        }
        let Some(first) = self.next_after(now) else { return 0.0 };
        let (mut last, mut more) = (first, 0);
        while let Some(next) = self.next_after(last).filter(|_| more < LOOKED_AT) {
            (last, more) = (next, more + 1);
        }
        f64::from(more) * 60.0 / last.since(first).as_secs_f64().max(1.0)
    }

    pub fn fires_at(&self, t: Moment) -> bool {
        t > Moment::EPOCH && self.next_after(t.just_before()) == Some(t)
    }

    /// Whether it would fire at `t`, whatever its calendars say.
    pub(crate) fn names(&self, t: Moment) -> bool {
        t > Moment::EPOCH && self.next_named_after(t.just_before()) == Some(t)
    }

    fn nth_nominal(&self, n: Option<u32>, now: Moment) -> Option<Moment> {
        (0..n?).try_fold(now.just_before(), |t, _| self.next_nominal_after(t).ok_or(t)).map_or_else(Some, Some)
    }
}

impl When {
    fn is_recurring(&self) -> bool {
        matches!(self, Self::Every { .. } | Self::Cron(_))
    }
}

impl Plan {
    fn when(&self, now: Moment) -> Result<(When, Option<ShortForm>), ScheduleRefusal> {
        self.names_one_kind()?;
        self.has_clock_fields_only_with_cron()?;
        let since = self.since.unwrap_or(now);
        let when = match self {
            Self { at: Some(at), .. } => When::At { at: not_past("at", *at, now)? },
            Self { after_seconds: Some(seconds), .. } => {
                let seconds = in_range("after_seconds", *seconds, 0, SPAN_SECONDS)?;
                When::After { seconds, at: since + Duration::from_secs(seconds) }
            }
            Self { every_seconds: Some(seconds), .. } => {
                self.every(in_range("every_seconds", *seconds, 1, SPAN_SECONDS)?, since)
            }
            Self { cron: Some(text), .. } => return self.written(text, now),
            Self { after: Some((job, on)), .. } => When::Follows { job: *job, on: *on },
            Self { on_demand: true, .. } => When::OnDemand,
            _ => When::Now { at: since },
        };
        Ok((when, None))
    }

    /// Without `start_at` the first fire is one period after creation; with it, the first fire is at `start_at`.
    fn every(&self, seconds: u64, since: Moment) -> When {
        When::Every { seconds, from: self.start_at.unwrap_or(since + Duration::from_secs(seconds)) }
    }

    fn written(&self, text: &str, now: Moment) -> Result<(When, Option<ShortForm>), ScheduleRefusal> {
        let manner = self.manner()?;
        let short_form = || Some(ShortForm { text: text.to_owned(), manner });
        Ok(match Written::of(text)? {
            Written::Fields => (When::Cron(Cron::parse(text, manner, self.spread)?.into()), None),
            Written::Every { seconds } => (self.every(seconds, self.since.unwrap_or(now)), short_form()),
            Written::At { local } => {
                let at = manner.instant_of(local).ok_or(ScheduleRefusal::NeverFires)?;
                (When::At { at: not_past("cron", at, now)? }, short_form())
            }
        })
    }

    fn manner(&self) -> Result<Manner, ScheduleRefusal> {
        Ok(Manner {
            zone: cron::zone(self.timezone.as_deref().unwrap_or("UTC"))?,
            days: self.days.unwrap_or_default(),
            gap: self.dst_gap.unwrap_or_default(),
            overlap: self.dst_overlap.unwrap_or_default(),
        })
    }

    fn names_one_kind(&self) -> Result<(), ScheduleRefusal> {
        let kinds = [
            ("at", self.at.is_some()),
            ("after_seconds", self.after_seconds.is_some()),
            ("every_seconds", self.every_seconds.is_some()),
            ("cron", self.cron.is_some()),
            ("after", self.after.is_some()),
            ("on_demand", self.on_demand),
        ];
        let mut named = kinds.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
        match (named.next(), named.next()) {
            (Some(one), Some(other)) => Err(ScheduleRefusal::Several(one, other)),
            _ => Ok(()),
        }
    }

    fn has_clock_fields_only_with_cron(&self) -> Result<(), ScheduleRefusal> {
        let manner = [
            ("timezone", self.timezone.is_some()),
            ("days", self.days.is_some()),
            ("dst_gap", self.dst_gap.is_some()),
            ("dst_overlap", self.dst_overlap.is_some()),
        ];
        match manner.into_iter().find(|(_, given)| *given && self.cron.is_none()) {
            Some((field, _)) => Err(ScheduleRefusal::WithoutCron { field }),
            None => Ok(()),
        }
    }

    /// Bounds need a recurring schedule, jitter any schedule that fires by itself.
    fn goes_with(&self, when: &When) -> Result<(), ScheduleRefusal> {
        let bounds = [
            ("start_at", self.start_at.is_some()),
            ("end_at", self.end_at.is_some()),
            ("max_fires", self.max_fires.is_some()),
        ];
        if let Some((field, _)) = bounds.into_iter().find(|(_, given)| *given && !when.is_recurring()) {
            return Err(ScheduleRefusal::NotRecurring { field });
        }
        self.heeds_what_goes_with(when)?;
        if let Some(max) = self.max_fires {
            in_range("max_fires", u64::from(max), 1, u64::from(MAX_FIRES))?;
        }
        if let Some(jitter) = self.jitter_seconds {
            in_range("jitter_seconds", u64::from(jitter), 0, u64::from(JITTER_SECONDS))?;
            if matches!(when, When::OnDemand | When::Follows { .. }) {
                return Err(ScheduleRefusal::JitterOnDemand);
            }
        }
        Ok(())
    }
}

impl Plan {
    fn heeds_what_goes_with(&self, when: &When) -> Result<(), ScheduleRefusal> {
        if self.on_excluded.is_some() && self.calendars.is_empty() {
            return Err(ScheduleRefusal::WithoutCalendars);
        }
        if !self.calendars.is_empty() && matches!(when, When::OnDemand | When::Follows { .. }) {
            return Err(ScheduleRefusal::CalendarsOnDemand);
        }
        if self.calendars.len() > CALENDARS_OF_A_JOB {
            return Err(ScheduleRefusal::TooManyCalendars { given: self.calendars.len() });
        }
        let is_twice = |(number, name): &(usize, &CalendarName)| self.calendars[..*number].contains(name);
        match self.calendars.iter().enumerate().find(is_twice) {
            Some((_, name)) => Err(ScheduleRefusal::CalendarTwice(name.clone())),
            None => Ok(()),
        }
    }

    fn observance(&self, now: Moment) -> Option<Box<Observance>> {
        let observance = || Observance::new(self.calendars.iter().cloned(), self.on_excluded.unwrap_or_default(), now);
        (!self.calendars.is_empty()).then(observance).map(Box::new)
    }
}

/// Multiples of the period from `from` on.
fn every_after(seconds: u64, from: Moment, t: Moment) -> Option<Moment> {
    if t < from {
        return Some(from);
    }
    let period = i64::try_from(seconds).ok()?.checked_mul(1000)?;
    let passed = (t.millis() - from.millis()) / period + 1;
    let next = from.millis().checked_add(passed.checked_mul(period)?)?;
    (next < Moment::END.millis()).then(|| Moment::from_millis(next))
}

/// An instant a little in the past means now: a client's slow clock or network is not an error.
fn not_past(field: &'static str, at: Moment, now: Moment) -> Result<Moment, ScheduleRefusal> {
    if now.since(at) > PAST_GRACE { Err(ScheduleRefusal::Past { field, at }) } else { Ok(at.max(now)) }
}

fn in_range(field: &'static str, value: u64, least: u64, most: u64) -> Result<u64, ScheduleRefusal> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(ScheduleRefusal::OutOfRange { field, least, most }) }
}

#[cfg(test)]
mod tests;
