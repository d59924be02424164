//! Dialing: from a name to an open connection. The addresses are looked up, judged and connected to here, in one
//! place, so that the address judged is the address called, however the name's answer changes in between.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use minutehand_domain::run::AttemptError;
use thiserror::Error;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tower::Service;

use super::Reach;

/// Name, connection and TLS together. Whoever does not answer a SYN in this time is down, and a retry with its backoff
/// waits better than we do.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// They share the time; a name with more addresses than this does not get a try at each.
const ADDRESSES: usize = 8;

type Dialed<T> = Pin<Box<dyn Future<Output = Result<T, DialError>> + Send>>;

/// Opens a connection, with TLS where the URL says so, or says which step failed.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<Dial>,
}

impl Connector {
    pub(super) fn new(https: HttpsConnector<Dial>) -> Self {
        Self { https }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = DialError;
    type Future = Dialed<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let host = host_of(&uri).to_owned();
        let opening = self.https.call(uri);
        Box::pin(async move {
            match timeout(CONNECT_TIMEOUT, opening).await {
                Ok(Ok(stream)) => Ok(stream),
                // Dialing speaks for itself; whatever else went wrong did so in the handshake.
                Ok(Err(error)) => Err(error
                    .downcast::<DialError>()
                    .map_or_else(|error| DialError::Tls { host, why: error.to_string() }, |dial| *dial)),
                Err(_) => Err(DialError::TooSlow { host }),
            }
        })
    }
}

/// Opens a plain connection to an address within reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dial {
    reach: Reach,
}

impl Dial {
    pub(super) fn new(reach: Reach) -> Self {
        Self { reach }
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = DialError;
    type Future = Dialed<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let reach = self.reach;
        Box::pin(async move {
            let host = host_of(&uri);
            let addresses = resolve(host, port_of(&uri), reach).await?;
            let stream = first_to_open(&addresses).await.map_err(|error| DialError::of(host, &error))?;
            Ok(TokioIo::new(stream))
        })
    }
}

/// Every attempt that ends with one of these ended before a byte of its request was sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum DialError {
    #[error("no address was found for {host:.80}: {why}")]
    Unknown { host: String, why: String },
    #[error("no address of {host:.80} may be called from this deployment")]
    Forbidden { host: String },
    #[error("no connection to {host:.80}: {why}")]
    Closed { host: String, why: String },
    #[error("no connection to {host:.80} within {} s", CONNECT_TIMEOUT.as_secs())]
    TooSlow { host: String },
    #[error("no TLS with {host:.80}: {why}")]
    Tls { host: String, why: String },
}

impl DialError {
    fn of(host: &str, error: &io::Error) -> Self {
        let host = host.to_owned();
        if error.kind() == io::ErrorKind::TimedOut {
            Self::TooSlow { host }
        } else {
            Self::Closed { host, why: error.to_string() }
        }
    }

    pub(super) fn to_attempt_error(&self) -> AttemptError {
        let told = |code| AttemptError::new(code, &self.to_string()).unreached();
        match self {
            Self::Unknown { .. } => told("dns"),
            Self::Forbidden { .. } => told("forbidden_address").permanent(),
            Self::Closed { .. } => told("connect"),
            Self::TooSlow { .. } => told("timeout_connect"),
            Self::Tls { .. } => told("tls"),
        }
    }
}

async fn resolve(host: &str, port: u16, reach: Reach) -> Result<Vec<SocketAddr>, DialError> {
    let unknown = |why: String| DialError::Unknown { host: host.to_owned(), why };
    let mut found = lookup_host((host, port)).await.map_err(|error| unknown(error.to_string()))?.peekable();
    if found.peek().is_none() {
        return Err(unknown("the name has none".to_owned()));
    }
    let allowed: Vec<_> = found.filter(|address| reach.allows(address.ip())).take(ADDRESSES).collect();
    if allowed.is_empty() { Err(DialError::Forbidden { host: host.to_owned() }) } else { Ok(allowed) }
}

/// In the resolver's order. Each gets its share of the time, so that a silent first one leaves some to the others.
async fn first_to_open(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let share = CONNECT_TIMEOUT / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // The request is written at once; waiting to fill a segment would only delay it.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// Without the brackets that a URL puts around an IPv6 address.
fn host_of(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn port_of(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}
