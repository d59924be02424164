//! Repair: timers and cursors are made again from the jobs and runs, while everything goes on. A call does as much as fits into a
//! few seconds, and says where the next one goes on: whoever answers may have no more time than that.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::audit::Deed;
use minutehand_domain::id::Tenant;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::sweep::repair::{Position, Repair, Repaired, repair};
use minutehand_wire::{RepairRequest, RepairView};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::cursor::Scope;
use crate::problem::{Kind, Problem};

/// After so long a call begins no further page. API Gateway waits for 30 s, and a page of each part takes some of them.
const LASTS: Duration = Duration::from_secs(8);

pub(crate) async fn repair_all<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    acting: Acting,
    body: Body,
) -> Result<Response, Problem> {
    let RepairRequest { check, cursor } = body.parse_or_default()?;
    let (ports, deployment) = (&*app.ports, Tenant::deployment());
    let scope = Scope::new(&deployment, if check { "repair, check" } else { "repair" });
    let from = cursor.map_or_else(|| Ok(Position::default()), |cursor| position(&scope, &cursor))?;
    let repairing = async { Ok(repair(ports, from, Repair { check, until: ports.clock().now() + LASTS }).await?) };
    let Repaired { summary, findings, next } = if check {
        repairing.await?
    } else {
        acting.on_record(ports, &deployment, Deed::Repair, "timers", repairing).await?
    };
    Ok(Json(RepairView::of(&summary, &findings, next.map(|next| sealed(&scope, &next)))).into_response())
}

fn sealed(scope: &Scope, Position(parts): &Position) -> String {
    scope.seal(&serde_json::to_vec(parts).expect("texts can be written"))
}

fn position(scope: &Scope, cursor: &str) -> Result<Position, Problem> {
    let parts =
        scope.position(cursor).ok().and_then(|parts| serde_json::from_slice::<Vec<Option<String>>>(&parts).ok());
    let parts = parts.filter(|parts| parts.len() == Position::default().0.len());
    parts.map(Position).ok_or_else(|| {
        Problem::field(Kind::Invalid, "/cursor", "is not one that this repair gave; begin again without it")
    })
}
