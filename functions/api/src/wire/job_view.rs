//! A job as it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::{Job, Status};
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use minutehand_domain::target::{Method, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::body_view::BodyView;
use super::catch_up_request::CatchUpRequest;
use super::instant::Instant;
use super::retry_request::RetryRequest;
use super::run_view::RunView;
use super::schedule_request::ScheduleRequest;
use super::texts::{JobIdText, RunIdText};
use super::words::{DeliveryWord, MethodWord, PriorityWord};

/// A job as it is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobView<'a> {
    #[serde(serialize_with = "spelled")]
    #[schemars(with = "JobIdText")]
    job_id: JobId,
    status: JobStatus,
    /// Grows with every change; its ETag.
    generation: u64,
    #[serde(flatten)]
    asked: AskedView<'a>,
    created_at: Instant,
    updated_at: Instant,
    /// When it fires next; null if it does not.
    next_run_at: Option<Instant>,
    #[schemars(with = "Option<RunIdText>")]
    next_run_id: Option<String>,
}

/// What was asked for, with what it was given for want of a wish: asked again, it would be the same job.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AskedView<'a> {
    name: Option<&'a str>,
    owner: Option<&'a str>,
    /// Sorted, each once.
    tags: &'a BTreeSet<String>,
    schedule: ScheduleRequest,
    #[schemars(with = "TargetSchema")]
    target: TargetView<'a>,
    /// Any JSON. A list leaves out one that is kept apart because it is large.
    #[serde(skip_serializing_if = "BodyView::is_left_out")]
    payload: BodyView<'a>,
    #[schemars(with = "PriorityWord")]
    priority: Priority,
    timeout_seconds: u64,
    retry: RetryRequest,
    #[schemars(with = "DeliveryWord")]
    delivery: Delivery,
    catch_up: CatchUpRequest,
}

/// A job's status as clients know it: `completed` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobStatus {
    Active,
    Paused,
    Completed,
    Cancelled,
}

/// A job that was asked for by its id.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OneJobView<'a> {
    #[serde(flatten)]
    pub job: JobView<'a>,
    /// The newest of its runs whose time has come.
    pub last_run: Option<RunView<'a>>,
}

impl<'a> JobView<'a> {
    pub(crate) fn new(job: &'a Job, payload: BodyView<'a>, now: Moment) -> Self {
        let next = next_occurrence(job, now);
        Self {
            job_id: job.id,
            status: status_of(job, now),
            generation: job.generation,
            asked: AskedView::new(job, payload),
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

impl<'a> AskedView<'a> {
    pub(crate) fn new(job: &'a Job, payload: BodyView<'a>) -> Self {
        let definition = &job.definition;
        Self {
            name: definition.name.as_deref(),
            owner: definition.owner.as_deref(),
            tags: &definition.tags,
            schedule: ScheduleRequest::showing(&job.schedule),
            target: TargetView(&definition.target),
            payload,
            priority: definition.priority,
            timeout_seconds: definition.terms.timeout.as_secs(),
            retry: RetryRequest::showing(&definition.terms.retry),
            delivery: definition.terms.delivery,
            catch_up: CatchUpRequest::showing(&definition.catch_up),
        }
    }
}

/// The first occurrence that has not passed, while the job is active.
fn next_occurrence(job: &Job, now: Moment) -> Option<Moment> {
    match job.status {
        Status::Active => job.next_after(now.just_before()),
        Status::Paused | Status::Cancelled => None,
    }
}

pub(crate) fn status_of(job: &Job, now: Moment) -> JobStatus {
    match job.status {
        Status::Active if job.is_completed(now) => JobStatus::Completed,
        Status::Active => JobStatus::Active,
        Status::Paused => JobStatus::Paused,
        Status::Cancelled => JobStatus::Cancelled,
    }
}

/// What each run calls, under the name of its kind.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TargetView")]
#[expect(dead_code, reason = "the shape of what `TargetView` writes, for the OpenAPI document")]
enum TargetSchema {
    #[schemars(title = "an HTTP call")]
    Http(HttpTargetView),
    #[schemars(title = "nothing")]
    Noop {},
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of what `TargetView` writes, for the OpenAPI document")]
struct HttpTargetView {
    url: String,
    #[schemars(with = "MethodWord")]
    method: Method,
    headers: BTreeMap<String, String>,
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
