//! One verdict on all branches of a `for_each` that are held: two hundred failures for one reason are not two hundred requests. A request
//! goes through the branches in their order and ends after so many; each is decided about as if it had been named.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use minutehand_domain::access::Role;
use minutehand_domain::body;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Judgement, Run, TaskPlace};
use minutehand_domain::workflow::progress::Progress;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::graph::judge::{Judged, judge};
use minutehand_protocol::graph::watch::Watched;
use minutehand_wire::{HeldDecidedView, HeldRequest};

use super::page::{begun, for_each_of, found};
use super::verdicts::deed;
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::auth::not_allowed;
use crate::body::Body;
use crate::keyring::Caller;
use crate::params::TaskPath;
use crate::problem::Problem;

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
    let (word, from, remark) = body.parse::<HeldRequest>()?.checked()?;
    let ports = &*app.ports;
    let whole = found(&app, &caller, key).await?;
    let watched = begun(&whole, ports.clock().now())?;
    let (node, _) = for_each_of(watched, &task)?;
    let (held, next_from) = held_from(ports, watched, node, from).await?;
    let (by, at) = (caller.by.clone(), ports.clock().now());
    let decision = Judgement { word, by, at, note: remark, result: body::Body::Empty };
    let subject = format!("{key}/tasks/{task}/branches");
    let deciding = decided(ports, &caller, held, &decision);
    let decided = acting.on_record(ports, caller.tenant(), deed(word), &subject, deciding).await?;
    let (workflow_run_id, key, verdict) = (key.to_string(), task.to_string(), word.as_str().to_owned());
    Ok(Json(HeldDecidedView { workflow_run_id, key, verdict, decided, next_from }).into_response())
}

/// The branches that were given the verdict, in their order.
async fn decided<D: Ports>(
    ports: &D,
    caller: &Caller,
    held: Vec<(u16, RunKey)>,
    decision: &Judgement,
) -> Result<Vec<u16>, Problem> {
    let verdicts = held.into_iter().map(|(branch, run)| async move {
        match judge(ports, caller.tenant(), run, decision, caller.role).await? {
            Judged::Done(_) => Ok(Some(branch)),
            // Somebody was faster, or the run went on meanwhile.
            Judged::Refused(..) | Judged::NotFound => Ok(None),
            Judged::NotYours => Err(not_allowed(Role::Admin)),
        }
    });
    let decided: Vec<Option<u16>> = stream::iter(verdicts).buffered(WRITTEN_AT_ONCE).try_collect().await?;
    Ok(decided.into_iter().flatten().collect())
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
