//! Runs: asked for, listed, shown whole, cancelled.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::RunKey;
use minutehand_domain::order::Terms;
use minutehand_domain::run::{AttemptError, Event, Outcome, Run, Skip, SkippedSpan, State};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{ME, START, World, acme, at};

/// The run after `attempts` attempts that each failed, the last of them claimed and open; those that left the run are
/// in the store.
async fn after_attempts(world: &World, run: Run, terms: &Terms, attempts: u32) -> Run {
    let (mut run, mut now) = (run, START);
    for number in 1..=attempts {
        if let Some(oldest) = run.displaced_by_next_claim() {
            let key = (run.key, oldest.number);
            assert!(world.ports.store().put(&run.tenant, key, oldest, Guard::Absent).await.unwrap().is_written());
        }
        now = now + Duration::from_secs(10_000);
        run = run.after(&Event::Claim { by: ME, terms }, now).unwrap();
        if number < attempts {
            let error = AttemptError::new("http_500", "the target answered 500");
            let outcome = Outcome::Failed { error, retry_after: None };
            run = run.after(&Event::Finish { fence: run.fence, outcome: &outcome, terms }, now).unwrap();
        }
    }
    run
}

async fn put(world: &World, run: &Run) {
    assert!(world.ports.store().put(&run.tenant, run.key, run, Guard::Absent).await.unwrap().is_written());
}

fn seconds(n: u64) -> Moment {
    START + Duration::from_secs(n)
}

#[tokio::test]
async fn a_run_that_is_asked_for_is_queued_now() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;

    let answer = world.tell(&format!("/v1/jobs/{job}/run")).await;

    assert_eq!(answer.status, 202, "{}", answer.text);
    let id = answer.field("/run_id");
    assert_eq!(answer.header("location"), format!("/v1/runs/{}", id.as_str().unwrap()));
    assert_eq!(
        answer.json(),
        json!({
            "run_id": id, "job_id": job, "status": "queued", "reason": null, "scheduled_at": at(0), "effective_at": at(0),
            "started_at": null, "finished_at": null, "priority": "normal", "payload": null, "result": null,
            "progress": null, "attempts": [], "origin": "manual", "redrive_of": null, "workflow_run_id": null,
            "task_key": null, "trace": {"trace_id": answer.field("/trace/trace_id"), "sampled": true},
        })
    );
    assert_eq!(world.get(answer.header("location")).await.json(), answer.json());
}

#[tokio::test]
async fn a_run_may_be_given_a_payload_of_its_own() {
    let world = World::new();
    let job = world.post("/v1/jobs", json!({"target": {"noop": {}}, "payload": {"of": "job"}})).await;
    let path = format!("{}/run", job.header("location"));

    let plain = world.post(&path, json!({})).await;
    let given = world.post(&path, json!({"payload": {"of": "run", "large": "x".repeat(1000)}})).await;

    assert_eq!(plain.field("/payload"), json!({"of": "job"}));
    assert_eq!(given.field("/payload/of"), "run");
    assert_ne!(plain.field("/run_id"), given.field("/run_id"));
    assert_eq!(world.post(&path, json!({"payloat": 1})).await.problem(422, "invalid"), ["/payloat"]);
}

#[tokio::test]
async fn an_occurrence_can_be_read_before_anybody_claimed_it() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let next = world.get(&format!("/v1/jobs/{job}")).await.field("/next_run_id");
    let path = format!("/v1/runs/{}", next.as_str().unwrap());

    let early = world.get(&path).await;
    world.pass(60);
    let due = world.get(&path).await;

    assert_eq!((early.field("/status"), early.field("/origin")), (json!("scheduled"), json!("schedule")));
    assert_eq!(due.field("/status"), "queued");
    assert_eq!(world.stored_run(next.as_str().unwrap()).await, None, "reading writes nothing");
}

#[tokio::test]
async fn what_is_no_occurrence_is_not_found() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await.parse().unwrap();
    for key in [RunKey::occurrence(job, seconds(61)), RunKey::manual(job, seconds(60), 7)] {
        world.get(&format!("/v1/runs/{key}")).await.problem(404, "not-found");
        world.tell(&format!("/v1/runs/{key}/cancel")).await.problem(404, "not-found");
    }
    world.get("/v1/runs/run_x").await.problem(404, "not-found");
}

