//! The collector: one request to it, and what it says of that.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use minutehand_domain::Moment;
use minutehand_io::targets::http::retry_after;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::settings::Settings;
use crate::signal::Signal;
use crate::{ExportError, Identity};

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("minutehand/", env!("CARGO_PKG_VERSION")));
/// An answer is a number and a sentence.
const ANSWER_BYTES: usize = 64 * 1024;
/// A collector that is gone is found out about while there is time for another try.
const CONNECT: Duration = Duration::from_secs(3);
/// As for targets: whoever listens closes an idle connection after 5 s and more.
const IDLE: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(crate) struct Collector {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    traces: Uri,
    metrics: Uri,
    headers: HeaderMap,
    now: fn() -> Moment,
}

/// What it said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All but so many, which it never will.
    Taken { rejected: u64, why: String },
    /// Not now; perhaps after so long.
    Later { after: Option<Duration>, why: String },
    /// Never.
    Refused { why: String },
}

impl Collector {
    pub(crate) fn new(settings: &Settings, identity: &Identity) -> Result<Self, ExportError> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let trusting = trusting(settings.traces.scheme_str() == Some("https")).map_err(ExportError::Trust)?;
        let https =
            HttpsConnectorBuilder::new().with_tls_config(trusting).https_or_http().enable_http1().wrap_connector(tcp);
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(2)
            .build(https);
        let Settings { traces, metrics, headers, .. } = settings.clone();
        Ok(Self { http, traces, metrics, headers, now: identity.now })
    }

    pub(crate) async fn post(&self, signal: Signal, body: Bytes) -> Answer {
        let response = match self.http.request(self.request(signal, body)).await {
            Ok(response) => response,
            Err(error) => return Answer::Later { after: None, why: why(&error) },
        };
        let (head, body) = response.into_parts();
        let why = || format!("the collector answered {}", head.status);
        match head.status {
            // A redirect is not followed: a collector's key would go with it.
            status if status.is_success() => {
                let body = Limited::new(body, ANSWER_BYTES).collect().await;
                taken(signal, body.map(Collected::to_bytes).unwrap_or_default())
            }
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                Answer::Later { after: retry_after(&head.headers, (self.now)()), why: why() }
            }
            _ => Answer::Refused { why: why() },
        }
    }

    fn request(&self, signal: Signal, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = match signal {
            Signal::Traces => self.traces.clone(),
            Signal::Metrics => self.metrics.clone(),
        };
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        headers.insert(CONTENT_TYPE, PROTOBUF);
        headers.entry(USER_AGENT).or_insert(AGENT);
        request
    }
}

/// A 2xx whose body cannot be read is a 2xx.
fn taken(signal: Signal, body: Bytes) -> Answer {
    let partly = match signal {
        Signal::Traces => ExportTraceServiceResponse::decode(body)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partly| (partly.rejected_spans, partly.error_message)),
        Signal::Metrics => ExportMetricsServiceResponse::decode(body)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partly| (partly.rejected_data_points, partly.error_message)),
    };
    let (rejected, why) = partly.unwrap_or_default();
    Answer::Taken { rejected: rejected.try_into().unwrap_or_default(), why }
}

