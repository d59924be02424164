//! The documentation of the routes of runs of workflows.

use http::StatusCode;
use minutehand_wire::{
    BranchQuery, BranchView, BranchesQuery, DecidedView, HeldDecidedView, HeldRequest, NoteRequest, Page, RunTaskView,
    SuccessRequest, TasksQuery, WorkflowRunEventView, WorkflowRunItem, WorkflowRunView, WorkflowRunsQuery,
};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::Replayed;
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

fn doc(id: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(Tag::WorkflowRuns, id, summary)
}

pub(crate) fn list_workflow_runs() -> OperationDoc {
    doc("list_workflow_runs", "List the runs of workflows")
        .more(
            "Newest first, of all workflows or of one. Status and version are looked for after reading, and of all runs those of \
             workflows: a page may hold fewer than `limit` and still go on. A deployment without an index of all runs lists \
             those of one `workflow`, and those that failed or timed out.",
        )
        .query::<WorkflowRunsQuery>()
        .refuses(Kind::NotFound)
        .shows(ResponseDoc::json::<Page<WorkflowRunItem>>(StatusCode::OK, "A page of runs."))
}

pub(crate) fn get_workflow_run() -> OperationDoc {
    doc("get_workflow_run", "Show a run of a workflow, with its tasks")
        .more(
            "What it waits for, its critical path, how many tasks are in which state, and the first 100 of them; `next_cursor` goes on \
             at `/tasks`. The branches of a for_each are counted: 10,000 of them with one request, beyond that `at_least` is true.",
        )
        .shows(ResponseDoc::json::<WorkflowRunView>(StatusCode::OK, "The run."))
}

pub(crate) fn list_tasks() -> OperationDoc {
    doc("list_workflow_tasks", "List the tasks of a workflow's run")
        .more("In an order in which none comes before what it depends on. A task that has not begun is there as well.")
        .query::<TasksQuery>()
        .shows(ResponseDoc::json::<Page<RunTaskView>>(StatusCode::OK, "A page of tasks."))
}

pub(crate) fn list_branches() -> OperationDoc {
    doc("list_workflow_branches", "List the branches of a for_each")
        .more("In their order, from 0. One that has not begun is there as well.")
        .query::<BranchesQuery>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<Page<BranchView>>(StatusCode::OK, "A page of branches."))
}

pub(crate) fn list_workflow_run_events() -> OperationDoc {
    doc("list_workflow_run_events", "Show what happened to a workflow's run and its tasks, and who did what")
        .more(
            "In order of time: of the run, of its tasks and their branches, with notes. Of a run with more than three attempts the \
             newest are told; its own events tell all.",
        )
        .query::<TasksQuery>()
        .shows(ResponseDoc::json::<Page<WorkflowRunEventView>>(StatusCode::OK, "A page of events."))
}

pub(crate) fn cancel_workflow_run() -> OperationDoc {
    doc("cancel_workflow_run", "Cancel a run of a workflow")
        .more(
            "Nothing more of it begins, what runs makes no further attempt, and then its `finally` runs. A cancel while `finally` goes \
             on stops that as well.",
        )
        .may_take::<NoteRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<WorkflowRunView>(StatusCode::OK, "The run as it is now."))
        .example("with a note", json!({ "note": "wrong day" }), StatusCode::OK, cancelled())
}

pub(crate) fn resume_workflow_run() -> OperationDoc {
    doc("resume_workflow_run", "Go on with a run of a workflow that failed")
        .more(
            "A new run of the same version with the same parameters, which does not do again what has succeeded. The old one must have \
             failed, timed out or been cancelled. However often it is asked, it is one run.",
        )
        .may_take::<NoteRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<WorkflowRunView>(StatusCode::ACCEPTED, "The new run: it is queued.").with(
            super::operation_doc::AnswerHeader::Location,
        ))
        .shows(
            ResponseDoc::json::<WorkflowRunView>(StatusCode::OK, "The run that goes on with it already.").with(Replayed),
        )
        .example("with a note", json!({ "note": "mended" }), StatusCode::ACCEPTED, resumed())
}

pub(crate) fn approve_task() -> OperationDoc {
    decided(
        doc("approve_task", "Approve")
            .more("Answers an approval: it has succeeded, with this result if there is one. Who may, its `roles` say.")
            .may_take::<SuccessRequest>()
            .refuses(Kind::Forbidden)
            .example(
                "with a result",
                json!({ "note": "up to the limit", "result": { "limit": 100 } }),
                StatusCode::OK,
                decision("payment", "succeeded", "approve", "up to the limit"),
            ),
    )
}

pub(crate) fn reject_task() -> OperationDoc {
    decided(
        doc("reject_task", "Reject")
            .more("Answers an approval: it has failed. Who may, its `roles` say. Where failures are held, this one is too.")
            .may_take::<NoteRequest>()
            .refuses(Kind::Forbidden)
            .example(
                "with a note",
                json!({ "note": "too much" }),
                StatusCode::OK,
                decision("payment", "held", "reject", "too much"),
            ),
    )
}

pub(crate) fn retry_task() -> OperationDoc {
    decided(
        doc("retry_task", "Try a task again whose failure is held")
            .more("Another try at the same task or branch, with attempts of its own.")
            .may_take::<NoteRequest>()
            .example(
                "with a note",
                json!({ "note": "the disk is free again" }),
                StatusCode::OK,
                decision("load", "queued", "retry", "the disk is free again"),
            ),
    )
}

