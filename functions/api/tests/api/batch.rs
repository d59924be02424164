//! Batches: many jobs in one request, each answered as if it had come alone.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::limits::{BATCH_BYTES, PAYLOAD_BYTES};
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, request};

const BATCH: &str = "/v1/jobs/batch";

fn noop(name: &str) -> Value {
    json!({"target": {"noop": {}}, "name": name, "schedule": {"on_demand": true}})
}

fn keyed(key: &str, name: &str) -> Value {
    let mut job = noop(name);
    job["idempotency_key"] = json!(key);
    job
}

async fn batch(world: &World, jobs: &[Value]) -> Answer {
    world.post(BATCH, json!({"jobs": jobs})).await
}

fn statuses(answer: &Answer) -> Vec<u64> {
    let results = answer.field("/results");
    results.as_array().unwrap().iter().map(|result| result["status"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_batch_makes_each_of_its_jobs_in_their_order() {
    let world = World::new();

    let answer = batch(&world, &[noop("a"), noop("b"), noop("c")]).await;

    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    for (index, name) in ["a", "b", "c"].iter().enumerate() {
        let result = answer.field(&format!("/results/{index}"));
        assert_eq!((&result["index"], &result["status"]), (&json!(index), &json!(201)));
        assert_eq!((&result["job"]["name"], result.get("problem")), (&json!(name), None));
        let mut alone = world.get(&format!("/v1/jobs/{}", result["job"]["job_id"].as_str().unwrap())).await.json();
        alone.as_object_mut().unwrap().retain(|field, _| !["last_run", "health"].contains(&field.as_str()));
        assert_eq!(alone, result["job"]);
    }
    assert_eq!(world.get("/v1/jobs").await.items("job_id").len(), 3);
}

/// A function is cut off in the middle of a request that takes too long, and nobody would hear of the jobs that it has made.
///
/// Removed: a batch goes on however long it takes. All three were made, after 29 s by nobody who could say so.
#[tokio::test]
async fn of_a_batch_that_takes_long_the_rest_is_not_begun_and_may_be_sent_again() {
    let world = World::new();
    let at_once = json!({"target": {"noop": {}}});
    let (jobs, ports) = ([at_once, keyed("b", "b"), keyed("c", "c")], Arc::clone(&world.ports));
    world.ports.queues.with_the_next_hint(move || ports.clock.pass(Duration::from_secs(20)));

    let answer = batch(&world, &jobs).await;
    let again = batch(&world, &jobs[1..]).await;

    assert_eq!((statuses(&answer), statuses(&again)), (vec![201, 503, 503], vec![201, 201]));
    assert!(answer.text.contains("it was not begun; send it again"), "{}", answer.text);
}

#[tokio::test]
async fn a_batch_of_none_is_answered_with_none() {
    let world = World::new();

    assert_eq!(batch(&world, &[]).await.json(), json!({"results": []}));
}

#[tokio::test]
async fn a_batch_has_at_most_a_thousand_jobs() {
    let world = World::new();
    let jobs: Vec<_> = (0..1001).map(|n| noop(&n.to_string())).collect();

    let full = batch(&world, &jobs[..1000]).await;
    let more = batch(&world, &jobs).await;

    assert_eq!(statuses(&full), vec![201; 1000]);
    let results = full.field("/results");
    let in_order = |(n, result): (usize, &Value)| result["index"] == n && result["job"]["name"] == *n.to_string();
    assert!(results.as_array().unwrap().iter().enumerate().all(in_order));
    assert_eq!(more.problem(422, "invalid"), ["/jobs"]);
    assert_eq!(world.get("/v1/jobs?limit=1000").await.items("job_id").len(), 1000, "and none of the refused one's");
}

#[tokio::test]
async fn a_batch_has_at_most_four_mebibytes() {
    let world = World::new();
    let large = json!({"target": {"noop": {}}, "schedule": {"on_demand": true}, "payload": "x".repeat(250_000)});
    let jobs = json!({"jobs": vec![large; 16]}).to_string();
    assert!(jobs.len() > 3_900_000 && jobs.len() < BATCH_BYTES);
    let padded = |bytes: usize| format!("{jobs}{}", " ".repeat(bytes - jobs.len()));
    let send = async |body: String| {
        let request = request("POST", BATCH, ACME_KEY).header("content-type", "application/json");
        world.send(request.body(body.into()).unwrap()).await
    };

    assert_eq!(statuses(&send(padded(BATCH_BYTES)).await), vec![201; 16]);
    send(padded(BATCH_BYTES + 1)).await.problem(413, "too-large");
}

#[tokio::test]
async fn a_bad_one_spoils_no_other_and_is_told_with_its_own_pointers() {
    let world = World::new();
    let bad = [
        (json!({"target": {"noop": {}}, "nmae": "x"}), 422, "invalid", vec!["/nmae"]),
        (json!({}), 422, "invalid", vec!["/target"]),
        (json!(7), 422, "invalid", vec![""]),
        (json!(null), 422, "invalid", vec![""]),
        (json!([]), 422, "invalid", vec![""]),
        (
            json!({"target": {"http": {"url": "ftp://a"}}, "name": "", "schedule": {"cron": "x"}}),
            422,
            "invalid",
            vec!["/schedule/cron", "/name", "/target/http/url"],
        ),
        (json!({"target": {"noop": {}}, "idempotency_key": ""}), 422, "invalid", vec!["/idempotency_key"]),
        (json!({"target": {"noop": {}}, "payload": "x".repeat(PAYLOAD_BYTES)}), 413, "too-large", vec!["/payload"]),
    ];
    let mut jobs = vec![noop("first")];
    jobs.extend(bad.iter().map(|(job, ..)| job.clone()));
    jobs.push(noop("last"));

    let answer = batch(&world, &jobs).await;

    assert_eq!(answer.status, 200, "{}", answer.text);
    for (index, (job, status, kind, pointers)) in (1..).zip(&bad) {
        let result = answer.field(&format!("/results/{index}"));
        let problem = &result["problem"];
        assert_eq!((&result["status"], &problem["status"]), (&json!(status), &json!(status)), "{job}");
        assert_eq!((&result["index"], result.get("job")), (&json!(index), None));
        assert_eq!(problem["type"], format!("/problems/{kind}"));
        assert_eq!(problem["request_id"], answer.header("request-id"));
        let told: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(told, *pointers, "{job}");
    }
    assert_eq!(world.get("/v1/jobs").await.items("name").len(), 2);
}

#[tokio::test]
async fn a_batch_that_is_none_is_refused_as_a_whole() {
    let world = World::new();
    for (body, pointer) in [
        (json!({}), "/jobs"),
        (json!({"jobs": 7}), "/jobs"),
        (json!({"jobs": null}), "/jobs"),
        (json!({"jobs": [], "job": 1}), "/job"),
        (json!([]), ""),
    ] {
        assert_eq!(world.post(BATCH, body.clone()).await.problem(422, "invalid"), [pointer], "{body}");
    }
    world.tell(BATCH).await.problem(400, "malformed");
    let twice = request("POST", BATCH, ACME_KEY).header("content-type", "application/json");
    let twice = twice.body(r#"{"jobs":[{"target":{"noop":{}},"name":"a","name":"b"}]}"#.into()).unwrap();
    world.send(twice).await.problem(400, "malformed");
}

#[tokio::test]
async fn a_batch_again_is_answered_as_the_first_time() {
    let world = World::new();
    let jobs = [keyed("a", "one"), keyed("b", "two")];

    let first = batch(&world, &jobs).await;
    world.pass(100);
    let again = batch(&world, &jobs).await;

    assert_eq!((statuses(&first), statuses(&again)), (vec![201, 201], vec![200, 200]));
    assert_eq!(again.text.replace("\"status\":200", "\"status\":201"), first.text);
}

#[tokio::test]
async fn a_key_inside_a_batch_is_the_key_of_a_job_that_came_alone() {
    let world = World::new();
    let alone = world.post("/v1/jobs", keyed("k", "one")).await;
    let header = world.with(("idempotency-key", "h"), "POST", "/v1/jobs", Some(noop("two"))).await;

    let answer = batch(&world, &[keyed("k", "one"), keyed("h", "two"), keyed("k", "another")]).await;

    assert_eq!(statuses(&answer), [200, 200, 422]);
    assert_eq!(answer.field("/results/0/job/job_id"), alone.field("/job_id"));
    assert_eq!(answer.field("/results/1/job/job_id"), header.field("/job_id"));
    assert_eq!(answer.field("/results/2/problem/type"), "/problems/idempotency-key-reused");
}

#[tokio::test]
async fn of_the_same_key_twice_in_one_batch_the_first_makes_the_job() {
    let world = World::new();
    for round in 0..20 {
        let key = format!("k{round}");

        let answer =
            batch(&world, &[keyed(&key, "first"), noop("x"), keyed(&key, "second"), keyed(&key, "first")]).await;

        assert_eq!(statuses(&answer), [201, 201, 422, 200], "{}", answer.text);
        assert_eq!(answer.field("/results/3/job/job_id"), answer.field("/results/0/job/job_id"));
        assert_eq!(answer.field("/results/2/problem/errors/0/pointer"), "/idempotency_key");
    }
}

#[tokio::test]
async fn the_header_would_name_one_job_of_many_and_is_refused() {
    let world = World::new();

    let answer = world.with(("idempotency-key", "k"), "POST", BATCH, Some(json!({"jobs": [noop("a")]}))).await;

    answer.problem(422, "invalid");
    assert_eq!(world.get("/v1/jobs").await.field("/items"), json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_batches_with_the_same_keys_each_job_is_made_once() {
    let world = Arc::new(World::new());
    let jobs: Vec<_> = (0..20).map(|n| keyed(&n.to_string(), "x")).collect();
    let racing: Vec<_> = (0..8)
        .map(|_| {
            let (world, jobs) = (Arc::clone(&world), jobs.clone());
            tokio::spawn(async move { batch(&world, &jobs).await })
        })
        .collect();

    let mut made = 0;
    for each in racing {
        let answer = each.await.unwrap();
        let statuses = statuses(&answer);
        assert!(statuses.iter().all(|status| matches!(status, 200 | 201)), "{}", answer.text);
        made += statuses.iter().filter(|status| **status == 201).count();
    }

    assert_eq!((made, world.get("/v1/jobs").await.items("job_id").len()), (20, 20));
}

#[tokio::test]
async fn a_batch_makes_its_callers_jobs() {
    let world = World::new();

    world.by(OTHER_KEY, "POST", BATCH, Some(json!({"jobs": [keyed("k", "theirs")]}))).await;
    let ours = batch(&world, &[keyed("k", "ours")]).await;

    assert_eq!(statuses(&ours), [201]);
    assert_eq!(world.get("/v1/jobs").await.items("name"), ["ours"]);
}

#[tokio::test]
async fn a_job_of_a_batch_fires_like_any_other() {
    let world = World::new();
    let due_now = json!({"target": {"noop": {}}});

    let answer = batch(&world, &[due_now]).await;
    world.work(|_, _| crate::world::succeeded()).await;

    let run = answer.word("/results/0/job/next_run_id");
    assert_eq!(world.get(&format!("/v1/runs/{run}")).await.field("/status"), "succeeded");
}
