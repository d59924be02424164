//! The effects of a run: claimed by its holder before they are made, so that none is made twice.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use minutehand_domain::body;
use minutehand_domain::run::Refusal;
use minutehand_domain::run::effect::{Answer, EffectOf, RequestMark, Wish};
use minutehand_io::Ports;
use minutehand_protocol::run::effect::{effect, effects};
use minutehand_protocol::run::lease::Said;
use minutehand_wire::{EffectAnswerView, EffectByPathRequest, EffectRequest, EffectView, EffectsQuery, Page};

use super::full_run::run_of;
use crate::app_state::AppState;
use crate::body::Body;
use crate::cursor::Scope;
use crate::idempotency::KeyHeader;
use crate::keyring::Caller;
use crate::params::{EffectPath, Params, RunPath, limit_of};
use crate::problem::Problem;

/// Effects of one answer: with the longest outcomes they are half of what a function may answer.
const A_PAGE: usize = 180;

/// Claims an effect, or says what came of it.
pub(crate) async fn claim_effect<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(run): RunPath,
    key: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let request: EffectRequest = body.parse()?;
    let (name, outcome) = request.checked()?;
    let of = EffectOf { tenant: caller.tenant(), run, name: &name };
    answered(&*app.ports, of, (&request.token, outcome), key).await
}

/// The same of one that the path names.
pub(crate) async fn claim_effect_by_path<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    EffectPath(run, name): EffectPath,
    key: KeyHeader,
    body: Body,
) -> Result<Response, Problem> {
    let request: EffectByPathRequest = body.parse()?;
    let of = EffectOf { tenant: caller.tenant(), run, name: &name };
    answered(&*app.ports, of, (&request.token, request.checked()?), key).await
}

async fn answered<D: Ports>(
    ports: &D,
    of: EffectOf<'_>,
    (token, outcome): (&str, Option<body::Json>),
    key: KeyHeader,
) -> Result<Response, Problem> {
    let key = key.agreed(None)?;
    let wish = match outcome {
        Some(outcome) => Wish::Tell(outcome),
        None => Wish::Claim(key.map(|key| RequestMark::of(of.tenant, &key))),
    };
    let answer = match effect(ports, of, token, &wish).await? {
        Said::Taken(answer) => answer.map_err(|why| Problem::conflict(why.to_string()))?,
        Said::NotYours => return Err(Problem::conflict("this is not the token of the lease that the run has now")),
        Said::Refused(Refusal::Finished, _) => return Err(Problem::conflict("the run is over")),
        Said::Refused(..) => return Err(Problem::conflict("the lease is over: the run waits for its next attempt")),
        Said::NotFound => return Err(Problem::no_run()),
    };
    let status = if matches!(answer, Answer::First(_)) { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(EffectAnswerView::of(&answer))).into_response())
}

/// A run's effects, by name.
pub(crate) async fn list_effects<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
    Params(params): Params<EffectsQuery>,
) -> Result<Response, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let (limit, scope) = (limit_of(params.limit)?.min(A_PAGE), Scope::new(tenant, &format!("effects {key}")));
    let past = params.cursor.map(|cursor| scope.name(&cursor)).transpose()?;
    run_of(ports, tenant, key).await?.ok_or_else(Problem::no_run)?;
    let mut items = effects(ports, tenant, key, past, limit + 1).await?;
    let next_cursor = scope.cut(&mut items, limit, |last| last.name.as_str().into());
    let items = items.iter().map(EffectView::of).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}
