//! An answer's body: while it is on its way its request is under way, and the connection of a tenant within its share gives its place to nobody.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body as AnyBody, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use super::places::Place;

/// Nothing more comes of it when it is dropped; what came may still have to be written.
pub(super) struct OutgoingBody {
    body: AnyBody,
    place: Arc<Place>,
}

impl OutgoingBody {
    pub(super) fn new(body: AnyBody, place: Arc<Place>) -> Self {
        Self { body, place }
    }
}

impl Drop for OutgoingBody {
    fn drop(&mut self) {
        self.place.answer_is_whole();
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
