//! An answer's body: while it is on its way its request is under way, and its connection gives its place to nobody.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body as AnyBody, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use super::places::Place;

/// It is over when it is dropped: sent, or given up.
pub(super) struct OutgoingBody {
    body: AnyBody,
    is_empty: bool,
    place: Arc<Place>,
}

impl OutgoingBody {
    pub(super) fn new(body: AnyBody, place: Arc<Place>) -> Self {
        Self { is_empty: body.is_end_stream(), body, place }
    }
}

impl Drop for OutgoingBody {
    fn drop(&mut self) {
        self.place.request_is_answered();
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    /// Not before it is asked for a frame that is not there, which hyper does when those before are written. Whoever says it with the last frame is dropped
    /// while all of that waits to be.
    fn is_end_stream(&self) -> bool {
        self.is_empty
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
