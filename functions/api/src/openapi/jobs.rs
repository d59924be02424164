//! The documentation of the routes of jobs.

use http::StatusCode;
use minutehand_wire::{
    BatchRequest, BatchView, DeleteJobQuery, JobRequest, JobView, JobsQuery, ListedJobView, NoteRequest, OneJobView,
    Page,
};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::{ETag, Replayed};
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn create_job() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "create_job", "Make a job")
        .more("Without a schedule it runs once, now.")
        .takes::<JobRequest>()
        .once()
        .traced()
        .shows(
            ResponseDoc::json::<JobView>(StatusCode::CREATED, "The job that was made, every default spelled out.")
                .makes("job_id")
                .with(ETag),
        )
        .shows(
            ResponseDoc::json::<JobView>(StatusCode::OK, "The job that the same request made before.")
                .with(ETag)
                .with(Replayed),
        )
        .example("bill each month", billing(), StatusCode::CREATED, billing_made())
        .example("remind once", reminder(), StatusCode::CREATED, reminder_made())
        .example("do nothing on demand", on_demand(), StatusCode::CREATED, on_demand_made())
}

pub(crate) fn list_jobs() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "list_jobs", "List jobs")
        .more("By id. All filters that are given must hold. With `expand` a page has fifty jobs at most.")
        .query::<JobsQuery>()
        .shows(ResponseDoc::json::<Page<ListedJobView>>(StatusCode::OK, "A page of jobs."))
}

pub(crate) fn create_jobs() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "create_jobs", "Make many jobs")
        .more(
            "Each is answered on its own, in order, and one bad one spoils no other. An idempotency key stands inside the job \
             that it is for: the header would name one for all, and is refused.",
        )
        .takes_many::<BatchRequest>()
        .traced()
        .shows(ResponseDoc::json::<BatchView>(StatusCode::OK, "What each job was answered with."))
        .example("one good and one bad", batch(), StatusCode::OK, batch_made())
}

pub(crate) fn get_job() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "get_job", "Show a job, with its last run and its health")
        .more("One that was deleted stays to be read: it is `cancelled`.")
        .shows(ResponseDoc::json::<OneJobView>(StatusCode::OK, "The job.").with(ETag))
}

pub(crate) fn patch_job() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "patch_job", "Change a job")
        .more(
            "By merge-patch (RFC 7396): what it says is laid over the job as it was asked for, and the whole is understood \
             anew. Naming another kind of schedule or target replaces the one that is there. A schedule that comes out as it \
             was is not touched, nor are its occurrences.",
        )
        .takes_patch_of::<JobRequest>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(changed())
        .example("run it each night", each_night(), StatusCode::OK, at_night())
        .example("take back its owner", json!({ "owner": null, "priority": "critical" }), StatusCode::OK, taken_back())
}

pub(crate) fn delete_job() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "delete_job", "Delete a job")
        .more(
            "Nothing of it starts any more, and the record stays to be read. Deleting twice is deleting once. A workflow's own job is \
             deleted with it.",
        )
        .query::<DeleteJobQuery>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::nothing(StatusCode::NO_CONTENT, "It is deleted."))
}

pub(crate) fn pause_job() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "pause_job", "Pause a job")
        .more(
            "What has not started does not start; what runs goes on. Pausing twice is pausing once, and the first note stands.",
        )
        .may_take::<NoteRequest>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(changed())
        .example("with a note", json!({ "note": "until the bank answers" }), StatusCode::OK, noted(2, "paused", "until the bank answers"))
}

pub(crate) fn resume_job() -> OperationDoc {
    OperationDoc::new(Tag::Jobs, "resume_job", "Resume a job")
        .more("It goes on from now: what it missed it skips. Resuming twice is resuming once.")
        .may_take::<NoteRequest>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(changed())
        .example("with a note", json!({ "note": "it answers" }), StatusCode::OK, noted(3, "active", "it answers"))
}

fn changed() -> ResponseDoc {
    ResponseDoc::json::<JobView>(StatusCode::OK, "The job as it is now.").with(ETag)
}

fn billing() -> Value {
    json!({
        "name": "monthly-billing",
        "owner": "finance",
        "tags": ["billing"],
        "schedule": { "cron": "0 2 1 * *", "timezone": "America/New_York" },
        "target": { "http": { "url": "https://example.com/hooks/billing", "headers": { "X-Team": "finance" } } },
        "payload": { "currency": "USD" },
        "priority": "high",
        "timeout_seconds": 300,
        "retry": { "max_retries": 5, "give_up_after_seconds": 7200 }
    })
}

