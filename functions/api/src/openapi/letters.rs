//! The documentation of the routes of dead letters.

use http::StatusCode;
use minutehand_wire::{
    DismissManyRequest, GroupsQuery, GroupsView, LettersDoneView, LettersQuery, NoteRequest, Page, RedriveManyRequest,
    RedriveRequest, RunView,
};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::Replayed;
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use super::runs::{redriven, remarks};
use crate::problem::Kind;

pub(crate) fn list_letters() -> OperationDoc {
    OperationDoc::new(Tag::DeadLetters, "list_dead_letters", "List dead letters")
        .more(
            "Runs that failed or timed out for good and were neither tried again nor dismissed, newest first, of the last thirty days \
             unless `from` says more. All filters that are given must hold.",
        )
        .query::<LettersQuery>()
        .shows(ResponseDoc::json::<Page<RunView>>(StatusCode::OK, "A page of runs."))
}

pub(crate) fn group_letters() -> OperationDoc {
    OperationDoc::new(Tag::DeadLetters, "group_dead_letters", "Group dead letters by what they died of")
        .more(
            "By job, code and message, in which numbers, ids and what stands in quotes are `#`. The newest five thousand letters are read: \
             where there are more, or more groups than asked for, the answer is not `complete`.",
        )
        .query::<GroupsQuery>()
        .shows(ResponseDoc::json::<GroupsView>(StatusCode::OK, "The groups, the largest first."))
}

pub(crate) fn redrive_letter() -> OperationDoc {
    OperationDoc::new(Tag::DeadLetters, "redrive_dead_letter", "Try a dead letter again")
        .more(
            "A new run that names the old one, and is named by it; with an edited payload if one is given. However often it is asked for, \
             it is one run, and one that asks for another payload than that was given is refused: to have another, retry the run.",
        )
        .may_take::<RedriveRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<RunView>(StatusCode::ACCEPTED, "The run: it is queued.").makes("run_id"))
        .shows(
            ResponseDoc::json::<RunView>(StatusCode::OK, "The run that it was tried again as before.").with(Replayed),
        )
        .example("with another payload", patch(), StatusCode::ACCEPTED, again())
}

pub(crate) fn dismiss_letter() -> OperationDoc {
    OperationDoc::new(Tag::DeadLetters, "dismiss_dead_letter", "Dismiss a dead letter")
        .more("It leaves the list, and stays to be read as a run. Who dismisses it first stands.")
        .may_take::<NoteRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<RunView>(StatusCode::OK, "The run as it is now.").leads_on("run_id"))
        .example("with a note", json!({ "note": "sent by hand" }), StatusCode::OK, dismissed())
}

pub(crate) fn redrive_letters() -> OperationDoc {
    OperationDoc::new(Tag::DeadLetters, "redrive_dead_letters", "Try many dead letters again")
        .more(
            "Up to a hundred that are named, or the newest hundred that a filter finds, each answered on its own, and once where its id is \
             named twice. `next_cursor` leads to those that the filter finds beyond them.",
        )
        .takes::<RedriveManyRequest>()
        .shows(ResponseDoc::json::<LettersDoneView>(StatusCode::OK, "What each was answered with."))
        .example("those that a filter finds", found(&patch()), StatusCode::OK, done(StatusCode::ACCEPTED, &again()))
}

pub(crate) fn dismiss_letters() -> OperationDoc {
    OperationDoc::new(Tag::DeadLetters, "dismiss_dead_letters", "Dismiss many dead letters")
        .more(
            "Up to a hundred that are named, or the newest hundred that a filter finds, each answered on its own, and once where its id is \
             named twice. `next_cursor` leads to those that the filter finds beyond them.",
        )
        .takes::<DismissManyRequest>()
        .shows(ResponseDoc::json::<LettersDoneView>(StatusCode::OK, "What each was answered with."))
        .example(
            "those that a filter finds",
            found(&json!({ "note": "sent by hand" })),
            StatusCode::OK,
            done(StatusCode::OK, &dismissed()),
        )
}

/// Of a run that was given nothing.
fn patch() -> Value {
    json!({ "patch": [{ "op": "add", "path": "", "value": { "month": "2027-01" } }], "note": "the month was missing" })
}

fn found(more: &Value) -> Value {
    let mut request = json!({ "filter": { "error": "http_4xx" } });
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

fn done(status: StatusCode, run: &Value) -> Value {
    let run_id = "run_06hhgq2g003ha8atdy39qcp9x40t662wa00022880w30a10308";
    json!({ "results": [{ "run_id": run_id, "status": status.as_u16(), "run": run }], "next_cursor": null })
}

fn again() -> Value {
    let mut run = redriven();
    run["remarks"] = remarks("asked_again", "the month was missing");
    run
}

fn dismissed() -> Value {
    let at = "2027-01-15T08:00:00.000Z";
    let error = json!({ "code": "http_4xx", "message": "422 Unprocessable Content", "retryable": false });
    json!({
        "run_id": "run_06hhgq2g003ha8atdy39qcp9x40t662wa00022880w30a10308",
        "job_id": "job_06hhgq2g003ha8atdy39qcp9x4",
        "status": "failed",
        "reason": "error",
        "scheduled_at": at,
        "effective_at": at,
        "started_at": at,
        "finished_at": at,
        "priority": "normal",
        "result": null,
        "progress": null,
        "attempts": [{
            "number": 1, "started_at": at, "finished_at": at, "worker": "worker_0000000000002", "outcome": "failed", "error": error,
        }],
        "origin": "manual",
        "redrive_of": null,
        "dismissed_at": at,
        "remarks": remarks("dismissed", "sent by hand"),
        "workflow_run_id": null,
        "task_key": null,
        "trace": { "trace_id": "4bf92f3577b34da6a3ce929d0e0e4737", "sampled": true },
    })
}
