//! The documentation of the routes of workers.

use http::StatusCode;
use minutehand_wire::{
    CompleteRequest, CompletionsRequest, CompletionsView, EffectAnswerView, EffectByPathRequest, EffectRequest,
    FailRequest, HandBackRequest, HeartbeatRequest, HeartbeatView, LeaseRequest, LeasesView, LeftRunView, Page,
    PoolView, PoolsQuery, WorkerView, WorkersQuery,
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::operation_doc::{OperationDoc, RequestHeader, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn lease_runs() -> OperationDoc {
    OperationDoc::new(Tag::Leases, "lease_runs", "Ask for something to do")
        .more(
            "Takes up to `max` runs that are ready in a pool, and waits up to `wait_seconds` where none is. Each is the worker's until \
             its lease ends: keep it by heartbeats. Of four priorities the more urgent come more often, 8:4:2:1, and what has waited \
             for a minute counts as more urgent.",
        )
        .takes::<LeaseRequest>()
        .shows(ResponseDoc::json::<LeasesView>(StatusCode::OK, "What there is to do; nothing, perhaps."))
        .example(
            "where nothing is ready",
            json!({ "pool": "web1", "worker_id": "web1-a", "wait_seconds": 0 }),
            StatusCode::OK,
            json!({ "leases": [] }),
        )
}

pub(crate) fn keep_lease() -> OperationDoc {
    of_a_lease("keep_lease", "Keep a lease")
        .more(
            "A sign of life: the worker has the run for `lease_seconds` from now on, but never beyond `deadline_at`. A lease that is \
             over is kept as long as nobody else has taken the run. What is said of the run with it stands beside the run: how much is \
             done, what is being done, lines of its log, and what the next holder is given.",
        )
        .takes::<HeartbeatRequest>()
        .shows(ResponseDoc::json::<HeartbeatView>(StatusCode::OK, "Until when, and whether to stop."))
        .example(
            "for another minute",
            json!({ "token": TOKEN, "progress": 0.5, "stage": "sending", "checkpoint": { "sent": 3 }, "logs": ["half of them are sent"] }),
            StatusCode::OK,
            json!({ "lease_expires_at": "2027-01-15T08:01:00.000Z", "cancel_requested": false }),
        )
}

pub(crate) fn list_workers() -> OperationDoc {
    OperationDoc::new(Tag::Leases, "list_workers", "List workers")
        .more("Who asks for something to do, when it was last heard of, and what it has: up to ten seconds behind. Pool by pool.")
        .query::<WorkersQuery>()
        .shows(ResponseDoc::json::<Page<WorkerView>>(StatusCode::OK, "A page of workers."))
}

pub(crate) fn list_pools() -> OperationDoc {
    OperationDoc::new(Tag::Leases, "list_pools", "List pools")
        .more("Who works for each, and how much waits in it. A pool is there as soon as a job or a worker names it.")
        .query::<PoolsQuery>()
        .shows(ResponseDoc::json::<Page<PoolView>>(StatusCode::OK, "A page of pools, by name."))
}

pub(crate) fn complete_lease() -> OperationDoc {
    of_a_lease("complete_lease", "Say that it went well")
        .more("Said twice with the same result, it is answered as the first time.")
        .takes::<CompleteRequest>()
        .shows(ResponseDoc::json::<LeftRunView>(StatusCode::OK, "The run has succeeded."))
        .example(
            "with a result",
            json!({ "token": TOKEN, "result": { "sent": 3 } }),
            StatusCode::OK,
            left("succeeded", None),
        )
}

pub(crate) fn fail_lease() -> OperationDoc {
    of_a_lease("fail_lease", "Say that it failed")
        .more("The job's retry policy decides what follows; `retryable: false` ends the run.")
        .takes::<FailRequest>()
        .shows(ResponseDoc::json::<LeftRunView>(StatusCode::OK, "The run waits for its next attempt, or is over."))
        .example(
            "for good",
            json!({ "token": TOKEN, "error": { "code": "no_such_invoice", "message": "there is no invoice 7", "retryable": false } }),
            StatusCode::OK,
            left("failed", None),
        )
}

pub(crate) fn hand_back_lease() -> OperationDoc {
    of_a_lease("hand_back_lease", "Hand a run back")
        .more(
            "The worker goes away and another is to do it, at once. This counts as no failure; a run that may be tried only once ends.",
        )
        .takes::<HandBackRequest>()
        .shows(ResponseDoc::json::<LeftRunView>(StatusCode::OK, "The run is ready again."))
        .example("before it goes", json!({ "token": TOKEN }), StatusCode::OK, left("queued", Some("2027-01-15T08:00:00.000Z")))
}

pub(crate) fn complete_leases() -> OperationDoc {
    OperationDoc::new(Tag::Leases, "complete_leases", "Say how several went")
        .more(
            "Each is answered on its own, as if it had been said alone: a refusal of one is no refusal of the others.",
        )
        .takes_many::<CompletionsRequest>()
        .shows(ResponseDoc::json::<CompletionsView>(
            StatusCode::OK,
            "What became of each, in the order of the request.",
        ))
        .example(
            "one that went well",
            json!({ "results": [{ "lease_id": LEASE, "token": TOKEN, "result": { "sent": 3 } }] }),
            StatusCode::OK,
            json!({ "results": [{ "lease_id": LEASE, "run": left("succeeded", None) }] }),
        )
}

pub(crate) fn claim_effect() -> OperationDoc {
    claiming::<EffectRequest>("claim_effect", "Claim an effect, or say what came of it")
        .more(
            "What a run does to the world outside is claimed before it is done: the first claim is told `first`, and every later one, of this \
             attempt or the next, what came of it. With `outcome` the holder says that. An outcome of null means that whoever claimed it was \
             not heard of again: look whether it was made, and decide. The same `Idempotency-Key` under the same lease is the same claim.",
        )
        .example("before a card is charged", json!({ "key": "charge", "token": TOKEN }), StatusCode::CREATED, effect())
}

pub(crate) fn claim_effect_by_path() -> OperationDoc {
    claiming::<EffectByPathRequest>("claim_effect_by_path", "Claim an effect that the path names, or say what came of it")
        .more(
            "As `claim_effect`, without `key`. A key with `/`, `\\\\`, `?` or `%` is refused: gateways change such a path, and an effect would be taken for another.",
        )
        .example("before a card is charged", json!({ "token": TOKEN }), StatusCode::CREATED, effect())
}

fn claiming<Request: JsonSchema>(id: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(Tag::Leases, id, summary)
        .header(RequestHeader::IdempotencyKey)
        .refuses(Kind::Invalid)
        .refuses(Kind::Conflict)
        .takes::<Request>()
        .shows(ResponseDoc::json::<EffectAnswerView>(StatusCode::CREATED, "The effect is to be made now."))
        .shows(ResponseDoc::json::<EffectAnswerView>(StatusCode::OK, "It was claimed before, or its outcome is kept."))
}

const TOKEN: &str = "mt_0c20a1g7104gm2rc1m70y40h28";
const LEASE: &str =
    "lease_06hhgq2g01p4h259dbkxg5e1sr0t662wa000251jfjw5bkhm78000001080000d331e5000000000000000g0001mcc5rm00";
const RUN: &str = "run_06hhgq2g01p4h259dbkxg5e1sr0t662wa000251jfjw5bkhm78";

fn effect() -> Value {
    json!({
        "first": true, "key": "charge", "claimed_at": "2027-01-15T08:00:00.000Z", "attempt": 1, "outcome": null, "said_at": null, "prevented": 0
    })
}

fn left(status: &str, due_at: Option<&str>) -> Value {
    json!({ "run_id": RUN, "status": status, "due_at": due_at })
}

fn of_a_lease(id: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(Tag::Leases, id, summary).refuses(Kind::Forbidden).refuses(Kind::Conflict)
}
