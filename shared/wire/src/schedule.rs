//! The when of a job, as it is asked for and as it is shown: the same fields both ways.

use minutehand_domain::Moment;
use minutehand_domain::calendar::{CalendarName, NotACalendarName};
use minutehand_domain::limits::{CALENDARS_OF_A_JOB, JITTER_SECONDS, MAX_FIRES, SPAN_SECONDS};
use minutehand_domain::schedule::cron::{DayRule, DstGap, DstOverlap, Manner};
use minutehand_domain::schedule::{OnExcluded, Plan, Schedule, Spread, When};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::after::AfterSpec;
use crate::field_errors::FieldErrors;
use crate::instant::Instant;
use crate::kinds::{Kind, one_of_the_kinds};
use crate::texts::{CalendarNameText, CronText, ZoneText};
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::{DayRuleWord, DstGapWord, DstOverlapWord, OnExcludedWord};

/// When a job fires: exactly one of `at`, `after_seconds`, `every_seconds`, `cron`, `after` and `on_demand`, or none of them for
/// once, now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScheduleRequest", deny_unknown_fields)]
#[schemars(transform = of_one_kind)]
pub struct ScheduleSpec {
    /// Once, then. Up to a minute in the past means now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Instant>,
    /// Once, so long after the job's creation.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = SPAN_SECONDS))]
    pub after_seconds: Option<u64>,
    /// Again and again, counted from `start_at` or else from the job's creation. It knows no zones and never drifts.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SPAN_SECONDS))]
    pub every_seconds: Option<u64>,
    /// Whenever the clock of `timezone` matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CronText>")]
    pub cron: Option<String>,
    /// Whose clock `cron` speaks of: UTC if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ZoneText>")]
    pub timezone: Option<String>,
    /// Where both the day of the month and the day of the week are restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DayRuleWord>", extend("default" = DayRule::default()))]
    pub days: Option<Word<DayRule>>,
    /// What becomes of a local time that the clock of `timezone` jumps over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DstGapWord>", extend("default" = DstGap::default()))]
    pub dst_gap: Option<Word<DstGap>>,
    /// In which pass a local time fires that the clock of `timezone` shows twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DstOverlapWord>", extend("default" = DstOverlap::default()))]
    pub dst_overlap: Option<Word<DstOverlap>>,
    /// Nothing fires before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Instant>,
    /// Nothing fires then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_at: Option<Instant>,
    /// How many times it fires, skipped occurrences among them.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_FIRES))]
    pub max_fires: Option<u32>,
    /// Behind the runs of another job, whenever one of them has ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<AfterSpec>,
    /// Never by itself: only when it is asked to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_demand: Option<bool>,
    /// At most so much later than it says: how much is the job's own, and the same for each of its occurrences.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = JITTER_SECONDS))]
    pub jitter_seconds: Option<u32>,
    /// Calendars that it heeds, by their names: what one of them takes does not fire then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<CalendarNameText>>", length(max = CALENDARS_OF_A_JOB))]
    pub calendars: Option<Vec<String>>,
    /// What becomes of what a calendar takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OnExcludedWord>", extend("default" = OnExcluded::default()))]
    pub on_excluded: Option<Word<OnExcluded>>,
}

const BOUNDS: &[&str] = &["start_at", "end_at", "max_fires", "jitter_seconds", "calendars", "on_excluded"];
const CRON: &[&str] = &[
    "start_at",
    "end_at",
    "max_fires",
    "jitter_seconds",
    "calendars",
    "on_excluded",
    "timezone",
    "days",
    "dst_gap",
    "dst_overlap",
];
const ONCE: &[&str] = &["jitter_seconds", "calendars", "on_excluded"];
pub const SCHEDULE_KINDS: [Kind; 7] = [
    Kind { title: "once, now", named: None, with: ONCE },
    Kind { title: "once, at an instant", named: Some("at"), with: ONCE },
    Kind { title: "once, after a while", named: Some("after_seconds"), with: ONCE },
    Kind { title: "again and again", named: Some("every_seconds"), with: BOUNDS },
    Kind { title: "by the clock", named: Some("cron"), with: CRON },
    Kind { title: "behind another job", named: Some("after"), with: &[] },
    Kind { title: "on demand", named: Some("on_demand"), with: &[] },
];

fn of_one_kind(schema: &mut Schema) {
    one_of_the_kinds(schema, &SCHEDULE_KINDS);
}

impl ScheduleSpec {
    /// What it means for this job, seen from `now`.
    pub fn checked(self, spread: Spread, now: Moment, errors: &mut FieldErrors) -> Option<Schedule> {
        self.counted(None, spread, now, errors)
    }

    /// The same for a job that has a schedule. One that comes out as it is shown stays what it is, whenever it was asked for; and what counts from
    /// the job's creation goes on counting from there, where only its bounds, jitter or calendars are other ones.
    pub fn checked_over(
        self,
        present: &Schedule,
        spread: Spread,
        now: Moment,
        errors: &mut FieldErrors,
    ) -> Option<Schedule> {
        let shown = Self::of(present);
        if self.clone().without_what_says_nothing() == shown {
            return Some(present.clone());
        }
        let since = present.counts_since().filter(|_| self.fires_as(&shown));
        let schedule = self.counted(since, spread, now, errors)?;
        Some(if Self::of(&schedule) == shown { present.clone() } else { schedule })
    }

