//! The documentation of the deployment's routes: stats, metrics, health, this document.

use std::collections::BTreeMap;

use http::StatusCode;
use minutehand_wire::{HealthView, StatsQuery, StatsView};
use serde_json::Value;

use super::operation_doc::AnswerHeader::ETag;
use super::operation_doc::{Content, OperationDoc, RequestHeader, ResponseDoc, Tag, schema_of};
use crate::problem::Kind;

pub(crate) fn stats() -> OperationDoc {
    OperationDoc::new(Tag::Deployment, "get_stats", "Show how your runs and jobs are doing")
        .more("Counted when asked. `complete` says whether everything was counted.")
        .query::<StatsQuery>()
        .shows(ResponseDoc::json::<StatsView>(StatusCode::OK, "Counts of your tenant's."))
}

pub(crate) fn metrics() -> OperationDoc {
    let text = Content { media_type: "text/plain", schema: schema_of::<String> };
    OperationDoc::new(Tag::Deployment, "get_metrics", "Show what the process says of itself")
        .more("In Prometheus' text. Where no process stays to be asked it is not there: the metrics are in CloudWatch.")
        .refuses(Kind::NotFound)
        .shows(ResponseDoc::content(StatusCode::OK, "The metrics of all tenants together.", text))
}

pub(crate) fn health() -> OperationDoc {
    OperationDoc::new(Tag::Deployment, "get_health", "Show that it lives and is ready")
        .refuses(Kind::Unavailable)
        .shows(ResponseDoc::json::<HealthView>(StatusCode::OK, "It lives, and its store can be read."))
}

pub(crate) fn openapi() -> OperationDoc {
    OperationDoc::new(Tag::Deployment, "get_openapi", "Show this document")
        .header(RequestHeader::IfNoneMatch)
        .shows(ResponseDoc::json::<BTreeMap<String, Value>>(StatusCode::OK, "OpenAPI 3.1.").with(ETag))
        .shows(ResponseDoc::nothing(StatusCode::NOT_MODIFIED, "It is the one you have.").with(ETag))
}
