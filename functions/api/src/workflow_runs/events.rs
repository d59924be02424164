//! What happened to a whole run: its own events and those of the runs of its tasks and branches, in order of time. They are derived from the
//! records, which are all read for each page: of a run of 12,000 that is what 12,000 reads cost. Only the page itself is kept in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Run, TaskPlace};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::graph::watch::each_below;
use minutehand_wire::{Page, RunEventsView, TasksQuery, WorkflowRunEventView};

use super::Whole;
use super::names::Names;
use super::page::found;
use crate::app_state::AppState;
use crate::cursor::{Scope, foreign};
use crate::keyring::Caller;
use crate::params::{Params, RunPath, limit_of};
use crate::problem::Problem;

/// An event's place among all: its instant, where in that, its run, and which of the run's events it is.
type Position = (Moment, u8, RunKey, u16);

pub(crate) async fn events<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
    Params(params): Params<TasksQuery>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?;
    let whole = found(&app, &caller, key).await?;
    let scope = Scope::new(caller.tenant(), &format!("events of {key}"));
    let past = params.cursor.as_ref().map(|cursor| position(&scope, cursor)).transpose()?;
    let mut first = First { past, most: limit + 1, events: BTreeMap::new() };
    first.see_all(&*app.ports, &whole).await?;
    let mut events: Vec<_> = first.events.into_iter().collect();
    let more = events.len() > limit;
    events.truncate(limit);
    let next_cursor = events.last().filter(|_| more).map(|(position, _)| scope.seal(&bytes_of(*position)));
    let who = events.iter().filter_map(|(_, event)| event.by.as_deref());
    let names = Names::of(&*app.ports, caller.tenant(), who).await?;
    let told = |(_, event): (Position, WorkflowRunEventView)| {
        let by_name = event.by.as_deref().and_then(|by| names.name(by));
        WorkflowRunEventView { by_name, ..event }
    };
    Ok(Json(Page { items: events.into_iter().map(told).collect(), next_cursor }).into_response())
}

/// The first so many events past a position, of those that were seen.
struct First {
    past: Option<Position>,
    most: usize,
    events: BTreeMap<Position, WorkflowRunEventView>,
}

impl First {
    async fn see_all<D: Ports>(&mut self, ports: &D, whole: &Whole) -> Result<(), Fault> {
        self.see(&whole.run, None);
        let Some(watched) = &whole.watched else { return Ok(()) };
        let key = |node: u16| watched.plan.node(node).map_or_else(String::new, |node| node.task.key.to_string());
        let mut eachs = Vec::new();
        each_below(ports, &watched.run, &watched.graph, usize::MAX, |run| {
            let Some(place) = TaskPlace::of(run.key) else { return };
            self.see(&run, Some(&(key(place.node), None)));
            if run.graph.as_ref().is_some_and(|graph| graph.each.is_some()) {
                eachs.push((place.node, run));
            }
        })
        .await?;
        for (node, each) in eachs {
            let Some(graph) = &each.graph else { continue };
            each_below(ports, &each, graph, usize::MAX, |run| {
                let branch = TaskPlace::of(run.key).and_then(|place| place.branch);
                self.see(&run, Some(&(key(node), branch)));
            })
            .await?;
        }
        Ok(())
    }

    fn see(&mut self, run: &Run, task: Option<&(String, Option<u16>)>) {
        // A task's begins at the instant of the whole, which says nothing.
        let own = usize::from(task.is_some());
        let end = run.finished_at();
        for (number, event) in (0..).zip(RunEventsView::of(run, &run.attempts, &[]).items).skip(own) {
            // What happened to the whole is around what happened in it, where the clock tells no difference: what it began with is first.
            let place = match task {
                Some(_) => 1,
                None if number > 0 && end.is_some_and(|end| end <= event.at.0) => 2,
                None => 0,
            };
            let position = (event.at.0, place, run.key, number);
            let is_seen = self.past.is_some_and(|past| position <= past);
            let is_too_late = self.events.len() >= self.most
                && self.events.last_key_value().is_some_and(|(last, _)| position > *last);
            if is_seen || is_too_late {
                continue;
            }
            self.events.insert(position, WorkflowRunEventView::of(event, run.key.to_string(), task.cloned()));
            if self.events.len() > self.most {
                self.events.pop_last();
            }
        }
    }
}

const BYTES: usize = 8 + 1 + RunKey::BYTES + 2;

fn bytes_of((at, place, key, number): Position) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&at.millis().to_be_bytes());
    bytes[8] = place;
    bytes[9..9 + RunKey::BYTES].copy_from_slice(&key.to_bytes());
    bytes[9 + RunKey::BYTES..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn position(scope: &Scope, cursor: &str) -> Result<Position, Problem> {
    let bytes: [u8; BYTES] = scope.open(cursor)?;
    let millis = i64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
    let key = bytes[9..9 + RunKey::BYTES].try_into().ok().and_then(RunKey::from_bytes);
    let number = u16::from_be_bytes(bytes[9 + RunKey::BYTES..].try_into().expect("two bytes"));
    let at = (0..=Moment::END.millis()).contains(&millis).then(|| Moment::from_millis(millis));
    Ok((at.ok_or_else(foreign)?, bytes[8], key.ok_or_else(foreign)?, number))
}
