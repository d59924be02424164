//! The health of a job, as it is shown.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::health::day::{Day, Ends};
use minutehand_domain::health::{Durations, Health};
use minutehand_domain::limits::{HEALTH_HOURS, HEALTH_OUTCOMES, HEALTH_RUNS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::run_status::RunStatus;
use crate::word::Word;

/// What the newest runs of a job say of it: a hundred at most, of those whose time has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobHealthView {
    /// Which share of them succeeded, from 0 to 1; null where `judged` is 0.
    #[schemars(range(min = 0, max = 1))]
    pub success_rate: Option<f64>,
    /// Of how many: of those that succeeded, failed or timed out. What was cancelled or skipped, or has not ended, is not judged.
    #[schemars(range(max = HEALTH_RUNS))]
    pub judged: usize,
    /// How those ended that have, newest first: thirty at most.
    #[schemars(with = "Vec<RunStatus>", length(max = HEALTH_OUTCOMES))]
    pub outcomes: Vec<Word<RunStatus>>,
    /// How long those took that succeeded, from the first start to the end, the waits between attempts included; null where none has.
    pub duration_ms: Option<DurationView>,
    /// When the last of them ended that succeeded; null where none has.
    pub last_success_at: Option<Instant>,
    /// How many of those that are judged failed or timed out since the newest that succeeded. All of them: or more.
    #[schemars(range(max = HEALTH_RUNS))]
    pub consecutive_failures: usize,
    /// When the earliest occurrence was due, by the job's schedule, that should have begun half a minute ago or earlier and has not; null where
    /// there is none, and where the job is paused or deleted.
    pub overdue_since: Option<Instant>,
    /// How all ended that did in the last day, where the job asks for it (`"health": "full"`) and was asked for by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<DayView>,
}

/// The ends of a day: of the hour under way and the twenty-three before it, each counted once. Of runs that began while their job asked for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayView {
    pub from: Instant,
    /// All that ended before then are counted: now, but where more than a hundred thousand are to be; then the next answer reads on.
    pub until: Instant,
    /// Which share of them succeeded, from 0 to 1; null where none ended.
    #[schemars(range(min = 0, max = 1))]
    pub success_rate: Option<f64>,
    pub succeeded: u64,
    pub failed: u64,
    pub timed_out: u64,
    /// By the hour, oldest first; without those in which none ended.
    #[schemars(length(max = HEALTH_HOURS))]
    pub hours: Vec<HourView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HourView {
    pub from: Instant,
    pub succeeded: u64,
    pub failed: u64,
    pub timed_out: u64,
}

impl DayView {
    /// `day`: as it is at `now`.
    pub fn of(day: &Day, now: Moment) -> Self {
        let Ends { succeeded, failed, timed_out } = day.total();
        Self {
            from: Instant(Day::begins(now)),
            until: Instant(day.until),
            success_rate: day.total().success_rate(),
            succeeded,
            failed,
            timed_out,
            hours: day.hours().map(|(from, ends)| HourView::of(from, ends)).collect(),
        }
    }
}

impl HourView {
    fn of(from: Moment, Ends { succeeded, failed, timed_out }: Ends) -> Self {
        Self { from: Instant(from), succeeded, failed, timed_out }
    }
}

/// In milliseconds, by nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurationView {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
}

impl JobHealthView {
    pub fn of(health: &Health) -> Self {
        Self {
            success_rate: health.success_rate(),
            judged: health.judged,
            outcomes: health.outcomes.iter().map(|status| Word::read(status)).collect(),
            duration_ms: health.durations.map(DurationView::of),
            last_success_at: health.last_success_at.map(Instant),
            consecutive_failures: health.consecutive_failures,
            overdue_since: health.overdue_since.map(Instant),
            day: None,
        }
    }
}

impl DurationView {
    fn of(Durations { p50, p95, p99 }: Durations) -> Self {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self { p50: millis(p50), p95: millis(p95), p99: millis(p99) }
    }
}
