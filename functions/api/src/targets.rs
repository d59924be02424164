//! What the operator of the deployment declared: a tenant sees the aliases that it may name, and never where they lead.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::target::AliasName;
use minutehand_io::Ports;
use minutehand_wire::{DeclaredView, Page, TargetsQuery};

use crate::app_state::AppState;
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::Problem;

/// By alias.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<TargetsQuery>,
) -> Result<Response, Problem> {
    let (limit, scope) = (limit_of(params.limit)?, Scope::new(caller.tenant(), "targets"));
    let past: Option<AliasName> = params.cursor.map(|cursor| scope.name(&cursor)).transpose()?;
    let declared = app.target_check.declared.of(caller.tenant());
    let after = declared.filter(|(alias, _)| past.as_ref().is_none_or(|past| *alias > past));
    let mut page: Vec<_> = after.take(limit + 1).collect();
    let next_cursor = scope.cut(&mut page, limit, |(alias, _)| alias.as_str().into());
    let items = page.into_iter().map(|(alias, kind)| DeclaredView::of(alias, kind)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}
