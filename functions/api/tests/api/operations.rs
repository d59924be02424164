//! Operations: acts on many jobs or runs by filter: what counts, what a dry run says, how far they come, and what may be said to them.

use minutehand_domain::operation::{JobAct, JobFilter, Operation, OperationHead, OperationId, Subject, Work};
use minutehand_domain::run::{ErrorCode, Outcome};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{Answer, World, acme, at, failed, succeeded};

/// So many jobs that bear a tag: their ids.
async fn tagged(world: &World, tag: &str, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(
            world
                .job_of(json!({"name": format!("{tag} {number}"), "tags": [tag], "schedule": {"every_seconds": 3600}}))
                .await,
        );
    }
    ids
}

async fn started(world: &World, asked: Value) -> Answer {
    let answer = world.post("/v1/operations", asked).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer
}

async fn status_of(world: &World, job: &str) -> String {
    world.get(&format!("/v1/jobs/{job}")).await.word("/status")
}

/// Until it is over, as the sweep carries it on.
async fn over(world: &World, operation: &str) -> Answer {
    for _ in 0..200 {
        let answer = world.get(&format!("/v1/operations/{operation}")).await;
        if !["running", "cancelling"].contains(&answer.word("/state").as_str()) {
            return answer;
        }
        world.pass(6);
        world.work(|_job, _run| succeeded()).await;
    }
    panic!("it goes on and on");
}

#[tokio::test]
async fn what_is_small_is_done_when_it_is_answered() {
    let world = World::new();
    let billing = tagged(&world, "billing", 3).await;
    let other = tagged(&world, "other", 1).await;

    let answer = started(&world, json!({"act": "pause", "jobs": {"tag": "billing"}, "note": "the bank is away"})).await;

    assert_eq!((answer.word("/state"), answer.word("/kind")), ("done".to_owned(), "pause_jobs".to_owned()));
    assert_eq!(answer.field("/progress/done"), 3);
    assert_eq!((answer.field("/note"), answer.field("/by")), (json!("the bank is away"), json!("deployment")));
    assert_eq!(answer.header("location"), format!("/v1/operations/{}", answer.word("/operation_id")));
    for job in &billing {
        assert_eq!(status_of(&world, job).await, "paused");
    }
    assert_eq!(status_of(&world, &other[0]).await, "active");
    let resumed = started(&world, json!({"act": "resume", "jobs": {"tag": "billing", "status": "paused"}})).await;
    assert_eq!(resumed.field("/progress/done"), 3);
    assert_eq!(status_of(&world, &billing[0]).await, "active");
    let again = started(&world, json!({"act": "resume", "jobs": {"tag": "billing"}})).await;
    assert_eq!(again.field("/progress/seen"), 0, "nothing is left to resume: {}", again.text);
}

#[tokio::test]
async fn a_dry_run_counts_shows_some_and_does_nothing() {
    let world = World::new();
    let jobs = tagged(&world, "billing", 25).await;

    let asked = json!({"act": "cancel", "jobs": {"tag": "billing"}, "dry_run": true});
    let answer = world.post("/v1/operations", asked).await;

    assert_eq!(answer.status, 200);
    assert_eq!(
        (answer.field("/count"), answer.field("/more"), answer.field("/dry_run")),
        (json!(25), json!(false), json!(true))
    );
    let sample = answer.field("/sample").as_array().unwrap().clone();
    assert_eq!(sample.len(), 20);
    assert!(sample.iter().all(|id| jobs.contains(&id.as_str().unwrap().to_owned())));
    assert_eq!(status_of(&world, &jobs[0]).await, "active");
    assert_eq!(world.get("/v1/operations").await.field("/items"), json!([]));
    let nothing = world.post("/v1/operations", json!({"act": "cancel", "jobs": {"tag": "x"}, "dry_run": true})).await;
    assert_eq!((nothing.field("/count"), nothing.field("/sample")), (json!(0), json!([])));
}