    fn counted(self, since: Option<Moment>, spread: Spread, now: Moment, errors: &mut FieldErrors) -> Option<Schedule> {
        let found = errors.count();
        let plan = Plan { since, ..self.plan(spread, errors) };
        if errors.count() > found {
            return None;
        }
        Schedule::new(&plan, now)
            .map_err(|refusal| {
                let field = refusal.field().map_or_else(String::new, |field| format!("/{field}"));
                errors.add(format!("/schedule{field}"), refusal.to_string());
            })
            .ok()
    }

    /// As it was asked for, with what a cron expression was given for want of a wish.
    pub fn of(schedule: &Schedule) -> Self {
        let shown = Self {
            start_at: schedule.start_at.map(Instant),
            end_at: schedule.end_at.map(Instant),
            max_fires: schedule.max_fires,
            jitter_seconds: schedule.jitter.map(|jitter| jitter.most_seconds),
            calendars: schedule
                .observance
                .as_ref()
                .map(|observance| observance.calendars.iter().map(|heeded| heeded.name.to_string()).collect()),
            on_excluded: schedule.observance.as_ref().map(|observance| observance.on_excluded.into()),
            ..Self::default()
        };
        if let Some(form) = &schedule.short_form {
            return shown.by_the_clock(&form.text, form.manner);
        }
        match &schedule.when {
            When::Now { .. } => shown,
            When::At { at } => Self { at: Some(Instant(*at)), ..shown },
            When::After { seconds, .. } => Self { after_seconds: Some(*seconds), ..shown },
            When::Every { seconds, .. } => Self { every_seconds: Some(*seconds), ..shown },
            When::Cron(cron) => shown.by_the_clock(cron.text(), cron.manner()),
            When::Follows { job, on } => Self { after: Some(AfterSpec::of(*job, *on)), ..shown },
            When::OnDemand => Self { on_demand: Some(true), ..shown },
        }
    }

    fn by_the_clock(self, text: &str, manner: Manner) -> Self {
        Self {
            cron: Some(text.to_owned()),
            timezone: Some(manner.zone.name().to_owned()),
            days: Some(manner.days.into()),
            dst_gap: Some(manner.gap.into()),
            dst_overlap: Some(manner.overlap.into()),
            ..self
        }
    }

    /// As an answer shows it: what says no more than its absence is absent.
    fn without_what_says_nothing(self) -> Self {
        Self {
            on_demand: self.on_demand.filter(|on_demand| *on_demand || !self.says_when()),
            jitter_seconds: self.jitter_seconds.filter(|most| *most > 0),
            calendars: self.calendars.clone().filter(|names| !names.is_empty()),
            ..self
        }
    }

    /// Whether it says the same of when the job fires, but for bounds, jitter and calendars.
    fn fires_as(&self, other: &Self) -> bool {
        let says =
            |spec: &Self| (spec.at, spec.after_seconds, spec.every_seconds, spec.cron.clone(), spec.after.clone());
        says(self) == says(other) && self.on_demand.unwrap_or(false) == other.on_demand.unwrap_or(false)
    }

    /// Whether it says when the job fires, and not only that it does not wait to be asked.
    fn says_when(&self) -> bool {
        let is_by_time = self.at.is_some() || self.after_seconds.is_some() || self.every_seconds.is_some();
        is_by_time || self.cron.is_some() || self.after.is_some()
    }

    fn plan(self, spread: Spread, errors: &mut FieldErrors) -> Plan {
        if self.on_demand == Some(false) && !self.says_when() {
            // It would fire at once, which nobody means who says so.
            errors
                .add("/schedule/on_demand".to_owned(), "says only when it does not fire: say when it does".to_owned());
        }
        Plan {
            at: self.at.map(|at| at.0),
            after_seconds: self.after_seconds,
            every_seconds: self.every_seconds,
            cron: self.cron,
            timezone: self.timezone,
            days: errors.word("/schedule/days", self.days.as_ref()),
            dst_gap: errors.word("/schedule/dst_gap", self.dst_gap.as_ref()),
            dst_overlap: errors.word("/schedule/dst_overlap", self.dst_overlap.as_ref()),
            start_at: self.start_at.map(|at| at.0),
            end_at: self.end_at.map(|at| at.0),
            max_fires: self.max_fires,
            after: self.after.and_then(|after| after.checked(errors)),
            on_demand: self.on_demand.unwrap_or(false),
            jitter_seconds: self.jitter_seconds,
            calendars: calendars(self.calendars.as_deref(), errors),
            on_excluded: errors.word("/schedule/on_excluded", self.on_excluded.as_ref()),
            since: None,
            spread,
        }
    }
}

/// Names that cannot be one's are noted; whether there are such calendars is for others to say.
fn calendars(names: Option<&[String]>, errors: &mut FieldErrors) -> Vec<CalendarName> {
    let name = |(number, name): (usize, &String)| {
        let pointer = format!("/schedule/calendars/{number}");
        name.parse().map_err(|why: NotACalendarName| errors.add(pointer, why.to_string())).ok()
    };
    names.unwrap_or_default().iter().enumerate().take(CALENDARS_OF_A_JOB + 1).filter_map(name).collect()
}
