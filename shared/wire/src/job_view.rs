//! A job as it is shown.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::health::Extent;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::{Job, Noted, Status};
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::body::BodyView;
use crate::bounds::{ConcurrencySpec, RateSpec};
use crate::callback::CallbackSpec;
use crate::catch_up::CatchUpSpec;
use crate::hooks::HooksView;
use crate::instant::Instant;
use crate::job_health::JobHealthView;
use crate::overlap::OverlapSpec;
use crate::retry::RetrySpec;
use crate::run_view::RunView;
use crate::schedule::ScheduleSpec;
use crate::target::TargetSpec;
use crate::texts::{JobIdText, RunIdText};
use crate::trace::TraceContextView;
use crate::word::Word;
use crate::words::{DeliveryWord, HealthExtentWord, PriorityWord};

/// A job as it is. What was asked for is shown with what it was given for want of a wish: asked again, it would be the same
/// job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "A job as it is.")]
pub struct JobView {
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    #[schemars(with = "JobStatus")]
    pub status: Word<JobStatus>,
    /// Grows with every change; its ETag.
    pub generation: u64,
    pub name: Option<String>,
    pub owner: Option<String>,
    /// Sorted, each once.
    pub tags: BTreeSet<String>,
    pub schedule: ScheduleSpec,
    pub target: TargetSpec,
    /// Any JSON. A list leaves out one that is kept apart because it is large.
    #[serde(default, skip_serializing_if = "BodyView::is_left_out")]
    pub payload: BodyView,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
    pub timeout_seconds: u64,
    pub retry: RetrySpec,
    #[schemars(with = "DeliveryWord")]
    pub delivery: Word<Delivery>,
    pub catch_up: CatchUpSpec,
    /// Left out where its runs may overlap as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapSpec>,
    /// Left out where nobody is told of the end of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackSpec>,
    /// Left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksView>,
    /// Where it is shown, how the job has been doing; elsewhere the word for what that is made of, left out where it is `newest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthField>,
    /// Left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla_seconds: Option<u64>,
    /// Left out where the tenant's quota says it, or nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u64>,
    /// Left out where they share no number with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencySpec>,
    /// Left out where they share no rate with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
    pub created_at: Instant,
    pub updated_at: Instant,
    /// The note with which it was paused, resumed or deleted last, where one was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_change: Option<JobChangeView>,
    /// The trace that it was created in, where its creator said so: its runs link to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContextView>,
    /// When it fires next; null if it does not.
    pub next_run_at: Option<Instant>,
    #[schemars(with = "Option<RunIdText>")]
    pub next_run_id: Option<String>,
}

/// Who paused a job, resumed or deleted it, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JobChange")]
pub struct JobChangeView {
    pub at: Instant,
    /// A key's id, or `deployment`.
    pub by: String,
    pub note: String,
}

/// A job's status as clients know it: `completed` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    Active,
    Paused,
    Completed,
    Cancelled,
}

/// A job that was asked for by its id.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OneJobView {
    #[serde(flatten)]
    pub job: JobView,
    /// The newest of its runs whose time has come.
    pub last_run: Option<RunView>,
}

/// A job of a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedJobView {
    #[serde(flatten)]
    pub job: JobView,
    /// The newest of its runs whose time has come, as lists show runs: where it was asked for, and there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunView>,
}

/// What stands beside a job. An answer to a change is read too, which has none of it.
#[derive(Deserialize)]
struct Beside {
    last_run: Option<RunView>,
}

/// What is asked for in a word, and shown as an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HealthField {
    Asked(#[schemars(with = "HealthExtentWord")] Word<Extent>),
    Shown(Box<JobHealthView>),
}

impl HealthField {
    fn of(asked: Extent) -> Option<Self> {
        (asked != Extent::default()).then_some(Self::Asked(Word::Known(asked)))
    }
}

impl<'de> Deserialize<'de> for OneJobView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (job, Beside { last_run }) = halves(deserializer)?;
        Ok(Self { job, last_run })
    }
}

impl<'de> Deserialize<'de> for ListedJobView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (job, Beside { last_run }) = halves(deserializer)?;
        Ok(Self { job, last_run })
    }
}

/// Read twice, each time for one half: what serde flattens loses the text of a payload.
fn halves<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(JobView, Beside), D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let job = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
    let beside = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
    Ok((job, beside))
}

impl JobView {
    /// What it shows beside what a request asks for.
    pub const NOT_ASKED: [&str; 9] = [
        "job_id",
        "status",
        "generation",
        "created_at",
        "updated_at",
        "last_change",
        "trace",
        "next_run_at",
        "next_run_id",
    ];

    pub fn of(job: &Job, payload: BodyView, now: Moment) -> Self {
        let definition = &job.definition;
        let next = next_occurrence(job, now);
        Self {
            job_id: job.id.to_string(),
            status: JobStatus::of(job, now),
            generation: job.generation,
            name: definition.name.clone(),
            owner: definition.owner.clone(),
            tags: definition.tags.clone(),
            schedule: ScheduleSpec::of(&job.schedule),
            target: TargetSpec::of(&definition.target).lasting(definition.terms.timeout),
            payload,
            priority: definition.priority.into(),
            timeout_seconds: definition.terms.timeout.as_secs(),
            retry: RetrySpec::of(&definition.terms.retry),
            delivery: definition.terms.delivery.into(),
            catch_up: CatchUpSpec::of(&definition.catch_up),
            overlap: OverlapSpec::of(definition.overlap),
            callback: definition.callback.as_ref().map(CallbackSpec::of),
            hooks: HooksView::of(&definition.hooks),
            health: HealthField::of(definition.health),
            sla_seconds: definition.sla.map(|sla| sla.as_secs()),
            retention_days: definition.retention.map(|retention| retention.days().into()),
            concurrency: ConcurrencySpec::of(&definition.bounds),
            rate: RateSpec::of(&definition.bounds),
            created_at: Instant(job.created_at),
            updated_at: Instant(job.changed_at),
            last_change: job.noted.as_ref().map(JobChangeView::of),
            trace: job.trace.as_ref().map(TraceContextView::of),
            next_run_at: next.map(Instant),
            next_run_id: next.map(|at| RunKey::occurrence(job.id, at).to_string()),
        }
    }

    /// With how it has been doing.
    #[must_use]
    pub fn with_health(self, health: JobHealthView) -> Self {
        Self { health: Some(HealthField::Shown(Box::new(health))), ..self }
    }

    /// How it has been doing, where that is shown.
    pub fn shown_health(&self) -> Option<&JobHealthView> {
        match &self.health {
            Some(HealthField::Shown(health)) => Some(health),
            Some(HealthField::Asked(_)) | None => None,
        }
    }

    /// As a list shows it: bodies kept apart are not read.
    pub fn listed(job: &Job, now: Moment) -> Self {
        Self::of(job, BodyView::inside(&job.definition.payload), now)
    }
}

impl JobChangeView {
    fn of(Noted { at, by, note }: &Noted) -> Self {
        Self { at: Instant(*at), by: by.as_str().to_owned(), note: note.clone() }
    }
}

/// The first occurrence that has not passed, while the job is active.
fn next_occurrence(job: &Job, now: Moment) -> Option<Moment> {
    match job.status {
        Status::Active => job.next_after(now.just_before()),
        Status::Paused | Status::Cancelled => None,
    }
}

impl JobStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }

    /// As the domain says it.
    pub fn of(job: &Job, now: Moment) -> Word<Self> {
        Word::read(job.status_word(now))
    }
}
