//! The routes: every address with its method, the role it needs, its handler and its OpenAPI documentation. One table, seen
//! whole.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, on};
use http::Method;
use minutehand_domain::access::Role;
use minutehand_io::Ports;

use crate::app_state::AppState;
use crate::auth::authenticate;
use crate::keyring::Need;
use crate::openapi::{Operation, OperationDoc, doc_of};
use crate::params::without_parameters;
use crate::{
    audit, backup, calendars, fires, health, jobs, keys, leases, letters, notifications, openapi, operations, pools,
    quotas, repair, runs, schedules, scrape, secrets, signing, stats, targets, tenants, why, workers, workflow_runs,
    workflows,
};

pub(crate) struct Route<D> {
    method: Method,
    pub(crate) path: &'static str,
    /// None: the route needs no key.
    needs: Option<Need>,
    doc: fn() -> OperationDoc,
    answer: MethodRouter<Arc<AppState<D>>>,
}

pub(crate) fn table<D: Ports>() -> Vec<Route<D>> {
    use Role::{Admin, Host, Operator, Viewer};

    let of_jobs = vec![
        route(Method::POST, "/v1/jobs", Operator, jobs::create::<D>, doc_of::create_job),
        route(Method::GET, "/v1/jobs", Viewer, jobs::list::<D>, doc_of::list_jobs),
        route(Method::POST, "/v1/jobs/batch", Operator, jobs::batch::<D>, doc_of::create_jobs),
        route(Method::GET, "/v1/jobs/{job_id}", Viewer, jobs::show::<D>, doc_of::get_job),
        route(Method::PATCH, "/v1/jobs/{job_id}", Operator, jobs::patch::<D>, doc_of::patch_job),
        route(Method::DELETE, "/v1/jobs/{job_id}", Operator, jobs::delete::<D>, doc_of::delete_job),
        route(Method::POST, "/v1/jobs/{job_id}/pause", Operator, jobs::pause::<D>, doc_of::pause_job),
        route(Method::POST, "/v1/jobs/{job_id}/resume", Operator, jobs::resume::<D>, doc_of::resume_job),
        route(Method::POST, "/v1/jobs/{job_id}/run", Operator, runs::run_now::<D>, doc_of::run_job),
        route(Method::GET, "/v1/jobs/{job_id}/runs", Viewer, runs::of_job::<D>, doc_of::list_runs_of_job),
        route(Method::GET, "/v1/jobs/{job_id}/next", Viewer, schedules::next::<D>, doc_of::next_fires),
        route(Method::GET, "/v1/jobs/{job_id}/why", Viewer, why::of_instant::<D>, doc_of::explain_instant),
        route(Method::GET, "/v1/runs", Viewer, runs::across::<D>, doc_of::list_runs),
        route(Method::GET, "/v1/runs/{run_id}", Viewer, runs::show::<D>, doc_of::get_run),
        route(Method::GET, "/v1/runs/{run_id}/events", Viewer, runs::events::<D>, doc_of::list_run_events),
        route(Method::GET, "/v1/runs/{run_id}/why", Viewer, why::of_run::<D>, doc_of::explain_run),
        route(Method::GET, "/v1/runs/{run_id}/logs", Viewer, runs::logs::<D>, doc_of::list_run_logs),
        route(Method::GET, "/v1/runs/{run_id}/effects", Viewer, runs::list_effects::<D>, doc_of::list_run_effects),
        route(Method::POST, "/v1/runs/{run_id}/cancel", Operator, runs::cancel::<D>, doc_of::cancel_run),
        route(Method::POST, "/v1/runs/{run_id}/retry", Operator, runs::retry::<D>, doc_of::retry_run),
        route(Method::POST, "/v1/workflows", Operator, workflows::create::<D>, doc_of::create_workflow),
        route(Method::GET, "/v1/workflows", Viewer, workflows::list::<D>, doc_of::list_workflows),
        route(Method::GET, "/v1/workflows/{workflow_id}", Viewer, workflows::show::<D>, doc_of::get_workflow),
        route(Method::PUT, "/v1/workflows/{workflow_id}", Operator, workflows::put::<D>, doc_of::put_workflow),
        route(Method::DELETE, "/v1/workflows/{workflow_id}", Operator, workflows::delete::<D>, doc_of::delete_workflow),
        route(
            Method::GET,
            "/v1/workflows/{workflow_id}/versions",
            Viewer,
            workflows::versions::<D>,
            doc_of::list_workflow_versions,
        ),
        route(
            Method::GET,
            "/v1/workflows/{workflow_id}/versions/{version}",
            Viewer,
            workflows::version::<D>,
            doc_of::get_workflow_version,
        ),
        route(Method::GET, "/v1/workflows/{workflow_id}/diff", Viewer, workflows::diff::<D>, doc_of::diff_workflow),
        route(Method::POST, "/v1/workflows/{workflow_id}/run", Operator, workflows::run_now::<D>, doc_of::run_workflow),
        route(
            Method::GET,
            "/v1/workflows/{workflow_id}/runs",
            Viewer,
            workflows::runs::<D>,
            doc_of::list_runs_of_workflow,
        ),
        route(
            Method::POST,
            "/v1/workflows/{workflow_id}/pause",
            Operator,
            workflows::pause::<D>,
            doc_of::pause_workflow,
        ),
        route(
            Method::POST,
            "/v1/workflows/{workflow_id}/resume",
            Operator,
            workflows::resume::<D>,
            doc_of::resume_workflow,
        ),
        route(Method::GET, "/v1/fires", Viewer, fires::list::<D>, doc_of::list_fires),
        route(Method::POST, "/v1/schedules/preview", Viewer, schedules::preview::<D>, doc_of::preview_schedule),
        route(Method::GET, "/v1/calendars", Viewer, calendars::list::<D>, doc_of::list_calendars),
        route(Method::GET, "/v1/calendars/{calendar}", Viewer, calendars::show::<D>, doc_of::get_calendar),
        route(Method::PUT, "/v1/calendars/{calendar}", Operator, calendars::put::<D>, doc_of::put_calendar),
        route(Method::DELETE, "/v1/calendars/{calendar}", Operator, calendars::delete::<D>, doc_of::delete_calendar),
        route(
            Method::POST,
            "/v1/calendars/{calendar}/import",
            Operator,
            calendars::import::<D>,
            doc_of::import_calendar,
        ),
        route(Method::POST, "/v1/keys", Admin, keys::create::<D>, doc_of::create_key),
        route(Method::GET, "/v1/keys", Admin, keys::list::<D>, doc_of::list_keys),
        route(Method::DELETE, "/v1/keys/{key_id}", Admin, keys::revoke::<D>, doc_of::revoke_key),
        route(Method::POST, "/v1/keys/{key_id}/rotate", Admin, keys::rotate::<D>, doc_of::rotate_key),
        route(Method::GET, "/v1/secrets", Operator, secrets::list::<D>, doc_of::list_secrets),
        route(Method::GET, "/v1/secrets/{secret}", Operator, secrets::show::<D>, doc_of::get_secret),
        route(Method::PUT, "/v1/secrets/{secret}", Admin, secrets::put::<D>, doc_of::put_secret),
        route(Method::DELETE, "/v1/secrets/{secret}", Admin, secrets::delete::<D>, doc_of::delete_secret),
        route(Method::GET, "/v1/audit", Admin, audit::list::<D>, doc_of::list_audit),
        route(Method::GET, "/v1/signing-secret", Admin, signing::show::<D>, doc_of::get_signing_secret),
        route(Method::POST, "/v1/signing-secret/rotate", Admin, signing::rotate::<D>, doc_of::rotate_signing_secret),
        route(Method::GET, "/v1/quotas", Viewer, quotas::own::<D>, doc_of::get_own_quota),
        route(Method::GET, "/v1/quotas/{tenant}", Host, quotas::show::<D>, doc_of::get_quota),
        route(Method::PUT, "/v1/quotas/{tenant}", Host, quotas::put::<D>, doc_of::put_quota),
    ];
    let of_jobs = of_jobs.into_iter().chain(of_letters()).chain(of_operations());
    let of_others = of_jobs.chain(of_notifications()).chain(of_workflow_runs()).chain(of_workers());
    of_others.chain(of_the_deployment()).collect()
}

