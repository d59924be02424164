//! The when of a job, as it is asked for and as it is shown: the same fields both ways.

use minutehand_domain::Moment;
use minutehand_domain::limits::{JITTER_SECONDS, MAX_FIRES, SPAN_SECONDS};
use minutehand_domain::schedule::cron::{DayRule, DstGap, DstOverlap, Manner};
use minutehand_domain::schedule::{Plan, Schedule, Spread, When};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instant::Instant;
use super::kinds::{Kind, one_of_the_kinds};
use super::texts::{CronText, ZoneText};
use super::whole_number::whole_number;
use super::words::{DayRuleWord, DstGapWord, DstOverlapWord};
use crate::field_errors::FieldErrors;

/// When a job fires: exactly one of `at`, `after_seconds`, `every_seconds`, `cron` and `on_demand`, or none of them for once,
/// now.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = |schema: &mut _| one_of_the_kinds(schema, &SCHEDULE_KINDS))]
pub(crate) struct ScheduleRequest {
    /// Once, then. Up to a minute in the past means now.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Instant>,
    /// Once, so long after the job's creation.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = SPAN_SECONDS))]
    after_seconds: Option<u64>,
    /// Again and again, counted from `start_at` or else from the job's creation. It knows no zones and never drifts.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SPAN_SECONDS))]
    every_seconds: Option<u64>,
    /// Whenever the clock of `timezone` matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CronText>")]
    cron: Option<String>,
    /// Whose clock `cron` speaks of: UTC if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ZoneText>")]
    timezone: Option<String>,
    /// Where both the day of the month and the day of the week are restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DayRuleWord>", extend("default" = DayRule::default()))]
    days: Option<DayRule>,
    /// What becomes of a local time that the clock of `timezone` jumps over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DstGapWord>", extend("default" = DstGap::default()))]
    dst_gap: Option<DstGap>,
    /// In which pass a local time fires that the clock of `timezone` shows twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DstOverlapWord>", extend("default" = DstOverlap::default()))]
    dst_overlap: Option<DstOverlap>,
    /// Nothing fires before.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_at: Option<Instant>,
    /// Nothing fires then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_at: Option<Instant>,
    /// How many times it fires, skipped occurrences among them.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_FIRES))]
    max_fires: Option<u32>,
    /// Never by itself: only when it is asked to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_demand: Option<bool>,
    /// At most so much later than it says: how much is the job's own, and the same for each of its occurrences.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = JITTER_SECONDS))]
    jitter_seconds: Option<u32>,
}

const BOUNDS: &[&str] = &["start_at", "end_at", "max_fires", "jitter_seconds"];
const CRON: &[&str] =
    &["start_at", "end_at", "max_fires", "jitter_seconds", "timezone", "days", "dst_gap", "dst_overlap"];
const ONCE: &[&str] = &["jitter_seconds"];
pub(crate) const SCHEDULE_KINDS: [Kind; 6] = [
    Kind { title: "once, now", named: None, with: ONCE },
    Kind { title: "once, at an instant", named: Some("at"), with: ONCE },
    Kind { title: "once, after a while", named: Some("after_seconds"), with: ONCE },
    Kind { title: "again and again", named: Some("every_seconds"), with: BOUNDS },
    Kind { title: "by the clock", named: Some("cron"), with: CRON },
    Kind { title: "on demand", named: Some("on_demand"), with: &[] },
];

impl ScheduleRequest {
    /// What it means for this job, seen from `now`.
    pub(crate) fn understood(self, spread: Spread, now: Moment, errors: &mut FieldErrors) -> Option<Schedule> {
        Schedule::new(&self.plan(spread), now)
            .map_err(|refusal| {
                let field = refusal.field().map_or_else(String::new, |field| format!("/{field}"));
                errors.add(format!("/schedule{field}"), refusal.to_string());
            })
            .ok()
    }

    /// As it was asked for, with what a cron expression was given for want of a wish.
    pub(crate) fn showing(schedule: &Schedule) -> Self {
        let shown = Self {
            start_at: schedule.start_at.map(Instant),
            end_at: schedule.end_at.map(Instant),
            max_fires: schedule.max_fires,
            jitter_seconds: schedule.jitter.map(|jitter| jitter.most_seconds),
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
            When::OnDemand => Self { on_demand: Some(true), ..shown },
        }
    }

    fn by_the_clock(self, text: &str, manner: Manner) -> Self {
        Self {
            cron: Some(text.to_owned()),
            timezone: Some(manner.zone.name().to_owned()),
            days: Some(manner.days),
            dst_gap: Some(manner.gap),
            dst_overlap: Some(manner.overlap),
            ..self
        }
    }

    fn plan(self, spread: Spread) -> Plan {
        Plan {
            at: self.at.map(|at| at.0),
            after_seconds: self.after_seconds,
            every_seconds: self.every_seconds,
            cron: self.cron,
            timezone: self.timezone,
            days: self.days,
            dst_gap: self.dst_gap,
            dst_overlap: self.dst_overlap,
            start_at: self.start_at.map(|at| at.0),
            end_at: self.end_at.map(|at| at.0),
            max_fires: self.max_fires,
            on_demand: self.on_demand.unwrap_or(false),
            jitter_seconds: self.jitter_seconds,
            spread,
        }
    }
}
