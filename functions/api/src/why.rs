//! Why: what an instant of a job came to and which rule decided, and where the time of a run went.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::{Origin, RunKey, Tenant};
use minutehand_domain::operation::backfill::{has_run, keys, never_begins};
use minutehand_domain::run::{Run, State as RunState, Waiting};
use minutehand_domain::slot::Bound;
use minutehand_domain::why::{Known, Question};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::chain::coverage::records_before;
use minutehand_protocol::lookup::{job_of, on_record_since_for};
use minutehand_protocol::slots::{awaited, kept_back};
use minutehand_wire::{WhyQuery, WhyView};

use crate::app_state::AppState;
use crate::keyring::Caller;
use crate::params::{JobPath, Params, RunPath};
use crate::problem::Problem;
use crate::runs::FullRun;

/// How many records back one is looked for that tells of an instant which has none: further than a claim does, to which those tell nothing
/// that lie behind many others.
const RECORDS_BACK: usize = 500;

/// What an instant of a job came to, or will. Reads the job, a few records, those of backfills at these instants, one page of those that begin then, and one
/// page of those before.
pub(crate) async fn of_instant<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    Params(WhyQuery { at }): Params<WhyQuery>,
) -> Result<Response, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let job = job_of(ports, tenant, id).await?.ok_or_else(Problem::no_job)?;
    let on_record_since = on_record_since_for(ports, &job, at.0).await?;
    let question = Question { job: &job, at: at.0, on_record_since, now: ports.clock().now() };
    let run = record_of(ports, tenant, &question).await?;
    let earlier = match &run {
        Some(_) => Vec::new(),
        None => earlier_than(ports, tenant, &question).await?,
    };
    let backfilled = backfilled(ports, tenant, &question, run.as_ref()).await?;
    let place = awaited_by(ports, &question, run.as_ref()).await?;
    let place = place.as_ref().map(|(bound, taken)| (bound, *taken));
    let answer =
        question.answer(&Known { run: run.as_ref(), earlier: &earlier, backfilled: backfilled.as_ref(), place });
    Ok(Json(WhyView::of(&question, answer)).into_response())
}

/// Where the time of a run went.
pub(crate) async fn of_run<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let run = FullRun::find(&*app.ports, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    Ok(Json(run.why(app.ports.clock().now())).into_response())
}

/// The record of the occurrence that is meant, or of the run behind another's end: a job may have had a schedule of either kind then. A schedule that meant
/// another instant may have put a record where that of the occurrence would lie: then nobody puts another.
async fn record_of<D: Ports>(ports: &D, tenant: &Tenant, question: &Question<'_>) -> Result<Option<Run>, Fault> {
    let lies_at = question.occurrence().map(|occurrence| occurrence.effective);
    let mut in_its_place = None;
    for at in question.instants() {
        let seen = ports.store().get::<Run>(tenant, RunKey::occurrence(question.job.id, at)).await?;
        let Some(run) = seen.map(|seen| seen.item) else { continue };
        if question.is_about(&run) {
            return Ok(Some(run));
        }
        in_its_place = in_its_place.or(Some(run).filter(|run| Some(run.key.at) == lies_at));
    }
    if in_its_place.is_some() || question.now < question.at {
        return Ok(in_its_place);
    }
    followed_at(ports, tenant, question).await
}

/// The first of its runs that came of another's end at this instant.
async fn followed_at<D: Ports>(ports: &D, tenant: &Tenant, question: &Question<'_>) -> Result<Option<Run>, Fault> {
    let window = question.at..question.at.just_after();
    let within = RunsOf { job: question.job.id, window };
    let runs = ports.store().list::<Run>(tenant, within, None, RECORDS_BACK).await?.whole()?;
    Ok(runs.into_iter().rfind(|run| run.key.origin == Origin::Follow))
}

/// The run by which a backfill has made up for what did not fire.
async fn backfilled<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    question: &Question<'_>,
    run: Option<&Run>,
) -> Result<Option<Run>, Fault> {
    if question.now <= question.at || run.is_some_and(has_run) {
        return Ok(None);
    }
    for at in question.instants() {
        for key in keys(question.job.id, at) {
            match ports.store().get::<Run>(tenant, key).await?.map(|seen| seen.item) {
                None => break,
                Some(made) if never_begins(&made) => {}
                Some(made) => return Ok(Some(made)),
            }
        }
    }
    Ok(None)
}

/// Of what is to come no record tells.
async fn earlier_than<D: Ports>(ports: &D, tenant: &Tenant, question: &Question<'_>) -> Result<Vec<Run>, Fault> {
    let at = question.recorded_at();
    if question.now < at {
        return Ok(Vec::new());
    }
    records_before(ports, tenant, RunKey::occurrence(question.job.id, at), RECORDS_BACK).await
}

async fn awaited_by<D: Ports>(
    ports: &D,
    question: &Question<'_>,
    run: Option<&Run>,
) -> Result<Option<(Bound, usize)>, Fault> {
    let keeps_back = |due| kept_back(ports, &question.job.tenant, &question.job.definition.target, due);
    let Some(run) = run else {
        return Ok(question.occurrence().and_then(|awaited| keeps_back(awaited.effective)));
    };
    match &run.state {
        RunState::Waiting(Waiting::Slot { .. }) => awaited(ports, run).await,
        RunState::Scheduled { due } => Ok(keeps_back(*due)),
        _has_begun_or_is_over => Ok(None),
    }
}
