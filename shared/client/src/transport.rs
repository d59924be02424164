//! The transport: one request, one answer, bounded in time and size, over HTTP/1.1 and TLS.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, StatusCode, response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use crate::call::Call;
use crate::error::{ClientError, NOBODY_LISTENS};

const CONNECT: Duration = Duration::from_secs(5);
/// Connecting, sending and reading together. The API answers in milliseconds; a page of a thousand runs in tenths.
const WHOLE: Duration = Duration::from_secs(60);
/// A page of a thousand jobs, each with the largest payload that a list shows, and room.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
const AGENT: &str = concat!("minutehand/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Debug)]
pub(crate) struct Transport {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    pub(crate) url: Url,
    authorization: Option<HeaderValue>,
}

/// One request and its answer, for those who watch.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub method: &'a Method,
    pub url: &'a Url,
    pub status: StatusCode,
    pub request_id: Option<&'a str>,
    pub took: Duration,
}

impl Transport {
    pub(crate) fn new(url: Url, key: Option<&str>) -> Result<Self, ClientError> {
        Self::with(url, key.map(bearer).transpose()?)
    }

    /// The same with connections of its own.
    pub(crate) fn apart(&self) -> Result<Self, ClientError> {
        Self::with(self.url.clone(), self.authorization.clone())
    }

    fn with(url: Url, authorization: Option<HeaderValue>) -> Result<Self, ClientError> {
        let trusting = trusting(url.scheme() == "https").map_err(|why| ClientError::Unsendable(why.to_string()))?;
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let https =
            HttpsConnectorBuilder::new().with_tls_config(trusting).https_or_http().enable_http1().wrap_connector(tcp);
        let http = legacy::Client::builder(TokioExecutor::new()).build(https);
        Ok(Self { http, url, authorization })
    }

    pub(crate) async fn exchange<T>(&self, call: &Call<T>) -> Result<(response::Parts, String), ClientError> {
        let request = self.request(call)?;
        let late = |_| Err(self.unreachable(format!("no answer within {} s", WHOLE.as_secs())));
        tokio::time::timeout(WHOLE, self.answer(request)).await.unwrap_or_else(late)
    }

    /// The head of an answer in as long as a whole one may take, and what is to come of it in its own time.
    pub(crate) async fn begin<T>(&self, call: &Call<T>) -> Result<(response::Parts, Incoming), ClientError> {
        let request = self.request(call)?;
        let late = |_| Err(self.unreachable(format!("no answer within {} s", WHOLE.as_secs())));
        tokio::time::timeout(WHOLE, self.asked(request)).await.unwrap_or_else(late)
    }

    async fn asked(&self, request: http::Request<Full<Bytes>>) -> Result<(response::Parts, Incoming), ClientError> {
        let response = self.http.request(request).await.map_err(|error| self.unreachable(why(&error)))?;
        Ok(response.into_parts())
    }

    async fn answer(&self, request: http::Request<Full<Bytes>>) -> Result<(response::Parts, String), ClientError> {
        let (head, body) = self.asked(request).await?;
        let body = Limited::new(body, ANSWER_BYTES).collect().await.map_err(|error| self.cut_off(&*error))?;
        let text = String::from_utf8(body.to_bytes().into()).map_err(|_| self.unreadable("it is not UTF-8"))?;
        Ok((head, text))
    }

    fn request<T>(&self, call: &Call<T>) -> Result<http::Request<Full<Bytes>>, ClientError> {
        if let Some(why) = call.is_refused() {
            return Err(ClientError::Unsendable(why.to_owned()));
        }
        let mut request = http::Request::builder()
            .method(&call.method)
            .uri(call.url(&self.url).as_str())
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let body = call.body.clone().map(Bytes::from).unwrap_or_default();
        request.body(Full::new(body)).map_err(|error| ClientError::Unsendable(format!("this cannot be sent: {error}")))
    }

    fn unreachable(&self, why: String) -> ClientError {
        ClientError::Unreachable { server: self.url.to_string(), why }
    }

    fn unreadable(&self, why: &str) -> ClientError {
        ClientError::unreadable(self.url.as_str(), why)
    }

    fn cut_off(&self, error: &(dyn Error + Send + Sync + 'static)) -> ClientError {
        if error.is::<LengthLimitError>() {
            return self.unreadable(&format!("it has more than {} MiB; ask for less by limit", ANSWER_BYTES >> 20));
        }
        self.unreachable(format!("the answer broke off: {}", why(error)))
    }
}

fn bearer(key: &str) -> Result<HeaderValue, ClientError> {
    let unusable = |_| ClientError::Unsendable("this key cannot be one: it must be visible ASCII".to_owned());
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(unusable)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The authorities that this machine trusts are read only where they are needed: that takes longer than most requests.
/// The provider is named: with an AWS SDK in the same process there may be two, and rustls does not choose.
fn trusting(natively: bool) -> io::Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let trusting =
        if natively { builder.with_native_roots()? } else { builder.with_root_certificates(RootCertStore::empty()) };
    Ok(trusting.with_no_client_auth())
}

/// What to do about the one thing that is wrong with a certificate which this machine can mend.
fn untrusted(error: &(dyn Error + 'static)) -> Option<String> {
    let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
    (said_by_tls(error)? == &unknown).then(|| {
        "no authority that this machine trusts has signed its certificate; SSL_CERT_FILE names a file with others"
            .to_owned()
    })
}

/// It lies in an I/O error, or in one within that, of which neither names it as its source.
fn said_by_tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    error.downcast_ref::<rustls::Error>().or_else(|| said_by_tls(error.downcast_ref::<io::Error>()?.get_ref()?))
}

/// The innermost cause says what happened; those around it say where in our own code.
fn why(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    match last.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => format!("no connection within {} s", CONNECT.as_secs()),
        Some(io::ErrorKind::ConnectionRefused) => NOBODY_LISTENS.to_owned(),
        _ => untrusted(last).unwrap_or_else(|| last.to_string()),
    }
}
