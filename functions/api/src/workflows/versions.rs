//! The versions of a workflow: which there are, what one says, and what is different between two.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::Tenant;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::Ports;
use minutehand_io::plans::{self, StoredVersion};
use minutehand_io::store::{DefinitionPiece, Store as _};
use minutehand_wire::{
    DefinitionView, DiffQuery, Instant, OneWorkflowVersionView, Page, VersionsQuery, WorkflowDiffView,
    WorkflowVersionView,
};

use super::found;
use crate::app_state::AppState;
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::params::{Params, VersionPath, WorkflowPath, limit_of};
use crate::problem::{Kind, Problem};

/// Numbers that are looked at for one page.
const LOOKED_AT: u32 = 2000;

/// The newest first.
pub(crate) async fn versions<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    WorkflowPath(id): WorkflowPath,
    Params(params): Params<VersionsQuery>,
) -> Result<Response, Problem> {
    let limit = limit_of(params.limit)?;
    let workflow = there(&*app.ports, caller.tenant(), id).await?;
    let scope = Scope::new(caller.tenant(), &format!("versions of {id}"));
    let before = params.cursor.map(|cursor| scope.open(&cursor)).transpose()?.map(u32::from_be_bytes);
    let newest = newest(before, workflow.version);
    let (mut items, mut version) = (Vec::new(), newest);
    while version > 0 && items.len() < limit && newest - version < LOOKED_AT {
        // A number may be nobody's: who took it died before it was all written.
        let first = app.ports.store().get::<DefinitionPiece>(caller.tenant(), (id, version, 0)).await?;
        items.extend(first.map(|first| view(id, version, first.item.at, first.item.by)));
        version -= 1;
    }
    let next_cursor = (version > 0).then(|| scope.seal(&(version + 1).to_be_bytes()));
    Ok(Json(Page { items, next_cursor }).into_response())
}

pub(crate) async fn version<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    VersionPath(id, version): VersionPath,
) -> Result<Response, Problem> {
    let workflow = there(&*app.ports, caller.tenant(), id).await?;
    let stored = stored(&*app.ports, &workflow, version).await?;
    let definition = DefinitionView::of(&stored.definition);
    let version = view(id, version, stored.made_at, stored.made_by);
    Ok(Json(OneWorkflowVersionView { version, definition }).into_response())
}

pub(crate) async fn diff<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    WorkflowPath(id): WorkflowPath,
    Params(params): Params<DiffQuery>,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let workflow = there(ports, caller.tenant(), id).await?;
    let (from, to) = params.checked(workflow.version)?;
    let (before, after) = (stored(ports, &workflow, from).await?, stored(ports, &workflow, to).await?);
    let diff = WorkflowDiffView::of(&id.to_string(), (from, &before.definition), (to, &after.definition));
    Ok(Json(diff).into_response())
}

/// The first number of a page. A cursor comes from outside: where nobody has come yet nothing is read.
fn newest(before: Option<u32>, version: u32) -> u32 {
    before.map_or(version, |before| before.saturating_sub(1).min(version))
}

async fn there<D: Ports>(ports: &D, tenant: &Tenant, id: WorkflowId) -> Result<Workflow, Problem> {
    found(ports, tenant, id).await?.ok_or_else(Problem::no_workflow)
}

async fn stored<D: Ports>(ports: &D, workflow: &Workflow, version: u32) -> Result<StoredVersion, Problem> {
    let no_version = || Problem::new(Kind::NotFound, format!("`{}` has no version {version}", workflow.id));
    if version > workflow.version {
        return Err(no_version());
    }
    plans::read(ports.store(), &workflow.tenant, workflow.id, version).await?.ok_or_else(no_version)
}

fn view(id: WorkflowId, version: u32, made_at: minutehand_domain::Moment, made_by: String) -> WorkflowVersionView {
    WorkflowVersionView { workflow_id: id.to_string(), version, made_at: Instant(made_at), made_by }
}

#[cfg(test)]
mod tests {
    use super::newest;

    /// Removed: a page begins where its cursor says. A cursor of four billion read as many numbers, and nobody else was answered for minutes.
    #[test]
    fn a_page_begins_at_no_number_that_nobody_has_come_to() {
        let rows = [(None, 7), (Some(8), 7), (Some(7), 6), (Some(1), 0), (Some(0), 0), (Some(u32::MAX), 7)];
        for (before, first) in rows {
            assert_eq!(newest(before, 7), first, "{before:?}");
        }
    }
}
