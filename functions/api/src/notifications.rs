//! Notifications: rules for which ends of runs somebody is told of. Whoever may change jobs writes them; where they lead to is shown to nobody.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::limits::{HEALTH_RUNS, NOTIFICATIONS};
use minutehand_domain::notification::{Rule, RuleName};
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Seen, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::amend::amend;
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::notifications::message;
use minutehand_wire::form::MISTAKES;
use minutehand_wire::notification::CheckedRule;
use minutehand_wire::{NotificationRequest, NotificationView, NotificationsQuery, Page};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::{Body, Nothing};
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::location::location;
use crate::params::{NotificationPath, Params, limit_of};
use crate::problem::{FieldError, Kind, Problem};
use crate::runs::FullRun;
use crate::secrets::{Naming, must_be_there};

/// Jobs of one rule that are looked for side by side.
const AT_ONCE: usize = 16;

/// Writes a rule: a new one, or the same one again. The last writer wins.
pub(crate) async fn put<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    NotificationPath(name): NotificationPath,
    body: Body,
) -> Result<Response, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let request = body.parse::<NotificationRequest>()?;
    let checked = request.checked(&|target| app.target_check.check(tenant, target))?;
    must_be_there(ports, tenant, &checked.secrets, Naming { text: body.text(), otherwise: "/to" }).await?;
    jobs_must_be_there(ports, tenant, &request).await?;
    let is_new = there(ports, tenant, &name).await?.is_none();
    if is_new {
        must_have_room(ports, tenant).await?;
    }
    let writing = write(ports, tenant, &name, checked);
    let rule = acting.on_record(ports, tenant, Deed::SetNotification, name.as_str(), writing).await?;
    ports.rules().forget(tenant);
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(NotificationView::of(&rule))).into_response())
}

/// Refuses jobs that are not there, each where it is named. One that was deleted is on record, and may be named.
async fn jobs_must_be_there<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    request: &NotificationRequest,
) -> Result<(), Problem> {
    let named = request.jobs.iter().flatten().enumerate();
    let ids: Vec<(usize, JobId)> = named.filter_map(|(number, text)| Some((number, text.parse().ok()?))).collect();
    let looks = ids.into_iter().map(|(number, id)| async move {
        let is_there = job_of(ports, tenant, id).await?.is_some();
        Ok::<_, Fault>((!is_there).then_some(number))
    });
    let looked: Vec<Option<usize>> = iter(looks).buffered(AT_ONCE).try_collect().await?;
    let error =
        |number: usize| FieldError { pointer: format!("/jobs/{number}"), detail: "there is no such job".to_owned() };
    let errors: Vec<_> = looked.into_iter().flatten().take(MISTAKES).map(error).collect();
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

/// Two that come at once may be one too many: the bound is for what each end costs, and not exact.
async fn must_have_room<D: Ports>(ports: &D, tenant: &Tenant) -> Result<(), Problem> {
    let rules = ports.store().list::<Rule>(tenant, (), None, NOTIFICATIONS).await?;
    if rules.items.len() < NOTIFICATIONS {
        return Ok(());
    }
    Err(Problem::new(
        Kind::Conflict,
        format!("there are {NOTIFICATIONS} notifications, and no more may be: delete one"),
    ))
}

async fn write<D: Ports>(ports: &D, tenant: &Tenant, name: &RuleName, checked: CheckedRule) -> Result<Rule, Problem> {
    let now = ports.clock().now();
    let written = |there: Option<&Rule>| {
        let there = there.filter(|rule| rule.deleted_at.is_none());
        Some(rule_of(tenant, name, &checked, there, now))
    };
    let rule = amend(ports, tenant, name.clone(), written).await?;
    Ok(rule.expect("there is always something to write"))
}

fn rule_of(tenant: &Tenant, name: &RuleName, checked: &CheckedRule, there: Option<&Rule>, now: Moment) -> Rule {
    let CheckedRule { when, whose, in_a_row, late, digest, cooldown, to, enabled, secrets: _ } = checked.clone();
    let (id, created_at) =
        there.map_or_else(|| (Rule::id_of(tenant, name, now), now), |rule| (rule.id, rule.created_at));
    let (tenant, name) = (tenant.clone(), name.clone());
    Rule {
        tenant,
        name,
        id,
        when,
        whose,
        in_a_row,
        late,
        digest,
        cooldown,
        to,
        enabled,
        created_at,
        changed_at: now,
        deleted_at: None,
    }
}

pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    NotificationPath(name): NotificationPath,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let rule = there(ports, caller.tenant(), &name).await?.ok_or_else(no_notification)?.item;
    let within = RunsOf { job: rule.id, window: Moment::EPOCH..Moment::END };
    let newest = ports.store().list::<Run>(caller.tenant(), within, None, HEALTH_RUNS).await?.items;
    Ok(Json(NotificationView::of(&rule).with_messages(&newest)).into_response())
}

/// The tenant's rules, by name.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<NotificationsQuery>,
) -> Result<Response, Problem> {
    let (limit, scope) = (limit_of(params.limit)?, Scope::new(caller.tenant(), "notifications"));
    let past = params.cursor.map(|cursor| scope.name(&cursor)).transpose()?;
    let mut rules = app.ports.store().list::<Rule>(caller.tenant(), (), past, limit + 1).await?.items;
    let next_cursor = scope.cut(&mut rules, limit, |last| last.name.as_str().into());
    let items = rules.iter().map(NotificationView::of).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// What it has gathered is told to nobody.
pub(crate) async fn delete<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    NotificationPath(name): NotificationPath,
) -> Result<StatusCode, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    there(ports, tenant, &name).await?.ok_or_else(no_notification)?;
    let now = ports.clock().now();
    let deleting = async {
        let deleted =
            |there: Option<&Rule>| there.filter(|rule| rule.deleted_at.is_none()).map(|rule| rule.deleted(now));
        amend(ports, tenant, name.clone(), deleted).await?;
        Ok(StatusCode::NO_CONTENT)
    };
    let done = acting.on_record(ports, tenant, Deed::DeleteNotification, name.as_str(), deleting).await?;
    ports.rules().forget(tenant);
    Ok(done)
}

/// Queues a message that says that it is a test.
pub(crate) async fn try_out<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    NotificationPath(name): NotificationPath,
    body: Body,
) -> Result<Response, Problem> {
    let Nothing {} = body.parse_or_default()?;
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let rule = there(ports, tenant, &name).await?.ok_or_else(no_notification)?.item;
    app.meters.admit_run(ports, tenant).await?;
    let testing = async { message::test(ports, &rule, caller.by.clone()).await?.ok_or_else(Problem::too_slow) };
    let run = acting.on_record(ports, tenant, Deed::TestNotification, name.as_str(), testing).await?;
    let location = location(format!("/v1/runs/{}", run.key));
    let view = FullRun::of(ports, run).await?.view(ports.clock().now());
    Ok((StatusCode::ACCEPTED, location, Json(view)).into_response())
}

/// A deleted one is not there.
async fn there<D: Ports>(ports: &D, tenant: &Tenant, name: &RuleName) -> Result<Option<Seen<Rule>>, Fault> {
    let seen = ports.store().get::<Rule>(tenant, name.clone()).await?;
    Ok(seen.filter(|seen| seen.item.deleted_at.is_none()))
}

fn no_notification() -> Problem {
    Problem::new(Kind::NotFound, "there is no such notification")
}
