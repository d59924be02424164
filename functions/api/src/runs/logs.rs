//! The log of a run: what its workers said line by line, or what its calls were answered.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::{LOG_LINES, PAGE};
use minutehand_domain::run::logbook::Logbook;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::run::logbook::log;
use minutehand_wire::{LogsQuery, LogsView};

use super::FullRun;
use super::full_run::{logbook_of, run_of};
use crate::app_state::AppState;
use crate::keyring::Caller;
use crate::params::{Params, RunPath, limit_of};
use crate::problem::{Kind, Problem};

/// Some lines of a run's log: from one on, or the last.
pub(crate) async fn logs<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    RunPath(key): RunPath,
    Params(params): Params<LogsQuery>,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let (tail, limit) = (tail_of(&params)?, limit_of(params.limit)?);
    let (run, job) = run_of(ports, caller.tenant(), key).await?.ok_or_else(Problem::no_run)?;
    let from = |lines: u32| tail.map_or(params.from.unwrap_or(0), |tail| lines.saturating_sub(tail));
    let limit = if tail.is_some() { PAGE } else { limit };
    // A book without a line has something else in it, such as an answer that came late.
    let book = logbook_of(ports, &run).await?.filter(|book| book.lines.next > 0);
    let view = if let Some(book) = book {
        said(ports, caller.tenant(), &book, from(book.lines.next), limit).await?
    } else {
        let run = FullRun::load(ports, run, job.as_ref()).await?;
        run.answered(from(run.calls()), limit)
    };
    Ok(Json(view).into_response())
}

fn tail_of(params: &LogsQuery) -> Result<Option<u32>, Problem> {
    match params.tail {
        Some(_) if params.from.is_some() => {
            Err(Problem::field(Kind::Invalid, "?tail", "the last lines, or those from one on: not both"))
        }
        Some(tail) if !(1..=PAGE).contains(&tail) => {
            Err(Problem::field(Kind::Invalid, "?tail", format!("must be from 1 to {PAGE}")))
        }
        tail => Ok(tail.and_then(|tail| u32::try_from(tail).ok())),
    }
}

/// The piece that the first line stands in begins at most a piece before it, and no piece is empty.
async fn said<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    book: &Logbook,
    from: u32,
    limit: usize,
) -> Result<LogsView, Fault> {
    let within_a_piece = u32::try_from(LOG_LINES).unwrap_or(u32::MAX);
    let pieces = log(ports, tenant, book.run, from.saturating_sub(within_a_piece), LOG_LINES + limit).await?;
    Ok(LogsView::of_pieces(&pieces, from, limit, book.lines.dropped))
}
