//! A collector: an HTTP server of the test's own that reads OTLP, or one that takes connections and never answers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) struct Collector {
    address: SocketAddr,
    told: Told,
    serving: JoinHandle<()>,
}

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Heard>>);

/// All that it was told, as it came.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    pub(crate) spans: Vec<Span>,
    pub(crate) metrics: Vec<Metric>,
    /// Who told it last.
    pub(crate) resource: BTreeMap<String, String>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let told = Told::default();
        let router = Router::new()
            .route("/v1/traces", post(traces))
            .route("/v1/metrics", post(metrics))
            .with_state(told.clone());
        Self::serving(told, |listener| async move { axum::serve(listener, router).await.expect("it serves") }).await
    }

    /// It takes each connection, and says nothing to anybody.
    pub(crate) async fn hanging() -> Self {
        let hang = |listener: TcpListener| async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                held.push(stream);
            }
        };
        Self::serving(Told::default(), hang).await
    }

    async fn serving<F>(told: Told, serve: impl FnOnce(TcpListener) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        Self { address, told, serving: tokio::spawn(serve(listener)) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn heard(&self) -> Heard {
        self.told.0.lock().expect("no collector panics").clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Heard {
    /// The spans of this name, as they came.
    pub(crate) fn named(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// What was told last of a metric.
    pub(crate) fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().rfind(|metric| metric.name == name)
    }
}

/// The attributes that are texts.
pub(crate) fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some((attribute.key.clone(), text.clone())),
        _no_text => None,
    };
    attributes.iter().filter_map(text).collect()
}

async fn traces(State(told): State<Told>, body: Bytes) -> StatusCode {
    let Ok(read) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    let mut heard = told.0.lock().expect("no collector panics");
    for of in read.resource_spans {
        heard.resource = texts(&of.resource.unwrap_or_default().attributes);
        heard.spans.extend(of.scope_spans.into_iter().flat_map(|scope| scope.spans));
    }
    StatusCode::OK
}

async fn metrics(State(told): State<Told>, body: Bytes) -> StatusCode {
    let Ok(read) = ExportMetricsServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    let mut heard = told.0.lock().expect("no collector panics");
    let scopes = read.resource_metrics.into_iter().flat_map(|of| of.scope_metrics);
    heard.metrics.extend(scopes.flat_map(|scope| scope.metrics));
    StatusCode::OK
}
