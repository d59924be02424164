//! A notice: an event as an outsider reads it. Identities as on the wire, instants as RFC 3339, no payload, no result and
//! no target: what a tenant keeps secret is in none of it.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Origin, RunKey, Tenant};
use minutehand_domain::job::{Job, Status};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, Run};
use serde::Serialize;

use crate::events::Event;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// `job.created`, `run.succeeded` …
    pub(super) kind: String,
    pub(super) detail: String,
    pub(super) at: Moment,
}

#[derive(Serialize)]
struct JobDetail<'a> {
    tenant: &'a Tenant,
    job_id: JobId,
    name: Option<&'a str>,
    owner: Option<&'a str>,
    tags: &'a BTreeSet<String>,
    status: Status,
    generation: u64,
    priority: Priority,
    created_at: Moment,
    updated_at: Moment,
}

#[derive(Serialize)]
struct RunDetail<'a> {
    tenant: &'a Tenant,
    job_id: JobId,
    run_id: RunKey,
    status: &'static str,
    reason: Option<&'static str>,
    /// The word of the last attempt's error; its sentence may quote what the target answered.
    error_code: Option<&'a str>,
    origin: Origin,
    priority: Priority,
    scheduled_at: Moment,
    started_at: Option<Moment>,
    finished_at: Moment,
    /// How many there were.
    attempts: u32,
}

impl Notice {
    /// The notice of an event that is told outside.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        match *event {
            Event::Job { job, what } => Self::new(format!("job.{what}"), &JobDetail::of(job), job.changed_at),
            Event::Run { run, now, .. } => {
                let detail = RunDetail::of(run, now)?;
                Self::new(format!("run.{}", detail.status), &detail, detail.finished_at)
            }
        }
    }

    fn new(kind: String, detail: &impl Serialize, at: Moment) -> Option<Self> {
        let detail = serde_json::to_string(detail).inspect_err(|error| tracing::error!(%kind, %error, "not told"));
        Some(Self { detail: detail.ok()?, kind, at })
    }

    /// As EventBridge counts: the names, the detail, and fourteen for the time.
    pub(super) fn bytes(&self) -> usize {
        super::SOURCE.len() + self.kind.len() + self.detail.len() + 14
    }
}

impl<'a> JobDetail<'a> {
    fn of(job: &'a Job) -> Self {
        let definition = &job.definition;
        Self {
            tenant: &job.tenant,
            job_id: job.id,
            name: definition.name.as_deref(),
            owner: definition.owner.as_deref(),
            tags: &definition.tags,
            status: job.status,
            generation: job.generation,
            priority: definition.priority,
            created_at: job.created_at,
            updated_at: job.changed_at,
        }
    }
}

impl<'a> RunDetail<'a> {
    /// Of a run that has ended.
    fn of(run: &'a Run, now: Moment) -> Option<Self> {
        let finished_at = run.finished_at()?;
        Some(Self {
            tenant: &run.tenant,
            job_id: run.key.job,
            run_id: run.key,
            status: run.status(now),
            reason: run.reason(),
            error_code: run.attempts.last().and_then(Attempt::error).map(|error| error.code.as_ref()),
            origin: run.key.origin,
            priority: run.priority,
            scheduled_at: run.nominal(),
            started_at: run.started_at,
            finished_at,
            attempts: run.fence,
        })
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::Worker;
    use minutehand_domain::run::attempt::Ended;
    use minutehand_domain::run::{AttemptError, Ending, Failure, Holder, Lease, State};

    use super::*;

    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn run(state: State) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([7; 16]), AT);
        Run { state, ..Run::new(Tenant::new("acme").unwrap(), key, Priority::High) }
    }

    fn told(run: &Run) -> Option<Notice> {
        Notice::of(&Event::Run { run, from: "running", now: AT })
    }

    #[test]
    fn a_run_that_has_not_ended_is_not_told() {
        let lease = Lease { holder: Holder::Process(Worker(1)), until: AT, cancelled: true };
        for state in [State::Scheduled { due: AT }, State::Running(lease)] {
            assert_eq!(told(&run(state)), None);
        }
    }

    #[test]
    fn a_failed_run_is_told_without_what_its_target_said() {
        let error = AttemptError::new("http_500", "the password is swordfish");
        let ended = Some(Ended { at: AT, how: Ending::Failed(error) });
        let attempts = vec![Attempt { number: 3, worker: Worker(1), started_at: AT, ended }];
        let failed = State::Failed { at: AT, why: Failure::Error };
        let failed = Run { attempts, fence: 3, started_at: Some(AT), ..run(failed) };

        let notice = told(&failed).unwrap();

        assert_eq!((notice.kind.as_str(), notice.at), ("run.failed", AT));
        let expected = r#"{"tenant":"acme","job_id":"job_0w3ge1r70w3ge1r70w3ge1r70w","run_id":"RUN","status":"failed","reason":"error","error_code":"http_500","origin":"schedule","priority":"high","scheduled_at":"2027-01-15T08:00:00.000Z","started_at":"2027-01-15T08:00:00.000Z","finished_at":"2027-01-15T08:00:00.000Z","attempts":3}"#;
        assert_eq!(notice.detail, expected.replace("RUN", &failed.key.to_string()));
    }
}
