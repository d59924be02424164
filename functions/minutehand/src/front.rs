//! The front: serves connections, and cuts those that only hold resources. No behaviour of a client keeps a connection, its
//! memory or its permit for longer than the bounds.

mod bounds;
mod incoming_body;
mod outgoing_body;
mod places;
mod timed_io;

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
use minutehand_api::{Seat, Source};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower::ServiceExt as _;

pub(crate) use self::bounds::Bounds;
use self::incoming_body::{IncomingBody, Late};
use self::outgoing_body::OutgoingBody;
use self::places::{Place, Places};
use self::timed_io::{TimedIo, Turns};
use crate::drain::Drain;
use crate::tls::Tls;

/// When a connection cannot be accepted, files have usually run out, and none will be free a moment later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// In a drain: how long an answer may take to be written where no request is under way.
const FINISH: Duration = Duration::from_secs(1);

/// Answers everybody's requests until no attempt runs any more in a drain: what is called may say that it lives, or ask for an effect. Then
/// it accepts no connection, and answers the requests under way.
pub(crate) async fn answering(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    tls: Option<Arc<Tls>>,
    drain: Drain,
) {
    let places = Places::new(bounds.connections);
    let front = Arc::new(Front { http: http(&bounds), router, bounds, tls });
    loop {
        let (stream, place) = tokio::select! {
            biased;
            () = drain.closing() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        tokio::spawn(Arc::clone(&front).serve(stream, drain.clone(), place));
    }
    drop(listener);
    let patience = async {
        drain.leaving().await;
        tokio::time::sleep(FINISH).await;
    };
    tokio::select! {
        () = places.empty() => {}
        () = patience => {}
    }
}

struct Front {
    http: http1::Builder,
    router: Router,
    bounds: Bounds,
    /// None where the API speaks plain HTTP.
    tls: Option<Arc<Tls>>,
}

fn http(bounds: &Bounds) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    // Measured from the end of the last answer: so this is how long a connection may idle.
    http.header_read_timeout(bounds.idle).max_buf_size(bounds::BUFFER_BYTES).half_close(false);
    http
}

/// The next connection and its place. While there is none, it waits here, and those after it in the kernel's backlog.
async fn accept(listener: &TcpListener, places: &Arc<Places>) -> (TcpStream, (Place, Source)) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let source = Source::of(peer.ip());
                return (stream, (places.enter(source).await, source));
            }
            Err(error) if is_its_own(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

/// Whether the error concerns only this connection and not the next one.
fn is_its_own(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl Front {
    async fn serve(self: Arc<Self>, stream: TcpStream, drain: Drain, (place, source): (Place, Source)) {
        let place = Arc::new(place);
        // Answers are written whole: waiting for more gains nothing. A failure of either call costs only speed or memory.
        let _quick = stream.set_nodelay(true);
        let _small = set_socket_send_buffer_size(&stream, bounds::UNREAD_BYTES);
        let Some(tls) = &self.tls else { return self.serve_over(stream, drain, place, source).await };
        let shaken = tokio::select! {
            shaken = timeout(self.bounds.head, tls.acceptor().accept(stream)) => shaken,
            () = place.is_given_up() => return,
            () = drain.closing() => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.serve_over(stream, drain, place, source).await,
            Ok(Err(error)) => tracing::debug!(%error, "a connection speaks no TLS that can be agreed on"),
            Err(_late) => tracing::debug!("a connection did not come to an agreement on TLS in time"),
        }
    }

    async fn serve_over<S>(&self, stream: S, drain: Drain, place: Arc<Place>, source: Source)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let turns = Turns::default();
        let io = TimedIo::new(TokioIo::new(stream), &turns, self.bounds).in_place(&place);
        let service = service_fn(|request| self.answer(request, &turns, &place, source));
        let mut connection = pin!(self.http.serve_connection(io, service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = place.is_given_up() => {
                tracing::debug!("a connection without a request gave its place to another");
                return;
            }
            () = drain.closing() => {
                connection.as_mut().graceful_shutdown();
                finish(connection, &turns).await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection was cut");
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        turns: &Turns,
        place: &Arc<Place>,
        source: Source,
    ) -> Result<Response, Infallible> {
        turns.request_begins();
        place.request_begins();
        let late = Late::default();
        let mut request = request.map(|body| Body::new(IncomingBody::new(body, &self.bounds, late.clone())));
        request.extensions_mut().insert(source);
        request.extensions_mut().insert::<Arc<dyn Seat>>(Arc::clone(place) as _);
        let answer = self.router.clone().oneshot(request).await?;
        turns.request_is_answered();
        place.answer_begins();
        let answer = if late.is_set() { incoming_body::too_slow(answer) } else { answer };
        Ok(answer.map(|body| Body::new(OutgoingBody::new(body, Arc::clone(place)))))
    }
}

/// Answers a request under way. A request without a complete head is not waited for.
async fn finish(connection: impl Future<Output = hyper::Result<()>>, turns: &Turns) -> hyper::Result<()> {
    if turns.is_under_way() {
        return connection.await;
    }
    timeout(FINISH, connection).await.unwrap_or(Ok(()))
}
