//! What each function may do is what it does: every flow is played, what it asks of tables and queues is recorded, and the
//! role in `template.yaml` grants just that of them. A grant that nothing uses fails here as one that is missing does.

#[path = "permissions/graphs.rs"]
mod graphs;

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use minutehand_archiver::{Shelf, archive};
use minutehand_aws_tests::dynamo::tables;
use minutehand_aws_tests::large_stack::with_a_large_stack;
use minutehand_aws_tests::python;
use minutehand_aws_tests::stage::{BEGIN, Function, Stage};
use minutehand_aws_tests::stream::{EXPIRY, batch, image, removed};
use minutehand_aws_tests::template::{Grant, Template};
use minutehand_domain::id::JobId;
use minutehand_domain::pace;
use minutehand_domain::timer::Obligation;
use minutehand_io::Fault;
use minutehand_io::metrics::Unmeasured;
use minutehand_io::store::dynamo::{Listing, Resource, Table};
use minutehand_sweeper::tell_of_the_oldest_letter;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);
const QUEUES: [&str; 8] = [
    "CriticalQueue",
    "HighQueue",
    "NormalQueue",
    "LowQueue",
    "CriticalLongQueue",
    "HighLongQueue",
    "NormalLongQueue",
    "LowLongQueue",
];
/// What Lambda itself does in a function's name with a queue that wakes it.
const EVENT_SOURCE: [&str; 3] = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];

#[test]
fn each_role_grants_what_its_function_does_and_nothing_more() {
    let Some(tools) = python::tools() else { return };
    let template = Template::transformed(&tools);
    let stage = with_a_large_stack(played);

    let api = recorded(&stage.api);
    let sweeps = EVENT_SOURCE.into_iter().chain(["sqs:SendMessage"]).map(|action| grant(action, "SweepsQueue"));
    let sweeper = recorded(&stage.sweeper).into_iter().chain(sweeps).collect();
    let woken = QUEUES.iter().flat_map(|queue| EVENT_SOURCE.map(|action| grant(action, queue)));
    let executor = recorded(&stage.executor).into_iter().chain(woken).collect();

    let reads = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    let stream = reads.map(|action| grant(&format!("dynamodb:{action}"), "StateTable"));
    let archiver = recorded(&stage.archiver).into_iter().chain(stream).collect();

    let used = [
        ("ApiFunction", api),
        ("SweeperFunction", sweeper),
        ("ExecutorFunction", executor),
        ("ArchiverFunction", archiver),
    ];
    for (function, used) in used {
        let granted = template.grants(function);
        let missing: BTreeSet<_> = used.difference(&granted).collect();
        let unused: BTreeSet<_> = granted.difference(&used).collect();
        assert!(missing.is_empty() && unused.is_empty(), "{function}: missing {missing:?}, unused {unused:?}");
    }
}

fn grant(action: &str, resource: &str) -> Grant {
    Grant { action: action.to_owned(), resource: resource.to_owned() }
}

fn recorded(function: &Function) -> BTreeSet<Grant> {
    let tables = function.asked().into_keys().map(|(operation, place)| {
        let table = match place.table() {
            Table::State => "StateTable",
            Table::Timers => "TimersTable",
        };
        let resource = match place {
            Resource::Table(_) => table.to_owned(),
            Resource::Index(index) => format!("{table}/index/{}", index.name()),
        };
        grant(&format!("dynamodb:{}", operation.name()), &resource)
    });
    let sends = function.sends().then_some("sqs:SendMessage");
    let hides = function.hides().then_some("sqs:ChangeMessageVisibility");
    // Which of the four is the job's to say.
    let queues = sends.into_iter().chain(hides).flat_map(|action| QUEUES.map(|queue| grant(action, queue)));
    tables.chain(queues).collect()
}

/// Everything that the functions can be brought to do.
async fn played() -> Stage {
    let stage = Stage::new(Listing::ByHour).await;
    let cron = stage.create(&job(&json!({"cron": "* * * * *"}), 10)).await;
    let shard = shard_of(&cron);
    stage.live_until(BEGIN + 3 * MINUTE, shard).await;
    fail_often(&stage).await;
    create_twice(&stage).await;
    create_slowly(&stage).await;
    lose_a_hint(&stage).await;
    ask_everything(&stage, &cron).await;
    administer(&stage).await;
    leave_an_orphan(&stage).await;
    do_to_many(&stage).await;
    erase_a_tenant(&stage).await;
    graphs::play(&stage).await;
    stage.search().await;
    tell_of_the_oldest_letter(&*stage.sweeper, &Unmeasured).await;
    archive_all(&stage).await;
    stage
}

/// Nothing is kept here: what counts is what is read for it.
struct Nowhere;

impl Shelf for Nowhere {
    async fn put(&self, _name: &str, _object: Vec<u8>) -> Result<(), Fault> {
        Ok(())
    }
}

