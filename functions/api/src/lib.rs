//! The HTTP API: parse at the door, load, decide, write, answer. One router, which Lambda and the local process serve.
//!
//! The rooms: [`auth`] says who calls, `body` and `params` read what they ask, `wire` holds its shapes, `jobs`, `runs`,
//! `schedules` and `health` answer, and whatever cannot be answered becomes a `problem`.

mod auth;
mod body;
mod cursor;
mod findings;
mod health;
mod idempotency;
mod identify;
mod jobs;
mod meant;
mod params;
mod problem;
mod runs;
mod schedules;
mod wire;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use minutehand_domain::target::HttpTarget;
use minutehand_io::Doors;
use minutehand_io::targets::TargetRefusal;

pub use self::auth::Keyring;
use self::problem::{Kind, Problem};

/// What the router needs of its host.
pub struct Api<D> {
    pub doors: Arc<D>,
    pub keys: Keyring,
    pub target_check: TargetCheck,
}

/// Whether this deployment may call a target, as far as can be known when the job is made.
#[derive(Clone)]
pub struct TargetCheck(Arc<Check>);

type Check = dyn Fn(&HttpTarget) -> Result<(), TargetRefusal> + Send + Sync;

pub fn router<D: Doors>(api: Api<D>) -> Router {
    let api = Arc::new(api);
    Router::new()
        .route("/v1/jobs", post(jobs::create::<D>).get(jobs::list::<D>))
        .route("/v1/jobs/{id}", get(jobs::show::<D>).delete(jobs::delete::<D>))
        .route("/v1/jobs/{id}/pause", post(jobs::pause::<D>))
        .route("/v1/jobs/{id}/resume", post(jobs::resume::<D>))
        .route("/v1/jobs/{id}/run", post(runs::run_now::<D>))
        .route("/v1/jobs/{id}/runs", get(runs::list::<D>))
        .route("/v1/jobs/{id}/next", get(schedules::next::<D>))
        .route("/v1/runs/{id}", get(runs::show::<D>))
        .route("/v1/runs/{id}/cancel", post(runs::cancel::<D>))
        .route("/v1/schedules/preview", post(schedules::preview::<D>))
        // Every route above asks for a key; what stands below does not.
        .route_layer(from_fn_with_state(Arc::clone(&api), auth::authenticate::<D>))
        .route("/v1/health", get(health::health::<D>))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(body::BODY_BYTES))
        .layer(from_fn_with_state(Arc::clone(&api), identify::identify::<D>))
        .with_state(api)
}

impl TargetCheck {
    pub fn new(check: impl Fn(&HttpTarget) -> Result<(), TargetRefusal> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    pub(crate) fn check(&self, target: &HttpTarget) -> Result<(), TargetRefusal> {
        (self.0)(target)
    }
}

impl fmt::Debug for TargetCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TargetCheck")
    }
}

async fn no_route() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this address")
}

async fn wrong_method() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "this address knows other methods: see the Allow header")
}
