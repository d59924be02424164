//! What an event bus is given of a change. No payload, no result and no target: what a tenant keeps secret is in none of it.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::job::{Job, Status};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, Run};
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::run_status::RunStatus;
use crate::word::Word;

/// Of a job that was created or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNotice {
    pub tenant: String,
    pub job_id: String,
    pub name: Option<String>,
    pub owner: Option<String>,
    pub tags: BTreeSet<String>,
    pub status: Word<Status>,
    pub generation: u64,
    pub priority: Word<Priority>,
    pub created_at: Instant,
    pub updated_at: Instant,
}

/// Of a run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNotice {
    pub tenant: String,
    pub job_id: String,
    pub run_id: String,
    pub status: Word<RunStatus>,
    pub reason: Option<String>,
    /// The word of the last attempt's error; its sentence may quote what the target answered.
    pub error_code: Option<String>,
    pub origin: Word<Origin>,
    pub priority: Word<Priority>,
    pub scheduled_at: Instant,
    pub started_at: Option<Instant>,
    pub finished_at: Instant,
    /// How many there were.
    pub attempts: u32,
}

/// Of a workflow's run that has stalled: nothing of it is under way, and nothing is awaited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallNotice {
    pub tenant: String,
    pub job_id: String,
    pub run_id: String,
    /// When it last went on.
    pub since: Instant,
    /// The edge that it waits for, in words.
    pub waits_for: String,
}

/// Of a run that has not ended by when its job says that it is to have. It goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlaNotice {
    pub tenant: String,
    pub job_id: String,
    pub run_id: String,
    pub status: Word<RunStatus>,
    pub priority: Word<Priority>,
    pub scheduled_at: Instant,
    /// Null where it has not begun.
    pub started_at: Option<Instant>,
    /// By when it was to have ended.
    pub due_by: Instant,
    pub missed_at: Instant,
}

impl SlaNotice {
    /// None of a run that has missed none.
    pub fn of(run: &Run) -> Option<Self> {
        let missed_at = run.sla_missed()?;
        Some(Self {
            tenant: run.tenant.as_str().to_owned(),
            job_id: run.key.job.to_string(),
            run_id: run.key.to_string(),
            status: RunStatus::of(run, missed_at),
            priority: run.priority.into(),
            scheduled_at: Instant(run.nominal()),
            started_at: run.started_at.map(Instant),
            due_by: Instant(run.sla?.until),
            missed_at: Instant(missed_at),
        })
    }
}

impl StallNotice {
    pub fn of(run: &Run, since: Moment, edge: &str) -> Self {
        Self {
            tenant: run.tenant.as_str().to_owned(),
            job_id: run.key.job.to_string(),
            run_id: run.key.to_string(),
            since: Instant(since),
            waits_for: edge.to_owned(),
        }
    }
}

impl JobNotice {
    pub fn of(job: &Job) -> Self {
        let definition = &job.definition;
        Self {
            tenant: job.tenant.as_str().to_owned(),
            job_id: job.id.to_string(),
            name: definition.name.clone(),
            owner: definition.owner.clone(),
            tags: definition.tags.clone(),
            status: job.status.into(),
            generation: job.generation,
            priority: definition.priority.into(),
            created_at: Instant(job.created_at),
            updated_at: Instant(job.changed_at),
        }
    }
}

impl RunNotice {
    /// None while the run has not ended.
    pub fn of(run: &Run, now: Moment) -> Option<Self> {
        let finished_at = run.finished_at()?;
        Some(Self {
            tenant: run.tenant.as_str().to_owned(),
            job_id: run.callback_of.unwrap_or(run.key).job.to_string(),
            run_id: run.key.to_string(),
            status: RunStatus::of(run, now),
            reason: run.reason().map(ToOwned::to_owned),
            error_code: run.attempts.last().and_then(Attempt::error).map(|error| error.code.clone().into_owned()),
            origin: run.key.origin.into(),
            priority: run.priority.into(),
            scheduled_at: Instant(run.nominal()),
            started_at: run.started_at.map(Instant),
            finished_at: Instant(finished_at),
            attempts: run.fence,
        })
    }
}
