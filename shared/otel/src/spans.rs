//! Spans in OTLP's own words.

use minutehand_domain::trace::TraceContext;
use minutehand_io::spans::{Outcome, Span, SpanKind, Value};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::Link;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{self as otlp, ResourceSpans, ScopeSpans, Status};

use crate::points::{attribute, nanos, scope};

/// Of the flags of a context.
const SAMPLED: u32 = 1;

pub(crate) fn request(resource: &Resource, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let spans = spans.into_iter().map(told).collect();
    let scope_spans = ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() };
    let resource_spans =
        ResourceSpans { resource: Some(resource.clone()), scope_spans: vec![scope_spans], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

fn told(span: Span) -> otlp::Span {
    otlp::Span {
        trace_id: span.context.trace.as_bytes().to_vec(),
        span_id: span.context.span.as_bytes().to_vec(),
        trace_state: state(&span.context),
        parent_span_id: span.parent.map(|parent| parent.as_bytes().to_vec()).unwrap_or_default(),
        flags: flags(&span.context),
        name: span.name.into_owned(),
        kind: kind(span.kind).into(),
        start_time_unix_nano: nanos(span.start),
        end_time_unix_nano: nanos(span.end),
        attributes: span.attributes.into_iter().map(said).collect(),
        links: span.links.iter().map(link).collect(),
        status: status(span.outcome),
        ..otlp::Span::default()
    }
}

fn said((name, value): (&'static str, Value)) -> KeyValue {
    attribute(
        name,
        match value {
            Value::Text(text) => any_value::Value::StringValue(text),
            Value::Number(number) => any_value::Value::IntValue(number),
            Value::Flag(flag) => any_value::Value::BoolValue(flag),
        },
    )
}

fn link(to: &TraceContext) -> Link {
    Link {
        trace_id: to.trace.as_bytes().to_vec(),
        span_id: to.span.as_bytes().to_vec(),
        trace_state: state(to),
        flags: flags(to),
        ..Link::default()
    }
}

fn state(context: &TraceContext) -> String {
    context.state.as_ref().map(|state| state.as_str().to_owned()).unwrap_or_default()
}

fn flags(context: &TraceContext) -> u32 {
    if context.sampled { SAMPLED } else { 0 }
}

fn kind(kind: SpanKind) -> otlp::span::SpanKind {
    match kind {
        SpanKind::Internal => otlp::span::SpanKind::Internal,
        SpanKind::Server => otlp::span::SpanKind::Server,
        SpanKind::Client => otlp::span::SpanKind::Client,
        SpanKind::Producer => otlp::span::SpanKind::Producer,
        SpanKind::Consumer => otlp::span::SpanKind::Consumer,
    }
}

fn status(outcome: Outcome) -> Option<Status> {
    match outcome {
        Outcome::Unset => None,
        Outcome::Ok => Some(Status { code: StatusCode::Ok.into(), message: String::new() }),
        Outcome::Error(message) => Some(Status { code: StatusCode::Error.into(), message }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use minutehand_domain::Moment;
    use minutehand_domain::trace::{SpanId, TraceId};
    use prost::Message as _;

    use super::*;

    pub(crate) fn span() -> Span {
        let creator =
            TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", Some("rojo=1")).unwrap();
        let trace = TraceId::from_bytes([7; 16]).unwrap();
        let context = TraceContext { trace, span: SpanId::from_bytes([8; 8]).unwrap(), sampled: true, state: None };
        Span {
            context,
            parent: SpanId::from_bytes([9; 8]),
            links: vec![creator],
            name: "attempt".into(),
            kind: SpanKind::Client,
            start: Moment::from_millis(1_800_000_000_001),
            end: Moment::from_millis(1_800_000_000_250),
            attributes: vec![
                ("minutehand.tenant", Value::Text("acme".to_owned())),
                ("minutehand.attempt", Value::Number(2)),
                ("minutehand.test", Value::Flag(true)),
            ],
            outcome: Outcome::Error("it answered with 503".to_owned()),
        }
    }

    fn value(name: &str, value: any_value::Value) -> KeyValue {
        attribute(name, value)
    }

    #[test]
    fn a_span_is_read_as_it_was_told() {
        let told = request(&Resource::default(), vec![span()]).encode_to_vec();

        let read = ExportTraceServiceRequest::decode(&*told).unwrap();

        let link = Link {
            trace_id: b"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36".to_vec(),
            span_id: b"\x00\xf0\x67\xaa\x0b\xa9\x02\xb7".to_vec(),
            trace_state: "rojo=1".to_owned(),
            flags: 0,
            ..Link::default()
        };
        let wanted = otlp::Span {
            trace_id: vec![7; 16],
            span_id: vec![8; 8],
            parent_span_id: vec![9; 8],
            flags: 1,
            name: "attempt".to_owned(),
            kind: 3,
            start_time_unix_nano: 1_800_000_000_001_000_000,
            end_time_unix_nano: 1_800_000_000_250_000_000,
            attributes: vec![
                value("minutehand.tenant", any_value::Value::StringValue("acme".to_owned())),
                value("minutehand.attempt", any_value::Value::IntValue(2)),
                value("minutehand.test", any_value::Value::BoolValue(true)),
            ],
            links: vec![link],
            status: Some(Status { code: 2, message: "it answered with 503".to_owned() }),
            ..otlp::Span::default()
        };
        assert_eq!(read.resource_spans[0].scope_spans[0].spans, [wanted]);
    }

    #[test]
    fn each_kind_and_each_outcome_has_its_number() {
        let kinds = [SpanKind::Internal, SpanKind::Server, SpanKind::Client, SpanKind::Producer, SpanKind::Consumer];
        assert_eq!(kinds.map(|kind| told(Span { kind, parent: None, ..span() }).kind), [1, 2, 3, 4, 5]);
        let codes = [Outcome::Unset, Outcome::Ok, Outcome::Error(String::new())];
        let codes = codes.map(|outcome| told(Span { outcome, ..span() }).status.map(|status| status.code));
        assert_eq!(codes, [None, Some(1), Some(2)]);
        assert_eq!(told(Span { parent: None, ..span() }).parent_span_id, [0; 0]);
    }
}
