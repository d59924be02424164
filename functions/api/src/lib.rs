//! The HTTP API: parse at the edge, load, decide, write, answer. One router, which Lambda and the local process serve.
//!
//! The modules: `routes` is the table of all there is, [`auth`] says who calls, `meters` how much they may, `body`, `params`
//! and `precondition` read what they ask, the others answer, and whatever cannot be answered becomes a `problem`. The shapes
//! of requests and answers, and what is checked of them, are `minutehand-wire`'s.

mod app_state;
pub mod archive;
mod audit;
mod auth;
mod backup;
mod body;
mod body_budget;
mod bucket;
mod calendars;
mod cursor;
mod fires;
mod following;
mod health;
mod idempotency;
mod identify;
mod jobs;
mod key_uses;
mod keyring;
mod keys;
mod leases;
mod letters;
mod location;
mod merge;
mod meters;
mod metrics;
mod notifications;
mod openapi;
mod operations;
mod params;
mod pools;
mod precondition;
mod presences;
mod problem;
mod quotas;
mod refusals;
mod repair;
mod routes;
mod runs;
mod schedules;
mod scrape;
mod seat;
mod secrets;
mod signing;
mod source;
mod stats;
mod strangers;
mod targets;
mod tenants;
mod traced;
mod watched;
mod why;
mod workers;
mod workflow_runs;
mod workflows;

use std::sync::Arc;

use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use minutehand_io::Ports;

use self::app_state::AppState;
pub use self::app_state::TargetCheck;
pub use self::backup::Backups;
use self::body_budget::BodyBudget;
use self::health::LastLook;
use self::key_uses::KeyUses;
pub use self::keyring::Keyring;
use self::meters::Meters;
pub use self::metrics::Metrics;
use self::pools::NamedPools;
use self::problem::{Kind, Problem};
use self::refusals::Refusals;
pub use self::seat::Seat;
pub use self::source::Source;
use self::strangers::Strangers;
pub use self::watched::{MOST_WATCHED, Watched};

/// What the router needs from its host.
pub struct Api<D> {
    pub ports: Arc<D>,
    pub keys: Keyring,
    pub target_check: TargetCheck,
    /// None in Lambda, where no process stays to be scraped.
    pub metrics: Option<Metrics>,
    /// None where nothing is kept in a file.
    pub backups: Option<Backups>,
}

pub fn router<D: Ports>(api: Api<D>) -> Router {
    router_at(api, |_| true)
}

/// The same where only some addresses are asked at, which it finds by how a route spells them: its routes are most of what a router costs, and a
/// simulation makes one for each request.
pub fn router_at<D: Ports>(api: Api<D>, is_asked_at: impl Fn(&str) -> bool) -> Router {
    let Api { ports, keys, target_check, metrics, backups } = api;
    let (key_uses, meters, body_budget) = (KeyUses::default(), Meters::default(), BodyBudget::default());
    let refusals = Refusals::default();
    let (strangers, health) = (Strangers::default(), LastLook::default());
    // Whoever reads the metrics counts the workers too.
    let presences = metrics.as_ref().map(|metrics| Arc::clone(&metrics.presences)).unwrap_or_default();
    let pools = NamedPools::default();
    let app = Arc::new(AppState {
        ports,
        keys,
        key_uses,
        presences,
        pools,
        target_check,
        meters,
        refusals,
        strangers,
        health,
        body_budget,
        metrics,
        backups,
    });
    routes::table::<D>()
        .into_iter()
        .filter(|route| is_asked_at(route.path))
        .fold(Router::new(), |router, route| route.mount(router, &app))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(Extension(openapi::Source(routes::operations::<D>)))
        .layer(from_fn_with_state(Arc::clone(&app), identify::identify::<D>))
        .with_state(app)
}

async fn no_route() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this address")
}

async fn wrong_method() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "this address knows other methods: see the Allow header")
}