/// More than the request that asks does itself: the sweep carries it on, and nothing is counted twice.
#[tokio::test]
async fn what_is_large_is_carried_on_by_the_sweep() {
    let world = World::new();
    let jobs = tagged(&world, "many", 180).await;

    let answer = started(&world, json!({"act": "cancel", "jobs": {"tag": "many"}})).await;
    assert_eq!(answer.word("/state"), "running", "{}", answer.text);
    let done = over(&world, &answer.word("/operation_id")).await;

    assert_eq!(
        (done.word("/state"), done.field("/progress/done"), done.field("/progress/seen")),
        ("done".to_owned(), json!(180), json!(180))
    );
    for job in &jobs {
        assert_eq!(status_of(&world, job).await, "cancelled");
    }
    assert!(done.field("/finished_at").is_string());
}

/// Removed: whether it is older than the operation. The job that was made later was paused too.
#[tokio::test]
async fn what_is_made_later_is_left_alone() {
    let world = World::new();
    tagged(&world, "many", 180).await;
    let answer = started(&world, json!({"act": "pause", "jobs": {"tag": "many"}})).await;
    world.pass(1);
    let later = tagged(&world, "many", 1).await;

    let done = over(&world, &answer.word("/operation_id")).await;

    assert_eq!(done.field("/progress/done"), 180);
    assert_eq!(status_of(&world, &later[0]).await, "active");
}

/// A job that was looked at and changed before its turn came.
///
/// Removed: the generation of what was seen. The job that somebody had resumed was paused again.
#[tokio::test]
async fn what_is_changed_after_it_was_looked_at_is_left_alone() {
    let world = World::new();
    let jobs = tagged(&world, "many", 180).await;
    let answer = started(&world, json!({"act": "pause", "jobs": {"tag": "many"}})).await;
    let id = answer.word("/operation_id");
    let operation = world.ports.store().get::<OperationHead>(&acme(), id.parse().unwrap()).await.unwrap().unwrap();
    let batch = operation.item.operation().unwrap().batch;
    let Some(Subject::Job(pinned, _)) = batch.first() else { panic!("nothing is pinned: {batch:?}") };
    let pinned = pinned.to_string();
    assert!(jobs.contains(&pinned));
    world.patch(&format!("/v1/jobs/{pinned}"), json!({"owner": "somebody"})).await;

    let done = over(&world, &id).await;

    assert_eq!(done.field("/progress/refused"), 1, "{}", done.text);
    assert_eq!(done.field("/progress/reasons/0/subject"), json!(pinned));
    assert_eq!(status_of(&world, &pinned).await, "active");
}

#[tokio::test]
async fn an_operation_is_paused_resumed_and_cancelled() {
    let world = World::new();
    tagged(&world, "many", 300).await;
    let id = started(&world, json!({"act": "pause", "jobs": {"tag": "many"}})).await.word("/operation_id");
    let path = |act: &str| format!("/v1/operations/{id}/{act}");

    assert_eq!(world.tell(&path("pause")).await.word("/state"), "paused");
    let before = world.get(&format!("/v1/operations/{id}")).await.field("/progress/done");
    world.pass(60);
    world.work(|_job, _run| succeeded()).await;
    assert_eq!(world.get(&format!("/v1/operations/{id}")).await.field("/progress/done"), before);
    assert_eq!(world.tell(&path("pause")).await.status, 200, "twice is once");
    assert_ne!(world.tell(&path("resume")).await.word("/state"), "paused");
    assert_eq!(world.tell(&path("resume")).await.status, 200);
    let cancelled = world.tell(&path("cancel")).await;
    assert_eq!(cancelled.word("/state"), "cancelled", "{}", cancelled.text);
    assert_eq!(world.tell(&path("cancel")).await.status, 200);
    world.tell(&path("resume")).await.problem(409, "conflict");
    world.tell(&path("pause")).await.problem(409, "conflict");
    let left = world.post("/v1/operations", json!({"act": "pause", "jobs": {"tag": "many"}, "dry_run": true})).await;
    assert_ne!(left.field("/count"), 0);
    let deeds = world.get("/v1/audit").await.items("deed");
    assert_eq!(deeds.iter().filter(|deed| **deed == "operation.start").count(), 1);
    for deed in ["operation.pause", "operation.resume", "operation.cancel"] {
        assert!(deeds.contains(&json!(deed)), "{deeds:?}");
    }
}

