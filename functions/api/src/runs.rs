//! Runs: one, those of a job, and what may be done with one.

mod whole;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::{Moment, pace};
use minutehand_io::Doors;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_protocol::cancel::{Cancelled, cancel as cancel_run};
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::on_demand::{Asked, run_now as ask};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use self::whole::WholeRun;
use crate::Api;
use crate::auth::Caller;
use crate::body::{Body, Nothing};
use crate::cursor::{Scope, foreign};
use crate::idempotency::KeyHeader;
use crate::params::{JobPath, Params, RunPath, limit_of};
use crate::problem::{Kind, Problem};
use crate::wire::instant::Instant;
use crate::wire::job_request::payload_of;
use crate::wire::page::Page;
use crate::wire::run_view::RunView;

/// What is shown of a history when nobody says from when.
const WINDOW: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsParams {
    limit: Option<usize>,
    cursor: Option<String>,
    from: Option<Instant>,
    to: Option<Instant>,
}

/// What a run is given in place of the job's payload.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunRequest<'a> {
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// Where a list of runs stands: its window, which must not move from page to page, and the last run shown.
struct Position {
    window: Range<Moment>,
    before: Option<RunKey>,
}

/// A job's runs, newest first.
pub(crate) async fn list<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    Params(params): Params<RunsParams>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?;
    let scope = Scope::new(caller.tenant(), &format!("runs of {id} {:?} {:?}", params.from, params.to));
    let now = api.doors.clock().now();
    let position = match &params.cursor {
        Some(cursor) => Position::open(&scope, cursor, id)?,
        None => Position { window: params.window(now)?, before: None },
    };
    let job = job_of(&*api.doors, caller.tenant(), id).await?.ok_or_else(Problem::no_job)?;
    let Position { window, before } = &position;
    let mut runs = api.doors.store().runs_of(caller.tenant(), id, window.clone(), *before, limit + 1).await?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    let next_cursor = runs.last().filter(|_| more).map(|last| position.seal(&scope, last.key));
    let items = runs.iter().map(|run| RunView::listed(run, &job.definition.payload, now)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// One run, with all its attempts.
pub(crate) async fn show<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
) -> Result<Response, Problem> {
    let run = WholeRun::find(&*api.doors, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    Ok(Json(run.view(api.doors.clock().now())).into_response())
}

/// Queues a run of the job now.
pub(crate) async fn run_now<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    header: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    header.none_yet()?;
    let request: RunRequest<'_> = body.parse_or_default()?;
    let payload = payload_of(request.payload)?;
    match ask(&*api.doors, caller.tenant(), id, payload).await? {
        Asked::Queued(run) => {
            let location = HeaderValue::try_from(format!("/v1/runs/{}", run.key)).expect("base 32 is visible ASCII");
            let run = WholeRun::of(&*api.doors, run).await?;
            let view = Json(run.view(api.doors.clock().now()));
            Ok((StatusCode::ACCEPTED, [(LOCATION, location)], view).into_response())
        }
        Asked::Refused(why) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Asked::NotFound => Err(Problem::no_job()),
        Asked::TooSlow => Err(Problem::too_slow()),
    }
}

/// Ends a run that waits; one that runs is not tried again.
pub(crate) async fn cancel<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    match cancel_run(&*api.doors, caller.tenant(), key).await? {
        Cancelled::Done(run) => {
            let run = WholeRun::of(&*api.doors, run).await?;
            Ok(Json(run.view(api.doors.clock().now())).into_response())
        }
        Cancelled::Refused(why, _) => Err(Problem::new(Kind::Conflict, why.to_string())),
        Cancelled::NotFound => Err(Problem::no_run()),
    }
}

impl RunsParams {
    /// Until now, where nothing else is said; another machine's now may be a little later than ours.
    fn window(&self, now: Moment) -> Result<Range<Moment>, Problem> {
        let to = self.to.map_or(now + pace::SKEW, |to| to.0);
        let from = self.from.map_or(to - WINDOW, |from| from.0);
        if from >= to {
            return Err(Problem::field(Kind::Invalid, "?from", format!("must lie before {to}")));
        }
        Ok(from..to)
    }
}

impl Position {
    fn seal(&self, scope: &Scope, last: RunKey) -> String {
        let (from, to) = (self.window.start.millis().to_be_bytes(), self.window.end.millis().to_be_bytes());
        scope.seal(&[&from[..], &to[..], &last.to_bytes()[..]].concat())
    }

    fn open(scope: &Scope, cursor: &str, job: JobId) -> Result<Self, Problem> {
        let bytes: [u8; 16 + RunKey::BYTES] = scope.open(cursor)?;
        let instant = |at: usize| {
            let millis = bytes[at..at + 8].try_into().expect("eight bytes");
            Moment::from_millis(i64::from_be_bytes(millis))
        };
        let key = bytes[16..].try_into().ok().and_then(RunKey::from_bytes).filter(|key| key.job == job);
        let before = Some(key.ok_or_else(foreign)?);
        Ok(Self { window: instant(0)..instant(8), before })
    }
}