/// Those of the deployment as a whole.
fn of_the_deployment<D: Ports>() -> Vec<Route<D>> {
    use Method as M;
    use Role::{Host, Viewer};

    vec![
        route(M::DELETE, "/v1/tenants/{tenant}", Host, tenants::erase::<D>, doc_of::erase_tenant),
        route(M::POST, "/v1/repair", Host, repair::repair_all::<D>, doc_of::repair),
        route(M::GET, "/v1/backup", Host, backup::take::<D>, doc_of::backup),
        route(M::GET, "/v1/stats", Viewer, stats::stats::<D>, doc_of::stats),
        route(M::GET, scrape::PATH, Host, scrape::metrics::<D>, doc_of::metrics),
        open(M::GET, "/v1/health", health::health::<D>, doc_of::health),
        open(M::GET, "/openapi.json", openapi::show, doc_of::openapi),
    ]
}

/// Those of dead letters.
fn of_letters<D: Ports>() -> Vec<Route<D>> {
    use Method as M;
    use Role::{Operator, Viewer};

    vec![
        route(M::GET, "/v1/dead-letters", Viewer, letters::list::<D>, doc_of::list_letters),
        route(M::GET, "/v1/dead-letters/groups", Viewer, letters::groups::<D>, doc_of::group_letters),
        route(M::POST, "/v1/dead-letters/redrive", Operator, letters::redrive_many::<D>, doc_of::redrive_letters),
        route(M::POST, "/v1/dead-letters/dismiss", Operator, letters::dismiss_many::<D>, doc_of::dismiss_letters),
        route(M::POST, "/v1/dead-letters/{run_id}/redrive", Operator, letters::redrive::<D>, doc_of::redrive_letter),
        route(M::POST, "/v1/dead-letters/{run_id}/dismiss", Operator, letters::dismiss::<D>, doc_of::dismiss_letter),
    ]
}

