//! A job as it is shown.

use std::collections::BTreeSet;
use std::fmt::Display;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::{Delivery, Job, Status};
use minutehand_domain::priority::Priority;
use minutehand_domain::schedule::When;
use minutehand_domain::target::Target;
use serde::{Serialize, Serializer};

use super::body_view::BodyView;
use super::instant::Instant;
use super::retry_request::RetryRequest;
use super::run_view::RunView;
use super::schedule_request::ScheduleRequest;

#[derive(Serialize)]
pub(crate) struct JobView<'a> {
    #[serde(serialize_with = "spelled")]
    job_id: JobId,
    name: Option<&'a str>,
    owner: Option<&'a str>,
    tags: &'a BTreeSet<String>,
    status: &'static str,
    generation: u64,
    schedule: ScheduleRequest,
    target: TargetView<'a>,
    #[serde(skip_serializing_if = "BodyView::is_left_out")]
    payload: BodyView<'a>,
    priority: Priority,
    timeout_seconds: u64,
    retry: RetryRequest,
    delivery: Delivery,
    created_at: Instant,
    updated_at: Instant,
    next_run_at: Option<Instant>,
    next_run_id: Option<String>,
}

/// A job that was asked for by its id.
#[derive(Serialize)]
pub(crate) struct OneJobView<'a> {
    #[serde(flatten)]
    pub job: JobView<'a>,
    pub last_run: Option<RunView<'a>>,
}

impl<'a> JobView<'a> {
    pub(crate) fn new(job: &'a Job, payload: BodyView<'a>, now: Moment) -> Self {
        let (definition, next) = (&job.definition, next_occurrence(job, now));
        Self {
            job_id: job.id,
            name: definition.name.as_deref(),
            owner: definition.owner.as_deref(),
            tags: &definition.tags,
            status: status_of(job, next),
            generation: job.generation,
            schedule: ScheduleRequest::showing(&job.schedule),
            target: TargetView(&definition.target),
            payload,
            priority: definition.priority,
            timeout_seconds: definition.terms.timeout.as_secs(),
            retry: RetryRequest::showing(&definition.terms.retry),
            delivery: definition.terms.delivery,
            created_at: Instant(job.created_at),
            updated_at: Instant(job.changed_at),
            next_run_at: next.map(Instant),
            next_run_id: next.map(|at| RunKey::occurrence(job.id, at).to_string()),
        }
    }

    /// As a list shows it: bodies kept apart are not read.
    pub(crate) fn listed(job: &'a Job, now: Moment) -> Self {
        Self::new(job, BodyView::inside(&job.definition.payload), now)
    }
}

/// The first occurrence that has not passed, while the job is active.
fn next_occurrence(job: &Job, now: Moment) -> Option<Moment> {
    match job.status {
        Status::Active => job.next_after(now.just_before()),
        Status::Paused | Status::Cancelled => None,
    }
}

fn status_of(job: &Job, next: Option<Moment>) -> &'static str {
    match job.status {
        Status::Active if next.is_none() && job.schedule.when != When::OnDemand => "completed",
        Status::Active => "active",
        Status::Paused => "paused",
        Status::Cancelled => "cancelled",
    }
}

/// A target under the name of its kind.
struct TargetView<'a>(&'a Target);

impl Serialize for TargetView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Nothing {}
        match self.0 {
            Target::Http(http) => serializer.collect_map([("http", http)]),
            Target::Noop => serializer.collect_map([("noop", Nothing {})]),
        }
    }
}

fn spelled<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
