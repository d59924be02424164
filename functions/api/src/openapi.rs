//! The OpenAPI document, built from the table of routes and the types of the wire. It is built once, at the first request
//! for it.
//!
//! The modules: `operation_doc` is what a route adds to its row in the table, written in the module of its resource;
//! `operation` makes one operation of both; `schemas` and `patch` come from the types, `problems` from the kinds of problem,
//! and `reused` holds what many operations refer to.

mod audit;
mod calendars;
mod deployment;
mod jobs;
mod keys;
mod leases;
mod letters;
mod notifications;
mod operation;
mod operation_doc;
mod operations;
mod patch;
mod problems;
mod quotas;
mod references;
mod reused;
mod runs;
mod schedules;
mod schemas;
mod secrets;
mod signing;
mod workflow_runs;
mod workflows;

use std::sync::OnceLock;

use axum::Extension;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use minutehand_domain::id::base32;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) use self::operation::Operation;
pub(crate) use self::operation_doc::OperationDoc;
use self::operation_doc::Tag;
use self::schemas::Schemas;

/// The documentation of each route.
pub(crate) mod doc_of {
    pub(crate) use super::audit::list_audit;
    pub(crate) use super::calendars::{delete_calendar, get_calendar, import_calendar, list_calendars, put_calendar};
    pub(crate) use super::deployment::{backup, erase_tenant, health, list_targets, metrics, openapi, repair, stats};
    pub(crate) use super::jobs::{
        create_job, create_jobs, delete_job, get_job, list_jobs, patch_job, pause_job, resume_job,
    };
    pub(crate) use super::keys::{create_key, list_keys, revoke_key, rotate_key};
    pub(crate) use super::leases::{
        claim_effect, claim_effect_by_path, complete_lease, complete_leases, fail_lease, hand_back_lease, keep_lease,
        lease_runs, list_pools, list_workers,
    };
    pub(crate) use super::letters::{
        dismiss_letter, dismiss_letters, group_letters, list_letters, redrive_letter, redrive_letters,
    };
    pub(crate) use super::notifications::{
        delete_notification, get_notification, list_notifications, put_notification, try_notification,
    };
    pub(crate) use super::operations::{
        backfill_job, cancel_operation, get_operation, list_operations, pause_operation, resume_operation,
        start_operation,
    };
    pub(crate) use super::quotas::{get_own_quota, get_quota, put_quota};
    pub(crate) use super::runs::{
        cancel_run, explain_run, get_run, list_run_effects, list_run_events, list_run_logs, list_runs,
        list_runs_of_job, retry_run, run_job,
    };
    pub(crate) use super::schedules::{explain_instant, list_fires, next_fires, preview_schedule};
    pub(crate) use super::secrets::{delete_secret, get_secret, list_secrets, put_secret};
    pub(crate) use super::signing::{get_signing_secret, rotate_signing_secret};
    pub(crate) use super::workflow_runs::{
        approve_task, cancel_workflow_run, decide_held_branches, fail_task, get_workflow_run, list_branches,
        list_tasks, list_workflow_run_events, list_workflow_runs, reject_task, resume_workflow_run, retry_task,
        skip_task, succeed_task,
    };
    pub(crate) use super::workflows::{
        create_workflow, delete_workflow, diff_workflow, get_workflow, get_workflow_version, list_runs_of_workflow,
        list_workflow_versions, list_workflows, pause_workflow, put_workflow, resume_workflow, run_workflow,
    };
}

/// The document as sent.
struct Written {
    text: Bytes,
    etag: HeaderValue,
}

/// Where the document's operations come from: the table of routes, which lists this module's own route as well.
#[derive(Clone)]
pub(crate) struct Source(pub fn() -> Vec<Operation>);

pub(crate) async fn show(Extension(Source(operations)): Extension<Source>, headers: HeaderMap) -> Response {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    let Written { text, etag } = WRITTEN.get_or_init(|| Written::of(&written_out(&operations())));
    let tag = [(ETAG, etag.clone())];
    if headers.get_all(IF_NONE_MATCH).iter().any(|known| knows(known, etag)) {
        return (StatusCode::NOT_MODIFIED, tag).into_response();
    }
    (tag, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text.clone()).into_response()
}

impl Written {
    fn of(document: &Value) -> Self {
        let text = serde_json::to_vec(document).expect("JSON");
        let etag = format!("\"{}\"", base32(&Sha256::digest(&text)[..10]));
        Self { text: text.into(), etag: etag.try_into().expect("base 32 in quotes") }
    }
}

fn knows(known: &HeaderValue, etag: &HeaderValue) -> bool {
    let tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
    tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag)).any(|tag| tag == "*" || tag.as_bytes() == etag.as_bytes())
}

fn written_out(operations: &[Operation]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for operation in operations {
        let rendered = operation.render(operations, &mut schemas);
        let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
        methods[operation.method.as_str().to_lowercase()] = rendered;
    }
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Minutehand",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A distributed job scheduler.",
            "description": format!("{ABOUT}\n\n{}", problems::table()),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": Tag::ALL.map(|tag| json!({ "name": tag.name(), "description": tag.description() })),
        "paths": paths,
        "components": components(operations, schemas),
    })
}

fn components(operations: &[Operation], mut schemas: Schemas) -> Value {
    json!({
        "securitySchemes": {
            "key": {
                "type": "http", "scheme": "bearer",
                "description": "An API key: `Authorization: Bearer mh_…`. Its tenant is whose things a request sees, its role \
                    what it may do: a viewer reads, an operator makes jobs and decides about runs, an admin makes keys and \
                    secrets. The deployment's own key, the host, may do all of it and speak of every tenant.",
            },
        },
        "parameters": reused::parameters(&mut schemas),
        "headers": reused::headers(&mut schemas),
        "links": operation::link_components(operations),
        "responses": problems::responses(&mut schemas),
        "schemas": schemas.components(),
    })
}

const ABOUT: &str = "\
Hand it a job: what to call, when, and how failure is treated. It fires each occurrence once, on time, carries it out with \
retries, and shows afterwards what happened.

Bodies are JSON, unknown fields are refused, and a field that is null is one that is not given. Instants are RFC 3339, shown \
in UTC with milliseconds. Lists take `limit` and an opaque `cursor`, and `next_cursor` is null on the last page; a page may \
hold fewer than `limit` and still go on. `x-max-bytes` bounds a value by its bytes, which no JSON Schema can. Answers may \
grow fields.

What cannot be done is answered by `application/problem+json` (RFC 9457). Its `type` never changes and is what a client acts \
on; `errors` points at every field that is wrong, by a JSON pointer into the body, or `?` and a parameter's name. Any address \
can answer 404, 405 and 503 so.";
