//! Arriving: a request's body that must not stall between two pieces, nor trickle for ever.

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

/// A body on its way, and for how long it may be.
pub(super) struct Arriving {
    body: Incoming,
    bounds: Bounds,
    /// When the whole of it must be here.
    whole_by: Instant,
    /// Since the last piece.
    waiting: Option<Pin<Box<Sleep>>>,
    late: Late,
}

/// Whether a body did not come in time: whoever reads it only hears that it broke off.
#[derive(Clone, Debug, Default)]
pub(super) struct Late(Arc<AtomicBool>);

impl Late {
    pub(super) fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Arriving {
    pub(super) fn new(body: Incoming, bounds: &Bounds, late: Late) -> Self {
        Self { body, bounds: *bounds, whole_by: Instant::now() + bounds.body, waiting: None, late }
    }

    /// Ready when it has been waited for too long.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let until = (Instant::now() + self.bounds.frame).min(self.whole_by);
        self.waiting.get_or_insert_with(|| Box::pin(sleep_until(until))).as_mut().poll(cx)
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        ready!(self.poll_patience(cx));
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

/// Instead of what was answered to half a body. The rest of it is not waited for.
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
