//! The server, from its client's side: one request, one answer, bounded in time and size.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::answer::Answer;
use super::connection::is_here;
use super::problem::Problem;
use super::request::Request;
use super::trouble::Trouble;

const CONNECT: Duration = Duration::from_secs(5);
/// Connecting, asking and reading together. The API answers in milliseconds; a page of a thousand runs in tenths.
const WHOLE: Duration = Duration::from_secs(60);
/// A page of a thousand jobs, each with the largest payload that a list shows, and room.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
const AGENT: &str = concat!("minutehand/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Debug)]
pub(crate) struct Server {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: Url,
    authorization: Option<HeaderValue>,
    verbose: bool,
}

impl Server {
    pub(crate) fn new(url: Url, key: Option<&str>, verbose: bool) -> Result<Self, Trouble> {
        let authorization = key.map(bearer).transpose()?;
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(trusting(url.scheme() == "https")?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let http = legacy::Client::builder(TokioExecutor::new()).build(https);
        Ok(Self { http, url, authorization, verbose })
    }

    /// An answer that is no success is trouble.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Answer, Trouble> {
        let begin = Instant::now();
        let asked = tokio::time::timeout(WHOLE, self.exchange(request)).await;
        let (head, text) =
            asked.unwrap_or_else(|_| Err(self.unreachable(format!("no answer within {} s", WHOLE.as_secs()))))?;
        self.tell(request, &head, begin.elapsed());
        if head.status.is_success() {
            let replayed = head.headers.contains_key("idempotency-replayed");
            return Ok(Answer { text, replayed, server: self.url.to_string() });
        }
        Err(Trouble::Refused(Problem::read(head.status, seconds(&head.headers), &text).into()))
    }

    async fn exchange(&self, request: &Request) -> Result<(http::response::Parts, String), Trouble> {
        let response =
            self.http.request(self.written(request)?).await.map_err(|error| self.unreachable(why(&error)))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await.map_err(|error| self.cut_off(&*error))?;
        let text = String::from_utf8(body.to_bytes().into()).map_err(|_| self.strange("it is not UTF-8"))?;
        Ok((head, text))
    }

    fn written(&self, request: &Request) -> Result<http::Request<Full<Bytes>>, Trouble> {
        let mut written = http::Request::builder()
            .method(&request.method)
            .uri(request.url(&self.url).as_str())
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            written = written.header(AUTHORIZATION, authorization);
        }
        if request.body.is_some() {
            written = written.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in &request.headers {
            written = written.header(*name, value);
        }
        let body = request.body.clone().map(Bytes::from).unwrap_or_default();
        written.body(Full::new(body)).map_err(|error| Trouble::Usage(format!("this cannot be sent: {error}")))
    }

    fn unreachable(&self, why: String) -> Trouble {
        let hint = is_here(&self.url)
            .then_some("is it running? `minutehand serve` starts one; MINUTEHAND_URL says where it is");
        Trouble::Unreachable { server: self.url.to_string(), why, hint }
    }

    fn cut_off(&self, error: &(dyn Error + Send + Sync + 'static)) -> Trouble {
        if error.is::<http_body_util::LengthLimitError>() {
            return self.strange(&format!("it has more than {} MiB; ask for less by --limit", ANSWER_BYTES >> 20));
        }
        self.unreachable(format!("the answer broke off: {}", why(error)))
    }

    fn strange(&self, why: &str) -> Trouble {
        Trouble::Strange { server: self.url.to_string(), why: why.to_owned() }
    }

    fn tell(&self, request: &Request, head: &http::response::Parts, took: Duration) {
        if self.verbose {
            let id = head.headers.get("request-id").and_then(|id| id.to_str().ok()).unwrap_or("-");
            let (method, url) = (&request.method, request.url(&self.url));
            eprintln!("{method} {url}: {} in {} ms, {id}", head.status, took.as_millis());
        }
    }
}

fn bearer(key: &str) -> Result<HeaderValue, Trouble> {
    let unusable = |_| Trouble::Usage("this key cannot be one: it must be visible ASCII".to_owned());
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(unusable)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The authorities that this machine trusts are read only where they are needed: that takes longer than most requests.
/// The provider is named: with an AWS SDK in the same process there may be two, and rustls does not choose.
fn trusting(natively: bool) -> Result<ClientConfig, Trouble> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let trusting =
        if natively { builder.with_native_roots()? } else { builder.with_root_certificates(RootCertStore::empty()) };
    Ok(trusting.with_no_client_auth())
}

/// The innermost cause says what happened; those around it say where in our own code.
fn why(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    match last.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => format!("no connection within {} s", CONNECT.as_secs()),
        Some(io::ErrorKind::ConnectionRefused) => "nobody listens there".to_owned(),
        _ => last.to_string(),
    }
}

/// A `Retry-After` as this API writes it.
fn seconds(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}