fn why(error: &Error) -> String {
    let cause = std::iter::successors(std::error::Error::source(error), |cause| cause.source()).last();
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

/// The authorities that this machine trusts are read only where they are needed. The provider is named: with an AWS SDK in the same process there may
/// be two, and rustls does not choose.
fn trusting(natively: bool) -> std::io::Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?;
    let trusting =
        if natively { builder.with_native_roots()? } else { builder.with_root_certificates(RootCertStore::empty()) };
    Ok(trusting.with_no_client_auth())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use std::sync::Mutex;

    use http::Response;
    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;

    /// What a stub says to one request.
    #[derive(Clone, Debug)]
    pub(crate) enum Said {
        Answer(u16, HeaderMap, Vec<u8>),
        /// It takes the request and never answers.
        Nothing,
    }

    impl Said {
        pub(crate) fn taken() -> Self {
            Self::Answer(200, HeaderMap::new(), Vec::new())
        }
    }

    /// A request as it came.
    #[derive(Clone, Debug)]
    pub(crate) struct Asked {
        pub(crate) path: String,
        pub(crate) headers: HeaderMap,
        pub(crate) body: Bytes,
    }

    /// A collector that says what it is told to, in turn, and then that it takes everything.
    pub(crate) struct Stub {
        pub(crate) address: SocketAddr,
        asked: Arc<Mutex<Vec<Asked>>>,
        serving: JoinHandle<()>,
    }

    impl Stub {
        pub(crate) async fn saying(said: Vec<Said>) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
            let (seen, said) = (Arc::clone(&asked), Arc::new(Mutex::new(VecDeque::from(said))));
            let serving = tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (seen, said) = (Arc::clone(&seen), Arc::clone(&said));
                    let service = service_fn(move |request| answer(request, Arc::clone(&seen), Arc::clone(&said)));
                    tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
                }
            });
            Self { address, asked, serving }
        }

        pub(crate) fn settings(&self) -> Settings {
            Settings::read(&|_| None, Some(&format!("http://{}", self.address))).unwrap().unwrap()
        }

        pub(crate) fn collector(&self) -> Collector {
            Collector::new(&self.settings(), &identity()).unwrap()
        }

        pub(crate) fn asked(&self) -> usize {
            self.seen().len()
        }

        pub(crate) fn seen(&self) -> Vec<Asked> {
            self.asked.lock().unwrap().clone()
        }
    }

    impl Drop for Stub {
        fn drop(&mut self) {
            self.serving.abort();
        }
    }

    pub(crate) fn identity() -> Identity {
        Identity { service: "minutehand".to_owned(), instance: 0xfeed, now: || Moment::from_secs(1_800_000_000) }
    }

    async fn answer(
        request: Request<Incoming>,
        seen: Arc<Mutex<Vec<Asked>>>,
        said: Arc<Mutex<VecDeque<Said>>>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        seen.lock().unwrap().push(Asked { path: head.uri.path().to_owned(), headers: head.headers, body });
        let said = said.lock().unwrap().pop_front().unwrap_or_else(Said::taken);
        let Said::Answer(status, headers, body) = said else { return std::future::pending().await };
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        *response.headers_mut() = headers;
        Ok(response)
    }

    #[tokio::test]
    async fn a_request_is_what_otlp_asks_for() {
        let stub = Stub::saying(Vec::new()).await;
        let set = |name: &str| (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| "api-key=hush".to_owned());
        let endpoint = format!("http://{}/below", stub.address);
        let settings = Settings::read(&set, Some(&endpoint)).unwrap().unwrap();
        let collector = Collector::new(&settings, &identity()).unwrap();

        for signal in [Signal::Traces, Signal::Metrics] {
            let answer = collector.post(signal, Bytes::from_static(b"body")).await;
            assert_eq!(answer, Answer::Taken { rejected: 0, why: String::new() });
        }

        let paths: Vec<String> = stub.seen().iter().map(|asked| asked.path.clone()).collect();
        assert_eq!(paths, ["/below/v1/traces", "/below/v1/metrics"]);
        for Asked { headers, body, .. } in stub.seen() {
            assert_eq!((&headers["content-type"], &headers["api-key"]), (&PROTOBUF, &HeaderValue::from_static("hush")));
            assert_eq!(body, "body");
        }
    }

    /// Removed: the bound of an answer's body; it was read to its end, and told of three that were rejected.
    #[tokio::test]
    async fn no_more_of_an_answer_is_read_than_one_has() {
        let partly =
            ExportMetricsPartialSuccess { rejected_data_points: 3, error_message: "x".repeat(2 * ANSWER_BYTES) };
        let long = ExportMetricsServiceResponse { partial_success: Some(partly.clone()) }.encode_to_vec();
        let short = ExportMetricsPartialSuccess { error_message: "x".to_owned(), ..partly };
        let short = ExportMetricsServiceResponse { partial_success: Some(short) }.encode_to_vec();
        let said = [long, short].map(|body| Said::Answer(200, HeaderMap::new(), body)).to_vec();
        let stub = Stub::saying(said).await;
        let collector = stub.collector();

        let told =
            [collector.post(Signal::Metrics, Bytes::new()).await, collector.post(Signal::Metrics, Bytes::new()).await];

        let rejected = |rejected, why: &str| Answer::Taken { rejected, why: why.to_owned() };
        assert_eq!(told, [rejected(0, ""), rejected(3, "x")]);
    }

    #[tokio::test]
    async fn a_collector_that_is_away_may_be_back_later() {
        let stub = Stub::saying(Vec::new()).await;
        let collector = stub.collector();
        drop(stub);
        tokio::task::yield_now().await;

        let answer = collector.post(Signal::Traces, Bytes::new()).await;

        assert!(matches!(answer, Answer::Later { after: None, .. }), "{answer:?}");
    }
}
