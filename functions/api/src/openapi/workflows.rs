//! The documentation of the routes of workflows.

use http::StatusCode;
use minutehand_wire::{
    DeleteWorkflowQuery, DiffQuery, OneWorkflowVersionView, OneWorkflowView, Page, RunView, RunsOfWorkflowQuery,
    VersionsQuery, WorkflowDiffView, WorkflowRequest, WorkflowRunRequest, WorkflowVersionView, WorkflowView,
    WorkflowsQuery,
};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::{ETag, Replayed};
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::body::Nothing;
use crate::problem::Kind;

pub(crate) fn create_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "create_workflow", "Make a workflow")
        .more(
            "And the job of its own, in which its runs are. It runs by its `schedule`, or else when it is asked to. What is wrong with \
             its tasks is said all at once.",
        )
        .takes_definition::<WorkflowRequest>()
        .once()
        .traced()
        .shows(
            ResponseDoc::json::<OneWorkflowView>(StatusCode::CREATED, "The workflow, every default spelled out.")
                .makes("workflow_id")
                .with(ETag),
        )
        .shows(
            ResponseDoc::json::<OneWorkflowView>(StatusCode::OK, "The workflow that the same request made before.")
                .with(ETag)
                .with(Replayed),
        )
        .example("two tasks", nightly(), StatusCode::CREATED, nightly_made())
}

pub(crate) fn list_workflows() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "list_workflows", "List workflows")
        .more("By id, without what they say. All filters that are given must hold. Those that were deleted are left out, unless `status` is `cancelled`.")
        .query::<WorkflowsQuery>()
        .shows(ResponseDoc::json::<Page<WorkflowView>>(StatusCode::OK, "A page of workflows."))
}

pub(crate) fn get_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "get_workflow", "Show a workflow and what its newest version says")
        .more("One that was deleted stays to be read: it is `cancelled`.")
        .shows(shown("The workflow."))
}

pub(crate) fn put_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "put_workflow", "Change a workflow")
        .more(
            "The whole is written anew, as its next version; where that would say what the newest says, there is none. Runs that have \
             begun go on with theirs. `owner`, `tags`, `priority`, `catch_up` and `schedule` belong to no version and are in force at \
             once: without a schedule it runs only when it is asked to. A schedule that comes out as it was is not touched, and a mask \
             in a header stands for what is there.",
        )
        .takes_definition::<WorkflowRequest>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(shown("The workflow as it is now."))
        .example("let it wait for an operator", held(), StatusCode::OK, held_now())
}

pub(crate) fn delete_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "delete_workflow", "Delete a workflow")
        .more(
            "Nothing of it starts any more, and a task that calls it fails; what it was and did stays to be read. It is refused while \
             runs of it are under way, unless they are to be cancelled. Deleting twice is deleting once.",
        )
        .query::<DeleteWorkflowQuery>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::nothing(StatusCode::NO_CONTENT, "It is deleted."))
}

pub(crate) fn list_workflow_versions() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "list_workflow_versions", "List the versions of a workflow")
        .more("Newest first: when each was made, and whose key it was.")
        .query::<VersionsQuery>()
        .shows(ResponseDoc::json::<Page<WorkflowVersionView>>(StatusCode::OK, "A page of versions."))
}

pub(crate) fn get_workflow_version() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "get_workflow_version", "Show what a version of a workflow says")
        .shows(ResponseDoc::json::<OneWorkflowVersionView>(StatusCode::OK, "The version, which never changes."))
}

pub(crate) fn diff_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "diff_workflow", "Show what is different between two versions of a workflow")
        .more("Between the newest and the one before it, where nothing else is asked for.")
        .query::<DiffQuery>()
        .shows(ResponseDoc::json::<WorkflowDiffView>(StatusCode::OK, "Tasks that came, went and changed."))
}

pub(crate) fn run_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "run_workflow", "Run a workflow now")
        .more("Beside its schedule. What it is given must be what the `params` of its newest version ask for.")
        .may_take::<WorkflowRunRequest>()
        .once()
        .traced()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<RunView>(StatusCode::ACCEPTED, "The run: it is queued.").makes("run_id"))
        .shows(
            ResponseDoc::json::<RunView>(StatusCode::OK, "The run that the same request made before.").with(Replayed),
        )
        .example("with parameters", json!({ "params": { "day": "Monday" } }), StatusCode::ACCEPTED, asked_for())
}

pub(crate) fn list_runs_of_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "list_runs_of_workflow", "List the runs of a workflow")
        .more(
            "Newest first: those of its own job, which its schedule and whoever asked for one has started. Each says which version it \
             carries out, once it has begun.",
        )
        .query::<RunsOfWorkflowQuery>()
        .shows(ResponseDoc::json::<Page<RunView>>(StatusCode::OK, "A page of runs."))
}

