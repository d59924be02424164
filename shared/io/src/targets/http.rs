//! Calling an HTTP target: one request, one answer, whatever the network does.
//!
//! [`reach`] decides which addresses may be called, [`address`] and [`headers`] refuse invalid URLs and headers,
//! [`request`] builds the request and [`trace`] a part of it, [`dial`] opens the connection, [`answer`] and [`errors`]
//! turn the result into an answer.

mod address;
mod answer;
mod dial;
mod errors;
mod headers;
mod reach;
mod request;
#[cfg(test)]
mod tests;
mod trace;

pub use address::{UrlRefusal, check_url};
pub use headers::{HeaderRefusal, check_headers};
pub use reach::{OutOfReach, Reach};

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use minutehand_domain::Moment;
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::target::HttpTarget;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use self::dial::{Connector, Dial};
use super::{Answer, Call, TargetRefusal, Transport};
use crate::Fault;

/// Node and Apache close an idle connection after 5 s. This process closes it earlier, so that no call meets a closing port,
/// which would fail a run that is tried at most once. A target called every second still keeps its connection.
const IDLE: Duration = Duration::from_secs(4);
/// A burst to one target reuses this many connections; more would only hold file descriptors.
const IDLE_PER_HOST: usize = 64;
/// The largest head of an answer. No intended headers are longer, and many calls share the memory.
const HEAD_BYTES: usize = 64 * 1024;

/// Whether a target may be called from here, as far as that is known when its job is created.
pub fn check_target(target: &HttpTarget, reach: Reach) -> Result<(), TargetRefusal> {
    let refused = |field, detail| TargetRefusal { field, detail };
    check_url(&target.url, reach).map_err(|why| refused("url", why.to_string()))?;
    check_headers(&target.headers).map_err(|why| refused("headers", why.to_string()))
}

/// Cheap to clone; the clones share their connections.
#[derive(Clone, Debug)]
pub struct HttpCaller {
    client: Client<Connector, Full<Bytes>>,
    reach: Reach,
}

impl HttpCaller {
    /// Trusts the certificate authorities that this machine trusts. A machine without any can still call plain HTTP: a
    /// warning is logged, and calls to `https` fail with `tls`.
    pub fn new(reach: Reach) -> Result<Self, Fault> {
        Ok(Self::trusting(native_roots()?, reach))
    }

    fn trusting(tls: ClientConfig, reach: Reach) -> Self {
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Dial::new(reach));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_HOST)
            .http1_max_buf_size(HEAD_BYTES)
            // Safe for a run that is tried at most once: hyper sends a request again only when its connection closed
            // before a byte of it was written.
            .retry_canceled_requests(true)
            .build(Connector::new(https));
        Self { client, reach }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>, now: Moment) -> Answer {
        match self.client.request(request).await {
            Ok(response) => answer::read(response, now).await,
            Err(error) => Answer::Failed { error: errors::before_an_answer(&error), retry_after: None },
        }
    }
}

impl Transport for HttpCaller {
    /// Connecting, sending and reading together take at most `call.timeout`.
    async fn call(&self, target: &HttpTarget, call: Call<'_>, secrets: &SigningSecrets) -> Answer {
        match request::build(target, &call, secrets, self.reach) {
            Ok(request) => {
                let exchange = self.exchange(request, call.now);
                tokio::time::timeout(call.timeout, exchange).await.unwrap_or(Answer::TimedOut)
            }
            Err(error) => Answer::Failed { error, retry_after: None },
        }
    }
}

/// The provider is given explicitly: an AWS SDK in the same process may bring a second one, and rustls does not choose.
fn native_roots() -> Result<ClientConfig, Fault> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::unavailable("http targets", error.to_string()))?;
    let trusting = builder.clone().with_native_roots().unwrap_or_else(|error| {
        tracing::warn!(%error, "no certificate authority is trusted here: calls to https targets will fail");
        builder.with_root_certificates(RootCertStore::empty())
    });
    Ok(trusting.with_no_client_auth())
}
