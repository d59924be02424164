//! Each request gets an id: in its answer's header, in its problem, and in the log beside what went wrong.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method};
use minutehand_domain::id::base32;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::events::{Event, Events as _, Layer};

use crate::app_state::AppState;
use crate::idempotency::REPLAYED;
use crate::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The request's id, for handlers that put problems inside an answer.
#[derive(Clone)]
pub(crate) struct RequestId(pub Arc<str>);

/// A request's labels in the metrics, taken before it is answered.
struct RequestLabels {
    method: Method,
    route: Option<MatchedPath>,
    /// Only for the duration of the answer: no decision depends on it.
    at: Instant,
}

impl RequestLabels {
    fn of(request: &Request) -> Self {
        Self { method: request.method().clone(), route: request.extensions().get().cloned(), at: Instant::now() }
    }

    /// Invented methods must not make a series each.
    fn method(&self) -> &str {
        match self.method.as_str() {
            known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE") => known,
            _ => "other",
        }
    }

    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }
}

pub(crate) async fn identify<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id: Arc<str> = format!("req_{}", base32(&app.ports.chance().bytes())).into();
    request.extensions_mut().insert(RequestId(Arc::clone(&id)));
    let labels = app.metrics.as_ref().map(|metrics| (metrics, RequestLabels::of(&request)));
    let mut response = next.run(request).await;
    if let Some((metrics, labels)) = labels {
        metrics.answered(labels.method(), labels.route(), response.status(), labels.at.elapsed());
    }
    if response.headers().contains_key(REPLAYED) {
        app.ports.events().emit(&Event::Prevented { by: Layer::IdempotencyKey });
    }
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        if let Some(over) = problem.over {
            app.ports.events().emit(&Event::Refused { over });
        }
        if let Some(fault) = &problem.fault {
            tracing::error!(request = %id, %fault, "a request met a fault");
        }
        response = problem.write_into(response, &id);
    }
    let id = HeaderValue::from_str(&id).expect("base 32 is visible ASCII");
    response.headers_mut().insert(REQUEST_ID, id);
    response
}
