//! A request's body that must not stall between two frames, nor trickle for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::response::Response;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Bounds;

/// A body that is being received, with its time limits.
pub(super) struct IncomingBody {
    body: Incoming,
    bounds: Bounds,
    /// When the whole body must have arrived.
    whole_by: Instant,
    /// The timer since the last frame.
    waiting: Option<Pin<Box<Sleep>>>,
    late: Late,
}

/// Whether a body was late: its reader sees only that it broke off.
#[derive(Clone, Debug, Default)]
pub(super) struct Late(Arc<AtomicBool>);

impl Late {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl IncomingBody {
    pub(super) fn new(body: Incoming, bounds: &Bounds, late: Late) -> Self {
        Self { body, bounds: *bounds, whole_by: Instant::now() + bounds.body, waiting: None, late }
    }

    /// Ready when the wait was too long.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let until = (Instant::now() + self.bounds.frame).min(self.whole_by);
        self.waiting.get_or_insert_with(|| Box::pin(sleep_until(until))).as_mut().poll(cx)
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        ready!(self.poll_timeout(cx));
        self.late.0.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Replaces the answer to a partial body. The rest of the body is not waited for.
pub(super) fn too_slow(answered: Response) -> Response {
    let (mut head, _half) = answered.into_parts();
    let request_id = head.headers.get("request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let problem = format!(
        r#"{{"type":"/problems/too-slow","title":"The request came too slowly","status":408,"detail":"the body did not come in time; send it again","errors":[],"request_id":"{request_id}"}}"#
    );
    head.status = StatusCode::REQUEST_TIMEOUT;
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Response::from_parts(head, problem.into())
}
