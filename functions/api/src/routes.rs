//! The routes: every address, its method, whose role may call it, who answers, and what it says of itself in the OpenAPI
//! document. One table, seen whole.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use http::Method;
use minutehand_domain::access::Role;
use minutehand_io::Doors;

use crate::auth::authenticate;
use crate::face::Face;
use crate::openapi::{Says, say};
use crate::{health, jobs, keys, metrics, openapi, quotas, runs, schedules, signing, stats};

pub(crate) struct Route<D> {
    pub method: Method,
    pub path: &'static str,
    /// Nobody needs a key where there is none.
    pub needs: Option<Role>,
    pub says: fn() -> Says,
    answer: MethodRouter<Arc<Face<D>>>,
}

pub(crate) fn table<D: Doors>() -> Vec<Route<D>> {
    use Role::{Admin, Host, Operator, Viewer};

    vec![
        route(Method::POST, "/v1/jobs", Operator, jobs::create::<D>, say::create_job),
        route(Method::GET, "/v1/jobs", Viewer, jobs::list::<D>, say::list_jobs),
        route(Method::POST, "/v1/jobs/batch", Operator, jobs::batch::<D>, say::create_jobs),
        route(Method::GET, "/v1/jobs/{job_id}", Viewer, jobs::show::<D>, say::get_job),
        route(Method::PATCH, "/v1/jobs/{job_id}", Operator, jobs::patch::<D>, say::patch_job),
        route(Method::DELETE, "/v1/jobs/{job_id}", Operator, jobs::delete::<D>, say::delete_job),
        route(Method::POST, "/v1/jobs/{job_id}/pause", Operator, jobs::pause::<D>, say::pause_job),
        route(Method::POST, "/v1/jobs/{job_id}/resume", Operator, jobs::resume::<D>, say::resume_job),
        route(Method::POST, "/v1/jobs/{job_id}/run", Operator, runs::run_now::<D>, say::run_job),
        route(Method::GET, "/v1/jobs/{job_id}/runs", Viewer, runs::of_job::<D>, say::list_runs_of_job),
        route(Method::GET, "/v1/jobs/{job_id}/next", Viewer, schedules::next::<D>, say::next_fires),
        route(Method::GET, "/v1/runs", Viewer, runs::across::<D>, say::list_runs),
        route(Method::GET, "/v1/runs/{run_id}", Viewer, runs::show::<D>, say::get_run),
        route(Method::GET, "/v1/runs/{run_id}/events", Viewer, runs::events::<D>, say::list_run_events),
        route(Method::POST, "/v1/runs/{run_id}/cancel", Operator, runs::cancel::<D>, say::cancel_run),
        route(Method::POST, "/v1/runs/{run_id}/retry", Operator, runs::retry::<D>, say::retry_run),
        route(Method::POST, "/v1/schedules/preview", Viewer, schedules::preview::<D>, say::preview_schedule),
        route(Method::POST, "/v1/keys", Admin, keys::create::<D>, say::create_key),
        route(Method::GET, "/v1/keys", Admin, keys::list::<D>, say::list_keys),
        route(Method::DELETE, "/v1/keys/{key_id}", Admin, keys::revoke::<D>, say::revoke_key),
        route(Method::POST, "/v1/keys/{key_id}/rotate", Admin, keys::rotate::<D>, say::rotate_key),
        route(Method::GET, "/v1/signing-secret", Admin, signing::show::<D>, say::get_signing_secret),
        route(Method::POST, "/v1/signing-secret/rotate", Admin, signing::rotate::<D>, say::rotate_signing_secret),
        route(Method::GET, "/v1/quotas", Viewer, quotas::own::<D>, say::get_own_quota),
        route(Method::GET, "/v1/quotas/{tenant}", Host, quotas::show::<D>, say::get_quota),
        route(Method::PUT, "/v1/quotas/{tenant}", Host, quotas::put::<D>, say::put_quota),
        route(Method::GET, "/v1/stats", Viewer, stats::stats::<D>, say::stats),
        route(Method::GET, "/metrics", Host, metrics::metrics::<D>, say::metrics),
        route(Method::GET, "/v1/health", None, health::health::<D>, say::health),
        route(Method::GET, "/openapi.json", None, openapi::show::<D>, say::openapi),
    ]
}

impl<D: Doors> Route<D> {
    pub(crate) fn mount(self, router: Router<Arc<Face<D>>>, face: &Arc<Face<D>>) -> Router<Arc<Face<D>>> {
        let answer = match self.needs {
            Some(role) => self.answer.route_layer(from_fn_with_state((Arc::clone(face), role), authenticate::<D>)),
            None => self.answer,
        };
        router.route(self.path, answer)
    }
}

fn route<D: Doors, T: 'static>(
    method: Method,
    path: &'static str,
    needs: impl Into<Option<Role>>,
    answer: impl Handler<T, Arc<Face<D>>>,
    says: fn() -> Says,
) -> Route<D> {
    let filter = MethodFilter::try_from(method.clone()).expect("a method that axum knows");
    Route { method, path, needs: needs.into(), says, answer: on(filter, answer) }
}
