//! One verdict on all branches of a `for_each` that are held: two hundred failures for one reason are not two hundred requests. A request
//! goes through the branches in their order and ends after so many; each is decided about as if it had been named.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_domain::body;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Judgement, Run, TaskPlace};
use minutehand_domain::workflow::progress::Progress;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::graph::judge::{Judged, judge};
use minutehand_protocol::graph::watch::Watched;
use minutehand_wire::{HeldDecidedView, HeldRequest};

use super::page::{found, planned};
use super::verdicts::deed;
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::auth::not_allowed;
use crate::body::Body;
use crate::keyring::Caller;
use crate::params::TaskPath;
use crate::problem::{Kind, Problem};

/// Verdicts of one request.
const DECIDED: usize = 100;
/// Branches that one request looks at.
const LOOKED_THROUGH: u16 = 2000;
/// Branches that are read side by side, and are in memory.
const READ_AT_ONCE: u16 = 500;
/// Verdicts that are written side by side.
const WRITTEN_AT_ONCE: usize = 8;

pub(crate) async fn decide_held<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    TaskPath(key, task): TaskPath,
    body: Body,
) -> Result<Response, Problem> {
    let (word, from, note) = body.parse::<HeldRequest>()?.checked()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let whole = found(&app, &caller, key).await?;
    let Some(watched) = &whole.watched else {
        let status = whole.run.status(ports.clock().now());
        return Err(Problem::new(Kind::Conflict, format!("the run is {status}, and none of its tasks has begun")));
    };
    let (node, planned) = planned(watched, &task)?;
    if planned.task.for_each.is_none() {
        return Err(Problem::new(Kind::Conflict, format!("`{task}` is no for_each: it has no branches")));
    }
    let (held, next_from) = held_from(ports, watched, node, from).await?;
    let decision = Judgement { word, by: caller.by.clone(), at: ports.clock().now(), note, result: body::Body::Empty };
    let deciding = async {
        let verdicts = held.into_iter().map(|(branch, run)| {
            let decision = &decision;
            async move {
                match judge(ports, tenant, run, decision, caller.role).await? {
                    Judged::Done(_) => Ok(Some(branch)),
                    // Somebody was faster, or the run went on meanwhile.
                    Judged::Refused(..) | Judged::NotFound => Ok(None),
                    Judged::NotYours => Err(not_allowed(minutehand_domain::access::Role::Admin)),
                }
            }
        });
        stream::iter(verdicts).buffered(WRITTEN_AT_ONCE).try_collect::<Vec<_>>().await
    };
    let subject = format!("{key}/tasks/{task}/branches");
    let decided = acting.on_record(ports, tenant, deed(word), &subject, deciding).await?;
    Ok(Json(HeldDecidedView {
        workflow_run_id: key.to_string(),
        key: task.to_string(),
        verdict: word.as_str().to_owned(),
        decided: decided.into_iter().flatten().collect(),
        next_from,
    })
    .into_response())
}

/// The branches that are held, as many as one request decides about, and the first that was not looked at.
async fn held_from<D: Ports>(
    ports: &D,
    watched: &Watched,
    node: u16,
    from: u16,
) -> Result<(Vec<(u16, RunKey)>, Option<u16>), Problem> {
    let Some((each, graph)) = watched.each(node) else { return Ok((Vec::new(), None)) };
    let count = graph.each.map_or(0, |each| each.count);
    let (mut at, mut held) = (from.min(count), Vec::new());
    let end = at.saturating_add(LOOKED_THROUGH).min(count);
    let now = ports.clock().now();
    let is_held = |run: &Run| {
        let place = TaskPlace::of(run.key).unwrap_or(TaskPlace::task(node));
        watched.progress_of_branch(each, run, place, now) == Progress::Held
    };
    while at < end {
        let upto = at.saturating_add(READ_AT_ONCE).min(end);
        let runs = watched.branches(ports, node, at..upto).await?;
        for (branch, run) in (at..upto).zip(runs) {
            if held.len() == DECIDED {
                return Ok((held, Some(branch)));
            }
            held.extend(run.filter(is_held).map(|run| (branch, run.key)));
        }
        at = upto;
    }
    Ok((held, (end < count).then_some(end)))
}