async fn archive_all(stage: &Stage) {
    let scan =
        Client::new(&stage.dynamo().config()).scan().table_name(tables().state).send().await.expect("a small table");
    let gone: Vec<Value> =
        scan.items.unwrap_or_default().iter().map(|item| removed("e", Some(EXPIRY), &image(item))).collect();
    let archived = archive(&*stage.archiver, &Nowhere, &batch(&gone)).await.expect("an archive");
    assert!(archived.runs > 20 && archived.unreadable == 0, "{archived:?}");
}

/// More attempts than stand inside a run; and a payload and results that are kept apart.
async fn fail_often(stage: &Stage) {
    let due = stage.now() + Duration::from_secs(10);
    let job = stage.create(&job(&json!({"at": due.to_string()}), 2000)).await;
    stage.target_fails(true);
    stage.live_until(due + 8 * MINUTE, shard_of(&job)).await;
    stage.target_fails(false);
    let (_, runs) = stage.ask("GET", &format!("/v1/jobs/{job}/runs"), None).await;
    let run = runs["items"][0]["run_id"].as_str().expect("it ran");
    let (_, run) = stage.ask("GET", &format!("/v1/runs/{run}"), None).await;
    assert_eq!(run["attempts"].as_array().map(Vec::len), Some(5), "{run}");
}

async fn create_twice(stage: &Stage) {
    let mut asked = job(&json!({"every_seconds": 3600}), 600);
    asked["idempotency_key"] = "the-same".into();
    let first = stage.create(&asked).await;
    let (status, again) = stage.ask("POST", "/v1/jobs", Some(&asked)).await;
    assert_eq!((status.as_u16(), again["job_id"].as_str()), (200, Some(first.as_str())));
}

/// A slow creator's promise comes too late: it is made again a little ahead, and erased where it was.
async fn create_slowly(stage: &Stage) {
    stage.jump_to(pace::end_of(pace::minute_of(stage.now())) + Duration::from_secs(50));
    stage.everybody_takes(Duration::from_secs(21));
    stage.create(&job(&json!({}), 10)).await;
    stage.everybody_takes(Duration::ZERO);
}

/// Whoever finds it late asks whether the record of an outage speaks for it.
async fn lose_a_hint(stage: &Stage) {
    let due = stage.now() + Duration::from_secs(20);
    let job = stage.create(&job(&json!({"at": due.to_string()}), 10)).await;
    stage.purge();
    stage.jump_to(due + Duration::from_secs(40));
    stage.live_until(due + 3 * MINUTE, shard_of(&job)).await;
}

async fn ask_everything(stage: &Stage, job: &str) {
    let (_, next) = stage.ask("GET", &format!("/v1/jobs/{job}"), None).await;
    let waiting = next["next_run_id"].as_str().expect("it goes on").to_owned();
    let (_, failed) = stage.ask("GET", "/v1/runs?status=failed&limit=1", None).await;
    let failed = failed["items"][0]["run_id"].as_str().expect("one failed often").to_owned();
    let once = json!({"payload": "x".repeat(3000), "idempotency_key": "run-once"});
    for (method, path, body) in [
        ("GET", "/v1/health".to_owned(), None),
        ("GET", "/v1/stats?minutes=10".to_owned(), None),
        ("GET", "/v1/jobs?limit=2".to_owned(), None),
        ("GET", format!("/v1/jobs/{job}/runs"), None),
        ("GET", format!("/v1/jobs/{job}/next"), None),
        ("GET", "/v1/runs?limit=5".to_owned(), None),
        ("GET", format!("/v1/runs/{failed}/events"), None),
        ("POST", format!("/v1/runs/{failed}/retry"), None),
        ("PATCH", format!("/v1/jobs/{job}"), Some(json!({"tags": ["changed"]}))),
        ("POST", "/v1/jobs/batch".to_owned(), Some(json!({"jobs": [self::job(&json!({"after_seconds": 3600}), 10)]}))),
        ("POST", format!("/v1/jobs/{job}/run"), Some(once.clone())),
        ("POST", format!("/v1/jobs/{job}/run"), Some(once)),
        ("POST", format!("/v1/runs/{waiting}/cancel"), None),
        ("POST", format!("/v1/jobs/{job}/pause"), None),
        ("POST", format!("/v1/jobs/{job}/resume"), None),
    ] {
        let (status, answer) = stage.ask(method, &path, body.as_ref()).await;
        assert!(status.is_success(), "{method} {path}: {answer}");
    }
    stage.live_until(stage.now() + 2 * MINUTE, shard_of(job)).await;
    let (status, _) = stage.ask("DELETE", &format!("/v1/jobs/{job}"), None).await;
    assert!(status.is_success());
}