fn billing_made() -> Value {
    json!({
        "job_id": "job_06hhgq2g003ha8atdy39qcp9x4",
        "status": "active",
        "generation": 1,
        "name": "monthly-billing",
        "owner": "finance",
        "tags": ["billing"],
        "schedule": {
            "cron": "0 2 1 * *", "timezone": "America/New_York", "days": "either", "dst_gap": "next_valid",
            "dst_overlap": "by_kind",
        },
        "target": {
            "http": { "url": "https://example.com/hooks/billing", "method": "POST", "headers": { "X-Team": "finance" } }
        },
        "payload": { "currency": "USD" },
        "priority": "high",
        "timeout_seconds": 300,
        "retry": {
            "max_retries": 5, "backoff": "exponential", "initial_delay_seconds": 30, "max_delay_seconds": 3600,
            "jitter": "full", "give_up_after_seconds": 7200, "break_after_instant_failures": null
        },
        "delivery": "at_least_once",
        "catch_up": { "policy": "last", "window_seconds": 86400 },
        "created_at": "2027-01-15T08:00:00.000Z",
        "updated_at": "2027-01-15T08:00:00.000Z",
        "next_run_at": "2027-02-01T07:00:00.000Z",
        "next_run_id": "run_06hhgq2g003ha8atdy39qcp9x40t6vxhfp000"
    })
}

fn reminder() -> Value {
    json!({
        "name": "trial ends",
        "schedule": { "at": "2027-01-29T09:00:00+01:00" },
        "target": { "http": { "url": "https://example.com/hooks/trial", "method": "PUT" } },
        "payload": { "customer": 4711 },
        "delivery": "at_most_once",
        "idempotency_key": "trial-4711"
    })
}

fn reminder_made() -> Value {
    let mut made = plain();
    made["name"] = "trial ends".into();
    made["schedule"] = json!({ "at": "2027-01-29T08:00:00.000Z" });
    made["target"] = json!({ "http": { "url": "https://example.com/hooks/trial", "method": "PUT", "headers": {} } });
    made["payload"] = json!({ "customer": 4711 });
    made["delivery"] = "at_most_once".into();
    made["next_run_at"] = "2027-01-29T08:00:00.000Z".into();
    made["next_run_id"] = "run_06hhgq2g003ha8atdy39qcp9x40t6vxhfp000".into();
    made
}

fn on_demand() -> Value {
    json!({ "schedule": { "on_demand": true }, "target": { "noop": {} } })
}

fn on_demand_made() -> Value {
    let mut made = plain();
    made["schedule"] = on_demand()["schedule"].take();
    made
}

/// The same, paused or resumed.
fn noted(generation: u64, status: &str, note: &str) -> Value {
    let mut job = on_demand_made();
    job["generation"] = generation.into();
    job["status"] = status.into();
    job["last_change"] = json!({ "at": "2027-01-15T08:00:00.000Z", "by": "deployment", "note": note });
    job
}

fn each_night() -> Value {
    json!({ "schedule": { "cron": "0 3 * * *", "timezone": "Europe/Paris", "max_fires": 30 } })
}

fn at_night() -> Value {
    let mut job = plain();
    job["generation"] = 2.into();
    job["schedule"] = json!({
        "cron": "0 3 * * *", "timezone": "Europe/Paris", "days": "either", "dst_gap": "next_valid",
        "dst_overlap": "by_kind", "max_fires": 30,
    });
    job["next_run_at"] = "2027-01-16T02:00:00.000Z".into();
    job["next_run_id"] = "run_06hhgq2g003ha8atdy39qcp9x40t6vxhfp000".into();
    job
}

fn taken_back() -> Value {
    let mut job = plain();
    job["generation"] = 2.into();
    job["schedule"] = on_demand()["schedule"].take();
    job["priority"] = "critical".into();
    job
}

fn batch() -> Value {
    json!({
        "jobs": [
            on_demand(),
            { "schedule": { "every_seconds": 0 }, "target": { "noop": {} } }
        ]
    })
}

fn batch_made() -> Value {
    let detail = "every_seconds must be from 1 to 3155760000";
    json!({
        "results": [
            { "index": 0, "status": 201, "job": on_demand_made() },
            {
                "index": 1,
                "status": 422,
                "problem": {
                    "type": "/problems/invalid",
                    "title": "The request is understood but impossible",
                    "status": 422,
                    "detail": format!("/schedule/every_seconds: {detail}"),
                    "errors": [{ "pointer": "/schedule/every_seconds", "detail": detail }],
                    "request_id": "req_50mjmasc5mq2yc1h68sk8d9p6w"
                }
            }
        ]
    })
}

/// A job with nothing but defaults.
fn plain() -> Value {
    json!({
        "job_id": "job_06hhgq2g003ha8atdy39qcp9x4",
        "status": "active",
        "generation": 1,
        "name": null,
        "owner": null,
        "tags": [],
        "schedule": {},
        "target": { "noop": {} },
        "payload": null,
        "priority": "normal",
        "timeout_seconds": 60,
        "retry": {
            "max_retries": 3, "backoff": "exponential", "initial_delay_seconds": 30, "max_delay_seconds": 3600,
            "jitter": "full", "give_up_after_seconds": null, "break_after_instant_failures": null
        },
        "delivery": "at_least_once",
        "catch_up": { "policy": "last", "window_seconds": 86400 },
        "created_at": "2027-01-15T08:00:00.000Z",
        "updated_at": "2027-01-15T08:00:00.000Z",
        "next_run_at": null,
        "next_run_id": null
    })
}
