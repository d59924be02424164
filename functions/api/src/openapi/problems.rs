//! The refusals of the document: one answer for each kind of problem.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::operation_doc::schema_of;
use super::references::header;
use super::schemas::Schemas;
use crate::problem::Kind;

/// The status of a request body that never arrived. The front answers it, before any route.
const TOO_SLOW: &str = "/problems/too-slow";

/// The name of the answer that an operation gives for these kinds, all of one status.
pub(super) fn name(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| format!("{kind:?}")).collect::<Vec<_>>().join("Or")
}

pub(super) fn responses(schemas: &mut Schemas) -> Map<String, Value> {
    let problem = schemas.shown(schema_of::<minutehand_wire::Problem>);
    let mut all: Map<_, _> = Kind::ALL.iter().map(|kind| (name(&[*kind]), response(&[*kind], &problem))).collect();
    let either = [Kind::Invalid, Kind::KeyReused];
    all.insert(name(&either), response(&either, &problem));
    all.insert("TooSlow".to_owned(), too_slow());
    all
}

/// A table of all problems, for readers.
pub(super) fn table() -> String {
    let row = |kind: &Kind| format!("| {} | `{}` | {} |\n", kind.status().as_u16(), kind.slug(), kind.title());
    let rows: String = Kind::ALL.iter().map(row).collect();
    format!(
        "| status | type | what it says |\n|---|---|---|\n{rows}| 408 | `{TOO_SLOW}` | The request came too slowly |\n"
    )
}

fn response(kinds: &[Kind], problem: &Value) -> Value {
    let status = kinds[0].status();
    let slugs: Vec<_> = kinds.iter().map(|kind| kind.slug()).collect();
    let said: Vec<_> = kinds.iter().map(|kind| kind.title()).collect();
    let narrowed = json!({ "properties": { "type": { "enum": slugs }, "status": { "const": status.as_u16() } } });
    json!({
        "description": format!("{}.", said.join(", or: ")),
        "headers": headers(kinds[0]),
        "content": { "application/problem+json": { "schema": { "allOf": [problem, narrowed] } } },
    })
}

fn headers(kind: Kind) -> Value {
    let mut headers = json!({ "Request-Id": header("RequestId") });
    match kind {
        Kind::Unauthorized => headers["WWW-Authenticate"] = header("WwwAuthenticate"),
        Kind::MethodNotAllowed => headers["Allow"] = header("Allow"),
        Kind::QuotaExceeded | Kind::Unavailable => headers["Retry-After"] = header("RetryAfter"),
        _ => {}
    }
    headers
}

fn too_slow() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "type": { "const": TOO_SLOW }, "status": { "const": StatusCode::REQUEST_TIMEOUT.as_u16() } },
        "required": ["type", "title", "status", "detail", "request_id"],
    });
    json!({
        "description": "The request came too slowly.",
        "content": { "application/problem+json": { "schema": schema } },
    })
}
