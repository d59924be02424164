//! The when of a job, as it is asked for and as it is shown: the same fields both ways.

use minutehand_domain::Moment;
use minutehand_domain::limits::{MAX_FIRES, SPAN_SECONDS};
use minutehand_domain::schedule::{Plan, Schedule, When};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instant::Instant;
use super::kinds::{Kind, one_of_the_kinds};
use super::texts::{CronText, ZoneText};
use super::whole::whole;
use crate::findings::Findings;

/// When a job fires: exactly one of `at`, `after_seconds`, `every_seconds`, `cron` and `on_demand`, or none of them for once,
/// now.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = |schema: &mut _| one_of_the_kinds(schema, &KINDS))]
pub(crate) struct ScheduleRequest {
    /// Once, then. Up to a minute in the past means now.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Instant>,
    /// Once, so long after the job's creation.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = SPAN_SECONDS))]
    after_seconds: Option<u64>,
    /// Again and again, counted from `start_at` or else from the job's creation. It knows no zones and never drifts.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
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
    /// Nothing fires before.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_at: Option<Instant>,
    /// Nothing fires then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_at: Option<Instant>,
    /// How many times it fires, skipped occurrences among them.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_FIRES))]
    max_fires: Option<u32>,
    /// Never by itself: only when it is asked to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_demand: Option<bool>,
}

const BOUNDS: &[&str] = &["start_at", "end_at", "max_fires"];
const KINDS: [Kind; 6] = [
    Kind { title: "once, now", named: None, with: &[] },
    Kind { title: "once, at an instant", named: Some("at"), with: &[] },
    Kind { title: "once, after a while", named: Some("after_seconds"), with: &[] },
    Kind { title: "again and again", named: Some("every_seconds"), with: BOUNDS },
    Kind { title: "by the clock", named: Some("cron"), with: &["start_at", "end_at", "max_fires", "timezone"] },
    Kind { title: "on demand", named: Some("on_demand"), with: &[] },
];

impl ScheduleRequest {
    /// What it means, seen from `now`.
    pub(crate) fn understood(self, now: Moment, findings: &mut Findings) -> Option<Schedule> {
        Schedule::new(&self.plan(), now)
            .map_err(|refusal| {
                let field = refusal.field().map_or_else(String::new, |field| format!("/{field}"));
                findings.add(format!("/schedule{field}"), refusal.to_string());
            })
            .ok()
    }

    /// As it was asked for, with the zone that a cron expression was given for want of one.
    pub(crate) fn showing(schedule: &Schedule) -> Self {
        let shown = Self {
            start_at: schedule.start_at.map(Instant),
            end_at: schedule.end_at.map(Instant),
            max_fires: schedule.max_fires,
            ..Self::default()
        };
        match &schedule.when {
            When::Now { .. } => shown,
            When::At { at } => Self { at: Some(Instant(*at)), ..shown },
            When::After { seconds, .. } => Self { after_seconds: Some(*seconds), ..shown },
            When::Every { seconds, .. } => Self { every_seconds: Some(*seconds), ..shown },
            When::Cron(cron) => {
                Self { cron: Some(cron.text().to_owned()), timezone: Some(cron.zone().name().to_owned()), ..shown }
            }
            When::OnDemand => Self { on_demand: Some(true), ..shown },
        }
    }

    fn plan(self) -> Plan {
        Plan {
            at: self.at.map(|at| at.0),
            after_seconds: self.after_seconds,
            every_seconds: self.every_seconds,
            cron: self.cron,
            timezone: self.timezone,
            start_at: self.start_at.map(|at| at.0),
            end_at: self.end_at.map(|at| at.0),
            max_fires: self.max_fires,
            on_demand: self.on_demand.unwrap_or(false),
        }
    }
}
