//! Calling an HTTP target: one request, one answer, whatever the network does.
//!
//! [`reach`] decides which addresses may be called, [`address`] and [`headers`] refuse invalid URLs and headers,
//! [`request`] builds the request, [`names`] knows the addresses of a name, [`dial`] opens the
//! connection, both with a file that [`files`] waits for where none is left, [`answer`] and [`errors`] turn the result into an answer.

mod address;
mod answer;
mod dial;
mod errors;
mod files;
mod headers;
mod names;
mod reach;
mod request;
#[cfg(test)]
pub(super) mod tests;

pub use address::{UrlRefusal, check_url};
pub use answer::retry_after;
pub use headers::{HeaderRefusal, check_headers};
pub use reach::{OutOfReach, Reach};

#[cfg(feature = "aws")]
pub(super) use self::answer::AnswerBody;
#[cfg(feature = "aws")]
pub(super) use self::errors::broken;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
#[cfg(feature = "aws")]
use http::Response;
use http_body_util::Full;
#[cfg(feature = "aws")]
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use minutehand_domain::Moment;
#[cfg(feature = "aws")]
use minutehand_domain::run::AttemptError;
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::target::{HttpTarget, Timeouts};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use self::dial::{Connector, Dial};
use self::names::Names;
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
        Ok(Self::trusting(native_roots()?, reach, Names::of_this_machine()))
    }

    fn trusting(tls: ClientConfig, reach: Reach, names: Names) -> Self {
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Dial::new(reach, names));
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

    /// Sends a request that is made already, out of nobody's share.
    #[cfg(feature = "aws")]
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, AttemptError> {
        self.client.request(request).await.map_err(|error| errors::before_an_answer(&error))
    }

    /// `first_byte`: how long it may take until an answer begins. `token`: what the target shows later if it takes the run on.
    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        first_byte: Option<Duration>,
        token: &str,
        now: Moment,
    ) -> Answer {
        let head = tokio::time::timeout(first_byte.unwrap_or(Duration::MAX), self.client.request(request));
        match head.await {
            Ok(Ok(response)) => answer::read(response, token, now).await,
            Ok(Err(error)) => Answer::Failed { error: errors::before_an_answer(&error), retry_after: None },
            Err(_elapsed) => Answer::Failed { error: errors::no_first_byte(first_byte), retry_after: None },
        }
    }
}

impl Transport for HttpCaller {
    /// Connecting, sending and reading together take at most `call.timeout`.
    async fn call(&self, target: &HttpTarget, call: Call<'_>, secrets: &SigningSecrets) -> Answer {
        let token = secrets.lease_token(call.run, call.attempt);
        match request::build(target, &call, secrets, &token, self.reach) {
            Ok(request) => {
                let Timeouts { first_byte, .. } = target.timeouts;
                let exchange = self.exchange(request, first_byte, &token, call.now);
                let exchange = dial::dialing(call.tenant.clone(), target.timeouts.connect(), exchange);
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
