//! The HTTP API: parse at the door, load, decide, write, answer. One router, which Lambda and the local process serve.
//!
//! The rooms: `routes` is the table of all there is, [`auth`] says who calls, `meters` how much they may, `body`, `params`
//! and `precondition` read what they ask, `wire` holds its shapes, the others answer, and whatever cannot be answered
//! becomes a `problem`.

mod auth;
mod body;
mod cursor;
mod face;
mod findings;
mod health;
mod idempotency;
mod identify;
mod jobs;
mod keys;
mod location;
mod meant;
mod merge;
mod meters;
mod metrics;
mod openapi;
mod params;
mod precondition;
mod problem;
mod quotas;
mod routes;
mod runs;
mod schedules;
mod signing;
mod stats;
mod wire;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use minutehand_io::Doors;

pub use self::auth::Keyring;
use self::body::Room;
use self::face::Face;
pub use self::face::TargetCheck;
use self::meters::Meters;
pub use self::metrics::Metrics;
use self::problem::{Kind, Problem};

/// What the router needs of its host.
pub struct Api<D> {
    pub doors: Arc<D>,
    pub keys: Keyring,
    pub target_check: TargetCheck,
    /// None where no process stays to be scraped.
    pub metrics: Option<Metrics>,
}

pub fn router<D: Doors>(api: Api<D>) -> Router {
    let Api { doors, keys, target_check, metrics } = api;
    let (meters, room) = (Meters::default(), Room::default());
    let face = Arc::new(Face { doors, keys, target_check, meters, room, metrics });
    routes::table::<D>()
        .into_iter()
        .fold(Router::new(), |router, route| route.mount(router, &face))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&face), identify::identify::<D>))
        .with_state(face)
}

async fn no_route() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this address")
}

async fn wrong_method() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "this address knows other methods: see the Allow header")
}
