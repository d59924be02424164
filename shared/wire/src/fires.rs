//! The forecast: what fires next across jobs.

use std::ops::Range;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::forecast::Fire;
use minutehand_domain::id::RunKey;
use minutehand_domain::limits::{
    DEFAULT_FORECAST_FIRES_OF_A_JOB, DEFAULT_FORECAST_SECONDS, FORECAST_FIRES_OF_A_JOB, FORECAST_SECONDS, PAGE,
};
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::preview::FireView;
use crate::texts::{CursorText, JobIdText, RunIdText};
use crate::word::Word;
use crate::words::PriorityWord;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FiresQuery {
    /// What starts then or later: now if it is not given, or has passed.
    pub from: Option<Instant>,
    /// What starts before: a day after `from` if it is not given, and a week after it at most.
    pub to: Option<Instant>,
    /// How many fires of one job at most, counted from `from`.
    #[schemars(range(min = 1, max = FORECAST_FIRES_OF_A_JOB), extend("default" = DEFAULT_FORECAST_FIRES_OF_A_JOB))]
    pub per_job: Option<usize>,
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FiresView {
    /// By when they start.
    pub items: Vec<JobFireView>,
    /// Null on the last page.
    #[schemars(with = "Option<CursorText>")]
    pub next_cursor: Option<String>,
    /// Whether all jobs were asked: the first 10,000 by id are. What others fire is not in the list.
    pub complete: bool,
}

/// A fire of one of many jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobFireView {
    #[serde(flatten)]
    pub fire: FireView,
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    /// The job's.
    pub name: Option<String>,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
    /// The run that it will be.
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    /// The last that is shown of its job, which fires again before `to`.
    pub goes_on: bool,
}

impl FiresQuery {
    /// How many fires of one job.
    pub fn of_a_job(&self) -> Result<usize, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let asked = self.per_job.unwrap_or(DEFAULT_FORECAST_FIRES_OF_A_JOB);
        let of_a_job = errors.in_range("?per_job", asked, 1..=FORECAST_FIRES_OF_A_JOB);
        errors.settle(Some(of_a_job))
    }

    /// What has passed is no forecast: a window begins now at the earliest.
    pub fn window(&self, now: Moment) -> Result<Range<Moment>, RequestRefusal> {
        let from = self.from.map_or(now, |from| from.0.max(now));
        let to = self.to.map_or(from + Duration::from_secs(DEFAULT_FORECAST_SECONDS), |to| to.0);
        let latest = from + Duration::from_secs(FORECAST_SECONDS);
        let mut errors = FieldErrors::default();
        if to <= from {
            errors.add("?to", format!("must lie after {from}"));
        } else if to > latest {
            errors.add(
                "?to",
                format!("must lie {} days after the begin at most: by {latest}", FORECAST_SECONDS / 86_400),
            );
        }
        errors.settle(Some(from..to))
    }
}

impl JobFireView {
    pub fn of(fire: &Fire) -> Self {
        let job = &fire.job;
        Self {
            fire: FireView::new(&job.schedule, fire.at, job.nominal_of(fire.at)),
            job_id: job.id.to_string(),
            name: job.definition.name.clone(),
            priority: job.definition.priority.into(),
            run_id: RunKey::occurrence(job.id, fire.at).to_string(),
            goes_on: fire.goes_on,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_begins_now_and_lasts_a_day_unless_somebody_says_otherwise() {
        let now = Moment::from_secs(1_000_000);
        let after = |seconds: u64| now + Duration::from_secs(seconds);
        let (day, week) = (86_400, 7 * 86_400);
        for (from, to, window) in [
            (None, None, Some((0, day))),
            (Some(after(10)), None, Some((10, 10 + day))),
            (Some(Moment::EPOCH), None, Some((0, day))),
            (None, Some(after(1)), Some((0, 1))),
            (Some(after(10)), Some(after(10 + week)), Some((10, 10 + week))),
            (None, Some(now), None),
            (Some(after(10)), Some(after(10)), None),
            (Some(Moment::EPOCH), Some(Moment::EPOCH), None),
            (None, Some(after(week) + Duration::from_millis(1)), None),
            (Some(Moment::END), None, None),
        ] {
            let query = FiresQuery { from: from.map(Instant), to: to.map(Instant), ..FiresQuery::default() };

            let expected = window.map(|(from, to)| after(from)..after(to));
            assert_eq!(query.window(now).ok(), expected, "{query:?}");
        }
    }
}
