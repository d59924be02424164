//! The documentation of the routes of operations, backfills among them.

use http::StatusCode;
use minutehand_wire::{
    BackfillRequest, BackfillView, OperationAnswerView, OperationRequest, OperationView, OperationsQuery, Page,
};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::{Location, ReplayedIfSo};
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::body::Nothing;
use crate::problem::Kind;

fn doc(id: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(Tag::Operations, id, summary)
}

pub(crate) fn start_operation() -> OperationDoc {
    doc("start_operation", "Pause, resume or cancel many jobs, or cancel or retry many runs")
        .more(
            "By the filters of their lists. Those count that match when they are looked at, and none that came about after this request. \
             What is small is done when this answers; the rest is carried on, also over restarts, and may be watched, paused, resumed and \
             cancelled. A job that is changed after it was looked at is left alone. With `dry_run` nothing is done: 10,000 jobs or runs are \
             looked at, and those that match are counted. At most 20 operations may be under way.",
        )
        .takes::<OperationRequest>()
        .once()
        .refuses(Kind::Conflict)
        .shows(
            ResponseDoc::json::<OperationAnswerView>(StatusCode::ACCEPTED, "The operation, as far as it has come.")
                .makes("operation_id"),
        )
        .shows(
            ResponseDoc::json::<OperationAnswerView>(
                StatusCode::OK,
                "What it would be, of a dry run; or the operation that the same request began before.",
            )
            .with(ReplayedIfSo),
        )
        .example("retry what failed today", retry(), StatusCode::OK, nothing_to_retry())
}

pub(crate) fn list_operations() -> OperationDoc {
    doc("list_operations", "List operations")
        .more("Newest first.")
        .query::<OperationsQuery>()
        .shows(ResponseDoc::json::<Page<OperationView>>(StatusCode::OK, "A page of operations."))
}

pub(crate) fn get_operation() -> OperationDoc {
    doc("get_operation", "Show an operation and how far it has come")
        .shows(ResponseDoc::json::<OperationView>(StatusCode::OK, "The operation."))
}

pub(crate) fn pause_operation() -> OperationDoc {
    changes("pause_operation", "Pause an operation")
        .more("What it has begun to act on is finished. Pausing twice is pausing once.")
}

pub(crate) fn resume_operation() -> OperationDoc {
    changes("resume_operation", "Resume an operation that is paused").more("It goes on where it was.")
}

pub(crate) fn cancel_operation() -> OperationDoc {
    changes("cancel_operation", "Cancel an operation").more(
        "What it has done stays done. The runs of a backfill that nobody has begun are cancelled, also where all are made; those that have \
         begun go on with their attempt and are not tried again.",
    )
}

fn changes(id: &'static str, summary: &'static str) -> OperationDoc {
    doc(id, summary)
        .may_take::<Nothing>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<OperationView>(StatusCode::OK, "The operation as it is then."))
}

pub(crate) fn backfill_job() -> OperationDoc {
    doc("backfill_job", "Make up for what a job was due in a span of the past")
        .more(
            "By the schedule that is in force now, whatever was in force then. An occurrence that has run, or was called off by somebody, is not \
             run again; one that was skipped, or never came, is. Its runs are made at 600 a minute at most, low in priority unless you say \
             otherwise. It is an operation: it is listed, watched, paused, resumed and cancelled as one.",
        )
        .takes::<BackfillRequest>()
        .once()
        .traced()
        .refuses(Kind::Conflict)
        .shows(
            ResponseDoc::json::<BackfillView>(StatusCode::ACCEPTED, "What is being made.").with(Location),
        )
        .shows(
            ResponseDoc::json::<BackfillView>(
                StatusCode::OK,
                "What would be made, of a dry run; or what the same request began before.",
            )
            .with(ReplayedIfSo),
        )
        .example("a night that was missed", night(), StatusCode::OK, what_it_was_due())
}

fn night() -> Value {
    json!({ "from": "2026-11-20T01:00:00+01:00", "to": "2026-11-20T03:00:00+01:00", "dry_run": true })
}

fn what_it_was_due() -> Value {
    let fire = |hour: u8| {
        let at = format!("2026-11-20T{hour:02}:00:00.000Z");
        let local = format!("2026-11-20T{hour:02}:00:00+00:00");
        json!({ "at": at, "effective_at": at, "local": local, "note": null })
    };
    json!({
        "backfill_id": null, "dry_run": true, "job_id": "job_06hhgq2g003ha8atdy39qcp9x4", "runs": 2,
        "fires": [fire(0), fire(1)], "already": 0, "next_from": null, "priority": "low",
    })
}

fn retry() -> Value {
    json!({ "act": "retry", "runs": { "status": "failed" }, "dry_run": true })
}

fn nothing_to_retry() -> Value {
    json!({ "dry_run": true, "kind": "retry_runs", "count": 0, "more": false, "sample": [] })
}