/// A paused operation has no timer, and one that is resumed has.
#[tokio::test]
async fn what_is_resumed_after_a_while_goes_on() {
    let world = World::new();
    tagged(&world, "many", 400).await;
    let id = started(&world, json!({"act": "pause", "jobs": {"tag": "many"}})).await.word("/operation_id");
    world.tell(&format!("/v1/operations/{id}/pause")).await;
    for _ in 0..10 {
        world.pass(600);
        world.work(|_job, _run| succeeded()).await;
    }

    world.tell(&format!("/v1/operations/{id}/resume")).await;
    let done = over(&world, &id).await;

    assert_eq!((done.word("/state"), done.field("/progress/done")), ("done".to_owned(), json!(400)));
}

#[tokio::test]
async fn one_request_begins_one_operation() {
    let world = World::new();
    tagged(&world, "a", 2).await;
    let asked = json!({"act": "pause", "jobs": {"tag": "a"}, "idempotency_key": "k"});

    let first = started(&world, asked.clone()).await;
    let again = world.post("/v1/operations", asked).await;
    let other =
        world.post("/v1/operations", json!({"act": "resume", "jobs": {"tag": "a"}, "idempotency_key": "k"})).await;

    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
    assert_eq!(again.word("/operation_id"), first.word("/operation_id"));
    other.problem(422, "idempotency-key-reused");
    assert_eq!(world.get("/v1/operations").await.field("/items").as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn operations_are_listed_newest_first_by_kind_and_state() {
    let world = World::new();
    tagged(&world, "a", 1).await;
    for act in ["pause", "resume", "pause"] {
        started(&world, json!({"act": act, "jobs": {}})).await;
        world.pass(1);
    }

    assert_eq!(world.get("/v1/operations").await.items("kind"), ["pause_jobs", "resume_jobs", "pause_jobs"]);
    assert_eq!(world.get("/v1/operations?kind=resume_jobs").await.items("kind"), ["resume_jobs"]);
    assert_eq!(world.get("/v1/operations?state=running").await.field("/items"), json!([]));
    let first = world.get("/v1/operations?limit=2").await;
    let cursor = first.word("/next_cursor");
    let second = world.get(&format!("/v1/operations?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (first.items("asked_at"), second.items("asked_at")),
        (vec![json!(at(2)), json!(at(1))], vec![json!(at(0))])
    );
    assert_eq!(second.field("/next_cursor"), Value::Null);
    world.get("/v1/operations?kind=x").await.problem(422, "invalid");
    world.get("/v1/operations/op_x").await.problem(404, "not-found");
}

/// Removed: the bound. One request read all operations that the tenant has ever had.
#[tokio::test]
async fn a_filter_that_few_fit_reads_ten_thousand_operations_and_says_where_it_goes_on() {
    let world = World::new();
    tagged(&world, "a", 1).await;
    let oldest = started(&world, json!({"act": "pause", "jobs": {}})).await.word("/operation_id");
    let there = world.ports.store().list::<OperationHead>(&acme(), (), None, 1).await.unwrap().items.remove(0);
    let there = there.operation().expect("it was begun");
    for number in 0..12_000_u64 {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        let head = OperationHead::Operation(Box::new(Operation {
            id: OperationId::from_bytes(bytes),
            work: Work::Jobs { act: JobAct::Resume, filter: JobFilter::default() },
            ..there.clone()
        }));
        let put = world.ports.store().put(&acme(), head.id(), &head, Guard::Absent).await.unwrap();
        assert!(put.is_written());
    }
    let before = world.ports.store().meter().reads;

    let first = world.get("/v1/operations?kind=pause_jobs").await;
    let reads = world.ports.store().meter().reads - before;
    let cursor = first.word("/next_cursor");
    let second = world.get(&format!("/v1/operations?kind=pause_jobs&cursor={cursor}")).await;

    assert!(reads <= 10_100, "{reads}");
    let found = [&first, &second].map(|page| page.items("operation_id"));
    assert_eq!(found.concat(), [json!(oldest)]);
    assert_eq!(second.field("/next_cursor"), Value::Null);
}

/// A run that failed for each of these jobs.
async fn failures(world: &World, jobs: &[String]) {
    for job in jobs {
        world.run_of(job).await;
    }
    world.work(|_job, _run| -> Outcome { failed(ErrorCode::Http4xx) }).await;
    world.pass(1);
}

async fn on_demand(world: &World, tag: &str, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let retry = json!({"max_retries": 0});
        ids.push(world.job_of(json!({"tags": [tag], "schedule": {"on_demand": true}, "retry": retry})).await);
    }
    ids
}

/// Each names the run that it is another try at, and the operation; and it is one, also where the operation is begun again.
#[tokio::test]
async fn what_failed_is_retried_by_the_tag_of_its_job_and_each_once() {
    let world = World::new();
    let jobs = on_demand(&world, "etl", 3).await;
    let other = on_demand(&world, "other", 1).await;
    failures(&world, &[jobs.clone(), other.clone()].concat()).await;

    let dry = world.post("/v1/operations", json!({"act": "retry", "runs": {"tag": "etl"}, "dry_run": true})).await;
    let answer = started(&world, json!({"act": "retry", "runs": {"tag": "etl"}})).await;
    world.work(|_job, _run| succeeded()).await;

    assert_eq!(dry.field("/count"), 3, "{}", dry.text);
    assert_eq!((answer.word("/state"), answer.field("/progress/done")), ("done".to_owned(), json!(3)));
    for job in &jobs {
        let runs = world.get(&format!("/v1/jobs/{job}/runs")).await;
        assert_eq!(runs.items("status"), ["succeeded", "failed"], "{}", runs.text);
        assert_eq!(runs.field("/items/0/redrive_of"), runs.field("/items/1/run_id"));
        assert_eq!(runs.field("/items/0/operation_id"), answer.field("/operation_id"));
    }
    assert_eq!(world.get(&format!("/v1/jobs/{}/runs", other[0])).await.items("status"), ["failed"]);
}

/// A letter that an operation tried again is none any more: neither a redrive nor another operation tries it twice, but for one that names
/// how it stands.
///
/// Removed: the try is made without a mark in the old run. Each of the three made another.
#[tokio::test]
async fn what_an_operation_retried_is_no_letter_any_more() {
    let world = World::new();
    let jobs = on_demand(&world, "etl", 2).await;
    failures(&world, &jobs).await;
    let bulk = |runs: Value| json!({"act": "retry", "runs": runs});

    let first = started(&world, bulk(json!({}))).await;
    let second = started(&world, bulk(json!({}))).await;
    let redriven = world.post("/v1/dead-letters/redrive", json!({"filter": {}})).await;
    let named = started(&world, bulk(json!({"status": "failed", "job_id": jobs[0]}))).await;

    assert_eq!(
        (first.field("/progress/done"), second.field("/progress/seen")),
        (json!(2), json!(0)),
        "{}",
        second.text
    );
    assert_eq!(redriven.field("/results"), json!([]), "{}", redriven.text);
    assert_eq!(named.field("/progress/done"), 1, "{}", named.text);
    let runs = world.get(&format!("/v1/jobs/{}/runs", jobs[0])).await;
    let old = world.get(&format!("/v1/runs/{}", runs.word("/items/2/run_id"))).await;
    let newest = world.get(&format!("/v1/runs/{}", old.word("/redriven_as"))).await;
    assert_eq!(newest.field("/operation_id"), named.field("/operation_id"), "{}", newest.text);
    assert_eq!(world.get(&format!("/v1/jobs/{}/runs", jobs[1])).await.items("status").len(), 2);
}

#[tokio::test]
async fn dead_letters_are_dismissed_by_the_tag_of_their_job_with_a_note() {
    let world = World::new();
    let jobs = on_demand(&world, "etl", 2).await;
    let other = on_demand(&world, "other", 1).await;
    failures(&world, &[jobs.clone(), other].concat()).await;
    let request = json!({"act": "dismiss", "runs": {"tag": "etl"}, "note": "too old"});

    let answer = started(&world, request.clone()).await;
    let again = started(&world, request).await;

    assert_eq!((answer.word("/kind"), answer.field("/progress/done")), ("dismiss_runs".to_owned(), json!(2)));
    assert_eq!(again.field("/progress/seen"), 0, "{}", again.text);
    assert_eq!(world.get("/v1/dead-letters").await.items("run_id").len(), 1);
    let run = world.get(&format!("/v1/jobs/{}/runs", jobs[0])).await.word("/items/0/run_id");
    assert!(world.get(&format!("/v1/runs/{run}/events")).await.text.contains("too old"));
    let of_jobs = world.post("/v1/operations", json!({"act": "dismiss", "jobs": {}})).await;
    assert_eq!(of_jobs.word("/errors/0/pointer"), "/act", "{}", of_jobs.text);
    let of_what_runs = world.post("/v1/operations", json!({"act": "dismiss", "runs": {"status": "running"}})).await;
    assert_eq!(of_what_runs.word("/errors/0/pointer"), "/runs/status", "{}", of_what_runs.text);
}

/// Serde would take an array of a filter's fields, and an empty one for all there is.
#[tokio::test]
async fn a_filter_is_an_object() {
    let world = World::new();
    for body in [json!({"act": "retry", "runs": []}), json!({"act": "pause", "jobs": [null]})] {
        let answer = world.post("/v1/operations", body).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
    }
    assert_eq!(world.post("/v1/dead-letters/redrive", json!({"filter": []})).await.status, 422);
}

#[tokio::test]
async fn what_waits_is_cancelled_of_one_job_and_what_is_over_is_no_part_of_it() {
    let world = World::new();
    let jobs = on_demand(&world, "etl", 2).await;
    failures(&world, &jobs).await;
    for _ in 0..3 {
        world.run_of(&jobs[0]).await;
    }
    world.run_of(&jobs[1]).await;
    world.pass(1);

    let answer = started(&world, json!({"act": "cancel", "runs": {"job_id": jobs[0]}, "note": "wrong week"})).await;

    assert_eq!(
        (answer.word("/state"), answer.field("/progress/done")),
        ("done".to_owned(), json!(3)),
        "{}",
        answer.text
    );
    let runs = world.get(&format!("/v1/jobs/{}/runs", jobs[0])).await;
    assert_eq!(runs.items("status"), ["cancelled", "cancelled", "cancelled", "failed"]);
    let run = runs.word("/items/0/run_id");
    assert!(world.get(&format!("/v1/runs/{run}/events")).await.text.contains("wrong week"));
    assert_eq!(world.get(&format!("/v1/jobs/{}/runs", jobs[1])).await.items("status"), ["queued", "failed"]);
}

#[tokio::test]
async fn so_many_operations_may_be_under_way() {
    let world = World::new();
    tagged(&world, "many", 200).await;
    for _ in 0..20 {
        let id = started(&world, json!({"act": "pause", "jobs": {"tag": "many"}})).await.word("/operation_id");
        world.tell(&format!("/v1/operations/{id}/pause")).await;
        if world.get("/v1/operations?state=paused").await.field("/items").as_array().unwrap().len() < 20 {
            // What was paused is made active again, so that the next one has as much to do.
            let back = started(&world, json!({"act": "resume", "jobs": {"tag": "many"}})).await.word("/operation_id");
            over(&world, &back).await;
        }
    }

    let one_more = world.post("/v1/operations", json!({"act": "pause", "jobs": {"tag": "many"}})).await;

    one_more.problem(409, "conflict");
}