#[tokio::test]
async fn a_run_shows_all_its_attempts() {
    let world = World::new();
    let id = world
        .post("/v1/jobs", json!({"target": {"noop": {}}, "retry": {"max_retries": 9}, "schedule": {"at": at(1)}}))
        .await
        .field("/job_id");
    let job = world.stored_job(id.as_str().unwrap()).await;
    let key = RunKey::occurrence(job.id, seconds(1));
    let run = Run::new(acme(), key, job.definition.priority);
    let run = after_attempts(&world, run, &job.definition.terms, 6).await;
    put(&world, &run).await;

    let answer = world.get(&format!("/v1/runs/{key}")).await;

    assert_eq!((answer.field("/status"), answer.field("/started_at")), (json!("running"), json!(at(10_000))));
    let attempts = answer.field("/attempts");
    let numbers: Vec<_> = attempts.as_array().unwrap().iter().map(|attempt| attempt["number"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    assert_eq!(
        attempts[0],
        json!({
            "number": 1, "started_at": at(10_000), "finished_at": at(10_000), "worker": ME.worker.to_string(),
            "outcome": "failed",
            "error": {"code": "http_500", "message": "the target answered 500", "retryable": true},
        })
    );
    assert_eq!((&attempts[5]["outcome"], &attempts[5]["finished_at"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_finished_run_shows_its_result_and_cannot_be_cancelled() {
    let world = World::new();
    let id = world.job(json!({"at": at(1)})).await;
    let key = RunKey::occurrence(id.parse().unwrap(), seconds(1));
    let result = Body::Inside(Json::of(&json!({"ok": true})));
    let run = Run::new(acme(), key, minutehand_domain::priority::Priority::Normal);
    put(&world, &Run { state: State::Succeeded { at: seconds(2), result }, ..run }).await;

    let answer = world.get(&format!("/v1/runs/{key}")).await;

    assert_eq!((answer.field("/status"), answer.field("/result")), (json!("succeeded"), json!({"ok": true})));
    assert_eq!(answer.field("/finished_at"), at(2));
    world.tell(&format!("/v1/runs/{key}/cancel")).await.problem(409, "conflict");
}

#[tokio::test]
async fn the_record_of_an_outage_speaks_for_what_it_covers() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let job = id.parse().unwrap();
    world.pass(600);
    let (key, span) = (RunKey::occurrence(job, seconds(60)), SkippedSpan { until: seconds(600), count: Some(9) });
    put(
        &world,
        &Run::new(acme(), key, minutehand_domain::priority::Priority::Normal).skipped(
            Skip::Coalesced,
            Some(span),
            seconds(600),
        ),
    )
    .await;

    let record = world.get(&format!("/v1/runs/{}", RunKey::occurrence(job, seconds(60)))).await;
    let covered = world.get(&format!("/v1/runs/{}", RunKey::occurrence(job, seconds(120)))).await;
    let last = world.get(&format!("/v1/runs/{}", RunKey::occurrence(job, seconds(600)))).await;

    for skipped in [&record, &covered] {
        assert_eq!((skipped.field("/status"), skipped.field("/reason")), (json!("skipped"), json!("coalesced")));
        assert_eq!((skipped.field("/count"), skipped.field("/covers_until")), (json!(9), json!(at(600))));
    }
    assert_eq!(covered.field("/scheduled_at"), at(120));
    assert_eq!(last.field("/status"), "queued");
}

#[tokio::test]
async fn a_cancelled_run_says_so() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let next = world.get(&format!("/v1/jobs/{job}")).await.field("/next_run_id");
    let asked = world.tell(&format!("/v1/jobs/{job}/run")).await.field("/run_id");
    for id in [next, asked] {
        let path = format!("/v1/runs/{}", id.as_str().unwrap());

        let answer = world.tell(&format!("{path}/cancel")).await;

        assert_eq!((answer.status.as_u16(), answer.field("/status")), (200, json!("cancelled")));
        assert_eq!(world.get(&path).await.field("/finished_at"), at(0));
        world.tell(&format!("{path}/cancel")).await.problem(409, "conflict");
    }
}

#[tokio::test]
async fn runs_are_listed_newest_first_page_by_page() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let path = format!("/v1/jobs/{job}/runs");
    assert_eq!(world.get(&path).await.json(), json!({"items": [], "next_cursor": null}));
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, world.tell(&format!("/v1/jobs/{job}/run")).await.field("/run_id"));
        world.pass(10);
    }

    let (mut listed, mut next, mut pages) = (Vec::new(), format!("{path}?limit=2"), 0);
    loop {
        let page = world.get(&next).await;
        listed.extend(page.field("/items").as_array().unwrap().iter().map(|run| run["run_id"].clone()));
        pages += 1;
        world.pass(3600 * 20); // the window of the first page holds for the others
        let Value::String(cursor) = page.field("/next_cursor") else { break };
        next = format!("{path}?limit=2&cursor={cursor}");
    }

    assert_eq!((listed, pages), (made, 3));
}

#[tokio::test]
async fn a_history_is_the_last_day_unless_a_window_is_asked_for() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let path = format!("/v1/jobs/{job}/runs");
    world.tell(&format!("/v1/jobs/{job}/run")).await;
    world.pass(86_400 + 60);
    world.tell(&format!("/v1/jobs/{job}/run")).await;
    let count = async |query: String| {
        let answer = world.get(&format!("{path}?{query}")).await;
        answer.field("/items").as_array().unwrap_or_else(|| panic!("{}", answer.text)).len()
    };

    assert_eq!(count(String::new()).await, 1);
    assert_eq!(count(format!("from={}", at(0))).await, 2);
    assert_eq!(count(format!("to={}", at(1))).await, 1);
    assert_eq!(count(format!("from={}&to={}", at(1), at(2))).await, 0);
    let turned = world.get(&format!("{path}?from={}&to={}", at(5), at(5))).await;
    assert_eq!(turned.problem(422, "invalid"), ["?from"]);
    assert_eq!(world.get(&format!("{path}?from=monday")).await.problem(422, "invalid"), ["?from"]);
}

