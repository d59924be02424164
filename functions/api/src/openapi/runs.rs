//! The documentation of the routes of runs.

use http::StatusCode;
use minutehand_wire::{
    EffectView, EffectsQuery, LogsQuery, LogsView, NoteRequest, Page, RetryRequest, RunEventsView, RunRequest, RunView,
    RunWhyView, RunsAcrossQuery, RunsQuery,
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::Replayed;
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn run_job() -> OperationDoc {
    queued::<RunRequest>(OperationDoc::new(Tag::Runs, "run_job", "Run a job now"))
        .more("Beside its schedule, and with another payload if one is given.")
        .traced()
        .refuses(Kind::Conflict)
        .example(
            "with another payload",
            json!({ "payload": { "month": "2027-01" } }),
            StatusCode::ACCEPTED,
            requested(),
        )
}

pub(crate) fn retry_run() -> OperationDoc {
    queued::<RetryRequest>(OperationDoc::new(Tag::Runs, "retry_run", "Try a run again"))
        .more(
            "A new run that names the old one, and is named by it; with an edited payload if one is given. The old one must have failed, \
             timed out, been cancelled or been skipped. Each asking makes another.",
        )
        .refuses(Kind::Conflict)
        .example("with an edited payload", json!({ "payload": { "month": "2027-01" } }), StatusCode::ACCEPTED, redriven())
}

fn queued<T: JsonSchema>(doc: OperationDoc) -> OperationDoc {
    doc.may_take::<T>()
        .once()
        .shows(ResponseDoc::json::<RunView>(StatusCode::ACCEPTED, "The run: it is queued.").makes("run_id"))
        .shows(
            ResponseDoc::json::<RunView>(StatusCode::OK, "The run that the same request made before.").with(Replayed),
        )
}

pub(crate) fn list_runs() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "list_runs", "List the runs of all jobs")
        .more(
            "Newest first. A deployment without an index of all runs lists those of one `job_id`, and those that failed or \
             timed out.",
        )
        .query::<RunsAcrossQuery>()
        .refuses(Kind::NotFound)
        .shows(page())
}

pub(crate) fn list_runs_of_job() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "list_runs_of_job", "List the runs of a job")
        .more("Newest first.")
        .query::<RunsQuery>()
        .shows(page())
}

fn page() -> ResponseDoc {
    ResponseDoc::json::<Page<RunView>>(StatusCode::OK, "A page of runs.")
}

pub(crate) fn get_run() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "get_run", "Show a run, with all its attempts")
        .more("An occurrence that nobody has started is shown as it waits.")
        .shows(ResponseDoc::json::<RunView>(StatusCode::OK, "The run."))
}

pub(crate) fn list_run_events() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "list_run_events", "Show what happened to a run, and who did what")
        .shows(ResponseDoc::json::<RunEventsView>(StatusCode::OK, "All that happened, in order."))
}

pub(crate) fn explain_run() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "explain_run", "Say where the time of a run went")
        .more(
            "From when it was due until it ended, or until now, in stages that lie end to end. What its record does not keep is said not \
             to be known.",
        )
        .shows(ResponseDoc::json::<RunWhyView>(StatusCode::OK, "The stages of its time."))
}

pub(crate) fn list_run_logs() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "list_run_logs", "Show the log of a run")
        .more(
            "What its workers said, line by line: the last with `tail`, or from a line on. A mebibyte is kept, and the oldest lines go \
             first. Of a run that is called it is what each attempt was answered. To follow a log, ask again with `from` at `next`.",
        )
        .query::<LogsQuery>()
        .shows(ResponseDoc::json::<LogsView>(StatusCode::OK, "Some lines."))
}

pub(crate) fn list_run_effects() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "list_run_effects", "List the effects of a run")
        .more("What its workers claimed before they did it, with what came of it and how often it was about to be done again.")
        .query::<EffectsQuery>()
        .shows(ResponseDoc::json::<Page<EffectView>>(StatusCode::OK, "A page of effects, by key."))
}

pub(crate) fn cancel_run() -> OperationDoc {
    OperationDoc::new(Tag::Runs, "cancel_run", "Cancel a run")
        .more("One that waits ends now; of one that runs, no further attempt is made.")
        .may_take::<NoteRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<RunView>(StatusCode::OK, "The run as it is now.").leads_on("run_id"))
        .example("with a note", json!({ "note": "wrong day" }), StatusCode::OK, cancelled())
}

fn cancelled() -> Value {
    let mut run = requested();
    run["status"] = "cancelled".into();
    run["finished_at"] = "2027-01-15T08:00:00.000Z".into();
    run["payload"] = Value::Null;
    run["remarks"] = remarks("cancel_asked", "wrong day");
    run
}

pub(super) fn remarks(what: &str, note: &str) -> Value {
    json!([{ "at": "2027-01-15T08:00:00.000Z", "what": what, "by": "deployment", "note": note }])
}

fn requested() -> Value {
    json!({
        "run_id": "run_06hhgq2g003ha8atdy39qcp9x40t662wa00022880w30a10308",
        "job_id": "job_06hhgq2g003ha8atdy39qcp9x4",
        "status": "queued",
        "reason": null,
        "scheduled_at": "2027-01-15T08:00:00.000Z",
        "effective_at": "2027-01-15T08:00:00.000Z",
        "started_at": null,
        "finished_at": null,
        "priority": "normal",
        "payload": { "month": "2027-01" },
        "result": null,
        "progress": null,
        "attempts": [],
        "origin": "manual",
        "redrive_of": null,
        "workflow_run_id": null,
        "task_key": null,
        "trace": { "trace_id": "4bf92f3577b34da6a3ce929d0e0e4737", "sampled": true }
    })
}

pub(super) fn redriven() -> Value {
    let mut run = requested();
    run["redrive_of"] = run["run_id"].take();
    run["run_id"] = "run_06hhgq2g003ha8atdy39qcp9x40t662wa00060820c20a1g710".into();
    run["origin"] = "redrive".into();
    run
}
