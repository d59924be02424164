//! What is asked of a service: one POST, before it is known where to and who signs it. What tells of the run stands where the service has
//! room for it.

use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::trace::{SpanId, TraceContext};
use serde_json::{Map, Value, json};

use crate::targets::Call;
use crate::targets::stamps::{of_the_run, stamps};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// With the query.
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Ask {
    /// One action of a service that speaks JSON.
    pub(super) fn json(version: &str, action: &'static str, body: &Value) -> Self {
        let kind = format!("application/x-amz-json-{version}");
        let headers = vec![("content-type", kind), ("x-amz-target", action.to_owned())];
        Self { path: "/".to_owned(), headers, body: body.to_string() }
    }
}

/// The payload as it was written; `null` where there is none, since no message may be empty.
pub(super) fn payload<'a>(call: &Call<'a>) -> &'a str {
    call.payload.map_or("null", |payload| payload.as_str())
}

/// What tells of the run, as fields of an object.
pub(super) fn told(call: &Call<'_>) -> Value {
    let fields = stamps(call).into_iter().map(|(name, value)| (field_of(name), Value::from(value)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// The payload beside what tells of the run.
pub(super) fn envelope(call: &Call<'_>) -> String {
    format!(r#"{{"minutehand":{},"payload":{}}}"#, told(call), payload(call))
}

/// As the attributes of a message.
pub(super) fn attributes(call: &Call<'_>) -> Value {
    let attribute =
        |(name, value): (&str, String)| (name.to_owned(), json!({ "DataType": "String", "StringValue": value }));
    Value::Object(stamps(call).into_iter().map(attribute).collect())
}

/// As variables, the same for each attempt of a run: the span that whoever reads them goes on below is the run's own.
pub(super) fn variables(call: &Call<'_>) -> Vec<(String, String)> {
    let mut variables: Vec<_> = of_the_run(call)
        .into_iter()
        .map(|(name, value)| (format!("MINUTEHAND_{}", field_of(name).to_uppercase()), value))
        .collect();
    let trace = TraceContext { span: SpanId::of_run(call.run), ..call.trace.clone() };
    variables.push(("TRACEPARENT".to_owned(), trace.to_string()));
    variables.extend(trace.state.map(|state| ("TRACESTATE".to_owned(), state.as_str().to_owned())));
    variables
}

/// `minutehand-scheduled-at` is `scheduled_at` where it stands inside something of ours.
fn field_of(name: &str) -> String {
    name.strip_prefix("minutehand-").unwrap_or(name).replace('-', "_")
}

/// Refused here where the service would refuse it, so that the message says how large it may be.
pub(super) fn within(bytes: usize, most: usize, service: &str) -> Result<(), AttemptError> {
    if bytes <= most {
        return Ok(());
    }
    Err(ErrorCode::TooLarge
        .error(&format!("{service} takes {most} bytes, what says which run it is among them; these are {bytes}")))
}
