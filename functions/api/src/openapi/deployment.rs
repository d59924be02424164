//! What the routes of the deployment say: how it is doing, and this document.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::Value;

use super::says::AnswerHeader::ETag;
use super::says::{Content, RequestHeader, Says, Shows, Tag, schema_of};
use crate::health::HealthView;
use crate::problem::Kind;
use crate::stats::{StatsParams, StatsView};

pub(crate) fn stats() -> Says {
    Says::new(Tag::Deployment, "get_stats", "Show how your runs and jobs are doing")
        .more("Counted when asked. `complete` says whether everything was counted.")
        .query::<StatsParams>()
        .shows(Shows::json::<StatsView>(StatusCode::OK, "Counts of your tenant's."))
}

pub(crate) fn metrics() -> Says {
    let text = Content { media_type: "text/plain", schema: schema_of::<String> };
    Says::new(Tag::Deployment, "get_metrics", "Show what the process says of itself")
        .more("In Prometheus' text. Where no process stays to be asked it is not there: the metrics are in CloudWatch.")
        .refuses(Kind::NotFound)
        .shows(Shows::content(StatusCode::OK, "The metrics of all tenants together.", text))
}

pub(crate) fn health() -> Says {
    Says::new(Tag::Deployment, "get_health", "Show that it lives and is ready")
        .refuses(Kind::Unavailable)
        .shows(Shows::json::<HealthView>(StatusCode::OK, "It lives, and its store can be read."))
}

pub(crate) fn openapi() -> Says {
    Says::new(Tag::Deployment, "get_openapi", "Show this document")
        .header(RequestHeader::IfNoneMatch)
        .shows(Shows::json::<BTreeMap<String, Value>>(StatusCode::OK, "OpenAPI 3.1.").with(ETag))
        .shows(Shows::nothing(StatusCode::NOT_MODIFIED, "It is the one you have.").with(ETag))
}