#[tokio::test]
async fn a_cursor_of_one_window_leads_nowhere_in_another() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    world.tell(&format!("/v1/jobs/{job}/run")).await;
    world.tell(&format!("/v1/jobs/{job}/run")).await;
    let path = format!("/v1/jobs/{job}/runs?limit=1");
    let cursor = world.get(&path).await.field("/next_cursor");

    let other = world.get(&format!("{path}&from={}&cursor={}", at(0), cursor.as_str().unwrap())).await;

    assert_eq!(other.problem(422, "invalid"), ["?cursor"]);
}

/// What is shown as skipped is over.
#[tokio::test]
async fn of_two_records_that_cover_an_occurrence_the_one_that_speaks_furthest_is_shown() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let job = id.parse().unwrap();
    world.pass(600);
    for (instant, until, count) in [(60, 600, Some(9)), (120, 300, Some(3))] {
        let (key, span) = (RunKey::occurrence(job, seconds(instant)), SkippedSpan { until: seconds(until), count });
        let run = Run::new(acme(), key, minutehand_domain::priority::Priority::Normal);
        put(&world, &run.skipped(Skip::Coalesced, Some(span), seconds(600))).await;
    }

    let covered = world.get(&format!("/v1/runs/{}", RunKey::occurrence(job, seconds(180)))).await;

    assert_eq!((covered.field("/count"), covered.field("/covers_until")), (json!(9), json!(at(600))));
}

/// An occurrence has no discriminator: nothing that looks like one may be recorded beside it.
#[tokio::test]
async fn what_only_looks_like_an_occurrence_is_not_there() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let key = RunKey { discriminator: 7, ..RunKey::occurrence(id.parse().unwrap(), seconds(60)) };

    world.get(&format!("/v1/runs/{key}")).await.problem(404, "not-found");
    world.tell(&format!("/v1/runs/{key}/cancel")).await.problem(404, "not-found");
}

#[tokio::test]
async fn an_occurrence_that_another_record_speaks_for_cannot_be_cancelled() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 10})).await;
    let job = id.parse().unwrap();
    world.pass(60);
    let (key, span) = (RunKey::occurrence(job, seconds(10)), SkippedSpan { until: seconds(60), count: Some(5) });
    put(
        &world,
        &Run::new(acme(), key, minutehand_domain::priority::Priority::Normal).skipped(
            Skip::Coalesced,
            Some(span),
            seconds(60),
        ),
    )
    .await;
    let covered = format!("/v1/runs/{}", RunKey::occurrence(job, seconds(30)));
    assert_eq!(world.get(&covered).await.field("/status"), "skipped");

    let answer = world.tell(&format!("{covered}/cancel")).await;

    answer.problem(409, "conflict");
    assert_eq!(world.get(&covered).await.field("/status"), "skipped");
}
