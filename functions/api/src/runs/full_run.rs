//! A whole run: its item and the items beside it: older attempts, a large payload, a large result.

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Attempt, Run};
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::bodies;
use minutehand_protocol::chain::standing::{Asked, Standing, standing};
use minutehand_protocol::lookup::job_of;
use minutehand_wire::run_view::{Bodies, result_of};
use minutehand_wire::{BodyView, RunEventsView, RunView};

pub(crate) struct FullRun {
    run: Run,
    /// All attempts, oldest first.
    attempts: Vec<Attempt>,
    payload: Option<Json>,
    result: Option<Json>,
}

impl FullRun {
    /// The run of `key`, as [`run_of`] finds it.
    pub(crate) async fn find<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<Self>, Fault> {
        match run_of(ports, tenant, key).await? {
            Some((run, job)) => Self::load(ports, run, &job).await.map(Some),
            None => Ok(None),
        }
    }

    /// A run that was just written, so that its job exists.
    pub(crate) async fn of<D: Ports>(ports: &D, run: Run) -> Result<Self, Fault> {
        match job_of(ports, &run.tenant, run.key.job).await? {
            Some(job) => Self::load(ports, run, &job).await,
            None => Err(Fault::unreadable("store", "a run's job is not there")),
        }
    }

    pub(crate) async fn load<D: Ports>(ports: &D, run: Run, job: &Job) -> Result<Self, Fault> {
        let payload = run.payload.as_ref().unwrap_or(&job.definition.payload);
        let payload = bodies::fetch(ports, &run.tenant, job.id, payload).await?;
        let result = match result_of(&run) {
            Some(result) => bodies::fetch(ports, &run.tenant, job.id, result).await?,
            None => None,
        };
        let attempts = all_attempts(ports, &run).await?;
        Ok(Self { run, attempts, payload, result })
    }

    pub(crate) fn view(&self, now: Moment) -> RunView {
        let bodies =
            Bodies { payload: BodyView::of(self.payload.as_ref()), result: BodyView::of(self.result.as_ref()) };
        RunView::of(&self.run, &self.attempts, bodies, now)
    }

    pub(super) fn events(&self) -> RunEventsView {
        RunEventsView::of(&self.run, &self.attempts)
    }
}

/// The run that `key` names: as it is recorded, as the record that speaks for it tells, or as it will be if it is an occurrence
/// that nobody has claimed.
pub(super) async fn run_of<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<(Run, Job)>, Fault> {
    Ok(match standing(ports, tenant, key, Asked::ByAnyone).await? {
        Standing::Recorded(seen) => job_of(ports, tenant, key.job).await?.map(|job| (seen.item, job)),
        Standing::Covered(job, coverage) => Some((coverage.as_of(&job, key), job)),
        Standing::Unborn(job) => Some((job.run(key), job)),
        Standing::NotAdmitted(_) | Standing::NoJob | Standing::NoRecord => None,
    })
}

/// Reads the store only where the first attempt is no longer inside the run.
async fn all_attempts<D: Ports>(ports: &D, run: &Run) -> Result<Vec<Attempt>, Fault> {
    if run.attempts.first().is_none_or(|attempt| attempt.number == 1) {
        return Ok(run.attempts.clone());
    }
    let older = ports.store().list::<Attempt>(&run.tenant, run.key, None, usize::MAX).await?;
    Ok(run.with_older_attempts(older.items))
}