pub(crate) fn skip_task() -> OperationDoc {
    decided(
        doc("skip_task", "Let a held failure count as skipped")
            .more("What waits for its success is skipped too.")
            .may_take::<NoteRequest>()
            .example(
                "with a note",
                json!({ "note": "not needed today" }),
                StatusCode::OK,
                decision("load", "skipped", "skip", "not needed today"),
            ),
    )
}

pub(crate) fn succeed_task() -> OperationDoc {
    decided(
        doc("succeed_task", "Let a held failure count as succeeded")
            .more("With this result, if there is one, for the tasks after it.")
            .may_take::<SuccessRequest>()
            .example(
                "with a result",
                json!({ "note": "loaded by hand", "result": { "rows": 7 } }),
                StatusCode::OK,
                decision("load", "succeeded", "succeed", "loaded by hand"),
            ),
    )
}

pub(crate) fn fail_task() -> OperationDoc {
    decided(
        doc("fail_task", "Let a held failure be one")
            .more("What waits for its failure begins, and the run fails in the end.")
            .may_take::<NoteRequest>()
            .example(
                "with a note",
                json!({ "note": "no use" }),
                StatusCode::OK,
                decision("load", "failed", "fail", "no use"),
            ),
    )
}

pub(crate) fn decide_held_branches() -> OperationDoc {
    doc("decide_held_branches", "Give all held branches of a for_each the same verdict")
        .more(
            "In the order of the branches, from `from` on: at most 100 verdicts and 2,000 branches a request. `next_from` says where to \
             ask on, so that each branch is met once, also where one that is tried again fails again meanwhile. A branch that somebody \
             else decided about is passed over. Asked again, it finds those that are held then.",
        )
        .takes::<HeldRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<HeldDecidedView>(StatusCode::OK, "The branches that were given the verdict."))
        .example(
            "try them again",
            json!({ "verdict": "retry", "note": "the disk is free again" }),
            StatusCode::OK,
            json!({ "workflow_run_id": RUN, "key": "load", "verdict": "retry", "decided": [3, 7], "next_from": null }),
        )
}

/// The same decision again is answered as the first time.
fn decided(doc: OperationDoc) -> OperationDoc {
    doc.query::<BranchQuery>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<DecidedView>(StatusCode::OK, "The decision, as it stands."))
}

const RUN: &str = "run_06hhgq2g003ha8atdy39qcp9x40t662wa00022880w30a10308";
const FORMER: &str = "run_06hhgq2g003ha8atdy39qcp9x40t662wa00060820c20a1g710";
const AT: &str = "2027-01-15T08:00:00.000Z";

fn decision(key: &str, state: &str, word: &str, note: &str) -> Value {
    json!({
        "workflow_run_id": RUN, "key": key, "branch": null, "run_id": RUN, "state": state,
        "decision": { "word": word, "by": "deployment", "by_name": null, "at": AT, "note": note }
    })
}

/// Two tasks that did not depend on each other: the failure of one was held, the other waited for an answer.
fn cancelled() -> Value {
    let error = json!({ "code": "http_5xx", "message": "as the test says", "retryable": true });
    let approval = json!({ "roles": ["operator"], "until": null, "default": "fail", "answer": null });
    let task = |key: &str, kind: &str, state: &str, reason: Value, error: Value, approval: Value| {
        json!({
            "key": key, "kind": kind, "in_finally": false, "state": state, "reason": reason, "detail": null,
            "waiting_for": null, "run_id": RUN, "rule": "all", "depends_on": [], "tries": 1, "attempts": 1,
            "scheduled_at": AT, "started_at": AT, "finished_at": AT, "priority": "normal", "error": error,
            "result": null, "tainted": false, "allow_failure": false, "reused": null, "approval": approval,
            "verdict": null, "branches": null
        })
    };
    let mut run = run("cancelled", "manual");
    run["tasks"] = json!([
        task("payment", "approval", "cancelled", Value::Null, Value::Null, approval),
        task("load", "call", "failed", "error".into(), error, Value::Null),
    ]);
    run["counts"] = json!({ "failed": 1, "cancelled": 1 });
    run["critical_path"] = json!([{ "key": "payment", "from": AT, "to": AT, "seconds": 0.0 }]);
    for at in ["started_at", "finished_at"] {
        run[at] = AT.into();
    }
    run["version"] = 1.into();
    run
}

fn resumed() -> Value {
    let mut run = run("queued", "resume");
    run["resumes"] = FORMER.into();
    run["waiting_for"] = "waits for a free executor since 08:00:00".into();
    run
}

fn run(status: &str, origin: &str) -> Value {
    json!({
        "workflow_run_id": RUN, "workflow_id": "wf_06hhgq2g003ha8atdy39qcp9x4", "version": null,
        "job_id": "job_06hhgq2g003ha8atdy39qcp9x4", "status": status, "reason": null, "scheduled_at": AT,
        "started_at": null, "finished_at": null, "priority": "normal", "origin": origin, "resumes": null,
        "stalled_at": null, "name": "etl 1", "detail": null, "waiting_for": null, "deadline_at": null,
        "stopping": null, "in_finally": false, "params": null, "output": null, "asked_by": "deployment",
        "resumed_by": null, "task": null, "counts": {}, "critical_path": [], "tasks": [], "next_cursor": null
    })
}
