//! The documentation of the deployment's routes: stats, metrics, health, this document.

use std::collections::BTreeMap;

use http::StatusCode;
use minutehand_wire::{
    DeclaredView, HealthView, OperationView, Page, RepairRequest, RepairView, StatsQuery, StatsView, TargetsQuery,
};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::{ETag, Location};
use super::operation_doc::{Content, OperationDoc, RequestHeader, ResponseDoc, Tag, schema_of};
use crate::problem::Kind;

pub(crate) fn stats() -> OperationDoc {
    OperationDoc::new(Tag::Deployment, "get_stats", "Show how your runs and jobs are doing")
        .more("Counted when asked. `complete` says whether everything was counted.")
        .query::<StatsQuery>()
        .shows(ResponseDoc::json::<StatsView>(StatusCode::OK, "Counts of your tenant's."))
}

pub(crate) fn repair() -> OperationDoc {
    let nothing_found = json!({
        "jobs": 0, "runs": 0, "without_timer": 0, "overdue": 0, "unsettled": 0, "ahead": 0, "later": 0, "corrupt": 0, "findings": [],
        "next_cursor": null
    });
    OperationDoc::new(Tag::Deployment, "repair", "Make timers and cursors again from the jobs and runs")
        .more(
            "Of all tenants, while everything goes on, and as often as you like: a timer too many is looked at and erased. A call lasts \
             some seconds; go on with `next_cursor` until there is none. Unless it only checks, each call is on record.",
        )
        .may_take::<RepairRequest>()
        .shows(ResponseDoc::json::<RepairView>(StatusCode::OK, "What this call looked at and found."))
        .example("a check", json!({ "check": true }), StatusCode::OK, nothing_found)
}

pub(crate) fn erase_tenant() -> OperationDoc {
    OperationDoc::new(Tag::Deployment, "erase_tenant", "Erase a tenant and all that is kept for it")
        .more(
            "Its keys open nothing from the answer on. What was at work for it may write for some more minutes: the operation is done when a walk \
             that began 20 minutes after the last find found nothing. It cannot be paused or cancelled, and asking twice is asking once. The \
             deployment's own tenant is not erased.",
        )
        .refuses(Kind::NotFound)
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<OperationView>(StatusCode::ACCEPTED, "The operation, begun or under way.").with(Location))
}

pub(crate) fn backup() -> OperationDoc {
    let packed = Content { media_type: "application/gzip", schema: schema_of::<String> };
    OperationDoc::new(Tag::Deployment, "get_backup", "Take a backup of all that the process keeps")
        .more(
            "Of all tenants, as of one instant, while everything goes on. `minutehand backup` writes it into a file, and `minutehand restore` \
             makes a store of that. The keys that seal secrets are not in it. Each is on record. Where there is no file, nothing is here.",
        )
        .refuses(Kind::NotFound)
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::content(StatusCode::OK, "All of it, packed; it says where it ends.", packed))
}

pub(crate) fn list_targets() -> OperationDoc {
    OperationDoc::new(Tag::Deployment, "list_targets", "List the services that jobs may call")
        .more("What the operator of the deployment declared for your tenant: the aliases, and of which kind each is. Never where they lead.")
        .query::<TargetsQuery>()
        .shows(ResponseDoc::json::<Page<DeclaredView>>(StatusCode::OK, "A page of targets, by alias."))
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
