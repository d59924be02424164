//! A batch of jobs: each is created or refused independently of the others.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::BATCH_JOBS;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::create::{Made, made_of};
use crate::app_state::AppState;
use crate::body::BatchBody;
use crate::idempotency::KeyHeader;
use crate::identify::RequestId;
use crate::keyring::Caller;
use crate::problem::{Kind, Problem, WithRequestId};
use crate::wire::job_request::JobRequest;
use crate::wire::job_view::JobView;

/// Jobs of one batch that are written concurrently: enough to fill a group commit, and few enough that a batch is no
/// flood.
const AT_ONCE: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRequest<'a> {
    /// Each is answered on its own, so that what is no job at all is no mistake of the whole.
    #[serde(borrow)]
    #[schemars(schema_with = "jobs", length(max = BATCH_JOBS))]
    jobs: Vec<&'a RawValue>,
}

fn jobs(generator: &mut SchemaGenerator) -> Schema {
    let job = generator.subschema_for::<JobRequest<'_>>();
    json_schema!({ "type": "array", "items": { "anyOf": [job, { "title": "anything: it gets a problem of its own" }] } })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BatchView<'a> {
    /// In the order of the jobs.
    results: Vec<ResultView<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BatchResult")]
struct ResultView<'a> {
    index: usize,
    /// What it would have been answered with alone.
    #[schemars(range(min = 200, max = 599))]
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<WithRequestId<'a>>,
}

pub(crate) async fn batch<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Extension(RequestId(request_id)): Extension<RequestId>,
    header: KeyHeader,
    BatchBody(body): BatchBody,
) -> Result<Response, Problem> {
    header.none()?;
    let BatchRequest { jobs } = body.parse()?;
    if jobs.len() > BATCH_JOBS {
        let detail = format!("at most {BATCH_JOBS} jobs; this has {}", jobs.len());
        return Err(Problem::field(Kind::Invalid, "/jobs", detail));
    }
    let answers = create_all(&app, caller.tenant(), &jobs).await;
    let now = app.ports.clock().now();
    let result = |(index, answer)| ResultView::new(index, answer, now, &request_id);
    let results = answers.iter().enumerate().map(result).collect();
    Ok((StatusCode::OK, Json(BatchView { results })).into_response())
}

/// The results in the order of the jobs. Of several jobs with the same idempotency key the first is created before the
/// others are read, so that the first always wins.
async fn create_all<D: Ports>(app: &AppState<D>, tenant: &Tenant, jobs: &[&RawValue]) -> Vec<Result<Made, Problem>> {
    let mut keys = HashSet::new();
    let mut is_first = |text: &RawValue| key_of(text).is_none_or(|key| keys.insert(key));
    let (first, later): (Vec<_>, Vec<_>) = jobs.iter().enumerate().partition(|(_, text)| is_first(text));
    let make = async |(index, text): (usize, &&RawValue)| (index, made_of(app, tenant, text.get()).await);
    let mut answers: Vec<_> = iter(first.into_iter().map(make)).buffered(AT_ONCE).collect().await;
    for job in later {
        answers.push(make(job).await);
    }
    answers.sort_unstable_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

impl<'a> ResultView<'a> {
    fn new(index: usize, answer: &'a Result<Made, Problem>, now: Moment, request_id: &'a str) -> Self {
        match answer {
            Ok(made) => {
                let job = JobView::listed(made.job(), made.seen_from(now));
                Self { index, status: made.status().as_u16(), job: Some(job), problem: None }
            }
            Err(problem) => {
                let status = problem.kind.status().as_u16();
                Self { index, status, job: None, problem: Some(problem.with_request_id(request_id)) }
            }
        }
    }
}

fn key_of(text: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Keyed {
        idempotency_key: Option<String>,
    }
    serde_json::from_str::<Keyed>(text.get()).ok()?.idempotency_key
}
