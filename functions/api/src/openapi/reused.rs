//! Parameters, headers and links that several operations refer to, each written once.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::operation_doc::schema_of;
use super::schemas::Schemas;
use minutehand_wire::texts::{
    CalendarNameText, EffectInPathText, EtagText, JobIdText, KeyIdText, LeaseIdText, NotificationText, OperationIdText,
    RunIdText, SecretNameText, TaskKeyText, TenantText, WorkflowIdText, header_key,
};

pub(super) fn parameters(schemas: &mut Schemas) -> Value {
    json!({
        "job_id": in_path::<JobIdText>("job_id", schemas),
        "workflow_id": in_path::<WorkflowIdText>("workflow_id", schemas),
        "version": {
            "name": "version", "in": "path", "required": true, "schema": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
        },
        "run_id": in_path::<RunIdText>("run_id", schemas),
        "operation_id": in_path::<OperationIdText>("operation_id", schemas),
        "effect": in_path::<EffectInPathText>("effect", schemas),
        "task_key": in_path::<TaskKeyText>("task_key", schemas),
        "lease_id": in_path::<LeaseIdText>("lease_id", schemas),
        "key_id": in_path::<KeyIdText>("key_id", schemas),
        "calendar": in_path::<CalendarNameText>("calendar", schemas),
        "notification": in_path::<NotificationText>("notification", schemas),
        "secret": in_path::<SecretNameText>("secret", schemas),
        "tenant": in_path::<TenantText>("tenant", schemas),
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "schema": header_key(),
            "description": "Makes repeating the request safe: the same key and the same request are done once, and answered as \
                the first time for as long as what they made is there. The body's `idempotency_key` is the same thing; where \
                both are given they agree.",
        },
        "Traceparent": {
            "name": "traceparent", "in": "header", "schema": { "type": "string" },
            "description": "The trace that this is asked for in, as W3C's *Trace Context* has it: kept with what is made, whose spans link to it. \
                What is none is as if it were left out.",
            "example": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        },
        "Tracestate": {
            "name": "tracestate", "in": "header", "schema": { "type": "string" },
            "description": "What goes with `traceparent`: passed on to targets. Left out where it has more than 32 members or 512 bytes.",
        },
        "IfMatch": {
            "name": "If-Match", "in": "header", "schema": { "type": "string", "pattern": "^[ -~]*$" }, "example": "*",
            "description": "Do it only if its ETag is still this one, or one of several with commas between them.",
        },
        "IfNoneMatch": {
            "name": "If-None-Match", "in": "header", "schema": { "type": "string" },
            "description": "Answer only if the ETag is not this one.",
        },
    })
}

fn in_path<T: JsonSchema>(name: &str, schemas: &mut Schemas) -> Value {
    let schema = schemas.request(schema_of::<T>);
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

pub(super) fn headers(schemas: &mut Schemas) -> Value {
    let etag = schemas.shown(schema_of::<EtagText>);
    let seconds = json!({ "type": "integer", "minimum": 1 });
    json!({
        "RequestId": required("Names this request, in problems and in the log.", &json!({ "type": "string", "pattern": "^req_" })),
        "ETag": required("What `If-Match` and `If-None-Match` are given.", &etag),
        "ETagIfThere": { "description": "Of the version that is there, if there is one.", "schema": etag },
        "Location": required("The address of what was made.", &json!({ "type": "string", "format": "uri-reference" })),
        "IdempotencyReplayed": required("This was done before.", &json!({ "type": "string", "const": "true" })),
        "IdempotencyReplayedIfSo": {
            "description": "This was done before; without it, it was a dry run.", "schema": { "type": "string", "const": "true" },
        },
        "RetryAfter": required("After so many seconds it is worth asking again.", &seconds),
        "WwwAuthenticate": required("How to send a key.", &json!({ "type": "string" })),
        "Allow": required("The methods that this address knows.", &json!({ "type": "string" })),
    })
}

fn required(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "required": true, "schema": schema })
}