/// Those of what is done to many at once.
fn of_operations<D: Ports>() -> Vec<Route<D>> {
    use Method as M;
    use Role::{Operator, Viewer};
    use operations as ops;

    vec![
        route(M::POST, "/v1/operations", Operator, ops::start::<D>, doc_of::start_operation),
        route(M::GET, "/v1/operations", Viewer, ops::list::<D>, doc_of::list_operations),
        route(M::GET, "/v1/operations/{operation_id}", Viewer, ops::show::<D>, doc_of::get_operation),
        route(M::POST, "/v1/operations/{operation_id}/pause", Operator, ops::pause::<D>, doc_of::pause_operation),
        route(M::POST, "/v1/operations/{operation_id}/resume", Operator, ops::resume::<D>, doc_of::resume_operation),
        route(M::POST, "/v1/operations/{operation_id}/cancel", Operator, ops::cancel::<D>, doc_of::cancel_operation),
        route(M::POST, "/v1/jobs/{job_id}/backfill", Operator, ops::backfill::<D>, doc_of::backfill_job),
    ]
}

/// Those of rules of notifications.
fn of_notifications<D: Ports>() -> Vec<Route<D>> {
    use Method as M;
    use Role::{Operator, Viewer};
    use notifications as rules;

    vec![
        route(M::GET, "/v1/notifications", Viewer, rules::list::<D>, doc_of::list_notifications),
        route(M::GET, "/v1/notifications/{notification}", Viewer, rules::show::<D>, doc_of::get_notification),
        route(M::PUT, "/v1/notifications/{notification}", Operator, rules::put::<D>, doc_of::put_notification),
        route(M::DELETE, "/v1/notifications/{notification}", Operator, rules::delete::<D>, doc_of::delete_notification),
        route(
            M::POST,
            "/v1/notifications/{notification}/test",
            Operator,
            rules::try_out::<D>,
            doc_of::try_notification,
        ),
    ]
}

/// Those of workers.
fn of_workers<D: Ports>() -> Vec<Route<D>> {
    use Method as M;
    use Need::Work;
    use Role::Viewer;

    vec![
        route(M::POST, "/v1/leases", Work, leases::lease::<D>, doc_of::lease_runs),
        route(M::POST, "/v1/leases/complete", Work, leases::complete_many::<D>, doc_of::complete_leases),
        route(M::POST, "/v1/leases/{lease_id}/heartbeat", Work, leases::heartbeat::<D>, doc_of::keep_lease),
        route(M::POST, "/v1/leases/{lease_id}/complete", Work, leases::complete::<D>, doc_of::complete_lease),
        route(M::POST, "/v1/leases/{lease_id}/fail", Work, leases::fail::<D>, doc_of::fail_lease),
        route(M::POST, "/v1/leases/{lease_id}/hand-back", Work, leases::hand_back::<D>, doc_of::hand_back_lease),
        route(M::POST, "/v1/runs/{run_id}/effects", Work, runs::claim_effect::<D>, doc_of::claim_effect),
        route(
            M::POST,
            "/v1/runs/{run_id}/effects/{effect}",
            Work,
            runs::claim_effect_by_path::<D>,
            doc_of::claim_effect_by_path,
        ),
        route(M::GET, "/v1/workers", Viewer, workers::list::<D>, doc_of::list_workers),
        route(M::GET, "/v1/pools", Viewer, pools::list::<D>, doc_of::list_pools),
        route(M::GET, "/v1/targets", Viewer, targets::list::<D>, doc_of::list_targets),
    ]
}

