//! Each request gets an id: in its answer's header, in its problem, and in the log beside what went wrong.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use minutehand_domain::id::base32;
use minutehand_io::Doors;
use minutehand_io::chance::Chance as _;

use crate::Api;
use crate::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

pub(crate) async fn identify<D: Doors>(State(api): State<Arc<Api<D>>>, request: Request, next: Next) -> Response {
    let id = format!("req_{}", base32(&api.doors.chance().bytes()));
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        if let Some(fault) = &problem.fault {
            tracing::error!(request = id, %fault, "a request met a fault");
        }
        response = problem.write_into(response, &id);
    }
    let id = HeaderValue::from_str(&id).expect("base 32 is visible ASCII");
    response.headers_mut().insert(REQUEST_ID, id);
    response
}
