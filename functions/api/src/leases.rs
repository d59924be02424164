//! Leases: workers elsewhere ask for something to do, keep it by heartbeats, and say how it went. Whoever speaks of a lease shows its token,
//! in the body: addresses are kept in logs.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::select;
use futures_util::stream::{self, StreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::body::Body as Kept;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::INLINE_RESULT_BYTES;
use minutehand_domain::pool::PoolId;
use minutehand_domain::pool::presence::{Hold, Presence};
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::run::{Refusal, Run, State as RunState};
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::Queues as _;
use minutehand_protocol::run::lease::{Report, Said, Shown, complete as finish, give_back, heartbeat as beat};
use minutehand_protocol::run::take::{Taken, Took, Wanted, take};
use minutehand_wire::lease::{CheckedCompletion, CheckedHeartbeat, CheckedLeaseRequest, result_of};
use minutehand_wire::run_status::RunStatus;
use minutehand_wire::{
    BodyView, CompleteRequest, CompletedView, CompletionsRequest, CompletionsView, FailRequest, HandBackRequest,
    HeartbeatRequest, HeartbeatView, Instant, LeaseRequest, LeaseView, LeasesView, LeftRunView, TraceContextView,
};

use crate::app_state::AppState;
use crate::body::{BatchBody, Body};
use crate::identify::RequestId;
use crate::keyring::Caller;
use crate::params::LeasePath;
use crate::problem::{Kind, Problem};

type App<D> = State<Arc<AppState<D>>>;

/// Completions of one request that are written side by side.
const AT_ONCE: usize = 16;
/// A poll that was offered only what it could not have looks again after so long.
const SOON: Duration = Duration::from_millis(200);

/// Gives a worker what there is to do, and waits for it where there is nothing.
pub(crate) async fn lease<D: Ports>(State(app): App<D>, caller: Caller, body: Body) -> Result<Response, Problem> {
    let asked = body.parse::<LeaseRequest>()?.checked()?;
    drop(body); // it may wait for long
    if !caller.works_for(&asked.pool) {
        return Err(Problem::new(Kind::Forbidden, "this key does not work for this pool"));
    }
    let (ports, tenant, now) = (&*app.ports, caller.tenant(), app.ports.clock().now());
    let presence = asker(tenant, &asked, now);
    app.pools.note(ports, tenant, [&asked.pool]).await;
    app.presences.asked(ports, &presence, now).await;
    let until = now + asked.wait;
    let taken = if asked.draining { Vec::new() } else { wait_for(ports, tenant, &wanted(asked), until).await? };
    if !taken.is_empty() {
        let holds = taken.iter().filter_map(hold).collect();
        app.presences.asked(ports, &Presence { holds, ..presence }, ports.clock().now()).await;
    }
    let leases = taken.iter().map(lease_view).collect();
    Ok(Json(LeasesView { leases }).into_response())
}

fn wanted(asked: CheckedLeaseRequest) -> Wanted {
    let CheckedLeaseRequest { pool, worker, handlers, max, lease, .. } = asked;
    Wanted { pool, worker, handlers, max, lease }
}

/// Who asks, as it says of itself.
fn asker(tenant: &Tenant, asked: &CheckedLeaseRequest, now: Moment) -> Presence {
    Presence {
        tenant: tenant.clone(),
        pool: asked.pool.clone(),
        worker: asked.worker.clone(),
        first_seen: now,
        last_seen: now,
        lease: asked.lease,
        slots: asked.slots,
        handlers: asked.handlers.clone(),
        draining_since: asked.draining.then_some(now),
        holds: Vec::new(),
    }
}

fn hold(taken: &Taken) -> Option<Hold> {
    Some(Hold { run: taken.run.key, until: taken.run.lease()?.until })
}

/// Looks at once, each time it is told that there is something, and once in a while.
async fn wait_for<D: Ports>(ports: &D, tenant: &Tenant, wanted: &Wanted, until: Moment) -> Result<Vec<Taken>, Problem> {
    let pool = PoolId::of(tenant, &wanted.pool);
    loop {
        let heard = ports.queues().heard(pool); // before the look, so that what comes between the two is not missed
        let Took { taken, is_all } = take(ports, tenant, wanted).await?;
        let now = ports.clock().now();
        if !taken.is_empty() || now >= until {
            return Ok(taken);
        }
        let wait = if is_all { ports.queues().look_again_after() } else { SOON };
        let again = ports.clock().sleep_until(until.min(now + wait));
        select(pin!(heard), pin!(again)).await;
    }
}

/// Keeps the lease.
pub(crate) async fn heartbeat<D: Ports>(
    State(app): App<D>,
    caller: Caller,
    LeasePath(lease): LeasePath,
    body: Body,
) -> Result<Response, Problem> {
    let request: HeartbeatRequest = body.parse()?;
    let CheckedHeartbeat { lease: keep, entry } = request.checked()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let beaten = taken(beat(ports, Shown { tenant, lease, token: &request.token }, keep, &entry).await?)?;
    if let Some(pool) = beaten.pool {
        let hold = Hold { run: lease.run, until: beaten.until };
        app.presences.kept(ports, tenant, (pool, beaten.worker), hold, ports.clock().now()).await;
    }
    let view = HeartbeatView { lease_expires_at: Instant(beaten.until), cancel_requested: beaten.cancel_requested };
    Ok(Json(view).into_response())
}

/// It went well.
pub(crate) async fn complete<D: Ports>(
    State(app): App<D>,
    caller: Caller,
    LeasePath(lease): LeasePath,
    body: Body,
) -> Result<Response, Problem> {
    let CompleteRequest { token, result } = body.parse()?;
    let shown = Shown { tenant: caller.tenant(), lease, token: &token };
    let report = Report::Succeeded(result_of(result.as_ref())?);
    Ok(Json(ended(&app, shown, &report).await?).into_response())
}

/// It did not.
pub(crate) async fn fail<D: Ports>(
    State(app): App<D>,
    caller: Caller,
    LeasePath(lease): LeasePath,
    body: Body,
) -> Result<Response, Problem> {
    let FailRequest { token, error } = body.parse()?;
    let shown = Shown { tenant: caller.tenant(), lease, token: &token };
    let report = Report::Failed(error.checked()?);
    Ok(Json(ended(&app, shown, &report).await?).into_response())
}

/// Somebody else is to do it.
pub(crate) async fn hand_back<D: Ports>(
    State(app): App<D>,
    caller: Caller,
    LeasePath(lease): LeasePath,
    body: Body,
) -> Result<Response, Problem> {
    let HandBackRequest { token } = body.parse()?;
    let shown = Shown { tenant: caller.tenant(), lease, token: &token };
    let run = taken(give_back(&*app.ports, shown).await?)?;
    app.presences.left(caller.tenant(), lease.run);
    Ok(Json(left(&run, app.ports.clock().now())).into_response())
}

/// How several went, each answered on its own.
pub(crate) async fn complete_many<D: Ports>(
    State(app): App<D>,
    caller: Caller,
    axum::Extension(RequestId(request)): axum::Extension<RequestId>,
    BatchBody(body): BatchBody,
) -> Result<Response, Problem> {
    let results = body.parse::<CompletionsRequest>()?.checked()?;
    let tenant = caller.tenant();
    let one = async |CheckedCompletion { lease_id, lease, token, outcome }: CheckedCompletion| {
        let report = outcome.map_or_else(Report::Failed, Report::Succeeded);
        let said = match lease {
            Some(lease) => ended(&app, Shown { tenant, lease, token: &token }, &report).await,
            None => Err(Problem::no_lease()),
        };
        match said {
            Ok(run) => CompletedView { lease_id, run: Some(run), problem: None },
            Err(problem) => {
                let problem = Some(app.problem_within(tenant, &problem, &request));
                CompletedView { lease_id, run: None, problem }
            }
        }
    };
    let results = stream::iter(results).map(one).buffered(AT_ONCE).collect().await;
    Ok(Json(CompletionsView { results }).into_response())
}

async fn ended<D: Ports>(app: &AppState<D>, shown: Shown<'_>, report: &Report) -> Result<LeftRunView, Problem> {
    let ports = &*app.ports;
    let run = match finish(ports, shown, report).await? {
        // The answer to the first was lost, and it is said again.
        Said::Refused(Refusal::Finished, run) if ended_so(&run, shown.lease, report) => run,
        said => taken(said)?,
    };
    app.presences.left(shown.tenant, shown.lease.run);
    Ok(left(&run, ports.clock().now()))
}

/// Whether the run ended by the claim of this lease, as its holder says again.
fn ended_so(run: &Run, lease: LeaseId, report: &Report) -> bool {
    run.fence == lease.fence
        && match (&run.state, report) {
            (RunState::Succeeded { result, .. }, Report::Succeeded(None)) => *result == Kept::Empty,
            (RunState::Succeeded { result, .. }, Report::Succeeded(Some(again))) => {
                *result == Kept::split(again.clone(), INLINE_RESULT_BYTES).0
            }
            _ => false,
        }
}

fn taken<T>(said: Said<T>) -> Result<T, Problem> {
    match said {
        Said::Taken(taken) => Ok(taken),
        Said::Refused(why, run) => Err(Problem::conflict(refused(why, &run))),
        Said::NotYours => Err(Problem::new(Kind::Forbidden, "this is not the token of this lease")),
        Said::NotFound => Err(Problem::no_lease()),
    }
}

fn refused(why: Refusal, run: &Run) -> String {
    match why {
        Refusal::Fenced { offered, current } => {
            format!("the lease is lost: fence {offered} was followed by {current}, and another has the run or had it")
        }
        Refusal::NotHeld => "the lease is over: the run waits for its next attempt".to_owned(),
        _finished => format!("the run is over: it is {}", run.status(Moment::END)),
    }
}

fn lease_view(taken: &Taken) -> LeaseView {
    let (run, terms) = (&taken.run, &taken.order.terms);
    let trace = TraceContextView::of(&run.attempt_context(run.fence));
    let lease_expires_at = run.lease().map_or(Moment::EPOCH, |lease| lease.until);
    LeaseView {
        lease_id: taken.lease.to_string(),
        token: taken.token.clone(),
        handler: taken.handler.to_string(),
        run_id: run.key.to_string(),
        job_id: run.key.job.to_string(),
        attempt: run.fence,
        fence: run.fence,
        idempotency_key: run.key.to_string(),
        scheduled_at: Instant(run.nominal()),
        follows: run.follows.map(|follows| follows.run.to_string()),
        traceparent: Some(trace.traceparent),
        tracestate: trace.tracestate,
        payload: BodyView::of(taken.payload.as_ref()),
        checkpoint: BodyView::of(taken.checkpoint.as_ref()),
        lease_expires_at: Instant(lease_expires_at),
        deadline_at: Instant(run.deadline(terms).unwrap_or(lease_expires_at)),
    }
}

fn left(run: &Run, now: Moment) -> LeftRunView {
    let due_at = match run.state {
        RunState::Scheduled { due } => Some(Instant(due)),
        _ => None,
    };
    LeftRunView { run_id: run.key.to_string(), status: RunStatus::of(run, now), due_at }
}