/// A key that is made, used, changed and taken away; a secret that calls need, sealed by a vault that asks no table; the secret that calls are signed with; a limit, and what it counts; a repair.
async fn administer(stage: &Stage) {
    let (status, key) = stage.ask("POST", "/v1/keys", Some(&json!({"name": "ci", "role": "admin"}))).await;
    assert_eq!(status, 201, "{key}");
    let (id, secret) = (key["key_id"].as_str().expect("a key"), key["secret"].as_str().expect("shown once"));
    for (method, path, body) in [
        ("GET", "/v1/keys".to_owned(), None),
        ("PUT", "/v1/secrets/stripe".to_owned(), Some(&json!({"value": "hunter2"}))),
        ("PUT", "/v1/secrets/stripe".to_owned(), Some(&json!({"value": "hunter3"}))),
        ("GET", "/v1/secrets".to_owned(), None),
        ("GET", "/v1/secrets/stripe".to_owned(), None),
        ("DELETE", "/v1/secrets/stripe".to_owned(), None),
        ("GET", "/v1/audit".to_owned(), None),
        ("GET", "/v1/signing-secret".to_owned(), None),
        ("POST", "/v1/signing-secret/rotate".to_owned(), None),
        ("GET", "/v1/quotas".to_owned(), None),
        ("POST", format!("/v1/keys/{id}/rotate"), None),
        ("DELETE", format!("/v1/keys/{id}"), None),
    ] {
        let (status, answer) = stage.ask_by(secret, method, &path, body).await;
        assert!(status.is_success(), "{method} {path}: {answer}");
    }
    let (status, _) = stage.ask_by(secret, "GET", "/v1/quotas", None).await;
    assert_eq!(status, 401, "it was taken away");

    let (status, quota) = stage.ask("PUT", "/v1/quotas/acme", Some(&json!({"max_jobs": 100}))).await;
    assert!(status.is_success(), "{quota}");
    let (status, repaired) = stage.ask("POST", "/v1/repair", Some(&json!({}))).await;
    assert!(status.is_success(), "{repaired}");
    stage.create(&job(&json!({"after_seconds": 3600}), 10)).await;
}

/// Acts on many runs, of all and of those that failed, whose asker is so slow that the sweeper does all of it.
async fn do_to_many(stage: &Stage) {
    let from = stage.now() - Duration::from_secs(3600);
    for act in ["cancel", "retry"] {
        stage.everybody_takes(Duration::from_secs(6));
        let asked = json!({"act": act, "runs": {"from": from.to_string()}});
        let (status, operation) = stage.ask("POST", "/v1/operations", Some(&asked)).await;
        stage.everybody_takes(Duration::ZERO);
        assert_eq!(status, 202, "{operation}");
        let id = operation["operation_id"].as_str().expect("an operation").parse().expect("an id");
        stage.live_until(stage.now() + 2 * MINUTE, Obligation::Operation(id).shard(64)).await;
        let (_, operation) = stage.ask("GET", &format!("/v1/operations/{id}"), None).await;
        assert_eq!(operation["state"], "done", "{operation}");
    }
}

/// Asked for by somebody so slow that the sweeper erases all of it.
async fn erase_a_tenant(stage: &Stage) {
    let key = json!({"name": "gone", "role": "admin", "tenant": "gone"});
    let (status, key) = stage.ask("POST", "/v1/keys", Some(&key)).await;
    assert_eq!(status, 201, "{key}");
    let (secret, owned) = (key["secret"].as_str().expect("shown once"), job(&json!({"after_seconds": 3600}), 10));
    let (status, owned) = stage.ask_by(secret, "POST", "/v1/jobs", Some(&owned)).await;
    assert_eq!(status, 201, "{owned}");
    stage.everybody_takes(Duration::from_secs(6));
    let (status, operation) = stage.ask("DELETE", "/v1/tenants/gone", None).await;
    stage.everybody_takes(Duration::ZERO);
    assert_eq!(status, 202, "{operation}");
    let id = operation["operation_id"].as_str().expect("an operation").parse().expect("an id");
    stage.live_until(stage.now() + pace::ERASED_QUIET + 10 * MINUTE, Obligation::Operation(id).shard(64)).await;
    let (_, operation) = stage.ask("GET", &format!("/v1/operations/{id}"), None).await;
    assert_eq!((&operation["state"], &operation["erasure"]["left"]), (&json!("done"), &json!(0)), "{operation}");
}

/// The sweeper closes what points at nothing.
async fn leave_an_orphan(stage: &Stage) {
    let job = stage.create(&job(&json!({"after_seconds": 600}), 10)).await;
    stage.ask("DELETE", &format!("/v1/jobs/{job}"), None).await;
    stage.live_until(stage.now() + 30 * MINUTE, shard_of(&job)).await;
}

fn job(schedule: &Value, bytes: usize) -> Value {
    json!({
        "schedule": schedule,
        "target": {"http": {"url": "https://example.com/hook"}},
        "payload": "x".repeat(bytes),
        "retry": {"max_retries": 4, "initial_delay_seconds": 5, "jitter": "none"},
    })
}

fn shard_of(job: &str) -> u16 {
    Obligation::Occurrence(job.parse::<JobId>().expect("an id")).shard(64)
}
