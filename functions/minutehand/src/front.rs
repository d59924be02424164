//! The front: whoever connects is served, and cut off when it only holds what others need. Nothing that a client does or
//! leaves undone keeps a connection, its memory or its place for longer than the bounds say.

mod arriving;
mod bounds;
mod patience;

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tower::ServiceExt as _;

use self::arriving::{Arriving, Late};
pub(crate) use self::bounds::Bounds;
use self::patience::{Conversation, Patient};
use crate::drain::Drain;

/// When a connection cannot be accepted there are no files left, as a rule, and none will be free a moment later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// In a drain: until an answer that is being written is, where no request is under way.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Answers requests, until the process drains; then no connection is accepted, and requests under way are answered.
pub(crate) async fn answering(listener: TcpListener, router: Router, bounds: Bounds, drain: Drain) {
    let places = Arc::new(Semaphore::new(bounds.connections as usize));
    let front = Arc::new(Front { http: http(&bounds), router, bounds });
    loop {
        let (stream, place) = tokio::select! {
            biased;
            () = drain.draining() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        tokio::spawn(Arc::clone(&front).attend(stream, drain.clone(), place));
    }
    drop(listener);
    tokio::select! {
        _all_are_gone = places.acquire_many(bounds.connections) => {}
        () = drain.leaving() => {}
    }
}

struct Front {
    http: http1::Builder,
    router: Router,
    bounds: Bounds,
}

fn http(bounds: &Bounds) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    // It counts from the end of the last answer on: so it is how long a connection may idle.
    http.header_read_timeout(bounds.idle).max_buf_size(bounds::BUFFER_BYTES).half_close(false);
    http
}

/// The next connection and its place. While all places are taken whoever comes waits where the kernel keeps them.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await.expect("nobody closes it");
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => return (stream, place),
            Err(error) if is_its_own(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

/// Whether it says something of this connection and nothing of the next.
fn is_its_own(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl Front {
    async fn attend(self: Arc<Self>, stream: TcpStream, drain: Drain, _place: OwnedSemaphorePermit) {
        // Answers are written whole: nothing is gained by waiting for more. Where either fails, it is only less good.
        let _quick = stream.set_nodelay(true);
        let _small = set_socket_send_buffer_size(&stream, bounds::UNREAD_BYTES);
        let conversation = Conversation::default();
        let io = Patient::new(TokioIo::new(stream), &conversation, self.bounds);
        let service = service_fn(|request| self.answer(request, &conversation));
        let mut connection = pin!(self.http.serve_connection(io, service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = drain.draining() => {
                connection.as_mut().graceful_shutdown();
                last_words(connection, &conversation).await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection was cut");
        }
    }

    async fn answer(&self, request: Request<Incoming>, conversation: &Conversation) -> Result<Response, Infallible> {
        conversation.request_begins();
        let late = Late::default();
        let request = request.map(|body| Body::new(Arriving::new(body, &self.bounds, late.clone())));
        let answer = self.router.clone().oneshot(request).await?;
        conversation.request_is_answered();
        Ok(if late.is_so() { arriving::too_slow(answer) } else { answer })
    }
}

/// A request that is under way is answered. One whose head is not there yet is not waited for.
async fn last_words(
    connection: impl Future<Output = hyper::Result<()>>,
    conversation: &Conversation,
) -> hyper::Result<()> {
    if conversation.is_under_way() {
        return connection.await;
    }
    timeout(LAST_WORDS, connection).await.unwrap_or(Ok(()))
}
