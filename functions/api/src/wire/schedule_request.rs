//! The when of a job, as it is asked for and as it is shown: the same fields both ways.

use minutehand_domain::Moment;
use minutehand_domain::schedule::{Plan, Schedule, When};
use serde::{Deserialize, Serialize};

use super::instant::Instant;
use crate::findings::Findings;

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_at: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_at: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fires: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_demand: Option<bool>,
}

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
