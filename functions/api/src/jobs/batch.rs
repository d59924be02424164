//! A batch of jobs: each is created or refused independently of the others.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use http::StatusCode;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::BATCH_JOBS;
use minutehand_domain::trace::TraceContext;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _, Layer};
use minutehand_wire::batch::BatchResultView;
use minutehand_wire::{BatchRequest, BatchView, JobView, Json as Text};
use serde::Deserialize;

use super::create::{Made, made_of};
use crate::app_state::AppState;
use crate::body::BatchBody;
use crate::idempotency::KeyHeader;
use crate::identify::RequestId;
use crate::keyring::Caller;
use crate::problem::{Kind, Problem};
use crate::traced::Traced;

/// Jobs of one batch that are written concurrently: enough to fill a group commit, and few enough that a batch is no
/// flood.
const AT_ONCE: usize = 64;
/// Behind this none is begun: a function that is cut off at 29 s would tell nobody of those that it has made. Who makes a job hints all that it is to
/// do within minutes, so that a thousand that fire each few seconds take longer.
const LASTS: Duration = Duration::from_secs(15);

pub(crate) async fn batch<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Extension(RequestId(request_id)): Extension<RequestId>,
    header: KeyHeader,
    Traced(trace): Traced,
    BatchBody(body): BatchBody,
) -> Result<Response, Problem> {
    header.none()?;
    let BatchRequest { jobs } = body.parse()?;
    if jobs.len() > BATCH_JOBS {
        let detail = format!("at most {BATCH_JOBS} jobs; this has {}", jobs.len());
        return Err(Problem::field(Kind::Invalid, "/jobs", detail));
    }
    let answers = create_all(&app, caller.tenant(), trace.as_ref(), &jobs).await;
    for _again in answers.iter().filter(|answer| matches!(answer, Ok(Made::Before(_)))) {
        app.ports.events().emit(&Event::Prevented { by: Layer::IdempotencyKey });
    }
    let result = |(index, answer)| result_view(&app, caller.tenant(), index, answer, &request_id);
    let results = answers.iter().enumerate().map(result).collect();
    Ok((StatusCode::OK, Json(BatchView { results })).into_response())
}

/// In the order they came. Of those that bear the same idempotency key, the first is made before the others are looked at:
/// which of them makes the job is not left to chance.
async fn create_all<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    trace: Option<&TraceContext>,
    jobs: &[Text],
) -> Vec<Result<Made, Problem>> {
    let (mut keys, begun) = (HashSet::new(), app.ports.clock().steady());
    let mut is_first = |text: &Text| key_of(text).is_none_or(|key| keys.insert(key));
    let (first, later): (Vec<_>, Vec<_>) = jobs.iter().enumerate().partition(|(_, text)| is_first(text));
    let make = async |(index, text): (usize, &Text)| {
        let is_over = app.ports.clock().steady().saturating_sub(begun) >= LASTS;
        if is_over {
            return (index, Err(Problem::not_begun()));
        }
        (index, made_of(app, tenant, trace.cloned(), text.text()).await)
    };
    let mut answers: Vec<_> = iter(first.into_iter().map(make)).buffered(AT_ONCE).collect().await;
    for job in later {
        answers.push(make(job).await);
    }
    answers.sort_unstable_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn result_view<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    index: usize,
    answer: &Result<Made, Problem>,
    request_id: &str,
) -> BatchResultView {
    match answer {
        Ok(made) => {
            let now = app.ports.clock().now();
            let job = JobView::listed(made.job(), made.seen_from(now));
            BatchResultView { index, status: made.status().as_u16(), job: Some(job), problem: None }
        }
        Err(problem) => {
            let status = problem.kind.status().as_u16();
            BatchResultView { index, status, job: None, problem: Some(app.problem_within(tenant, problem, request_id)) }
        }
    }
}

fn key_of(text: &Text) -> Option<String> {
    #[derive(Deserialize)]
    struct Keyed {
        idempotency_key: Option<String>,
    }
    serde_json::from_str::<Keyed>(text.text()).ok()?.idempotency_key
}