pub(crate) fn pause_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "pause_workflow", "Pause a workflow")
        .more("Its schedule starts nothing; what runs goes on. Pausing twice is pausing once.")
        .may_take::<Nothing>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(shown("The workflow as it is now."))
}

pub(crate) fn resume_workflow() -> OperationDoc {
    OperationDoc::new(Tag::Workflows, "resume_workflow", "Resume a workflow")
        .more("It goes on from now: what it missed it skips. Resuming twice is resuming once.")
        .may_take::<Nothing>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(shown("The workflow as it is now."))
}

fn shown(description: &'static str) -> ResponseDoc {
    ResponseDoc::json::<OneWorkflowView>(StatusCode::OK, description).with(ETag)
}

fn nightly() -> Value {
    json!({
        "name": "nightly",
        "params": { "properties": { "day": { "type": "string" } } },
        "schedule": { "cron": "0 2 * * *", "timezone": "Europe/Paris" },
        "tasks": [
            {
                "key": "extract",
                "target": { "http": { "url": "https://example.com/hooks/extract" } },
                "payload": { "day": "{{params.day}}" },
                "timeout_seconds": 300
            },
            {
                "key": "load",
                "depends_on": ["extract"],
                "target": { "http": { "url": "https://example.com/hooks/load" } },
                "payload": "{{tasks.extract.result}}"
            }
        ],
        "finally": [{ "key": "tidy", "target": { "noop": {} } }]
    })
}

fn nightly_made() -> Value {
    let target = |name: &str| {
        let url = format!("https://example.com/hooks/{name}");
        json!({ "http": { "url": url, "method": "POST", "headers": {} } })
    };
    json!({
        "workflow_id": "wf_06hhgq2g003ha8atdy39qcp9x4",
        "job_id": "job_06hhgq2g003ha8atdy39qcp9x4",
        "status": "active",
        "version": 1,
        "name": "nightly",
        "owner": null,
        "tags": [],
        "schedule": {
            "cron": "0 2 * * *", "timezone": "Europe/Paris", "days": "either", "dst_gap": "next_valid",
            "dst_overlap": "by_kind",
        },
        "priority": "normal",
        "catch_up": { "policy": "last", "window_seconds": 86400 },
        "created_at": "2027-01-15T08:00:00.000Z",
        "updated_at": "2027-01-15T08:00:00.000Z",
        "next_run_at": "2027-01-16T01:00:00.000Z",
        "next_run_id": "run_06hhgq2g003ha8atdy39qcp9x40t6vxhfp000",
        "params": { "properties": { "day": { "type": "string" } } },
        "on_failure": "fail_fast",
        "timeout_seconds": 86400,
        "finally_timeout_seconds": 3600,
        "max_concurrent_runs": null,
        "output": null,
        "tasks": [
            task(json!({
                "key": "extract", "target": target("extract"), "payload": { "day": "{{params.day}}" },
                "timeout_seconds": 300,
            })),
            task(json!({
                "key": "load", "target": target("load"), "payload": "{{tasks.extract.result}}",
                "depends_on": [{ "task": "extract", "on": "success" }],
            })),
        ],
        "finally": [task(json!({ "key": "tidy", "target": { "noop": {} } }))],
    })
}

fn held() -> Value {
    json!({ "name": "nightly", "on_failure": "hold", "tasks": [{ "key": "load", "target": { "noop": {} } }] })
}

fn held_now() -> Value {
    let mut workflow = nightly_made();
    workflow["version"] = 2.into();
    workflow["params"] = Value::Null;
    workflow["on_failure"] = "hold".into();
    workflow["schedule"] = json!({ "on_demand": true });
    (workflow["next_run_at"], workflow["next_run_id"]) = (Value::Null, Value::Null);
    workflow["tasks"] = json!([task(json!({ "key": "load", "target": { "noop": {} } }))]);
    workflow["finally"] = json!([]);
    workflow
}

/// A task with nothing but defaults beside these fields.
fn task(fields: Value) -> Value {
    let mut task = json!({
        "target": null,
        "approval": null,
        "payload": null,
        "depends_on": [],
        "rule": "all",
        "when": null,
        "for_each": null,
        "allow_failure": false,
        "priority": null,
        "timeout_seconds": 60,
        "retry": {
            "max_retries": 3, "backoff": "exponential", "initial_delay_seconds": 30, "max_delay_seconds": 3600,
            "jitter": "full", "give_up_after_seconds": null, "break_after_instant_failures": null
        },
        "delivery": "at_least_once"
    });
    let Value::Object(fields) = fields else { return task };
    for (name, value) in fields {
        task[name] = value;
    }
    task
}

fn asked_for() -> Value {
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
        "payload": { "day": "Monday" },
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