/// Those of runs of workflows, below one address.
fn of_workflow_runs<D: Ports>() -> Vec<Route<D>> {
    use Method as M;
    use Role::{Operator, Viewer};
    use workflow_runs as runs;

    vec![
        route(M::GET, "/v1/workflow-runs", Viewer, runs::across::<D>, doc_of::list_workflow_runs),
        route(M::GET, "/v1/workflow-runs/{run_id}", Viewer, runs::show::<D>, doc_of::get_workflow_run),
        route(M::GET, "/v1/workflow-runs/{run_id}/tasks", Viewer, runs::tasks::<D>, doc_of::list_tasks),
        route(
            M::GET,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/branches",
            Viewer,
            runs::branches::<D>,
            doc_of::list_branches,
        ),
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/branches/held",
            Operator,
            runs::decide_held::<D>,
            doc_of::decide_held_branches,
        ),
        route(M::GET, "/v1/workflow-runs/{run_id}/events", Viewer, runs::events::<D>, doc_of::list_workflow_run_events),
        route(M::POST, "/v1/workflow-runs/{run_id}/cancel", Operator, runs::cancel::<D>, doc_of::cancel_workflow_run),
        route(M::POST, "/v1/workflow-runs/{run_id}/resume", Operator, runs::resume::<D>, doc_of::resume_workflow_run),
        // Who may answer an approval is the approval's to say.
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/approve",
            Viewer,
            runs::approve::<D>,
            doc_of::approve_task,
        ),
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/reject",
            Viewer,
            runs::reject::<D>,
            doc_of::reject_task,
        ),
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/retry",
            Operator,
            runs::retry::<D>,
            doc_of::retry_task,
        ),
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/skip",
            Operator,
            runs::skip::<D>,
            doc_of::skip_task,
        ),
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/succeed",
            Operator,
            runs::succeed::<D>,
            doc_of::succeed_task,
        ),
        route(
            M::POST,
            "/v1/workflow-runs/{run_id}/tasks/{task_key}/fail",
            Operator,
            runs::fail::<D>,
            doc_of::fail_task,
        ),
    ]
}

/// The table as the OpenAPI document describes it.
pub(crate) fn operations<D: Ports>() -> Vec<Operation> {
    let operation = |Route { method, path, needs, doc, .. }: Route<D>| Operation { method, path, needs, doc: doc() };
    table::<D>().into_iter().map(operation).collect()
}

impl<D: Ports> Route<D> {
    pub(crate) fn mount(self, router: Router<Arc<AppState<D>>>, app: &Arc<AppState<D>>) -> Router<Arc<AppState<D>>> {
        let Some(need) = self.needs else { return router.route(self.path, self.answer) };
        let takes_parameters = (self.doc)().takes_parameters();
        let answer = if takes_parameters { self.answer } else { self.answer.route_layer(from_fn(without_parameters)) };
        // Behind the key: a stranger hears of nothing else.
        router.route(self.path, answer.route_layer(from_fn_with_state((Arc::clone(app), need), authenticate::<D>)))
    }
}

fn route<D: Ports, T: 'static>(
    method: Method,
    path: &'static str,
    needs: impl Into<Need>,
    answer: impl Handler<T, Arc<AppState<D>>>,
    doc: fn() -> OperationDoc,
) -> Route<D> {
    Route { needs: Some(needs.into()), ..open(method, path, answer, doc) }
}

/// One that needs no key.
fn open<D: Ports, T: 'static>(
    method: Method,
    path: &'static str,
    answer: impl Handler<T, Arc<AppState<D>>>,
    doc: fn() -> OperationDoc,
) -> Route<D> {
    let filter = MethodFilter::try_from(method.clone()).expect("a method that axum knows");
    Route { method, path, needs: None, doc, answer: on(filter, answer) }
}
